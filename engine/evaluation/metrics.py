"""The figures by which decoded states are judged. Positions are in the unit frame; ``size`` is the rest box's diagonal.

* **Error over motion**: ``sqrt(mean |x - y|^2 / mean |x0 - y|^2)`` of surface samples ``x`` against their true places
  ``y``, with ``x0`` at rest; the truth is rigidly fitted to the rest shape first. Over several states or objects the
  means are summed before they are divided (`engine.training.train.evaluate` does the same), so a state that hardly
  moves does not blow up the ratio.
* **Rigidity**: RMS departure of the vertices of each true rigid part from that part's best rigid motion, over size.
* **Stretch**: 95th percentile and maximum over the edges of decoded over rest length, divided by the same percentile
  and maximum of true over rest length: one is as it should be. Edges below 0.3 % of size are left out, since the half
  precision of the data alone stretches those.
* **Spikes**: 95th percentile, over the edges inside a true rigid part (inside a connected component where parts are not
  known), of the L1 difference of the blending weights of an edge's two ends.
* **Buried share**: share of sampled vertices that lie inside a component other than their own.
* **Best of the prior**: each true state against the nearest of 256 states drawn from the prior, every one placed on it
  by its best rigid motion; error over motion as above.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Float64, Int

from engine.datasets.intersection import buried_share
from engine.geometry.modes import polar_rotation

SHORTEST_EDGE = 0.003
_BURIED_PROBES = 400
_LEAST_VERTICES = 4


def mean_square(a: Float[np.ndarray, "*s p 3"], b: Float[np.ndarray, "*s p 3"]) -> float:
    """Return the mean squared distance of points that correspond [unit frame squared]."""
    return float(np.square(np.asarray(a, np.float64) - b).sum(-1).mean())


def rigid_departure(
    rest: Float[np.ndarray, "n 3"], moved: Float[np.ndarray, "n 3"], part: Int[np.ndarray, " n"]
) -> tuple[float, int]:
    """Return how far the rigid parts are from having moved rigidly.

    Args:
        rest: vertices at rest.
        moved: the same vertices in another state.
        part: rigid part of each, -1 for those that belong to none.

    Returns:
        The sum over vertices of the squared departure from their part's best rigid motion, and the number of those
        vertices. Parts of fewer than four vertices are left out: any motion of theirs is nearly rigid.
    """
    total, count = 0.0, 0
    for label in np.unique(part[part >= 0]):
        mine = np.flatnonzero(part == label)
        if len(mine) < _LEAST_VERTICES:
            continue
        a, b = rest[mine] - rest[mine].mean(0), moved[mine] - moved[mine].mean(0)
        gap = a @ polar_rotation(b.T @ a).T - b
        total, count = total + float(np.square(gap).sum()), count + len(mine)
    return total, count


def stretch(
    rest: Float[np.ndarray, "n 3"],
    decoded: Float[np.ndarray, "n 3"],
    truth: Float[np.ndarray, "n 3"],
    edges: Int[np.ndarray, "e 2"],
) -> tuple[float, float]:
    """Return the 95th percentile and the maximum of the edges' stretch, relative to the truth's."""
    at_rest, now, true = (np.linalg.norm(x[edges[:, 0]] - x[edges[:, 1]], axis=-1) for x in (rest, decoded, truth))
    kept = at_rest > SHORTEST_EDGE * np.linalg.norm(np.ptp(rest, axis=0))
    if not kept.any():
        return float("nan"), float("nan")
    now, true = now[kept] / at_rest[kept], true[kept] / at_rest[kept]
    return float(np.quantile(now, 0.95) / np.quantile(true, 0.95)), float(now.max() / true.max())


def weight_spikes(
    weights: Float[np.ndarray, "n t"], edges: Int[np.ndarray, "e 2"], part: Int[np.ndarray, " n"]
) -> float:
    """Return the 95th percentile, over edges inside one part, of the L1 difference of their ends' weights.

    Args:
        weights: blending weights, rows summing to one; a difference is at most two.
        edges: of the mesh.
        part: rigid part of each vertex, -1 for none, whose edges are left out; all -1 counts as one part.
    """
    one, two = edges[:, 0], edges[:, 1]
    inside = (part[one] == part[two]) & ((part[one] >= 0) | (part < 0).all())
    if not inside.any():
        return float("nan")
    return float(np.quantile(np.abs(weights[one[inside]] - weights[two[inside]]).sum(-1), 0.95))


def buried(
    vertices: Float[np.ndarray, "n 3"],
    faces: Int[np.ndarray, "m 3"],
    component: Int[np.ndarray, " n"],
    *,
    seed: int = 0,
) -> float:
    """Return the share of sampled vertices that lie inside a component other than their own."""
    probes = np.random.default_rng(seed).permutation(len(vertices))[:_BURIED_PROBES]
    return buried_share(np.asarray(vertices, np.float64), np.asarray(faces), np.asarray(component), probes)


def nearest_of(
    candidates: Float[np.ndarray, "c p 3"], targets: Float[np.ndarray, "s p 3"]
) -> Float64[np.ndarray, " s"]:
    """Return, for each target, the mean squared distance of the nearest candidate after its best rigid placement.

    With ``A`` and ``B`` the centred points, ``min |A R - B|^2 = |A|^2 + |B|^2 - 2 sum(singular values of A^T B)``, the
    smallest of which counts negative where the best orthogonal map is a reflection (Kabsch).
    """
    a = candidates - candidates.mean(1, keepdims=True)
    b = targets - targets.mean(1, keepdims=True)
    mixed = np.einsum("cpi,spj->csij", a, b, optimize=True)
    values = np.linalg.svd(mixed, compute_uv=False)
    values[..., 2] *= np.where(np.linalg.det(mixed) < 0, -1.0, 1.0)
    squared = np.square(a).sum((1, 2))[:, None] + np.square(b).sum((1, 2)) - 2.0 * values.sum(-1)
    return np.maximum(squared, 0.0).min(0) / candidates.shape[1]
