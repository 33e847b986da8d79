"""What Gauss-Newton leaves out of the Hessian, learned from the gradients of one solve.

Forces times the curvature of the decoder are left out. They are small until a body is strained far along a coordinate
that moves little: a hard lump spun at two turns a second took 14 iterations and was not there. A symmetric secant
matrix beside the Gauss-Newton one is what nonlinear least squares use then (Dennis, Gay and Welsch, "An adaptive
nonlinear least-squares algorithm", 1981).
"""

from __future__ import annotations

import numpy as np
import scipy.linalg
from jaxtyping import Float64

# Share of the Gauss-Newton Hessian that must be left along every direction.
LEAST_SHARE = 0.1


def learned(
    beside: Float64[np.ndarray, "d d"],
    step: Float64[np.ndarray, " d"],
    rise: Float64[np.ndarray, " d"],
    hessian: Float64[np.ndarray, "d d"],
) -> Float64[np.ndarray, "d d"]:
    """Return the matrix beside the Gauss-Newton one that explains the last change of the gradient, too.

    Args:
        beside: the matrix so far.
        step: that was taken.
        rise: of the gradient along it.
        hessian: Gauss-Newton's at its end.
    """
    curvature = float(rise @ step)
    if curvature <= 1e-12 * np.linalg.norm(rise) * np.linalg.norm(step):
        return beside
    left = rise - hessian @ step
    told = float(step @ beside @ step)
    # What was learned elsewhere is shrunk where it would claim more than this step saw.
    beside = beside * min(1.0, abs(float(step @ left)) / max(abs(told), 1e-300))
    gap = left - beside @ step
    both = np.outer(gap, rise)
    return np.asarray(beside + (both + both.T) / curvature - float(gap @ step) / curvature**2 * np.outer(rise, rise))


def completed(hessian: Float64[np.ndarray, "d d"], beside: Float64[np.ndarray, "d d"]) -> Float64[np.ndarray, "d d"]:
    """Return their sum where it is safely positive, or the Gauss-Newton Hessian alone."""
    whole = hessian + beside
    try:
        scipy.linalg.cholesky(whole - LEAST_SHARE * hessian, check_finite=False)
    except np.linalg.LinAlgError:
        return hessian
    return whole
