"""Training items: two states of one object, aligned, turned, brought to the unit frame.

Every pair A -> B is aligned by one area-weighted rigid fit of B to A (the samples of a shard are spread by area), so
that free and fixed motions agree and the latent spends nothing on rigid motion; any state can be the rest shape.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float, Int
from scipy.spatial.transform import Rotation
from torch import Tensor

from engine.datasets.alignment import rigid_fit
from engine.datasets.sampling import SampledMotion
from engine.datasets.shards import DatasetError, excluded_keys, read_shard, shards_of
from engine.geometry.surface import farthest_points

# Components of one object beyond this many share slots.
COMPONENT_SLOTS = 64


@dataclass(frozen=True, slots=True)
class PairBatch:
    """A batch of rest shapes A, each with several states B, all in the unit frame of A; ``f`` states per object."""

    points: Float[Tensor, "b p 3"]
    normals: Float[Tensor, "b p 3"]
    component: Int[Tensor, "b p"]
    seeds: Int[Tensor, "b t"]
    deformed: Float[Tensor, "bf p 3"]
    rotation: Float[Tensor, "bf p 4"]

    @property
    def frames(self) -> int:
        """States per object."""
        return len(self.deformed) // len(self.points)


@dataclass(frozen=True, slots=True)
class Sampling:
    """How an item is sampled: surface points, farthest-point seeds of the tokens, and states B per rest shape A."""

    point_count: int = 224
    seed_count: int = 24
    frames: int = 4


def pair_arrays(
    motion: SampledMotion, a: int, others: list[int], rng: np.random.Generator, sampling: Sampling, *, augment: bool
) -> tuple[np.ndarray, ...]:
    """Return one rest shape with several other states.

    Returns:
        points (p, 3), normals (p, 3), components (p,), seeds (t,), deformed points (f, p, 3), rotations (f, p, 4).
    """
    whole = motion.points[a].astype(np.float64)
    frame = _random_frame(rng) if augment else np.eye(3)
    # A mirror image turns about the mirrored axis by the opposite angle.
    handed = 1.0 if np.linalg.det(frame) > 0 else -1.0
    turned = whole @ frame.T
    low, high = turned.min(0), turned.max(0)
    centre, scale = 0.5 * (low + high), 2.0 / float((high - low).max())
    chosen = rng.permutation(len(whole))[: sampling.point_count]
    turn_a = Rotation.from_quat(motion.rotations[a][chosen].astype(np.float64), scalar_first=True).inv()
    deformed = np.zeros((len(others), len(chosen), 3))
    rotation = np.zeros((len(others), len(chosen), 4))
    even = np.ones(len(whole))
    for row, b in enumerate(others):
        moved = motion.points[b].astype(np.float64)
        fit, shift = rigid_fit(moved, whole, even)
        turn_b = Rotation.from_quat(motion.rotations[b][chosen].astype(np.float64), scalar_first=True)
        turn = (Rotation.from_matrix(fit) * turn_b * turn_a).as_rotvec() @ frame.T * handed
        rotation[row] = Rotation.from_rotvec(turn).as_quat(canonical=True, scalar_first=True)
        deformed[row] = ((moved[chosen] @ fit.T + shift) @ frame.T - centre) * scale
    points = (turned[chosen] - centre) * scale
    normals = (motion.normals[a][chosen].astype(np.float64) / 127.0) @ frame.T
    component = motion.component[chosen].astype(np.int64) % COMPONENT_SLOTS
    seeds = farthest_points(points, component, sampling.seed_count)
    return points, normals, component, seeds, deformed, rotation


def _random_frame(rng: np.random.Generator) -> Float[np.ndarray, "3 3"]:
    """Return a random turn: mostly about Z, sometimes another up axis, sometimes any; half of them mirrored."""
    yaw = Rotation.from_euler("z", rng.uniform(0, 2 * np.pi)).as_matrix()
    choice = rng.random()
    if choice < 0.2:
        yaw = yaw @ Rotation.from_euler("x", rng.choice([-0.5, 0.5]) * np.pi).as_matrix()
    elif choice < 0.4:
        yaw = Rotation.random(rng=rng).as_matrix()
    if rng.random() < 0.5:
        yaw = yaw @ np.diag([1.0, -1.0, 1.0])
    return yaw


def draw_batch(
    motions: Sequence[SampledMotion], rng: np.random.Generator, sampling: Sampling, *, identity_share: float = 0.0
) -> PairBatch:
    """Return one batch of the given objects: a random rest shape of each and random other states.

    Args:
        motions: the objects, one row of the batch each.
        rng: draws states, samples and turns.
        sampling: sizes.
        identity_share: share of pairs with B = A; above zero, the objects are turned and mirrored at random too.
    """
    items: list[tuple[np.ndarray, ...]] = []
    augment = identity_share > 0
    for motion in motions:
        count = len(motion.points)
        a = int(rng.integers(count))
        others = [int(b) for b in rng.integers(count, size=sampling.frames)]
        others = [a if rng.random() < identity_share else b for b in others]
        items.append(pair_arrays(motion, a, others, rng, sampling, augment=augment))
    columns = [torch.from_numpy(np.stack(column)) for column in zip(*items, strict=True)]
    points, normals, component, seeds, deformed, rotation = columns
    moved = deformed.float().flatten(0, 1)
    return PairBatch(points.float(), normals.float(), component, seeds, moved, rotation.float().flatten(0, 1))


class ObjectPool:
    """Objects of a dataset's shards held in memory, from which batches are drawn, by kind in given shares.

    A dataset larger than the pool streams through it: with every draw the oldest objects give way to the next ones of
    the shards, which are read over and over in a new random order.
    """

    def __init__(self, folders: list[Path], *, capacity: int = 8192, seed: int = 0, split: str = "train") -> None:
        """Fill the pool.

        Raises:
            DatasetError: a folder is no dataset, or holds no object of the split.
        """
        self._rng = np.random.default_rng(seed)
        self._shards = [(shard, excluded_keys(folder)) for folder in folders for shard in shards_of(folder, split)]
        self._stream = self._endless()
        self._motions: list[SampledMotion] = []
        self.streams = False
        seen: set[str] = set()
        for motion in self._stream:
            if motion.record.key in seen:
                break
            if len(self._motions) == capacity:
                self.streams = True
                break
            seen.add(motion.record.key)
            self._motions.append(motion)
        self._oldest = 0
        self._by_kind: dict[str, list[SampledMotion]] | None = None

    def _endless(self) -> Iterator[SampledMotion]:
        while True:
            count = 0
            for index in self._rng.permutation(len(self._shards)):
                shard, excluded = self._shards[index]
                for motion in read_shard(shard):
                    if motion.record.key not in excluded:
                        count += 1
                        yield motion
            if count == 0:
                raise DatasetError("the dataset holds no object of this split: build or import more")

    @property
    def motions(self) -> list[SampledMotion]:
        """The objects now in the pool."""
        return self._motions

    def draw(self, count: int, *, shares: dict[str, float] | None = None) -> list[SampledMotion]:
        """Return ``count`` random objects; ``shares`` weighs the kinds (default: every object alike)."""
        if self.streams:
            for _ in range(max(1, count // 4)):
                self._motions[self._oldest] = next(self._stream)
                self._by_kind = None
                self._oldest = (self._oldest + 1) % len(self._motions)
        if shares is None:
            return [self._motions[int(i)] for i in self._rng.integers(len(self._motions), size=count)]
        kinds = self._by_kind = self._by_kind or self._grouped()
        weights = np.array([shares.get(kind, 0.0) for kind in kinds])
        if not weights.sum() > 0:
            raise DatasetError(f"the shares {shares} name none of the kinds here: {', '.join(kinds)}")
        names = self._rng.choice(list(kinds), size=count, p=weights / weights.sum())
        return [kinds[str(n)][int(self._rng.integers(len(kinds[str(n)])))] for n in names]

    def _grouped(self) -> dict[str, list[SampledMotion]]:
        kinds: dict[str, list[SampledMotion]] = {}
        for motion in self._motions:
            kinds.setdefault(motion.record.kind, []).append(motion)
        return kinds
