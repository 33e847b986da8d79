"""Which point of the object lies under the pointer.

Moeller and Trumbore, "Fast, minimum storage ray/triangle intersection" (1997), over all triangles at once, on the
newest deformed vertices. A cheap test in the plane across the ray leaves a few triangles; those are solved in double
precision, so that large coordinates cost no accuracy. Floor, pins and arrows are not the object and are never hit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from jaxtyping import Float, Int

_EDGE_TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True)
class SurfaceHit:
    """A point of the object under the pointer.

    Attributes:
        face: triangle index.
        barycentric: weights of the triangle's corners, summing to one.
        position: the point [m], world, shape (3,).
        distance: from the eye [m].
    """

    face: int
    barycentric: tuple[float, float, float]
    position: Float[np.ndarray, "3"]
    distance: float


def pick_surface(
    vertices: Float[np.ndarray, "n 3"],
    faces: Int[np.ndarray, "m 3"],
    origin: Float[np.ndarray, "3"],
    direction: Float[np.ndarray, "3"],
    *,
    two_sided: bool = False,
) -> SurfaceHit | None:
    """Return the nearest point where a ray meets the surface, or None.

    Args:
        vertices: newest vertices [m], world, shape (n, 3).
        faces: triangles, anticlockwise seen from outside, shape (m, 3).
        origin: eye [m], world, shape (3,).
        direction: unit direction of the ray, shape (3,).
        two_sided: whether back faces count: for open surfaces such as cloth, which have no inside.
    """
    if len(vertices) == 0 or len(faces) == 0:
        return None
    origin = np.asarray(origin, np.float64)
    direction = np.asarray(direction, np.float64)
    candidates = _across_ray(vertices, faces, origin, direction)
    if len(candidates) == 0:
        return None
    corners = np.asarray(vertices[faces[candidates]], np.float64) - origin
    return _nearest(corners, candidates, origin, direction, two_sided=two_sided)


def _across_ray(
    vertices: Float[np.ndarray, "n 3"],
    faces: Int[np.ndarray, "m 3"],
    origin: Float[np.ndarray, "3"],
    direction: Float[np.ndarray, "3"],
) -> Int[np.ndarray, " c"]:
    """Return the triangles whose box, seen along the ray, holds the ray."""
    helper = np.eye(3)[np.argmin(np.abs(direction))]
    across = np.cross(direction, helper)
    across /= np.linalg.norm(across)
    # Taking the origin off first keeps the small numbers that matter when the object is far from the world's origin.
    plane = (vertices - origin) @ np.stack((across, np.cross(direction, across)), axis=1)
    found = np.arange(len(faces))
    for axis in (0, 1):
        values = plane[:, axis]
        # Signs alone are gathered: a box holds the ray unless all its corners lie strictly on one side.
        side = np.sign(values).astype(np.int8)
        a, b, c = (side[faces[found, corner]] for corner in range(3))
        found = found[np.abs(a + b + c) < 3]
    return found


def _nearest(
    corners: Float[np.ndarray, "c 3 3"],
    candidates: Int[np.ndarray, " c"],
    origin: Float[np.ndarray, "3"],
    direction: Float[np.ndarray, "3"],
    *,
    two_sided: bool,
) -> SurfaceHit | None:
    one = corners[:, 1] - corners[:, 0]
    two = corners[:, 2] - corners[:, 0]
    slant = np.cross(direction, two)
    determinant = np.einsum("cd,cd->c", one, slant)
    usable = np.abs(determinant) > 1e-300
    if not two_sided:
        # A face turned to the eye has a positive determinant here.
        usable &= determinant > 0.0
    inverse = 1.0 / np.where(usable, determinant, 1.0)
    start = -corners[:, 0]
    u = np.einsum("cd,cd->c", start, slant) * inverse
    turned = np.cross(start, one)
    v = (turned @ direction) * inverse
    distance = np.einsum("cd,cd->c", two, turned) * inverse
    inside = usable & (u >= -_EDGE_TOLERANCE) & (v >= -_EDGE_TOLERANCE) & (u + v <= 1.0 + _EDGE_TOLERANCE)
    inside &= distance > 0.0
    if not inside.any():
        return None
    best = int(np.argmin(np.where(inside, distance, np.inf)))
    weights = np.clip((1.0 - u[best] - v[best], u[best], v[best]), 0.0, 1.0)
    weights /= weights.sum()
    position = origin + weights @ corners[best]
    first, second, third = (float(weight) for weight in weights)
    return SurfaceHit(int(candidates[best]), (first, second, third), position, float(distance[best]))
