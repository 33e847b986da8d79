"""How far a surface runs through itself: edges that pierce triangles, and points buried in another piece."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.spatial import KDTree


def piercing_share(
    points: Float[np.ndarray, "n 3"], faces: Int[np.ndarray, "m 3"], edges: Int[np.ndarray, "e 2"], *, nearest: int = 16
) -> float:
    """Return the share of the given edges that pierce a triangle which does not share a vertex with them.

    Each edge is held against the triangles whose centres are nearest to its own, which finds crossings between pieces
    of similar fineness.
    """
    corners = points[faces]
    tree = KDTree(corners.mean(1))
    start, way = points[edges[:, 0]], points[edges[:, 1]] - points[edges[:, 0]]
    near = tree.query(start + 0.5 * way, k=min(nearest, len(faces)))[1].reshape(len(edges), -1)
    a = corners[near, 0]
    ab, ac = corners[near, 1] - a, corners[near, 2] - a
    # Moeller and Trumbore's intersection of a segment with a triangle.
    direction = np.broadcast_to(way[:, None], ab.shape)
    p = np.cross(direction, ac)
    determinant = np.einsum("ekd,ekd->ek", ab, p)
    safe = np.where(np.abs(determinant) < 1e-18, np.inf, determinant)
    offset = start[:, None] - a
    u = np.einsum("ekd,ekd->ek", offset, p) / safe
    q = np.cross(offset, ab)
    v = np.einsum("ekd,ekd->ek", direction, q) / safe
    t = np.einsum("ekd,ekd->ek", ac, q) / safe
    inner = 1e-3
    crossing = (u > inner) & (v > inner) & (u + v < 1 - inner) & (t > inner) & (t < 1 - inner) & np.isfinite(safe)
    shared = (faces[near][..., None] == edges[:, None, None, :]).any((-1, -2))
    return float((crossing & ~shared).any(1).mean())


def buried_share(
    points: Float[np.ndarray, "n 3"],
    faces: Int[np.ndarray, "m 3"],
    component: Int[np.ndarray, " n"],
    probes: Int[np.ndarray, " p"],
) -> float:
    """Return the share of the probed vertices that lie inside a closed piece other than their own.

    Inside is where the winding number of another piece is over a half (solid angles after Van Oosterom and Strackee
    1983); an open piece has no inside.
    """
    owner = component[faces[:, 0]]
    count = int(component.max()) + 1
    if count < 2:
        return 0.0
    low, high = np.full((count, 3), np.inf), np.full((count, 3), -np.inf)
    np.minimum.at(low, component, points)
    np.maximum.at(high, component, points)
    # Only a point within the bounding box of another piece can lie inside it.
    x = points[probes]
    within = np.all((x[:, None] > low) & (x[:, None] < high), axis=-1)
    within[np.arange(len(probes)), component[probes]] = False
    buried = np.zeros(len(probes), dtype=bool)
    for piece in np.flatnonzero(within.any(0)):
        asked = np.flatnonzero(within[:, piece] & ~buried)
        buried[asked] = _is_inside(x[asked], points[faces[owner == piece]])
    return float(buried.mean())


def _is_inside(x: Float[np.ndarray, "p 3"], triangles: Float[np.ndarray, "m 3 3"]) -> Bool[np.ndarray, " p"]:
    """Return where the winding number of the triangles is over a half."""
    offset = triangles.astype(np.float32)[None] - x.astype(np.float32)[:, None, None]
    a, b, c = offset[:, :, 0], offset[:, :, 1], offset[:, :, 2]
    la, lb, lc = (np.sqrt(np.einsum("pmd,pmd->pm", v, v)) for v in (a, b, c))
    volume = np.einsum("pmd,pmd->pm", a, np.cross(b, c))
    below = la * lb * lc + np.einsum("pmd,pmd->pm", a, b) * lc
    below += np.einsum("pmd,pmd->pm", b, c) * la + np.einsum("pmd,pmd->pm", c, a) * lb
    return np.abs(np.arctan2(volume, below).sum(1)) > np.pi
