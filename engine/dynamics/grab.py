"""The hand: a spring-damper on one surface point, whose force is bounded and is zero at the moment of the grab."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

GRAB_FREQUENCY = 7.0  # Hz, of the held point's own effective mass on the spring
FORCE_CAP = 5.0  # times the weight of the whole object
DAMPING_RAMP = 0.05  # s


@dataclass(frozen=True, slots=True)
class SpringForce:
    """Energy of the hand at one iterate: value [J], gradient (3,) [N] and Hessian (3, 3) [N/m] at the held point."""

    energy: float
    gradient: Float64[np.ndarray, "3"]
    hessian: Float64[np.ndarray, "3 3"]


def effective_mass(rows: Float64[np.ndarray, "3 d"], inverse_mass: Float64[np.ndarray, "d d"]) -> float:
    """Return ``3 / tr(J M^-1 J^T)`` [kg] of a point: what the hand feels (MuJoCo's perturbation mass)."""
    return 3.0 / max(float(np.trace(rows @ inverse_mass @ rows.T)), 1e-12)


def spring_force(
    position: Float64[np.ndarray, "3"],
    before: Float64[np.ndarray, "3"],
    target: Float64[np.ndarray, "3"],
    *,
    stiffness: float,
    damping: float,
    force_cap: float,
    age: float,
    h: float,
) -> SpringForce:
    """Return the Huber energy of the spring and the dissipation of its damper over the step.

    Args:
        position, before: the held point now and at the start of the step, world [m].
        target: the cursor, world [m].
        stiffness, damping, force_cap: [N/m], [N s/m], [N].
        age: since the grab [s]; the damper is ramped in.
        h: step [s].
    """
    offset = position - target
    distance = float(np.linalg.norm(offset))
    knee = force_cap / stiffness
    # Beyond the knee the pull is constant; the secant stiffness keeps the Hessian positive.
    secant = stiffness * min(1.0, knee / max(distance, 1e-12))
    energy = 0.5 * stiffness * distance**2 if distance <= knee else force_cap * (distance - 0.5 * knee)
    viscous = damping * min(1.0, age / DAMPING_RAMP) / h
    move = position - before
    energy += 0.5 * viscous * float(move @ move)
    return SpringForce(energy, secant * offset + viscous * move, (secant + viscous) * np.eye(3))
