"""What changes while a network is trained, and how it is begun, kept and brought back."""

from __future__ import annotations

import json
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from engine.datasets.pairs import ObjectPool
from engine.model.blocks import Block, SelfBlock
from engine.model.checkpoint import CheckpointError, load_checkpoint, read_config
from engine.model.variational_autoencoder import ModelConfig, VariationalAutoencoder
from engine.training.optimizers import Optimizers
from engine.training.processes import Processes
from engine.training.run_files import STATE
from engine.training.settings import TrainingConfig


@dataclass(slots=True)
class Learner:
    """A network in training.

    Attributes:
        model: the network that is trained.
        average: its weights, averaged over the last iterations: what is examined and kept.
        optimizers: that move it.
        warm: whether it began with trained weights.
        iteration: steps that were taken.
        items: pairs that were seen, by all processes.
        seconds: time that was spent.
    """

    model: VariationalAutoencoder
    average: VariationalAutoencoder
    optimizers: Optimizers
    warm: bool
    iteration: int = 0
    items: int = 0
    seconds: float = 0.0

    @torch.no_grad()
    def average_weights(self, share: float) -> None:
        """Move the averaged weights toward the present ones; at first faster, so that the random start is forgotten."""
        share = min(share, (self.iteration + 1) / (self.iteration + 20))
        mean: list[Tensor] = list(self.average.parameters())
        weights: list[Tensor] = list(self.model.parameters())
        torch._foreach_lerp_(mean, weights, 1.0 - share)  # pyright: ignore[reportPrivateImportUsage]

    def progress(self) -> dict[str, float | int]:
        """Return how far the training is."""
        return {"iteration": self.iteration, "items": self.items, "minutes": self.seconds / 60}

    def state(self) -> dict[str, Any]:
        """Return all of it as tensors and plain values."""
        return {
            "config": json.dumps(self.model.config.as_dict()),
            "model": self.model.state_dict(),
            "average": self.average.state_dict(),
            "optimizers": self.optimizers.state_dict(),
            "warm": self.warm,
            "iteration": self.iteration,
            "items": self.items,
            "seconds": self.seconds,
        }


def begin(
    config: TrainingConfig,
    model_config: ModelConfig,
    processes: Processes,
    *,
    initial: Path | None = None,
    grow: bool = False,
    state: dict[str, Any] | None = None,
) -> Learner:
    """Build the network with random weights, with those of a checkpoint, or with those of an interrupted run.

    Raises:
        CheckpointError: ``initial`` is no usable checkpoint, or does not fit the sizes that it shall grow to.
    """
    torch.manual_seed(config.seed)
    starting = load_checkpoint(initial) if initial is not None and state is None else None
    if state is not None:
        model_config = read_config(state["config"], STATE)
    elif starting is not None and not grow:
        model_config = starting.model.config
    model = VariationalAutoencoder(model_config)
    if starting is not None:
        _take_weights(model, starting.model)
    model = model.to(processes.device)
    processes.same_weights(model)
    average = deepcopy(model).requires_grad_(False)
    if config.compile:
        for module in model.modules():
            if isinstance(module, (Block, SelfBlock)):
                module.compile()
    optimizers = Optimizers(
        model,
        config.optimizer,
        rate=config.learning_rate,
        muon_rate=config.muon_rate,
        decay=config.weight_decay,
    )
    learner = Learner(model, average, optimizers, warm=starting is not None)
    if state is not None:
        model.load_state_dict(state["model"])
        average.load_state_dict(state["average"])
        optimizers.load_state_dict(state["optimizers"])
        learner.warm, learner.iteration = bool(state["warm"]), int(state["iteration"])
        learner.items, learner.seconds = int(state["items"]), float(state["seconds"])
    # From here on the processes draw differently.
    torch.manual_seed(config.seed + 1_000_003 * processes.rank)
    return learner


@torch.no_grad()
def _take_weights(model: VariationalAutoencoder, source: VariationalAutoencoder) -> None:
    """Give a network the weights of a smaller one; layers that the smaller one lacks begin by changing nothing."""
    try:
        missing, unknown = model.load_state_dict(source.state_dict(), strict=False)
    except RuntimeError as error:
        raise CheckpointError(f"the checkpoint's network cannot grow to the sizes asked for: {error}") from error
    if unknown:
        raise CheckpointError(f"the checkpoint has parts that the network asked for has not: {', '.join(unknown)}")
    for name, module in model.named_modules():
        if isinstance(module, SelfBlock) and f"{name}.norm.weight" in missing:
            for last in (module.own.out, module.feed[2]):
                for parameter in last.parameters():
                    parameter.zero_()


class Draws:
    """All that is drawn at random: objects, states and samples, and the network's noise."""

    def __init__(self, pool: ObjectPool, rng: np.random.Generator, processes: Processes) -> None:
        """Of the pool that objects are drawn from, and the generator that draws their states."""
        self.pool, self.rng = pool, rng
        self._processes = processes

    def state(self) -> list[dict[str, Any]]:
        """Return where the generators of every process stand."""
        on_gpu = self._processes.device.type == "cuda"
        own = {
            # As text: numbers of 128 bits.
            "numpy": json.dumps({"states": self.rng.bit_generator.state, "pool": self.pool.state()}),
            "torch": torch.get_rng_state(),
            "gpu": torch.cuda.get_rng_state(self._processes.device).cpu() if on_gpu else None,
        }
        return self._processes.gathered(own)

    def restore(self, states: list[dict[str, Any]]) -> None:
        """Bring the generators of this process to where they stood; a process that was not there keeps its own."""
        if self._processes.rank >= len(states):
            return
        own = states[self._processes.rank]
        numbers = json.loads(own["numpy"])
        self.rng.bit_generator.state = numbers["states"]
        self.pool.restore(numbers["pool"])
        torch.set_rng_state(own["torch"])
        if own["gpu"] is not None and self._processes.device.type == "cuda":
            torch.cuda.set_rng_state(own["gpu"], self._processes.device)
