"""Settings of a training, and the two recipes that have names."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from engine.datasets.augmentation import Augmentation
from engine.model.variational_autoencoder import ModelConfig
from engine.training.optimizers import OptimizerKind

# Share of pairs with B = A: the decode at rest has to be the rest shape.
IDENTITY_SHARE = 0.1
# How often each kind is drawn. Kinds that are not there leave their share to the others.
KIND_SHARES = {"articulated": 0.38, "elastic": 0.26, "cloth": 0.15, "imported": 0.11, "continuum": 0.04, "rigid": 0.1}


@dataclass(frozen=True, slots=True)
class TrainingConfig:
    """Settings of a run.

    Attributes:
        seconds: budget in wall-clock time [s]; a pause of the process does not count.
        items: budget in pairs, over all processes; where it is given, it alone holds.
        objects, frames, points: of a batch: rest shapes, states of each, samples of each.
        optimizer, learning_rate, muon_rate, weight_decay: see `engine.training.optimizers`.
        warmup_iterations: until the full learning rate.
        hold: share of the budget at the full rate; then it falls along a cosine.
        lowest: share of the rate that is left at the end.
        beta, beta_warmup_iterations: see `engine.training.train`.
        crispness, rigidity, evenness: weights of other terms of the loss; see `engine.training.losses`.
        ema: of the averaged weights, which are what is kept.
        seed: of weights and batches.
        identity: share of pairs with B = A.
        held_out: validation objects in the examination.
        pool: objects held in memory at a time.
        save_every: time between two checkpoints [s].
        threads: of the processor.
        augmentation: what is varied at random.
        device: "cpu", "cuda", or "auto" for a GPU where there is one.
        resident: keep all states on the GPU, where there is one and the dataset does not stream.
        compile: compile the transformer blocks (takes a minute or more before the first step).
    """

    seconds: float = 3600.0
    items: int | None = None
    objects: int = 16
    frames: int = 4
    points: int = 224
    optimizer: OptimizerKind = OptimizerKind.ADAMW
    learning_rate: float = 1.0e-3
    muon_rate: float = 2.0e-3
    weight_decay: float = 0.01
    warmup_iterations: int = 300
    hold: float = 0.0
    lowest: float = 0.02
    beta: float = 1.0e-3
    beta_warmup_iterations: int = 3000
    crispness: float = 0.02
    rigidity: float = 0.7
    evenness: float = 0.05
    ema: float = 0.999
    seed: int = 0
    identity: float = IDENTITY_SHARE
    held_out: int = 256
    pool: int = 8192
    save_every: float = 240.0
    threads: int = 1
    augmentation: Augmentation = field(default_factory=Augmentation)
    device: str = "auto"
    resident: bool = True
    compile: bool = False

    def spent(self, *, seconds: float, items: int) -> float:
        """Return the share of the budget that is spent."""
        return seconds / self.seconds if self.items is None else items / self.items

    def rate(self, *, share: float, iteration: int) -> float:
        """Return the share of the learning rates that an iteration has."""
        fallen = min(1.0, max(0.0, share - self.hold) / max(1.0 - self.hold, 1e-9))
        cosine = 0.5 * (1.0 + float(np.cos(np.pi * fallen)))
        return min(1.0, (iteration + 1) / self.warmup_iterations) * (self.lowest + (1.0 - self.lowest) * cosine)

    def kl_growth(self, *, iteration: int, warm: bool) -> float:
        """Return the share of the KL's weight at an iteration; ``warm``: of a run that began with trained weights."""
        return 0.01 + 0.99 * (1.0 if warm else min(1.0, iteration / self.beta_warmup_iterations) ** 2)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> TrainingConfig:
        """Return the settings that `asdict` took apart."""
        kind, varied = OptimizerKind(values["optimizer"]), Augmentation(**values["augmentation"])
        plain: dict[str, Any] = {**values, "optimizer": kind, "augmentation": varied}
        return cls(**plain)


_NETWORK = ModelConfig(trunk_blocks=6, refinements=1, canonical=True, posterior_rank=12, prior_rank=32)
_SMALL = TrainingConfig(
    optimizer=OptimizerKind.MUON,
    learning_rate=6.0e-4,
    hold=0.5,
    beta=3.0e-4,
    augmentation=Augmentation(tumbled=0.1, any_rest=0.6),
)

RECIPES: dict[str, tuple[TrainingConfig, ModelConfig]] = {
    # One core of a processor, hours.
    "small": (_SMALL, _NETWORK),
    # One large GPU, minutes: 20 times the pairs an iteration, of the same network, so that it can start from what the
    # other recipe made and the program can load what it makes.
    "gpu": (
        replace(
            _SMALL,
            seconds=360.0,
            objects=320,
            points=256,
            warmup_iterations=200,
            beta_warmup_iterations=1500,
            save_every=90.0,
        ),
        _NETWORK,
    ),
}
