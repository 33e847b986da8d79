"""Checkpoint files: what is written is read back, and what cannot be used is refused in words."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file

from engine.model.checkpoint import CheckpointError, load_checkpoint, random_checkpoint, save_checkpoint
from engine.model.motions import MotionKind
from engine.model.variational_autoencoder import DecoderKind, ModelConfig


def test_configuration_and_weights_come_back(tmp_path: Path) -> None:
    """Closed choices are words in the file and choices again after it; weights are the same to the last digit."""
    config = ModelConfig(width=32, heads=2, decoder=DecoderKind.QUERY, motion=MotionKind.AFFINE)
    made = random_checkpoint(config, seed=3)
    save_checkpoint(made.model, made.facts, tmp_path / "own.safetensors")
    read = load_checkpoint(tmp_path / "own.safetensors")
    assert read.model.config == config and read.facts == made.facts
    assert read.model.config.decoder is DecoderKind.QUERY and read.model.config.motion is MotionKind.AFFINE
    for name, value in made.model.state_dict().items():
        assert torch.equal(read.model.state_dict()[name], value), name


@pytest.mark.parametrize("change", [{"decoder": "oracle"}, {"feelings": 3}])
def test_a_configuration_of_a_newer_program(tmp_path: Path, change: dict[str, object]) -> None:
    """A choice or a size that this program does not know is refused with what to do."""
    path = tmp_path / "newer.safetensors"
    made = random_checkpoint(ModelConfig(width=32, heads=2))
    save_checkpoint(made.model, made.facts, path)
    with safe_open(path, framework="pt") as file:
        metadata = dict(file.metadata())
        tensors = {key: file.get_tensor(key) for key in file.keys()}
    metadata["config"] = json.dumps(json.loads(metadata["config"]) | change)
    save_file(tensors, path, metadata)
    with pytest.raises(CheckpointError, match=r"newer\.safetensors .* update the program"):
        load_checkpoint(path)


def test_what_is_no_checkpoint(tmp_path: Path) -> None:
    """A missing file and one of another kind are refused by name."""
    with pytest.raises(CheckpointError, match="no checkpoint at"):
        load_checkpoint(tmp_path / "none.safetensors")
    (tmp_path / "text.safetensors").write_text("words")
    with pytest.raises(CheckpointError, match=r"text\.safetensors is not a readable"):
        load_checkpoint(tmp_path / "text.safetensors")
