"""Training items: two frames of one motion, aligned, turned, brought to the unit frame and sampled.

Every pair A -> B is aligned by one area-weighted rigid fit of B to A, so that free and fixed motions agree and the
latent spends nothing on rigid motion; any frame can be the rest shape.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from scipy.spatial.transform import Rotation
from torch import Tensor

from engine.datasets.motion import Motion
from engine.geometry.surface import face_normals_and_areas, farthest_points, sample_surface

# Components of one object beyond this many share slots.
COMPONENT_SLOTS = 64


@dataclass(frozen=True, slots=True)
class PairBatch:
    """A batch of rest shapes A, each with several frames B, all in the unit frame of A; ``f`` frames per object."""

    points: Float[Tensor, "b p 3"]
    normals: Float[Tensor, "b p 3"]
    component: Int[Tensor, "b p"]
    seeds: Int[Tensor, "b t"]
    deformed: Float[Tensor, "bf p 3"]
    rotation: Float[Tensor, "bf p 4"]

    @property
    def frames(self) -> int:
        """Frames per object."""
        return len(self.deformed) // len(self.points)


@dataclass(frozen=True, slots=True)
class Sampling:
    """How an item is sampled: surface points, farthest-point seeds of the tokens, and frames B per rest frame A."""

    point_count: int = 224
    seed_count: int = 24
    frames: int = 4


def rigid_fit(
    source: Float[np.ndarray, "n 3"], target: Float[np.ndarray, "n 3"], weights: Float[np.ndarray, " n"]
) -> tuple[Float[np.ndarray, "3 3"], Float[np.ndarray, "3"]]:
    """Return the rotation and translation that carry ``source`` closest to ``target`` (Kabsch)."""
    w = weights / weights.sum()
    a, b = w @ source, w @ target
    u, _, vt = np.linalg.svd(((target - b) * w[:, None]).T @ (source - a))
    u[:, 2] *= np.sign(np.linalg.det(u @ vt))
    rotation = u @ vt
    return rotation, b - rotation @ a


def sample_motion(
    motion: Motion, a: int, others: list[int], rng: np.random.Generator, sampling: Sampling, *, augment: bool = True
) -> tuple[np.ndarray, ...]:
    """Sample one rest frame with several others.

    Returns:
        points (p, 3), normals (p, 3), components (p,), seeds (t,), deformed points (f, p, 3), rotations (f, p, 4).
    """
    rest = motion.positions[a].astype(np.float64)
    faces = motion.faces
    normals, areas = face_normals_and_areas(rest, faces)
    vertex_areas = np.bincount(faces.ravel(), np.repeat(areas / 3, 3), minlength=len(rest))
    samples = sample_surface(areas, sampling.point_count, rng)
    points = samples.interpolate(faces, rest)
    corner = faces[samples.face, samples.barycentric.argmax(-1)]
    turn_a = Rotation.from_quat(motion.rotations[a][corner], scalar_first=True)
    frame = _random_frame(rng) if augment else np.eye(3)
    # A mirror image turns about the mirrored axis by the opposite angle.
    handed = 1.0 if np.linalg.det(frame) > 0 else -1.0
    low, high = (rest @ frame.T).min(0), (rest @ frame.T).max(0)
    centre, scale = 0.5 * (low + high), 2.0 / float((high - low).max())
    deformed = np.zeros((len(others), *points.shape))
    rotation = np.zeros((len(others), len(points), 4))
    for row, b in enumerate(others):
        moved = motion.positions[b].astype(np.float64)
        fit, shift = rigid_fit(moved, rest, vertex_areas)
        turn_b = Rotation.from_quat(motion.rotations[b][corner], scalar_first=True)
        turn = (Rotation.from_matrix(fit) * turn_b * turn_a.inv()).as_rotvec() @ frame.T * handed
        rotation[row] = Rotation.from_rotvec(turn).as_quat(canonical=True, scalar_first=True)
        deformed[row] = ((samples.interpolate(faces, moved) @ fit.T + shift) @ frame.T - centre) * scale
    points = (points @ frame.T - centre) * scale
    component = (motion.component[faces[samples.face, 0]] % COMPONENT_SLOTS).astype(np.int64)
    seeds = farthest_points(points, component, sampling.seed_count)
    return points, normals[samples.face] @ frame.T, component, seeds, deformed, rotation


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


class PairStream:
    """An endless, seeded stream of batches from a list of motions."""

    def __init__(
        self, motions: list[Motion], *, objects: int, sampling: Sampling, seed: int, identity_share: float = 0.1
    ) -> None:
        """Keep the motions in memory; objects are drawn evenly, the frames of an object at random."""
        self._motions, self._objects, self._sampling = motions, objects, sampling
        self._identity_share = identity_share
        self._rng = np.random.default_rng(seed)

    def draw(self, *, augment: bool = True, indices: list[int] | None = None) -> PairBatch:
        """Return one batch, of random objects or of the named ones."""
        rng = self._rng
        chosen = rng.integers(len(self._motions), size=self._objects) if indices is None else indices
        items: list[tuple[np.ndarray, ...]] = []
        for index in chosen:
            motion = self._motions[int(index)]
            a = int(rng.integers(len(motion.positions)))
            others = [int(b) for b in rng.integers(len(motion.positions), size=self._sampling.frames)]
            if augment:
                others = [a if rng.random() < self._identity_share else b for b in others]
            items.append(sample_motion(motion, a, others, rng, self._sampling, augment=augment))
        columns = [torch.from_numpy(np.stack(column)) for column in zip(*items, strict=True)]
        points, normals, component, seeds, deformed, rotation = columns
        moved = deformed.float().flatten(0, 1)
        return PairBatch(points.float(), normals.float(), component, seeds, moved, rotation.float().flatten(0, 1))
