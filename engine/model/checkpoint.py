"""Checkpoints: weights as safetensors, the configuration and the measured facts as JSON text inside the same file."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from engine.model.motions import MotionKind
from engine.model.variational_autoencoder import DecoderKind, ModelConfig, VariationalAutoencoder
from engine.model.weight_file import CheckpointError as CheckpointError
from engine.model.weight_file import read_weights, write_weights

DEFAULT_CHECKPOINT = Path(__file__).resolve().parents[2] / "assets" / "models" / "neurok-deep.safetensors"
FORMAT = "neurok-checkpoint-0"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A trained network and what is known of it.

    Attributes:
        model: the networks, in evaluation mode.
        facts: training facts: iterations, data fingerprint, metrics, ``range_radius`` (the 95 % radius of the
            training posteriors about the prior mean, used by the range barrier).
        fingerprint: first 12 hex digits of the file's SHA-256.
    """

    model: VariationalAutoencoder
    facts: dict[str, Any]
    fingerprint: str


def save_checkpoint(model: VariationalAutoencoder, facts: dict[str, Any], path: Path) -> None:
    """Write a checkpoint beside the target, then rename it over."""
    metadata = {
        "format": FORMAT,
        "config": json.dumps(model.config.as_dict()),
        "facts": json.dumps(facts),
    }
    write_weights(model, metadata, path)


def load_checkpoint(path: Path | None = None) -> Checkpoint:
    """Read a checkpoint, by default the one that comes with the program.

    Raises:
        CheckpointError: the file is missing, is no safetensors file, or is of another format.
    """
    path = DEFAULT_CHECKPOINT if path is None else path
    restore = "train one with 'main.py train', or restore assets/models"
    tensors, metadata = read_weights(path, wanted=FORMAT, restore=restore)
    model = VariationalAutoencoder(read_config(metadata.get("config", ""), path.name))
    try:
        model.load_state_dict(tensors)
    except RuntimeError as error:
        raise CheckpointError(f"{path.name} does not fit its own configuration: {error}") from error
    model.eval().requires_grad_(False)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()[:12]
    return Checkpoint(model, json.loads(metadata["facts"]), digest)


def read_config(text: str, name: str) -> ModelConfig:
    """Return a configuration, whose closed choices are kept as plain words in the file."""
    try:
        values = json.loads(text)
        for key, kind in (("decoder", DecoderKind), ("motion", MotionKind)):
            if key in values:
                values[key] = kind(values[key])
        return ModelConfig(**values)
    except (TypeError, ValueError) as error:
        raise CheckpointError(
            f"{name} has a configuration that this program does not know: {error}; update the program"
        ) from error


def random_checkpoint(config: ModelConfig | None = None, *, seed: int = 0) -> Checkpoint:
    """Return an untrained network of the same shape: the control of the law "the network matters"."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = VariationalAutoencoder(config or ModelConfig())
    model.eval().requires_grad_(False)
    return Checkpoint(model, {"range_radius": float(model.config.latent) ** 0.5}, "untrained")
