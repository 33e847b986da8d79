"""Exact distances from points to a triangle mesh, and the Chamfer distance between two meshes.

Chamfer here: 10,000 points spread over each surface in proportion to area; the mean Euclidean distance of the points of
one to the *triangles* of the other, and the reverse; the mean of the two directions, in the unit frame. Nothing is
squared. Distances to points instead of triangles would never fall below the spacing of the samples.

The nearest triangle is found among pieces: long triangles are cut, and pieces of about one radius share a tree of their
centres. With the best distance so far as a bound, a tree gives the pieces whose circumscribed ball reaches within it;
their planes rule most of those out; the exact distance to the others is the answer, so nothing is approximate.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain

import numpy as np
from jaxtyping import Bool, Float, Float64, Int
from scipy.spatial import KDTree

from engine.geometry.surface import face_normals_and_areas, sample_surface

CHAMFER_SAMPLES = 10_000
# Pieces are cut until their radius is at most this share of the bounding box's diagonal, or they are too many.
_RADIUS, _MOST_PIECES = 0.03, 200_000
_CLASSES = 5


@dataclass(frozen=True, slots=True)
class Chamfer:
    """The Chamfer distance of two meshes [unit frame].

    Attributes:
        distance: mean of both directions.
        to_first: mean distance of the points of the second mesh to the first.
        to_second: mean distance of the points of the first mesh to the second.
        sampling_error: standard error of ``distance`` that comes from the choice of sample points.
    """

    distance: float
    to_first: float
    to_second: float
    sampling_error: float


@dataclass(frozen=True, slots=True)
class _Pieces:
    """Pieces of about one radius: corners, centres, unit normals, radii, and a tree of the centres."""

    corners: Float64[np.ndarray, "m 3 3"]
    centres: Float64[np.ndarray, "m 3"]
    normals: Float64[np.ndarray, "m 3"]
    radii: Float64[np.ndarray, " m"]
    tree: KDTree


class TriangleSurface:
    """A mesh that can be asked how far points are from it."""

    def __init__(self, vertices: Float[np.ndarray, "n 3"], faces: Int[np.ndarray, "m 3"]) -> None:
        """Cut the triangles into pieces and sort those by radius."""
        self._vertices, self._faces = np.asarray(vertices, np.float64), np.asarray(faces)
        pieces = self._vertices[self._faces]
        bound = _RADIUS * float(np.linalg.norm(np.ptp(self._vertices, axis=0)))
        while len(pieces) < _MOST_PIECES:
            long = _radii(pieces) > bound
            if not long.any():
                break
            pieces = np.concatenate((pieces[~long], _halved(pieces[long])))
        radii = _radii(pieces)
        order = np.clip(np.floor(np.log2(max(bound, 1e-30) / np.maximum(radii, 1e-30))), 0, _CLASSES - 1)
        self._classes: list[_Pieces] = []
        for of_class in (np.flatnonzero(order == c) for c in range(_CLASSES)):
            if len(of_class):
                mine = pieces[of_class]
                normal = np.cross(mine[:, 1] - mine[:, 0], mine[:, 2] - mine[:, 0])
                normal /= np.maximum(np.linalg.norm(normal, axis=-1, keepdims=True), 1e-30)
                centre = mine.mean(1)
                self._classes.append(_Pieces(mine, centre, normal, radii[of_class], KDTree(centre)))

    def distances(self, points: Float[np.ndarray, "p 3"]) -> Float64[np.ndarray, " p"]:
        """Return the distance of each point to the nearest triangle."""
        points = np.asarray(points, np.float64)
        best = np.full(len(points), np.inf)
        for pieces in self._classes:
            nearest = pieces.tree.query(points)[1]
            np.minimum(best, point_triangle_distances(points, pieces.corners[nearest]), out=best)
        for pieces in self._classes:
            within = pieces.tree.query_ball_point(points, best + float(pieces.radii.max()))
            row = np.repeat(np.arange(len(points)), [len(found) for found in within])
            piece = np.fromiter(chain.from_iterable(within), np.int64, len(row))
            offset = points[row] - pieces.centres[piece]
            height = np.einsum("qd,qd->q", offset, pieces.normals[piece])
            aside = np.sqrt(np.maximum(np.einsum("qd,qd->q", offset, offset) - height**2, 0.0))
            least = np.hypot(height, np.maximum(aside - pieces.radii[piece], 0.0))
            reaches = least < best[row]
            row, piece = row[reaches], piece[reaches]
            np.minimum.at(best, row, point_triangle_distances(points[row], pieces.corners[piece]))
        return best

    def samples(self, count: int, rng: np.random.Generator) -> Float64[np.ndarray, "p 3"]:
        """Return points spread over the surface in proportion to area."""
        areas = face_normals_and_areas(self._vertices, self._faces)[1]
        return sample_surface(areas, count, rng).interpolate(self._faces, self._vertices)


def chamfer(first: TriangleSurface, second: TriangleSurface, *, seed: int = 0, count: int = CHAMFER_SAMPLES) -> Chamfer:
    """Return the Chamfer distance of two meshes (see the module's text)."""
    rng = np.random.default_rng(seed)
    to_second = second.distances(first.samples(count, rng))
    to_first = first.distances(second.samples(count, rng))
    spread = np.sqrt((to_first.var() + to_second.var()) / count) / 2.0
    one, two = float(to_first.mean()), float(to_second.mean())
    return Chamfer(0.5 * (one + two), one, two, float(spread))


def sampling_floor(surface: TriangleSurface, *, seed: int = 0, count: int = CHAMFER_SAMPLES) -> float:
    """Return the Chamfer distance of a mesh to itself: what the measure gives where there is nothing to find."""
    return chamfer(surface, surface, seed=seed, count=count).distance


def point_triangle_distances(
    points: Float[np.ndarray, "q 3"], triangles: Float[np.ndarray, "q 3 3"]
) -> Float64[np.ndarray, " q"]:
    """Return the distance of each point to its own triangle.

    The nearest point of the plane where it lies inside, otherwise the nearest of the three edges.
    """
    edge = np.roll(triangles, -1, axis=1) - triangles
    offset = points[:, None] - triangles
    along = np.einsum("qkd,qkd->qk", offset, edge)
    length = np.einsum("qkd,qkd->qk", edge, edge)
    share = np.clip(along / np.where(length > 0, length, 1.0), 0.0, 1.0)
    gap = offset - share[..., None] * edge
    squared = np.einsum("qkd,qkd->qk", gap, gap).min(1)
    normal = np.cross(edge[:, 0], edge[:, 1])
    double_area = np.einsum("qd,qd->q", normal, normal)
    # Inside where the point is on the inner side of all three edges.
    side = np.einsum("qkd,qd->qk", np.cross(edge, offset), normal)
    inside: Bool[np.ndarray, " q"] = (side >= 0).all(1) & (double_area > 0)
    height = np.einsum("qd,qd->q", offset[:, 0], normal) ** 2 / np.where(double_area > 0, double_area, 1.0)
    return np.sqrt(np.where(inside, np.minimum(height, squared), squared))


def _radii(pieces: Float[np.ndarray, "m 3 3"]) -> Float64[np.ndarray, " m"]:
    """Return how far each triangle's corners are from its centre at most."""
    return np.linalg.norm(pieces - pieces.mean(1, keepdims=True), axis=-1).max(1)


def _halved(pieces: Float[np.ndarray, "m 3 3"]) -> Float64[np.ndarray, "m2 3 3"]:
    """Return each triangle cut at the middle of its longest edge."""
    edge = np.roll(pieces, -1, axis=1) - pieces
    longest = np.einsum("mkd,mkd->mk", edge, edge).argmax(1)
    rows = np.arange(len(pieces))
    a, b, c = (pieces[rows, (longest + k) % 3] for k in range(3))
    middle = 0.5 * (a + b)
    return np.concatenate((np.stack((a, middle, c), 1), np.stack((middle, b, c), 1)))
