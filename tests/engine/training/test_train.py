"""A short training run reads a dataset, writes a checkpoint that loads, and goes on where it stopped."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
import torch

from engine.datasets.sampling import sample_states
from engine.datasets.shards import DatasetError, write_shard
from engine.model.checkpoint import load_checkpoint
from engine.model.variational_autoencoder import ModelConfig
from engine.training.train import TrainingConfig, train
from tests.engine.datasets.moving import hinge_motion, rigid_motion

TINY = ModelConfig(width=32, heads=2, handles=6)
SHORT = TrainingConfig(seconds=2.0, objects=2, warmup_iterations=5, save_every=0.5)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset of a hinge and a box, the hinge in the validation split as well."""
    folder = tmp_path_factory.mktemp("data")
    for split in ("train", "validation"):
        motions = [
            sample_states(motion, np.random.default_rng(0), key=f"{split}-{i}", name=f"{split}-{i}", split=split)
            for i, motion in enumerate([hinge_motion(tumbling=True), rigid_motion()])
        ]
        write_shard(motions, folder / split / "a.tar")
    return folder


def _lines(run: Path) -> list[dict[str, str]]:
    with (run / "log.csv").open() as file:
        return list(csv.DictReader(file))


def test_a_run_learns_writes_a_checkpoint_and_goes_on(data: Path, tmp_path: Path) -> None:
    """The loss falls, the checkpoint loads with its facts, and a resumed run counts on."""
    path = train([data], tmp_path, config=SHORT, model_config=TINY, resume=False)
    checkpoint = load_checkpoint(path)
    assert checkpoint.facts["objects"] == 2
    lines = _lines(tmp_path)
    assert float(lines[-1]["recon"]) < float(lines[0]["recon"])
    done = int(lines[-1]["iteration"])
    longer = TrainingConfig(seconds=3.0, objects=2, warmup_iterations=5, save_every=0.5)
    train([data], tmp_path, config=longer, model_config=TINY, resume=True)
    assert int(_lines(tmp_path)[-1]["iteration"]) > done
    assert float(_lines(tmp_path)[-1]["minutes"]) == pytest.approx(3.0 / 60, abs=0.02)


def test_a_run_may_start_from_a_checkpoint(data: Path, tmp_path: Path) -> None:
    """With a learning rate of zero, the run's weights are those of the checkpoint it started from."""
    first = train([data], tmp_path / "a", config=SHORT, model_config=TINY, resume=False)
    still = TrainingConfig(seconds=0.3, objects=2, learning_rate=0.0, weight_decay=0.0)
    second = train([data], tmp_path / "b", config=still, model_config=ModelConfig(), resume=False, initial=first)
    one, two = load_checkpoint(first).model, load_checkpoint(second).model
    for name, weight in one.state_dict().items():
        torch.testing.assert_close(two.state_dict()[name], weight, msg=name)


def test_a_folder_without_a_dataset_is_refused(tmp_path: Path) -> None:
    """Training on an empty folder names the command that makes a dataset."""
    with pytest.raises(DatasetError, match="dataset build"):
        train([tmp_path], tmp_path / "run", config=SHORT, model_config=TINY, resume=False)
