"""The time discretisation of a step: BDF2, or backward Euler where there is no step before.

    minimise  1/(2 gamma^2) ||x(y) - x~||_W^2 + V(x(y)) + dissipation,      y = (p, R, q)

With BDF2, ``gamma = 2h/3``, ``x^ = (4 x_n - x_{n-1})/3``, ``x~ = x^ + gamma (4 v_n - v_{n-1})/3 + gamma^2 g``; the
new velocity is ``(x - x^)/gamma``. Backward Euler (``gamma = h``, ``x^ = x_n``) starts a motion, follows an impact, and
replaces a step that did not converge. Gravity is part of ``x~``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from engine.dynamics.state import Trail


@dataclass(frozen=True, slots=True)
class Scheme:
    """The multistep scheme of a step (see the module): ``gamma``; ``x^``, ``x~`` of the mass points, ``q^``, ``q~``."""

    gamma: float
    base: Float64[np.ndarray, "m 3"]
    aim: Float64[np.ndarray, "m 3"]
    base_q: Float64[np.ndarray, " r"]
    aim_q: Float64[np.ndarray, " r"]


def scheme_after(
    now: tuple[Float64[np.ndarray, "m 3"], Float64[np.ndarray, "m 3"]],
    reduced: tuple[Float64[np.ndarray, " r"], Float64[np.ndarray, " r"]],
    trail: Trail | None,
    h: float,
    gravity: float,
) -> Scheme:
    """Return BDF2, or backward Euler where there is no step before.

    Args:
        now: positions and velocities of the mass points [m, m/s].
        reduced: coordinates q now and their rates [1/s].
        trail: the step before; None restarts.
        h: step [s].
        gravity: along -Z [m/s^2].
    """
    (x, v), (q, qd), fall = now, reduced, np.array([0.0, 0.0, -gravity])
    if trail is None:
        return Scheme(h, x, x + h * v + h**2 * fall, q, q + h * qd)
    gamma = 2.0 * h / 3.0
    base = (4.0 * x - trail.old_positions) / 3.0
    aim = base + gamma * (4.0 * v - trail.old_velocities) / 3.0 + gamma**2 * fall
    base_q = (4.0 * q - trail.old_q) / 3.0
    return Scheme(gamma, base, aim, base_q, base_q + gamma * (4.0 * qd - trail.old_qd) / 3.0)
