"""The yaw at which a shape is read: a frame that turns with the object, so that the network need not learn every yaw.

Most objects have a front, sides and a long axis. In the frame they give, hinges and slides lie along few directions,
whatever way the file is turned. The frame is found in closed form from moments about the up axis, written as complex
numbers ``x + iy``: the fourth power of the horizontal part of the normals points at four directions, a quarter turn
apart, along which the sides face; so does the square of the second moment of the positions, whose long axis then tells
the two pairs apart, and the third moment along it tells its ends. Where a shape is round, a moment vanishes and the
frame is arbitrary, and so it is for the shape.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

# Of the second moment of positions beside the fourth of the normals: a box is read by its faces, a bean by its length.
LENGTH_SHARE = 0.5


def canonical_yaw(
    points: Float[np.ndarray, "p 3"],
    normals: Float[np.ndarray, "p 3"],
    weights: Float[np.ndarray, " p"] | None = None,
) -> Float[np.ndarray, "3 3"]:
    """Return the rotation about Z that brings a surface to its canonical frame: turned by any yaw, it ends the same.

    Args:
        points: of the surface, any unit.
        normals: unit normals there.
        weights: area that each point stands for; by default all alike.
    """
    share = np.full(len(points), 1.0) if weights is None else np.asarray(weights, np.float64)
    share = share / max(float(share.sum()), 1e-30)
    flat = points[:, :2] - share @ points[:, :2]
    place = flat[:, 0] + 1j * flat[:, 1]
    facing = normals[:, 0] + 1j * normals[:, 1]
    second = share @ place**2 / max(float(share @ np.abs(place) ** 2), 1e-30)
    fourth = share @ facing**4 / max(float(share @ np.abs(facing) ** 4), 1e-30)
    sides = fourth + LENGTH_SHARE * second**2
    angle = np.angle(sides) / 4 if abs(sides) > 1e-9 else 0.0
    # Of the four quarters: long axis along x, the end with the longer tail at positive x.
    turned = place * np.exp(-1j * angle)
    if (share @ turned**2).real < 0:
        angle += np.pi / 2
        turned = turned * -1j
    if share @ turned.real**3 < 0:
        angle += np.pi
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]])
