"""The blend of handles, in plain numpy, so that a clip plays without the network.

Symbols: ``H`` handle dual quaternions (T, 8), ``W`` blending weights (n, T), ``b = W H``. A point goes to
``r x r* + t`` of the normalised blend (Kavan et al. 2008, dual quaternion linear blending).
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Float32


def blend_handles(
    weights: Float32[np.ndarray, "n t"], handles: Float32[np.ndarray, "t 8"], points: Float[np.ndarray, "n 3"]
) -> Float32[np.ndarray, "n 3"]:
    """Return rest points carried by blended handles, unit frame."""
    b = weights @ handles
    w, ux, uy, uz, dw, dx, dy, dz = b.T
    x, y, z = points.astype(np.float32).T
    # R x + t = x + 2/N (u x (u x x + w x + d) + w d - dw u), N the squared length of the real part.
    scale = 2.0 / (w * w + ux * ux + uy * uy + uz * uz)
    ix = uy * z - uz * y + w * x + dx
    iy = uz * x - ux * z + w * y + dy
    iz = ux * y - uy * x + w * z + dz
    moved = np.stack(
        (
            x + scale * (uy * iz - uz * iy + w * dx - dw * ux),
            y + scale * (uz * ix - ux * iz + w * dy - dw * uy),
            z + scale * (ux * iy - uy * ix + w * dz - dw * uz),
        ),
        axis=-1,
    )
    return moved.astype(np.float32, copy=False)
