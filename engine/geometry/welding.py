"""Topology of triangle meshes: welding by position, faces worth keeping, connected pieces, closedness."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

# A triangle whose height is below this fraction of the mesh's size has no area that arithmetic could use.
_FLAT = 1e-7


def weld(
    points: Float[np.ndarray, "v 3"], tolerance: float
) -> tuple[Int[np.ndarray, " v"], Int[np.ndarray, " n"]]:
    """Join points that lie within ``tolerance`` of one another.

    Args:
        points: finite positions, any frame.
        tolerance: distance, in the unit of the points.

    Returns:
        The welded vertex of every point, shape (v,), numbered in the order of first appearance, and the first
        point of every welded vertex, shape (n,).
    """
    order = np.lexsort(points.T)
    ordered = points[order]
    starts = np.ones(len(points), bool)
    np.any(ordered[1:] != ordered[:-1], axis=1, out=starts[1:])
    exact = np.empty(len(points), np.int64)
    exact[order] = np.cumsum(starts) - 1
    distinct = ordered[starts]
    pairs = cKDTree(distinct, balanced_tree=False, compact_nodes=False).query_pairs(
        tolerance, output_type="ndarray"
    )
    label = exact
    if len(pairs):
        label = _components(pairs, len(distinct))[exact]
    return number_by_first(label)


def number_by_first(label: Int[np.ndarray, " v"]) -> tuple[Int[np.ndarray, " v"], Int[np.ndarray, " n"]]:
    """Renumber labels 0..n-1 in the order in which they first appear; also return where each first appears."""
    _, first, inverse = np.unique(label, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return rank[inverse.reshape(-1)], first[order]


def has_area(points: Float[np.ndarray, "n 3"], faces: Int[np.ndarray, "m 3"], size: float) -> Bool[np.ndarray, " m"]:
    """Return which triangles have three different vertices and a height above rounding, for a mesh of this size."""
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
    """Return the connected component of each of ``count`` vertices, numbered by first appearance."""
    pairs = np.concatenate((faces[:, :2], faces[:, 1:]))
    return number_by_first(_components(pairs, count))[0].astype(np.int32)


def is_closed(faces: Int[np.ndarray, "m 3"]) -> bool:
    """Return whether every edge is shared by exactly two triangles."""
    _, counts = np.unique(edge_keys(faces), return_counts=True)
    return len(counts) > 0 and bool(np.all(counts == 2))


def edge_keys(faces: Int[np.ndarray, "m 3"]) -> Int[np.ndarray, " 3*m"]:
    """Return one number for each undirected edge of the triangles: first edges, second edges, third edges."""
    wide = faces.astype(np.int64)
    one = wide.T.reshape(-1)
    two = wide[:, (1, 2, 0)].T.reshape(-1)
    return np.minimum(one, two) * (int(wide.max()) + 1) + np.maximum(one, two)


def _components(pairs: Int[np.ndarray, "e 2"], count: int) -> Int[np.ndarray, " n"]:
    links = coo_matrix((np.ones(len(pairs), np.int8), (pairs[:, 0], pairs[:, 1])), shape=(count, count))
    return connected_components(links, directed=False)[1]
