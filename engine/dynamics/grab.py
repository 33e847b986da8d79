"""The hand: a spring-damper on one surface point, whose force is bounded and is zero at the moment of the grab."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from engine.dynamics.state import Grab, SurfacePoint

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


def mobility_beside(
    inverse_mass: Float64[np.ndarray, "d d"], fixed: Float64[np.ndarray, "c d"] | None
) -> Float64[np.ndarray, "d d"]:
    """Return the inverse mass matrix within the motions that constraint rows leave free."""
    if fixed is None:
        return inverse_mass
    inner = np.linalg.pinv(fixed @ inverse_mass @ fixed.T, rcond=1e-9, hermitian=True)
    return inverse_mass - inverse_mass @ fixed.T @ inner @ fixed @ inverse_mass


def matched_spring(
    point: SurfacePoint, target: Float64[np.ndarray, "3"], felt: float, *, object_mass: float, frequency: float
) -> Grab:
    """Return a critically damped spring for the mass that the hand feels, without force yet.

    Args:
        point: what is held.
        target: where it is now, world [m].
        felt: effective mass of the point [kg].
        object_mass: of the whole object, which bounds the force [kg].
        frequency: of the material [Hz]; the hand is stiffer than the object.
    """
    omega = 2.0 * np.pi * max(GRAB_FREQUENCY, 3.0 * frequency)
    return Grab(point, target, felt * omega**2, 2.0 * felt * omega, FORCE_CAP * 9.81 * object_mass)


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
        position: the held point now, world [m].
        before: the held point at the start of the step, world [m].
        target: the cursor, world [m].
        stiffness: of the spring [N/m].
        damping: of the damper [N s/m].
        force_cap: largest pull [N].
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
