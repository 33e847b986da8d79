"""Which snapshots of a simulation become the frames of a motion: the ones whose shapes differ most."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int
from scipy.spatial.transform import Rotation

from engine.datasets.alignment import aligned
from engine.datasets.local_rotation import local_rotations

LARGEST_TURN = np.deg2rad(150.0)


def chosen_frames(
    rest: Float[np.ndarray, "n 3"],
    snapshots: Float[np.ndarray, "s n 3"],
    faces: Int[np.ndarray, "m 3"],
    count: int,
    *,
    least_change: float = 0.03,
    least_step: float = 0.05,
) -> tuple[Float[np.ndarray, "f n 3"], Float[np.ndarray, "f n 4"]]:
    """Return up to ``count`` frames in order of time and their local rotations; the rest shape is the first.

    Snapshots are laid over the rest shape by the best rigid motion and taken farthest first, until no shape is farther
    from one already taken than ``least_step`` of the largest change. Those where a hundredth of the vertices
    turn more than 150 degrees beside that rigid motion are left out: the sense of such a turn cannot be told.

    Args:
        rest: undeformed vertices, world frame, longest side about 1.
        snapshots: vertices over time.
        faces: triangles.
        count: frames wanted, the rest shape among them.
        least_step: share of the largest change by which frames differ at least.
        least_change: root mean square change of shape that the motion has to reach, same unit.

    Raises:
        ValueError: the shape hardly changed, or fewer than four frames are left.
    """
    sample = np.linspace(0, len(rest) - 1, min(len(rest), 400)).astype(int)
    shapes, turns = aligned(np.concatenate((rest[None, sample], snapshots[:, sample])))
    shapes = shapes.reshape(len(shapes), -1) / np.sqrt(len(sample))
    nearest = np.linalg.norm(shapes - shapes[0], axis=1)
    largest = float(nearest.max())
    if largest < least_change:
        raise ValueError(f"the shape hardly changed: {largest:.2g} of its size, wanted {least_change:g}")
    frames: dict[int, Float[np.ndarray, "n 4"]] = {}
    for _ in range(2 * count):
        i = int(nearest.argmax())
        if len(frames) == count - 1 or nearest[i] < least_step * largest:
            break
        nearest = np.minimum(nearest, np.linalg.norm(shapes - shapes[i], axis=1))
        rotations = local_rotations(rest, snapshots[i - 1 : i], faces)[0]
        beside = Rotation.from_matrix(turns[i]).inv() * Rotation.from_quat(rotations, scalar_first=True)
        if np.quantile(beside.magnitude(), 0.99) < LARGEST_TURN:
            frames[i - 1] = rotations
    if len(frames) < 3:
        raise ValueError(f"only {len(frames)} snapshots differ from the rest shape and turn less than 150 degrees")
    order = sorted(frames)
    still = np.tile(np.array([1, 0, 0, 0], dtype=np.float32), (len(rest), 1))
    positions = np.concatenate((rest[None], snapshots[order])).astype(np.float32)
    return positions, np.stack([still, *(frames[i] for i in order)]).astype(np.float32)
