"""Pins and the anchor: linear functionals of point positions, held by springs far stiffer than the step can see.

All rows are gathered and turned, in the metric of the inverse mass matrix, into independent directions; the
strongest ``6 + k_q/2`` are held hard and the others by a soft spring, so a cloth pinned at many points can still
swing, and targets that contradict one another are met in least squares.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

# rad/s, of a held direction with its own effective mass. Stiffer springs make a steep curved valley of the energy, in
# which Gauss-Newton creeps; at this one a load of five times the weight moves a pin by 0.2 mm.
HARD = 500.0
SOFT = 60.0
# A soft body gives way around a pin: the pinned point's own effective mass is a small part of the whole, yet it carries
# the whole weight. A hard direction is held as if at least this share of the mass were behind it.
LEAST_SHARE = 0.5
# Directions whose mobility is below this share of the greatest are no independent constraint.
RANK_TOLERANCE = 1e-7


@dataclass(frozen=True, slots=True)
class ConstraintSpring:
    """The quadratic energy ``1/2 c^T K c`` of constraint values ``c`` [m].

    Attributes:
        stiffness: K, shape (r, r) [N/m].
        kept: number of directions held hard.
        over: there were more directions than are held hard.
    """

    stiffness: Float64[np.ndarray, "r r"]
    kept: int
    over: bool


def hold(
    rows: Float64[np.ndarray, "r d"],
    inverse_mass: Float64[np.ndarray, "d d"],
    *,
    most: int,
    hard: float = HARD,
    least_share: float = LEAST_SHARE,
) -> ConstraintSpring:
    """Return the spring that holds constraint rows.

    Args:
        rows: derivative of the constraint values by the generalized coordinates.
        inverse_mass: ``M^-1``.
        most: directions held hard at most.
        hard: angular frequency of a held direction [rad/s].
        least_share: share of the whole mass that a held direction has behind it at least.
    """
    mobility = rows @ inverse_mass @ rows.T
    values, vectors = np.linalg.eigh(0.5 * (mobility + mobility.T))
    values, vectors = values[::-1], vectors[:, ::-1]
    rank = int((values > RANK_TOLERANCE * max(values[0], 1e-30)).sum()) if len(values) else 0
    kept = min(rank, most)
    frequency = np.where(np.arange(len(values)) < kept, hard, SOFT)
    floor = RANK_TOLERANCE * max(float(values[0]), 1e-30) if len(values) else 1.0
    effective = 1.0 / np.maximum(values, floor)
    # The first three coordinates move the whole.
    whole = 3.0 / np.trace(inverse_mass[:3, :3])
    effective = np.where(np.arange(len(values)) < kept, np.maximum(effective, least_share * whole), effective)
    stiffness = np.where(np.arange(len(values)) < rank, frequency**2 * effective, 0.0)
    return ConstraintSpring((vectors * stiffness) @ vectors.T, kept, rank > most)


def frame_rows(arms: Float64[np.ndarray, "b 3"]) -> Float64[np.ndarray, "6 b3"]:
    """Return six functionals of a region's points: its centroid, and its turn about the centroid times its radius.

    Args:
        arms: from the region's centroid to its points at the place where it is to be held, world [m].
    """
    b = len(arms)
    rows = np.zeros((6, b, 3))
    radius = max(float(np.sqrt((arms**2).sum(-1).mean())), 1e-9)
    for axis in range(3):
        rows[axis, :, axis] = 1.0 / b
        i, j = (axis + 1) % 3, (axis + 2) % 3
        # component `axis` of arm x displacement
        rows[3 + axis, :, j] = arms[:, i] / (b * radius)
        rows[3 + axis, :, i] = -arms[:, j] / (b * radius)
    return rows.reshape(6, 3 * b)
