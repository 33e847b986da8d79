"""Topology of triangle meshes: welding, faces worth keeping, connected pieces, edges."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.sparse import coo_matrix  # pyright: ignore[reportMissingTypeStubs]
from scipy.sparse.csgraph import (  # pyright: ignore[reportMissingTypeStubs]
    connected_components,  # pyright: ignore[reportUnknownVariableType]
)
from scipy.spatial import KDTree  # pyright: ignore[reportMissingTypeStubs]

# A triangle whose height is below this fraction of the mesh's size has no area that arithmetic
# could use.
_FLAT = 1e-7


def weld(points: Float[np.ndarray, "v 3"], tolerance: float) -> tuple[Int[np.ndarray, " v"], Int[np.ndarray, " n"]]:
    """Join points that lie within ``tolerance`` of one another.

    Args:
        points: finite positions, any frame.
        tolerance: distance, in the unit of the points.

    Returns:
        The welded vertex of every point, shape (v,), numbered in the order of first appearance, and
        the first point of every welded vertex, shape (n,).
    """
    order = np.lexsort(points.T)
    ordered = points[order]
    starts = np.ones(len(points), bool)
    np.any(ordered[1:] != ordered[:-1], axis=1, out=starts[1:])
    exact = np.zeros(len(points), np.int64)
    exact[order] = np.cumsum(starts) - 1
    distinct = ordered[starts]
    tree = cast("Any", KDTree(distinct, balanced_tree=False, compact_nodes=False))
    pairs: Int[np.ndarray, "e 2"] = tree.query_pairs(tolerance, output_type="ndarray")
    label = exact
    if len(pairs):
        label = linked(pairs[:, 0], pairs[:, 1], len(distinct))[exact]
    return number_by_first(label)


def number_by_first(
    label: Int[np.ndarray, " v"],
) -> tuple[Int[np.ndarray, " v"], Int[np.ndarray, " n"]]:
    """Renumber labels 0..n-1 by first appearance; also return where each first appears."""
    _, first, inverse = np.unique(label, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    rank = np.zeros(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return rank[inverse.reshape(-1)], first[order]


def has_area(points: Float[np.ndarray, "n 3"], faces: Int[np.ndarray, "m 3"], size: float) -> Bool[np.ndarray, " m"]:
    """Return which triangles have three different vertices and, for this size, some height."""
    a, b, c = faces.T
    one, two = points[b] - points[a], points[c] - points[a]
    cross = np.cross(one, two)
    third = two - one
    longest = np.sqrt(np.max([np.einsum("md,md->m", edge, edge) for edge in (one, two, third)], axis=0))
    height = np.sqrt(np.einsum("md,md->m", cross, cross)) / np.where(longest > 0, longest, 1.0)
    return (a != b) & (b != c) & (c != a) & (height > _FLAT * size)


def first_of_equal(faces: Int[np.ndarray, "m 3"]) -> Bool[np.ndarray, " m"]:
    """Return which triangles are the first over their three vertices, whatever the winding."""
    a, b, c = np.sort(faces, axis=1).T
    order = np.lexsort((np.arange(len(faces)), c, b, a))
    ordered = np.stack((a, b, c), 1)[order]
    starts = np.ones(len(faces), bool)
    np.any(ordered[1:] != ordered[:-1], axis=1, out=starts[1:])
    kept = np.zeros(len(faces), bool)
    kept[order[starts]] = True
    return kept


def vertex_components(faces: Int[np.ndarray, "m 3"], count: int) -> Int[np.ndarray, " n"]:
    """Return the connected component of each vertex, numbered by first appearance."""
    pairs = np.concatenate((faces[:, :2], faces[:, 1:]))
    return number_by_first(linked(pairs[:, 0], pairs[:, 1], count))[0].astype(np.int32)


def irregular_edges(faces: Int[np.ndarray, "m 3"]) -> tuple[int, int]:
    """Return how many edges only one triangle has, and how many more than two triangles share."""
    _, counts = np.unique(edge_keys(faces), return_counts=True)
    return int(np.count_nonzero(counts == 1)), int(np.count_nonzero(counts > 2))


def edges_of(faces: Int[np.ndarray, "m 3"]) -> Int[np.ndarray, "e 2"]:
    """Return every edge of a mesh once, the lower vertex first."""
    return np.unique(np.sort(faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1), axis=0)


def edge_keys(faces: Int[np.ndarray, "m 3"]) -> Int[np.ndarray, " 3*m"]:
    """Return one number for each undirected edge: first edges of all triangles, second, third."""
    wide = faces.astype(np.int64)
    one = wide.T.reshape(-1)
    two = wide[:, (1, 2, 0)].T.reshape(-1)
    return np.minimum(one, two) * (int(wide.max()) + 1) + np.maximum(one, two)


def linked(one: Int[np.ndarray, " e"], two: Int[np.ndarray, " e"], count: int) -> Int[np.ndarray, " n"]:
    """Return the connected component of each of ``count`` items that links join pair by pair."""
    links = coo_matrix((np.ones(len(one), np.int8), (one, two)), shape=(count, count))
    return cast("Any", connected_components)(links, directed=False)[1]
