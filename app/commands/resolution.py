"""Meshes of a wanted size, for measuring: any mesh refined or thinned to about a number of vertices."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int


def with_vertices(
    vertices: Float[np.ndarray, "n 3"], faces: Int[np.ndarray, "m 3"], *, count: int
) -> tuple[Float[np.ndarray, "k 3"], Int[np.ndarray, "l 3"]]:
    """Return the same surface with about ``count`` vertices: long edges are halved, or triangles thinned."""
    vertices, faces = np.asarray(vertices, float), np.asarray(faces, np.int64)
    while len(vertices) < count:
        vertices, faces = _halve_longest(vertices, faces, most=count - len(vertices))
    return (vertices, faces) if len(vertices) <= 1.05 * count else _thinned(vertices, faces, count=count)


def _halve_longest(
    vertices: Float[np.ndarray, "n 3"], faces: Int[np.ndarray, "m 3"], *, most: int
) -> tuple[Float[np.ndarray, "k 3"], Int[np.ndarray, "l 3"]]:
    """Halve edges that are the longest of all their triangles: no triangle is cut twice, and seams stay closed."""
    corners = np.stack((faces, np.roll(faces, -1, axis=1)), -1).reshape(-1, 2)
    edges, edge_of = np.unique(np.sort(corners, axis=1), axis=0, return_inverse=True)
    edge_of = edge_of.reshape(-1, 3)
    length = np.linalg.norm(vertices[edges[:, 0]] - vertices[edges[:, 1]], axis=1)
    # Ties are broken by number: the longest edge of a triangle is one edge.
    rank = np.zeros(len(edges), np.int64)
    rank[np.argsort(length, kind="stable")] = np.arange(len(edges))
    longest = edge_of[np.arange(len(faces)), rank[edge_of].argmax(1)]
    agreed = np.bincount(longest, minlength=len(edges)) == np.bincount(edge_of.ravel(), minlength=len(edges))
    chosen = np.flatnonzero(agreed)
    chosen = chosen[np.argsort(-length[chosen], kind="stable")][:most]
    middle = np.full(len(edges), -1)
    middle[chosen] = len(vertices) + np.arange(len(chosen))
    side = np.where(middle[edge_of] >= 0, np.arange(3), -1).max(1)
    cut = side >= 0
    rolled = faces[cut][np.arange(cut.sum())[:, None], (side[cut][:, None] + np.arange(3)) % 3]
    between = middle[edge_of[cut, side[cut]]]
    first = np.stack((rolled[:, 0], between, rolled[:, 2]), -1)
    second = np.stack((between, rolled[:, 1], rolled[:, 2]), -1)
    new = vertices[edges[chosen]].mean(1)
    return np.concatenate((vertices, new)), np.concatenate((faces[~cut], first, second))


def _thinned(
    vertices: Float[np.ndarray, "n 3"], faces: Int[np.ndarray, "m 3"], *, count: int
) -> tuple[Float[np.ndarray, "k 3"], Int[np.ndarray, "l 3"]]:
    import pyvista as pv

    surface = pv.PolyData.from_regular_faces(vertices, faces)
    thin = surface.decimate(1.0 - count / len(vertices))
    return np.asarray(thin.points, float), np.asarray(thin.regular_faces, np.int64)
