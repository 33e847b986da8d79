"""Normals for meshes that come without: smooth over gentle bends, split at creases."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int

from engine.geometry.welding import edge_keys, linked, number_by_first

# Neighbouring triangles that meet at a sharper angle get their own normals along the edge.
_CREASE_COSINE = np.cos(np.radians(50.0))


def crease_normals(
    unit: Float[np.ndarray, "n 3"],
    sim_index: Int[np.ndarray, " v"],
    faces: Int[np.ndarray, "f 3"],
    *,
    keep_seams: bool,
) -> tuple[Int[np.ndarray, "f 3"], Int[np.ndarray, " w"], Float[np.ndarray, "w 3"]]:
    """Split render vertices at creases and give each its area-weighted normal.

    Args:
        unit: simulation vertices, unit frame.
        sim_index: simulation vertex of each render vertex.
        faces: triangles over render vertices.
        keep_seams: whether render vertices of one simulation vertex stay apart, because they differ
            in more than their normal; otherwise those on the same side of a crease become one.

    Returns:
        Triangles over the new vertices, the render vertex that each new vertex copies, and its
        normal (not unit).
    """
    m = len(faces)
    welded = sim_index[faces]
    a, b, c = (unit[welded[:, k]] for k in range(3))
    cross = np.cross(b - a, c - a)
    normal = cross / np.maximum(np.linalg.norm(cross, axis=1, keepdims=True), 1e-300)
    keys = edge_keys(welded)
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    pair = starts[np.diff(np.r_[starts, len(ordered)]) == 2]
    one, two = order[pair], order[pair + 1]
    smooth = np.einsum("ed,ed->e", normal[one % m], normal[two % m]) > _CREASE_COSINE
    one, two = one[smooth], two[smooth]
    # Edge k of a triangle runs from corner k to corner k+1; corners are numbered k * m + triangle
    # like the edges.
    corner = welded.T.reshape(-1)
    next_of = (np.arange(3 * m) + m) % (3 * m)
    along = corner[one] == corner[two]
    rows = np.concatenate((one, next_of[one]))
    columns = np.concatenate((np.where(along, two, next_of[two]), np.where(along, next_of[two], two)))
    fan = linked(rows, columns, 3 * m)
    summed = np.stack([np.bincount(fan, np.tile(cross[:, d], 3)) for d in range(3)], axis=1)
    # A fan that crosses a texture seam shares its normal but keeps the seam's two render vertices.
    render = faces.T.reshape(-1)
    identity = render if keep_seams else corner
    key = fan.astype(np.int64) * (int(identity.max()) + 1) + identity
    # Numbered in the vertices' own order, so that a mesh without creases keeps its numbering.
    triangle_order = np.argsort(identity, kind="stable")
    numbered, first = number_by_first(key[triangle_order])
    index = np.zeros(3 * m, np.int64)
    index[triangle_order] = numbered
    chosen = triangle_order[first]
    return index.reshape(3, m).T, render[chosen], summed[fan[chosen]]


def facing(
    normals: Float[np.ndarray, "v 3"],
    unit: Float[np.ndarray, "n 3"],
    sim_index: Int[np.ndarray, " v"],
    faces: Int[np.ndarray, "f 3"],
) -> Float[np.ndarray, "v 3"]:
    """Return the render normals, turned round where they point behind their own triangles."""
    a, b, c = (unit[sim_index[faces[:, k]]] for k in range(3))
    cross = np.cross(b - a, c - a)
    agreement = np.zeros(len(normals))
    for k in range(3):
        agreement += np.bincount(faces[:, k], np.einsum("md,md->m", cross, normals[faces[:, k]]), len(normals))
    return np.where(agreement[:, None] < 0, -normals, normals)
