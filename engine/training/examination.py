"""How good a network in training is, on a fixed set of pairs of objects that it does not train on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from engine.datasets.pairs import PairBatch, Sampling, draw_batch
from engine.datasets.sampling import SampledMotion
from engine.model.variational_autoencoder import VariationalAutoencoder, blend
from engine.training.losses import Decoded, run_model

# Pairs are always the same, whatever the seed of the training.
SEED = 7
OBJECTS_AT_ONCE = 32


@dataclass(frozen=True, slots=True)
class Examination:
    """Pairs, with the kind of motion of each object."""

    batches: list[PairBatch]
    kinds: list[list[str]]


def prepare_examination(
    motions: Sequence[SampledMotion], sampling: Sampling, *, device: torch.device | str = "cpu"
) -> Examination:
    """Draw the pairs."""
    rng = np.random.default_rng(SEED)
    groups = [motions[i : i + OBJECTS_AT_ONCE] for i in range(0, len(motions), OBJECTS_AT_ONCE)]
    batches = [draw_batch(group, rng, sampling, device=device) for group in groups]
    return Examination(batches, [[motion.record.kind for motion in group] for group in groups])


@torch.no_grad()
def evaluate(model: VariationalAutoencoder, batches: list[PairBatch], kinds: list[list[str]]) -> dict[str, float]:
    """Return, per kind, RMS error and RMS motion of prior states over RMS motion of unseen objects; KL; radius."""
    squared: dict[str, list[tuple[float, float, float]]] = {}
    noise = torch.Generator().manual_seed(0)
    nats: list[float] = []
    radii: list[float] = []
    surprises: list[float] = []
    for batch, names in zip(batches, kinds, strict=True):
        decoded = run_model(model, batch, sample=False)
        target = batch.deformed
        error = (decoded.positions - target).square().sum(-1).mean(1)
        sampled = prior_motion(decoded, batch, noise).repeat_interleave(batch.frames)
        rows = torch.stack((error, batch.motion, sampled), 1).tolist()
        for i, row in enumerate(rows):
            squared.setdefault(names[i // batch.frames], []).append(tuple(row))
        nats.append(float(decoded.kl.mean()))
        radii.extend(decoded.prior.repeated(batch.frames).standardised(decoded.posterior.mean).norm(dim=-1).tolist())
        surprises.append(float(decoded.surprise))
    result = {"kl": float(np.mean(nats)), "surprise": float(np.mean(surprises))}
    result |= {"range_radius": float(np.quantile(radii, 0.95))}
    for name, pairs in sorted(squared.items()):
        error, motion, sampled = np.array(pairs).mean(0)
        # Rigid bodies have no motion to divide by: theirs are given as they are, in the unit frame.
        scale = motion if motion > 1e-6 else 1.0
        result[f"error/{name}"] = float(np.sqrt(error / scale))
        result[f"prior/{name}"] = float(np.sqrt(sampled / scale))
    return result


def prior_motion(decoded: Decoded, batch: PairBatch, noise: torch.Generator) -> Float[Tensor, " b"]:
    """Return the mean squared motion between two random states of the prior, per object [unit frame squared].

    Over the motion of the data it should be near one; for rigid bodies, zero.
    """
    states: list[Tensor] = []
    for _ in range(2):
        # Drawn on the processor: the same on every device.
        deviations = torch.randn(decoded.prior.mean.shape, generator=noise).to(decoded.prior.mean)
        handles = decoded.prepared.handles(decoded.prior.at(deviations))
        states.append(blend(decoded.weights, handles, batch.points)[0])
    return (states[0] - states[1]).square().sum(-1).mean(1)
