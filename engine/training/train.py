"""Train the conditional variational autoencoder. Read downward: settings, loss, loop.

    loss = recon + beta KL,    recon = mean over items of (position + 0.1 rotation + 0.05 edge) / (m + 0.05)

``position`` is the mean squared distance of decoded query points [unit frame], ``rotation`` the mean squared chord
of their rotations, ``edge`` the mean squared error of vectors between neighbouring points over their squared length
(it punishes tears and spikes), ``m`` the RMS motion of the item, so that small motions count too. The KL is in nats,
summed over the latent; ``beta`` grows with the square of the iteration over the warm-up.
"""

from __future__ import annotations

import csv
import json
import logging
import time
from copy import deepcopy
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from engine.datasets.augmentation import Augmentation
from engine.datasets.pairs import ObjectPool, PairBatch, Sampling, draw_batch
from engine.datasets.shards import read_split
from engine.model.checkpoint import load_checkpoint, save_checkpoint
from engine.model.variational_autoencoder import (
    ModelConfig,
    VariationalAutoencoder,
    blend,
    kl_to_prior,
    rotation_distance,
)

logger = logging.getLogger(__name__)

# Matrix products of the encoders run in bfloat16 where the processor multiplies it (2.6 times faster on two cores).
HAS_BFLOAT16 = torch.cuda.is_available() or torch.backends.cpu.get_cpu_capability() in {"AVX512", "AMX"}


@dataclass(frozen=True, slots=True)
class TrainingConfig:
    """Settings of a run. Times in seconds of wall clock; the learning rate follows the share of them that is spent."""

    seconds: float = 3600.0
    objects: int = 16
    learning_rate: float = 1.0e-3
    weight_decay: float = 0.01
    warmup_iterations: int = 300
    beta: float = 1.0e-3
    beta_warmup_iterations: int = 3000
    ema: float = 0.999
    seed: int = 0
    held_out: int = 256
    pool: int = 8192
    save_every: float = 240.0
    threads: int = 1
    augmentation: Augmentation = field(default_factory=Augmentation)


# How often each kind is drawn. Kinds that are not there leave their share to the others.
KIND_SHARES = {"articulated": 0.38, "elastic": 0.26, "cloth": 0.15, "imported": 0.11, "continuum": 0.04, "rigid": 0.06}
IDENTITY_SHARE = 0.1


class TrainingDiverged(RuntimeError):
    """The loss was not finite; the message names the iteration."""


def reconstruction(
    batch: PairBatch, positions: Float[Tensor, "bf p 3"], rotations: Float[Tensor, "bf p 4"]
) -> Float[Tensor, " bf"]:
    """Return the reconstruction loss of each pair (see the module's text)."""
    count = batch.frames
    rest = batch.points
    error = positions - batch.deformed
    with torch.no_grad():
        apart = torch.cdist(rest, rest)
        apart += 10.0 * (batch.component[:, :, None] != batch.component[:, None, :])
        apart.diagonal(dim1=1, dim2=2).fill_(100.0)
        length, neighbour = apart.topk(3, largest=False)
        usable = (length < 0.5).float().repeat_interleave(count, 0)
        stiffness = (1.0 / (length.square() + 0.02**2)).repeat_interleave(count, 0)
        first = torch.arange(len(error), device=error.device)[:, None] * error.shape[1]
        index = (neighbour.flatten(1).repeat_interleave(count, 0) + first).flatten()
    # As rows of one table: gathering along an axis costs eight times as much on the way back.
    beside = error.flatten(0, 1).index_select(0, index).view(*error.shape[:2], 3, 3)
    edge = (error[:, :, None] - beside).square().sum(-1) * stiffness
    edge = (edge.clamp(max=4.0) * usable).sum((1, 2)) / usable.sum((1, 2)).clamp(min=1.0)
    position = error.square().sum(-1).mean(1)
    rotation = rotation_distance(rotations, batch.rotation).mean(1)
    motion = (batch.deformed - rest.repeat_interleave(count, 0)).square().sum(-1).mean(1).sqrt()
    return (position + 0.1 * rotation + 0.05 * edge) / (motion + 0.05)


def run_model(
    model: VariationalAutoencoder, batch: PairBatch, *, sample: bool
) -> tuple[Float[Tensor, "bf p 3"], Float[Tensor, "bf p 4"], Float[Tensor, "bf k"], Float[Tensor, "bf k"]]:
    """Encode and decode a batch. Return decoded positions and rotations, KL per coordinate, and posterior offset."""
    mixed = partial(torch.autocast, batch.points.device.type, torch.bfloat16, enabled=sample and HAS_BFLOAT16)
    with mixed():
        instance = model.encode_shape(batch.seen_points, batch.seen_normals, batch.component, batch.seeds)
    prepared = model.prepare(instance)
    weights = model.blend_weights(instance, batch.points, batch.normals, batch.component)
    count = batch.frames
    # The points were read: what is needed once per state goes on without them.
    unread = {name: getattr(instance, name)[:, :0] for name in ("points", "normals", "component", "features")}
    instance, prepared = replace(instance, **unread).repeated(count), prepared.repeated(count)
    weights, rest = weights.repeat_interleave(count, 0), batch.points.repeat_interleave(count, 0)
    with mixed():
        seen = rest, batch.seen_deformed, batch.rotation
        mu, log_variance = model.encode_motion(instance, prepared, weights, *seen)
    z = mu + torch.randn_like(mu) * (0.5 * log_variance).exp() if sample else mu
    positions, rotations = blend(weights, prepared.handles(z), rest)
    return positions, rotations, kl_to_prior(mu, log_variance, instance.mu), mu - instance.mu


@torch.no_grad()
def evaluate(model: VariationalAutoencoder, batches: list[PairBatch], kinds: list[list[str]]) -> dict[str, float]:
    """Return, per kind, RMS error and RMS motion of prior states over RMS motion of unseen objects; KL; radius."""
    squared: dict[str, list[tuple[float, float, float]]] = {}
    noise = torch.Generator().manual_seed(0)
    nats: list[float] = []
    radii: list[float] = []
    for batch, names in zip(batches, kinds, strict=True):
        positions, _, kl, offset = run_model(model, batch, sample=False)
        target = batch.deformed
        error = (positions - target).square().sum(-1).mean(1)
        motion = (batch.points.repeat_interleave(batch.frames, 0) - target).square().sum(-1).mean(1)
        sampled = prior_motion(model, batch, noise)
        for i in range(len(target)):
            row = (float(error[i]), float(motion[i]), float(sampled[i // batch.frames]))
            squared.setdefault(names[i // batch.frames], []).append(row)
        nats.append(float(kl.sum(-1).mean()))
        radii.extend(offset.norm(dim=-1).tolist())
    result = {"kl": float(np.mean(nats)), "range_radius": float(np.quantile(radii, 0.95))}
    for name, pairs in sorted(squared.items()):
        error, motion, sampled = np.array(pairs).mean(0)
        # Rigid bodies have no motion to divide by: theirs are given as they are, in the unit frame.
        scale = motion if motion > 1e-6 else 1.0
        result[f"error/{name}"] = float(np.sqrt(error / scale))
        result[f"prior/{name}"] = float(np.sqrt(sampled / scale))
    return result


def prior_motion(model: VariationalAutoencoder, batch: PairBatch, noise: torch.Generator) -> Float[Tensor, " b"]:
    """Return the mean squared motion between two random states of the prior, per object [unit frame squared].

    Over the motion of the data it should be near one; for rigid bodies, zero.
    """
    instance = model.encode_shape(batch.points, batch.normals, batch.component, batch.seeds)
    prepared = model.prepare(instance)
    weights = model.blend_weights(instance, batch.points, batch.normals, batch.component)
    states = [
        blend(weights, prepared.handles(instance.mu + torch.randn(instance.mu.shape, generator=noise)), batch.points)
        for _ in range(2)
    ]
    return (states[0][0] - states[1][0]).square().sum(-1).mean(1)


def train(
    data: list[Path],
    run: Path,
    *,
    config: TrainingConfig,
    model_config: ModelConfig,
    resume: bool,
    initial: Path | None = None,
) -> Path:
    """Train on the datasets in the given folders and return the path of the last checkpoint in ``run``.

    Args:
        data: folders of datasets; see `engine.datasets.shards`.
        run: folder of the run's checkpoint, state and log.
        config: settings.
        model_config: sizes of the network; where ``initial`` is given, its sizes hold.
        resume: go on from the run's last state, if there is one.
        initial: checkpoint whose weights a new run starts with; the KL weight then starts at its full value.

    Raises:
        DatasetError: a folder is no dataset, or has nothing to train on.
        CheckpointError: ``initial`` is no usable checkpoint.
        TrainingDiverged: the loss was not finite.
    """
    torch.set_num_threads(config.threads)
    torch.manual_seed(config.seed)
    run.mkdir(parents=True, exist_ok=True)
    pool = ObjectPool(data, capacity=config.pool, seed=config.seed + 1)
    held_out = [m for folder in data for m in read_split(folder, "validation")][: config.held_out]
    # A small set of one's own may have no object for validation: then those it trains on have to do.
    held_out = held_out or pool.motions[:: max(1, len(pool.motions) // 32)]
    present = {motion.record.kind for motion in pool.motions}
    shares = {kind: KIND_SHARES.get(kind, 0.05) for kind in present}

    starting = load_checkpoint(initial) if initial is not None else None
    model_config = starting.model.config if starting else model_config
    sampling = Sampling(seed_count=model_config.handles, canonical=model_config.canonical)
    examiner = np.random.default_rng(7)
    order = [held_out[i : i + 32] for i in range(0, len(held_out), 32)]
    exam = [draw_batch(chosen, examiner, sampling) for chosen in order]
    kinds = [[motion.record.kind for motion in chosen] for chosen in order]

    model = VariationalAutoencoder(model_config)
    if starting:
        model.load_state_dict(starting.model.state_dict())
    average = deepcopy(model).requires_grad_(False)
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=config.learning_rate, weight_decay=config.weight_decay, betas=(0.9, 0.98), fused=True
    )
    # With trained weights there is nothing to warm the KL up for.
    iteration, spent = (config.beta_warmup_iterations if starting else 0), 0.0
    state_path = run / "state.pt"
    if resume and state_path.exists():
        state = torch.load(state_path, weights_only=True)
        model.load_state_dict(state["model"])
        average.load_state_dict(state["average"])
        optimizer.load_state_dict(state["optimizer"])
        iteration, spent = int(state["iteration"]), float(state["spent"])
    logger.info(
        "%d objects, %d held out, %d parameters",
        len(pool.motions),
        len(held_out),
        sum(p.numel() for p in model.parameters()),
    )

    generator = np.random.default_rng([config.seed, iteration])
    checkpoint, saved = run / "model.safetensors", spent
    losses: list[float] = []
    while spent < config.seconds:
        began = time.perf_counter()
        share = spent / config.seconds
        rate = config.learning_rate * min(1.0, (iteration + 1) / config.warmup_iterations)
        rate *= 0.02 + 0.98 * 0.5 * (1.0 + float(np.cos(np.pi * share)))
        for group in optimizer.param_groups:
            group["lr"] = rate
        beta = config.beta * (0.01 + 0.99 * min(1.0, iteration / config.beta_warmup_iterations) ** 2)

        batch = draw_batch(
            pool.draw(config.objects, shares=shares),
            generator,
            sampling,
            identity_share=IDENTITY_SHARE,
            augmentation=config.augmentation,
        )
        positions, rotations, kl, _ = run_model(model, batch, sample=True)
        recon = reconstruction(batch, positions, rotations).mean()
        loss = recon + beta * kl.sum(-1).mean()
        if not torch.isfinite(loss):
            raise TrainingDiverged(f"the loss was {float(loss)} at iteration {iteration}; the last checkpoint is kept")
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        decay = min(config.ema, (iteration + 1) / (iteration + 20))
        with torch.no_grad():
            torch._foreach_lerp_(list(average.parameters()), list(model.parameters()), 1.0 - decay)

        iteration += 1
        losses.append(float(recon.detach()))
        # A run that was paused (kill -STOP) does not count the pause as training.
        spent += min(time.perf_counter() - began, 10.0)
        if spent - saved > config.save_every or spent >= config.seconds:
            saved = spent
            metrics: dict[str, float | int] = {
                "iteration": iteration,
                "minutes": spent / 60,
                "recon": float(np.mean(losses)),
                "beta": beta,
            }
            metrics |= evaluate(average, exam, kinds)
            losses.clear()
            _record(run, metrics)
            facts: dict[str, Any] = {**metrics, "training": asdict(config), "objects": len(pool.motions)}
            save_checkpoint(average, facts, checkpoint)
            state = {"model": model.state_dict(), "average": average.state_dict(), "optimizer": optimizer.state_dict()}
            torch.save({**state, "iteration": iteration, "spent": spent}, state_path)
    return checkpoint


def _record(run: Path, metrics: dict[str, float | int]) -> None:
    """Append a line to the run's CSV log."""
    path = run / "log.csv"
    fresh = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(metrics))
        if fresh:
            writer.writeheader()
        writer.writerow(metrics)
    logger.info(json.dumps({k: round(v, 4) for k, v in metrics.items()}))
