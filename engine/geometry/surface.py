"""Seeded samples on a triangle surface, and farthest points among them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int


@dataclass(frozen=True, slots=True)
class SurfaceSamples:
    """Points spread over a surface in proportion to area.

    Attributes:
        face: triangle of each sample, shape (p,).
        barycentric: weights of the triangle's corners, shape (p, 3).
    """

    face: Int[np.ndarray, " p"]
    barycentric: Float[np.ndarray, "p 3"]

    def interpolate(self, faces: Int[np.ndarray, "m 3"], values: Float[np.ndarray, "n c"]) -> Float[np.ndarray, "p c"]:
        """Carry vertex values to the samples."""
        return np.einsum("pk,pkc->pc", self.barycentric, values[faces[self.face]])


def face_normals_and_areas(
    vertices: Float[np.ndarray, "n 3"], faces: Int[np.ndarray, "m 3"]
) -> tuple[Float[np.ndarray, "m 3"], Float[np.ndarray, " m"]]:
    """Return unit normals (zero for a triangle without area) and areas of the triangles."""
    a, b, c = vertices[faces[:, 0]], vertices[faces[:, 1]], vertices[faces[:, 2]]
    cross = np.cross(b - a, c - a)
    length = np.sqrt(np.einsum("md,md->m", cross, cross))
    return cross / np.maximum(length, 1e-30)[:, None], 0.5 * length


def sample_surface(
    areas: Float[np.ndarray, " m"], count: int, rng: np.random.Generator, *, stratified: bool = True
) -> SurfaceSamples:
    """Draw ``count`` samples in proportion to triangle area.

    Stratified samples take one point from each of ``count`` equal slices of the cumulative area, in random order,
    which spreads them evenly over the triangles.
    """
    cumulative = np.cumsum(areas)
    slices = (np.arange(count) + rng.random(count)) / count if stratified else rng.random(count)
    face = np.searchsorted(cumulative, slices * cumulative[-1], side="right")
    face = rng.permutation(np.minimum(face, len(areas) - 1))
    r = np.sqrt(rng.random(count))
    s = rng.random(count)
    return SurfaceSamples(face, np.stack((1 - r, r * (1 - s), r * s), -1))


def farthest_points(
    points: Float[np.ndarray, "p 3"], component: Int[np.ndarray, " p"], count: int, *, stranger: float = 0.25
) -> Int[np.ndarray, " count"]:
    """Return indices of points far from one another, beginning with the first point.

    ``stranger`` [unit frame, squared] is added to the squared distance between points of different components, so
    that a small loose part (a knob, a chain link) gets a point of its own early.
    """
    chosen = np.zeros(count, dtype=np.int64)
    nearest = np.full(len(points), np.inf)
    for i in range(1, count):
        last = chosen[i - 1]
        offset = points - points[last]
        distance = np.einsum("pd,pd->p", offset, offset) + stranger * (component != component[last])
        nearest = np.minimum(nearest, distance)
        chosen[i] = nearest.argmax()
    return chosen
