"""Curation: which frames of a motion are plausible and differ from one another, and why the others were left out."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from enum import StrEnum

import numpy as np
from jaxtyping import Float
from scipy.spatial.transform import Rotation

from engine.datasets.alignment import vertex_areas
from engine.datasets.intersection import buried_share, piercing_share
from engine.datasets.motion import Motion
from engine.geometry.rigid_fit import rigid_fit
from engine.geometry.surface import face_normals_and_areas, sample_surface
from engine.geometry.welding import edges_of

# Lengths are shares of size, the bounding-box diagonal of the rest shape.
LEAST_MOTION = 0.01
LEAST_DIFFERENCE = 0.004
# What settles slowly and what was animated finely differs less from frame to frame.
LEAST_DIFFERENCE_OF = {"continuum": 0.0015, "imported": 0.0025}
LARGEST_STRETCH = 2.5
LARGEST_EXTENT = 4.0
LARGEST_FLIPPED_SHARE = 0.02
LARGEST_PIERCING_SHARE = 0.06
LARGEST_BURIED_SHARE = 0.08
MOST_VERTICES = 20_000
# Still kinds keep a few states, the others have to move.
STILL = frozenset({"rigid"})
STILL_STATES = 3


class Reason(StrEnum):
    """Why a frame, or a whole motion, was left out."""

    NON_FINITE = "non-finite"
    INVERTED = "inverted"
    EXPLODED = "exploded"
    PIERCING = "self-penetrating"
    DUPLICATE = "near-duplicate"
    SURPLUS = "more states than are kept"
    STILL = "hardly moving"
    LARGE = "more than 20,000 vertices"
    EMPTY = "no usable rest shape"
    FORBIDDEN = "never in training"
    FAILED = "did not work out"


class Rejected(ValueError):
    """A motion of which nothing is kept; ``reason`` says why."""

    def __init__(self, reason: Reason, detail: str = "") -> None:
        """Name the reason, and the detail where there is one."""
        super().__init__(f"{reason}: {detail}" if detail else str(reason))
        self.reason = reason


def curate(motion: Motion, *, keep: int, counts: Counter[str]) -> Motion:
    """Return the motion with at most ``keep`` plausible, diverse frames, the rest shape first.

    Args:
        motion: frames of one mesh; frame 0 is its rest shape.
        keep: largest number of frames.
        counts: receives the number of frames left out, by reason.

    Raises:
        Rejected: nothing usable is left; the frames are not in ``counts`` then.
    """
    rest, faces = motion.positions[0].astype(np.float64), motion.faces
    if not np.isfinite(rest).all() or not len(faces):
        raise Rejected(Reason.EMPTY)
    if len(rest) > MOST_VERTICES:
        raise Rejected(Reason.LARGE, f"{len(rest):,}")
    size = float(np.linalg.norm(np.ptp(rest, 0)))
    _, areas = face_normals_and_areas(rest, faces)
    if not size > 0 or not areas.sum() > 1e-12 * size**2:
        raise Rejected(Reason.EMPTY)
    check = _FrameCheck(motion)
    left_out: Counter[str] = Counter()
    good: list[int] = [0]
    for i in range(1, len(motion.positions)):
        reason = check.fault(motion.positions[i].astype(np.float64), motion.rotations[i])
        if reason is None:
            good.append(i)
        else:
            left_out[reason] += 1
    keep = STILL_STATES if motion.kind in STILL else keep
    kept, apart = _diverse(motion, good, size=size, keep=keep)
    if motion.kind not in STILL and (len(kept) < 2 or apart < LEAST_MOTION):
        worst = left_out.most_common(1)
        raise Rejected(Reason(worst[0][0]) if worst and len(kept) < 2 else Reason.STILL)
    left_out[Reason.SURPLUS if len(kept) == keep else Reason.DUPLICATE] += len(good) - len(kept)
    counts.update({str(reason): count for reason, count in left_out.items() if count})
    return replace(motion, positions=motion.positions[kept], rotations=motion.rotations[kept])


class _FrameCheck:
    """Faults of a frame against the rest shape of its motion."""

    def __init__(self, motion: Motion) -> None:
        self._rest, self._faces = motion.positions[0].astype(np.float64), motion.faces
        self._size = float(np.linalg.norm(np.ptp(self._rest, 0)))
        normals, self._areas = face_normals_and_areas(self._rest, self._faces)
        # In the pose from which the motion counts its rotations.
        turn = Rotation.from_quat(motion.rotations[0][self._faces[:, 0]], scalar_first=True)
        self._reference_normals = turn.inv().apply(normals)
        self._edges = edges_of(motion.faces)
        # The stretch of an edge far shorter than its neighbours says nothing.
        length = self._lengths(self._rest)
        self._edges = self._edges[length > 0.2 * np.median(length)]
        self._length = self._lengths(self._rest)
        rng = np.random.default_rng(0)
        self._probes = self._edges[rng.permutation(len(self._edges))[:180]]
        self._piercing = piercing_share(self._rest, self._faces, self._probes)
        self._component = motion.component
        # Vertices in proportion to the area around them.
        corner = self._faces[sample_surface(self._areas, 120, rng).face]
        self._points = corner[np.arange(len(corner)), rng.integers(3, size=len(corner))]
        self._buried = buried_share(self._rest, self._faces, self._component, self._points)

    def _lengths(self, points: Float[np.ndarray, "n 3"]) -> Float[np.ndarray, " e"]:
        return np.linalg.norm(points[self._edges[:, 0]] - points[self._edges[:, 1]], axis=-1)

    def fault(self, frame: Float[np.ndarray, "n 3"], rotations: Float[np.ndarray, "n 4"]) -> Reason | None:
        """Return what is wrong with a frame, or None."""
        if not np.isfinite(frame).all() or not np.isfinite(rotations).all():
            return Reason.NON_FINITE
        stretch = np.quantile(self._lengths(frame) / self._length, 0.99)
        if stretch > LARGEST_STRETCH or np.linalg.norm(np.ptp(frame, 0)) > LARGEST_EXTENT * self._size:
            return Reason.EXPLODED
        # A triangle is inverted where its normal has left the rotation of its own corner.
        normals, _ = face_normals_and_areas(frame, self._faces)
        expected = Rotation.from_quat(rotations[self._faces[:, 0]], scalar_first=True).apply(self._reference_normals)
        flipped = np.einsum("md,md->m", expected, normals) < 0
        if self._areas[flipped].sum() > LARGEST_FLIPPED_SHARE * self._areas.sum():
            return Reason.INVERTED
        if piercing_share(frame, self._faces, self._probes) > self._piercing + LARGEST_PIERCING_SHARE:
            return Reason.PIERCING
        buried = buried_share(frame, self._faces, self._component, self._points)
        return Reason.PIERCING if buried > self._buried + LARGEST_BURIED_SHARE else None


def _diverse(motion: Motion, good: list[int], *, size: float, keep: int) -> tuple[list[int], float]:
    """Return frames far from one another in shape, the rest first, and the distance of the second [size]."""
    rest = motion.positions[0].astype(np.float64)
    chosen = np.linspace(0, len(rest) - 1, min(len(rest), 400)).astype(int)
    weights = vertex_areas(rest, motion.faces)
    aligned = np.zeros((len(good), len(chosen), 3))
    for row, i in enumerate(good):
        frame = motion.positions[i].astype(np.float64)
        turn, shift = rigid_fit(frame, rest, weights)
        aligned[row] = frame[chosen] @ turn.T + shift
    share = weights[chosen] / weights[chosen].sum()
    nearest = np.full(len(good), np.inf)
    kept, last, first_distance = [0], 0, 0.0
    least = 0.0 if motion.kind in STILL else LEAST_DIFFERENCE_OF.get(motion.kind, LEAST_DIFFERENCE)
    while len(kept) < min(keep, len(good)):
        distance = np.sqrt(np.einsum("fpd,p->f", (aligned - aligned[last]) ** 2, share)) / size
        nearest = np.minimum(nearest, distance)
        last = int(nearest.argmax())
        if len(kept) == 1:
            first_distance = float(nearest[last])
        if nearest[last] < least or last in kept:
            break
        kept.append(last)
    return [good[i] for i in sorted(kept)], first_distance
