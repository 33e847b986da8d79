"""Consistent winding: which triangles to turn so that neighbours agree and face outward."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float, Int

from engine.geometry.welding import edge_keys, linked


def faces_to_flip(points: Float[np.ndarray, "n 3"], faces: Int[np.ndarray, "m 3"]) -> Bool[np.ndarray, " m"]:
    """Return which triangles to turn.

    Pieces whose neighbours disagree are made consistent, by the smaller number of turns when open
    and facing outward when closed. Consistent closed pieces that face inward are turned unless they
    lie inside another closed piece, where they bound a cavity. A piece that cannot be oriented (a
    Moebius strip) is left as it is.
    """
    patch, turn, sound, closed = _orient(faces)
    count = int(patch.max()) + 1
    corrected = np.where(turn[:, None], faces[:, ::-1], faces)
    volume = np.bincount(patch, _volumes(points, corrected), count)
    turned = np.bincount(patch, turn, count)
    total = np.bincount(patch, minlength=count)
    whole = sound & closed
    inverted = np.where(whole, volume < 0, 2 * turned > total)
    suspicious = np.flatnonzero(whole & inverted & (turned == 0))
    if len(suspicious):
        low, high = _boxes(points, faces, patch, count)
        for k in suspicious:
            around = whole & np.all(low < low[k], axis=1) & np.all(high > high[k], axis=1)
            inverted[k] = not around.any()
    return np.where(sound[patch], turn ^ inverted[patch], False)


def _orient(
    faces: Int[np.ndarray, "m 3"],
) -> tuple[Int[np.ndarray, " m"], Bool[np.ndarray, " m"], Bool[np.ndarray, " c"], Bool[np.ndarray, " c"]]:
    """Return the patch of each triangle, turns that agree, and patches orientable, patches closed.

    A patch is joined over edges of exactly two triangles.
    """
    m = len(faces)
    keys = edge_keys(faces)
    forward = faces.T.reshape(-1) < faces[:, (1, 2, 0)].T.reshape(-1)
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    uses = np.diff(np.r_[starts, len(ordered)])
    pair = starts[uses == 2]
    one, two = order[pair], order[pair + 1]
    f, g = one % m, two % m
    agree = forward[one] != forward[two]
    # Each triangle stands twice, as it is and turned; neighbours link the copies that agree (an
    # orientation cover).
    rows = np.concatenate((f, f + m))
    columns = np.concatenate((np.where(agree, g, g + m), np.where(agree, g + m, g)))
    label = linked(rows, columns, 2 * m)
    same, other = label[:m], label[m:]
    _, patch = np.unique(np.minimum(same, other), return_inverse=True)
    patch = patch.reshape(-1)
    count = int(patch.max()) + 1
    sound = np.ones(count, bool)
    sound[patch[same == other]] = False
    closed = np.ones(count, bool)
    open_edges = np.repeat(uses != 2, uses)
    closed[patch[order[open_edges] % m]] = False
    return patch, same > other, sound, closed


def _volumes(points: Float[np.ndarray, "n 3"], faces: Int[np.ndarray, "m 3"]) -> Float[np.ndarray, " m"]:
    local = points - points.mean(axis=0)
    a, b, c = (local[faces[:, k]] for k in range(3))
    return np.einsum("md,md->m", a, np.cross(b, c)) / 6.0


def _boxes(
    points: Float[np.ndarray, "n 3"],
    faces: Int[np.ndarray, "m 3"],
    patch: Int[np.ndarray, " m"],
    count: int,
) -> tuple[Float[np.ndarray, "c 3"], Float[np.ndarray, "c 3"]]:
    """Return the lowest and highest corners of the patches' bounding boxes."""
    low, high = np.full((count, 3), np.inf), np.full((count, 3), -np.inf)
    for k in range(3):
        np.minimum.at(low, patch, points[faces[:, k]])
        np.maximum.at(high, patch, points[faces[:, k]])
    return low, high
