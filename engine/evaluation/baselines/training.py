"""Train a baseline. Read downward: settings, its gate, loop, file.

    loss = mean over pairs of position / (m + 0.05) + regulariser

with ``position`` the mean squared distance [unit frame] and ``m`` the RMS motion of the pair: the network's loss
without the terms of rotations and edges, which the baselines do not have in their papers. Data, split,
augmentation and shares of the kinds are the network's.

A baseline has to pass its gate: on training objects its error is at most 0.7 of the motion. Where it does not within
the budget it goes on, at the lowest learning rate, until it does or until ``most_seconds`` are spent; its time is kept.
"""

from __future__ import annotations

import json
import logging
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from engine.datasets.augmentation import Augmentation
from engine.datasets.pairs import ObjectPool, PairBatch, Sampling, draw_batch
from engine.evaluation.baselines.blobs import RigidBlobs
from engine.evaluation.baselines.keypoint_deformer import KeypointDeformer
from engine.evaluation.baselines.network import BaselineNetwork, reconstruction_loss
from engine.model.weight_file import read_weights, write_weights
from engine.training.examination import Examination, prepare_examination
from engine.training.settings import IDENTITY_SHARE, KIND_SHARES
from engine.training.train import TrainingDiverged

logger = logging.getLogger(__name__)

FORMAT = "neurok-baseline-0"
GATE = 0.7
# Networks by name, with the arguments that differ from their defaults.
TRAINED: dict[str, tuple[type[KeypointDeformer] | type[RigidBlobs], dict[str, Any]]] = {
    "keypoint_deformer": (KeypointDeformer, {}),
    "blobs": (RigidBlobs, {}),
    "blobs_4": (RigidBlobs, {"blobs": 4}),
}


@dataclass(frozen=True, slots=True)
class BaselineTraining:
    """Settings of a run.

    Attributes:
        items: pairs (rest shape, state) to train on.
        seconds: ends the budget earlier, if given.
        most_seconds: when a baseline that fails its gate gives up.
        objects: rest shapes of a batch; each comes with ``frames`` states.
        frames: states of each rest shape.
        pool: most objects held in memory at once.
        exam: training objects on which the gate is measured.
    """

    items: int = 150_000
    seconds: float | None = None
    most_seconds: float = 3600.0
    objects: int = 16
    frames: int = 4
    learning_rate: float = 1.0e-3
    weight_decay: float = 0.01
    warmup_iterations: int = 100
    pool: int = 8192
    exam: int = 384
    seed: int = 0
    threads: int = 1


@torch.no_grad()
def error_over_motion(network: BaselineNetwork, exam: Examination) -> dict[str, float]:
    """Return the RMS error over the RMS motion of pairs, of each kind that moves and of all of them together."""
    sums: dict[str, list[tuple[float, float]]] = {}
    for batch, names in zip(exam.batches, exam.kinds, strict=True):
        error = (network.reconstruct(batch)[0] - batch.deformed).square().sum(-1).mean(1)
        motion = batch.motion
        for i in range(len(error)):
            name = names[i // batch.frames]
            # A rigid body has no motion left to divide by.
            if name != "rigid":
                sums.setdefault(name, []).append((float(error[i]), float(motion[i])))
    totals = {name: np.sum(pairs, 0) for name, pairs in sums.items()}
    totals["all"] = np.sum(list(totals.values()), 0)
    return {f"error/{name}": float(np.sqrt(e / max(m, 1e-12))) for name, (e, m) in sorted(totals.items())}


def train_baseline(name: str, data: list[Path], out: Path, *, config: BaselineTraining) -> dict[str, Any]:
    """Train one baseline on the datasets in the given folders, write its checkpoint, and return its facts.

    Raises:
        KeyError: there is no baseline of that name to be trained.
        DatasetError: a folder is no dataset, or has nothing to train on.
        TrainingDiverged: the loss was not finite.
    """
    torch.set_num_threads(config.threads)
    torch.manual_seed(config.seed)
    kind, options = TRAINED[name]
    network = kind(**options)
    pool = ObjectPool(data, capacity=config.pool, seed=config.seed + 1)
    shares = {m.record.kind: KIND_SHARES.get(m.record.kind, 0.05) for m in pool.motions}
    sampling = Sampling(seed_count=network.seed_count, frames=config.frames)
    # Training objects, drawn by kind as in training.
    exam = prepare_examination(pool.draw(config.exam, shares=shares), sampling)
    optimizer = torch.optim.AdamW(network.parameters(), lr=config.learning_rate, weight_decay=config.weight_decay)
    rng = np.random.default_rng([config.seed, 0])
    # As the network's. Noise, which a batch carries apart for encoders that see states, is not shown to the baselines.
    augmentation = Augmentation(noisy=0.0)
    began = time.perf_counter()
    items, iteration, reported = 0, 0, 0.0
    losses: list[float] = []
    figures: dict[str, float] = {}
    done = False
    while not done:
        spent = time.perf_counter() - began
        share = max(items / config.items, spent / config.seconds if config.seconds else 0.0)
        rate = config.learning_rate * min(1.0, (iteration + 1) / config.warmup_iterations)
        rate *= 0.05 + 0.95 * 0.5 * (1.0 + float(np.cos(np.pi * min(share, 1.0))))
        for group in optimizer.param_groups:
            group["lr"] = rate
        batch = draw_batch(
            pool.draw(config.objects, shares=shares),
            rng,
            sampling,
            identity_share=IDENTITY_SHARE,
            augmentation=augmentation,
        )
        losses.append(training_step(network, batch, optimizer, iteration))
        iteration, items = iteration + 1, items + config.objects * config.frames
        spent = time.perf_counter() - began
        over = items >= config.items or (config.seconds is not None and spent >= config.seconds)
        if over or spent - reported > 60.0:
            reported = spent
            figures = error_over_motion(network, exam)
            done = over and (figures["error/all"] <= GATE or spent >= config.most_seconds)
            logger.info(
                json.dumps({"items": items, "seconds": round(spent), "loss": float(np.mean(losses)), **figures})
            )
            losses.clear()
    facts = {
        "name": name,
        "items": items,
        "seconds": time.perf_counter() - began,
        "passes": figures["error/all"] <= GATE,
        "parameters": sum(p.numel() for p in network.parameters()),
        "training": asdict(config),
        "objects": len(pool.motions),
        **figures,
    }
    save_baseline(network, facts, out)
    return facts


def training_step(
    network: BaselineNetwork, batch: PairBatch, optimizer: torch.optim.Optimizer, iteration: int = 0
) -> float:
    """Take one step and return the loss before it.

    Raises:
        TrainingDiverged: the loss was not finite.
    """
    positions, regulariser = network.reconstruct(batch)
    loss = reconstruction_loss(batch, positions).mean() + regulariser
    if not torch.isfinite(loss):
        raise TrainingDiverged(f"the loss of {network.name} was {float(loss)} at iteration {iteration}")
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
    optimizer.step()
    return float(loss.detach())


def save_baseline(network: BaselineNetwork, facts: dict[str, Any], path: Path) -> None:
    """Write a trained baseline with its settings and facts, beside the target, then rename it over."""
    path.parent.mkdir(parents=True, exist_ok=True)
    metadata = {
        "format": FORMAT,
        "network": network.name,
        "settings": json.dumps(network.settings()),
        "facts": json.dumps(facts),
    }
    write_weights(network, metadata, path)


def load_baseline(path: Path) -> tuple[BaselineNetwork, dict[str, Any]]:
    """Read a trained baseline and its facts.

    Raises:
        CheckpointError: the file is missing, or holds no baseline.
    """
    restore = f"train it with 'main.py evaluate baseline NAME --data DIR -o {path}'"
    tensors, metadata = read_weights(path, wanted=FORMAT, restore=restore)
    classes = {kind.name: kind for kind, _ in TRAINED.values()}
    network = classes[metadata["network"]](**json.loads(metadata["settings"]))
    network.load_state_dict(tensors)
    network.eval().requires_grad_(False)
    return network, json.loads(metadata["facts"])
