"""From many candidate poses of one mesh to the few frames of a motion: refusals, distances between shapes, choice.

Every importer ends here, so that all of them refuse for the same reasons and in the same words.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from jaxtyping import Bool, Float, Int

from engine.datasets.alignment import aligned
from engine.datasets.imported.refusal import ImportRefused
from engine.datasets.local_rotation import local_rotations
from engine.datasets.motion import Motion, Source
from engine.geometry.modes import polar_rotation
from engine.geometry.welding import first_of_equal, has_area, vertex_components

MOST_FRAMES = 96
MOST_VERTICES = 60_000
# Motion below this fraction of the object's size is what rounding in exporters looks like.
STILL = 1e-3
# Two frames closer than this (root mean square, fraction of the size) teach the same thing.
_ALIKE = 2e-3
_MOST_TURN = np.deg2rad(150.0)
_SAMPLES = 400


def size_of(points: Float[np.ndarray, "n 3"]) -> float:
    """Return the diagonal of the box around the points, in their unit."""
    return float(np.linalg.norm(np.ptp(points, axis=0)))


def check_mesh(points: Float[np.ndarray, "n 3"], faces: Int[np.ndarray, "m 3"], *, file: Path) -> None:
    """Refuse a mesh without triangles or size, with numbers that are none, or with more than `MOST_VERTICES`.

    Raises:
        ImportRefused: with what is wrong.
    """
    if len(faces) == 0 or len(points) == 0:
        message = "it holds no triangles; export a mesh with it."
        raise ImportRefused(file, message)
    if faces.min() < 0 or faces.max() >= len(points):
        message = f"it has triangles of vertices that do not exist ({faces.max()} of {len(points)})."
        raise ImportRefused(file, message)
    if not np.isfinite(points).all():
        message = "it has vertices whose positions are not finite; export it again."
        raise ImportRefused(file, message)
    if size_of(points) <= 0:
        message = "it has all its vertices in one point."
        raise ImportRefused(file, message)
    if len(points) > MOST_VERTICES:
        message = f"it has {len(points)} vertices; the most is {MOST_VERTICES}. Simplify the mesh first."
        raise ImportRefused(file, message)


def sample(count: int) -> Int[np.ndarray, " s"]:
    """Return evenly spaced vertex numbers, few enough to compare hundreds of poses."""
    return np.unique(np.linspace(0, count - 1, min(count, _SAMPLES)).round().astype(np.int64))


def diverse(shapes: Float[np.ndarray, "c s 3"], count: int, *, file: Path) -> Int[np.ndarray, " k"]:
    """Choose frames by farthest points over the shape, beginning with the first, which is the rest pose.

    Args:
        shapes: the same vertices in every candidate pose, in the world; the first is the rest pose.
        count: how many frames at most; fewer when the others would repeat those chosen.
        file: what to name in a refusal.

    Raises:
        ImportRefused: nothing moves in any of the candidates.
    """
    size = size_of(shapes[0])
    inner = aligned(shapes)[0]
    if _spread(inner, size) < STILL:
        # One rigid body: its shape is always the same, and where it is has to tell frames apart.
        inner = shapes
    if _spread(inner, size) < STILL:
        message = f"it holds no motion: its {len(shapes) - 1} other frames equal the rest pose."
        raise ImportRefused(file, message)
    flat = inner.reshape(len(inner), -1) / (size * np.sqrt(inner.shape[1]))
    chosen = [0]
    distance = np.linalg.norm(flat - flat[0], axis=1)
    while len(chosen) < min(count, MOST_FRAMES, len(shapes)):
        farthest = int(distance.argmax())
        if distance[farthest] < (_ALIKE if len(chosen) > 1 else 0.0):
            break
        chosen.append(farthest)
        distance = np.minimum(distance, np.linalg.norm(flat - flat[farthest], axis=1))
    return np.array(chosen)


def plausible(
    linear: Float[np.ndarray, "c b 3 3"], whole: Float[np.ndarray, "c 3 3"]
) -> tuple[Bool[np.ndarray, " c"], Bool[np.ndarray, " c"]]:
    """Return which poses keep every bone's scale, and which turn no bone by more than 150 degrees from the whole.

    Args:
        linear: linear part of each bone's map from the rest pose.
        whole: rotation of the whole object from the rest pose.
    """
    stretch = np.linalg.svd(linear, compute_uv=False)
    scale = np.median(stretch, axis=(1, 2), keepdims=True)
    sized = (stretch > 0.25 * scale).all((1, 2)) & (stretch < 4.0 * scale).all((1, 2)) & (scale[:, 0, 0] > 1e-6)
    turn = polar_rotation(np.einsum("cji,cbjk->cbik", whole, linear))
    cosine = 0.5 * (np.trace(turn, axis1=2, axis2=3) - 1.0)
    return sized, (cosine > np.cos(_MOST_TURN)).all(1)


def tidy(
    points: Float[np.ndarray, "n 3"], faces: Int[np.ndarray, "m 3"]
) -> tuple[Int[np.ndarray, " k"], Int[np.ndarray, "q 3"]]:
    """Return the vertices in use, and the triangles over them that have area and are the first of their kind."""
    faces = faces[has_area(points, faces, size_of(points))]
    faces = faces[first_of_equal(faces)]
    used, renumbered = np.unique(faces, return_inverse=True)
    return used, renumbered.reshape(-1, 3)


def motion_of(
    positions: Float[np.ndarray, "f n 3"],
    faces: Int[np.ndarray, "m 3"],
    *,
    pack: str,
    name: str,
    source: Source | None,
    rotations: Float[np.ndarray, "f n 4"] | None = None,
    part: Int[np.ndarray, " n"] | None = None,
) -> Motion:
    """Put an imported motion together; rotations that are not known are estimated from the one-rings.

    Args:
        positions: world positions, Z up; the first frame is the rest pose.
        faces: triangles.
        pack: collection that the model belongs to; it names the family.
        name: the model.
        source: where it comes from; without it the licence is said to be unknown.
        rotations: local rotations from the rest pose, (w, x, y, z).
        part: rigid part of each vertex, where the object has them.
    """
    if rotations is None:
        rotations = local_rotations(positions[0], positions, faces)
    return Motion(
        family=f"imported/{pack}",
        faces=faces.astype(np.int32),
        component=vertex_components(faces, positions.shape[1]),
        positions=positions.astype(np.float32),
        rotations=rotations.astype(np.float32),
        part=part,
        source=source or Source(name=pack, licence="NOASSERTION"),
        name=name,
    )


def _spread(shapes: Float[np.ndarray, "c s 3"], size: float) -> float:
    """Return how far any vertex gets from the rest pose, as a fraction of the size."""
    return float(np.linalg.norm(shapes - shapes[0], axis=2).max()) / size
