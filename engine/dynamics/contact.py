"""The floor: one-sided contact with Coulomb friction, on a few points chosen anew for every step.

Contact is a stiff spring that starts a little above the floor, implicit in the step, so that a fall is caught within
one step without going through. Friction is lagged: the normal force of the last iterate bounds the tangential one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float64, Int

# Angular frequency of the whole mass on one contact point [rad/s]: a fall at 4 m/s sinks by 0.2 % of size.
CONTACT_FREQUENCY = 260.0
# Contact starts this share of size above the floor, so what is drawn never goes through it.
MARGIN = 0.002
# Slip speed below which friction is viscous [m/s].
STICK_SPEED = 0.004
MOST_POINTS = 24


@dataclass(frozen=True, slots=True)
class ContactForces:
    """Energy of the floor at one iterate, per contact point.

    Attributes:
        energy: of penetration and of friction [J].
        gradient: negative force on each point, shape (c, 3) [N].
        hessian: diagonal of the second derivative at each point, shape (c, 3) [N/m].
        touching: points within the margin, shape (c,).
    """

    energy: float
    gradient: Float64[np.ndarray, "c 3"]
    hessian: Float64[np.ndarray, "c 3"]
    touching: Bool[np.ndarray, " c"]


def choose_points(positions: Float64[np.ndarray, "n 3"], reach: float, size: float) -> Int[np.ndarray, " c"]:
    """Return the candidates to watch in a step: the lowest one, and the lowest others spread over a grid.

    Args:
        positions: predicted world positions of all candidates [m].
        reach: height below which a point is watched [m].
        size: of the object [m]; cells of the grid are an eighth of it.
    """
    low = np.flatnonzero(positions[:, 2] < reach)
    if len(low) <= MOST_POINTS:
        return low
    order = low[np.argsort(positions[low, 2], kind="stable")]
    cell = np.floor(positions[order, :2] / (0.125 * size)).astype(np.int64)
    _, first = np.unique(cell, axis=0, return_index=True)
    spread = order[np.sort(first)][: MOST_POINTS - 4]
    rest = order[~np.isin(order, spread)][: MOST_POINTS - len(spread)]
    return np.concatenate((spread, rest))


def floor_forces(
    positions: Float64[np.ndarray, "c 3"],
    before: Float64[np.ndarray, "c 3"],
    normal_force: Float64[np.ndarray, " c"],
    *,
    mass: float,
    size: float,
    friction: float,
    h: float,
) -> ContactForces:
    """Return energy, gradient and Hessian of contact at the given positions.

    Args:
        positions: of the contact points [m].
        before: where they were at the start of the step [m].
        normal_force: lagged normal force that bounds friction [N].
        mass: of the object [kg].
        size: of the object [m].
        friction: Coulomb coefficient.
        h: step [s].
    """
    stiffness = mass * CONTACT_FREQUENCY**2
    depth = np.maximum(MARGIN * size - positions[:, 2], 0.0)
    touching = depth > 0
    slip = positions[:, :2] - before[:, :2]
    distance = np.linalg.norm(slip, axis=-1)
    threshold = STICK_SPEED * h
    limit = friction * normal_force * touching
    sliding = distance > threshold
    secant = limit / np.where(sliding, distance, threshold)
    friction_energy = np.where(sliding, distance - 0.5 * threshold, 0.5 * distance**2 / threshold) * limit
    gradient = np.concatenate((secant[:, None] * slip, (-stiffness * depth)[:, None]), -1)
    hessian = np.stack((secant, secant, stiffness * touching), -1)
    return ContactForces(float(0.5 * stiffness * (depth**2).sum() + friction_energy.sum()), gradient, hessian, touching)
