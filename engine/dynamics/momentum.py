"""Momenta of the mass points, and the rigid correction by which free flight keeps them."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float64

from engine.dynamics.evaluation_point import Evaluation


def angular_momentum(
    masses: Float64[np.ndarray, " m"], x: Float64[np.ndarray, "m 3"], v: Float64[np.ndarray, "m 3"]
) -> Float64[np.ndarray, "3"]:
    """Return the angular momentum about the centre of mass [kg m^2/s]."""
    total = masses.sum()
    x, v = x - masses @ x / total, v - masses @ v / total
    return np.cross(x, masses[:, None] * v).sum(0)


def keep_momentum(
    masses: Float64[np.ndarray, " m"],
    before: tuple[Float64[np.ndarray, "m 3"], Float64[np.ndarray, "m 3"]],
    now: Evaluation,
    u: Float64[np.ndarray, " d"],
    impulse: Float64[np.ndarray, "3"],
) -> Float64[np.ndarray, " d"]:
    """Correct generalized velocities by a rigid motion such that both momenta are the old ones plus an impulse.

    Args:
        masses: of the mass points [kg].
        before: their positions and velocities at the start of the step, world [m, m/s].
        now: the object at the end of the step.
        u: velocities of root, turn and q at the end.
        impulse: on the centre of mass during the step, per mass [m/s].
    """
    x0, v0 = before
    x, v = now.masses_at, (now.masses_jacobian.T @ u).reshape(-1, 3)
    drift = masses @ (v0 - v) / masses.sum() + impulse
    gap = angular_momentum(masses, x0, v0) - angular_momentum(masses, x, v)
    centre = masses @ x / masses.sum()
    arms = x - centre
    inertia = np.einsum("m,md,md->", masses, arms, arms) * np.eye(3) - np.einsum("m,mi,mj->ij", masses, arms, arms)
    spin = np.linalg.lstsq(inertia, gap, rcond=1e-9)[0]
    corrected = u.copy()
    # A spin about the centre of mass, written at the root.
    corrected[:3] += drift + np.cross(spin, now.pose.p - centre)
    corrected[3:6] += spin
    return corrected


def slowed_spin(
    masses: Float64[np.ndarray, " m"], now: Evaluation, u: Float64[np.ndarray, " d"], share: float
) -> Float64[np.ndarray, " d"]:
    """Take a share of the turning away, about the centre of mass, which goes on at its speed.

    What rolls is slowed by it through its friction; what slides without turning is not.
    """
    centre = masses @ now.masses_at / masses.sum()
    slowed = u.copy()
    slowed[3:6] *= 1.0 - share
    slowed[:3] += share * np.cross(u[3:6], centre - now.pose.p)
    return slowed
