"""Bounces: at contacts that closed in a step, the velocity at which the points leave again.

The contact's spring catches an impact within one step and gives back next to nothing, whatever the material. So the
share that the material gives back is put in afterwards, as impulses between surface and points: the smallest change of
velocity, in kinetic energy, by which each point that struck leaves at its share of the speed at which it came, and none
that touches moves into its surface. Source: Moreau, "Unilateral contact and dry friction in finite freedom dynamics",
1988; the least change is Lawson and Hanson's least distance programming, 1974.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg
import scipy.optimize
from jaxtyping import Float64


def approach_speeds(
    closing: Float64[np.ndarray, " c"], gap: Float64[np.ndarray, " c"], pull: Float64[np.ndarray, " c"]
) -> Float64[np.ndarray, " c"]:
    """Return the speeds at which points meet their surfaces within a step [m/s].

    Args:
        closing: speed toward the surface at the start of the step [m/s], negative where a point leaves.
        gap: to the surface then [m].
        pull: acceleration of gravity toward the surface [m/s^2]; what it adds on the way counts too.
    """
    squared = closing * np.abs(closing) + 2.0 * pull * np.maximum(gap, 0.0)
    return np.sqrt(np.maximum(squared, 0.0))


def bounced(
    u: Float64[np.ndarray, " d"],
    mass_matrix: Float64[np.ndarray, "d d"],
    rows: Float64[np.ndarray, "c d"],
    wanted: Float64[np.ndarray, " c"],
) -> Float64[np.ndarray, " d"]:
    """Return the velocities nearest to ``u``, measured by kinetic energy, with ``rows @ u >= wanted``.

    Args:
        u: generalized velocities after the step.
        mass_matrix: M.
        rows: normal velocity of each contact point by the generalized velocities.
        wanted: least normal velocity, out of the surface [m/s].
    """
    missing = wanted - rows @ u
    if (missing <= 0).all():
        return u
    factor = scipy.linalg.cholesky(mass_matrix, lower=True)
    # In x = L^T (u' - u) the change is a shortest vector with G x >= missing.
    reduced = scipy.linalg.solve_triangular(factor, rows.T, lower=True)
    speed = float(np.abs(missing).max())
    system = np.concatenate((reduced, (missing / speed)[None]))
    aim = np.zeros(len(system))
    aim[-1] = 1.0
    duals, _ = scipy.optimize.nnls(system, aim)
    rest = system @ duals - aim
    if abs(rest[-1]) < 1e-12:
        # No velocity leaves all points at once: one that is pressed from both sides stays as it is.
        return u
    change = -speed * rest[:-1] / rest[-1]
    return u + scipy.linalg.solve_triangular(factor.T, change, lower=False)
