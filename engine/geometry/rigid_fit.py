"""The rigid motion that carries points closest to others, one for one."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from engine.geometry.modes import polar_rotation


def rigid_fit(
    source: Float[np.ndarray, "n 3"], target: Float[np.ndarray, "n 3"], weights: Float[np.ndarray, " n"]
) -> tuple[Float[np.ndarray, "3 3"], Float[np.ndarray, "3"]]:
    """Return the rotation and translation that carry ``source`` closest to ``target`` (Kabsch)."""
    w = weights / weights.sum()
    a, b = w @ source, w @ target
    rotation = polar_rotation(((target - b) * w[:, None]).T @ (source - a))
    return rotation, b - rotation @ a
