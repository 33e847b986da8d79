"""Part of a motion: every point goes a share of its way along its own screw.

The states of a dataset are chosen to be far apart, so hardly any lie near the rest shape; the decoder then learns
nothing about small motions and hardly moves there. A share of a state fills the gap. A rigid part that turns about a
hinge stays rigid and turns by that share of the angle. For chains of hinges this is not so, since the screws of two
joints do not commute; what bends smoothly is close to it, the less it turns the closer.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from engine.geometry.dual_quaternion import quaternion_rotate

# Turn below which a point goes straight [rad].
_STRAIGHT = 0.02


def partial_motion(
    rest: Float[Tensor, "b p 3"],
    moved: Float[Tensor, "b p 3"],
    rotation: Float[Tensor, "b p 4"],
    share: Float[Tensor, " b"],
) -> tuple[Float[Tensor, "b p 3"], Float[Tensor, "b p 4"]]:
    """Return positions and rotations of points that went a share of their motion.

    Args:
        rest: positions before the motion.
        moved: positions after it.
        rotation: how each point's surroundings turned, unit quaternions.
        share: of the whole motion, from 0 to 1, one per row.
    """
    share = share[:, None, None]
    rotation = torch.where(rotation[..., :1] < 0, -rotation, rotation)
    sine = rotation[..., 1:].norm(dim=-1, keepdim=True)
    half = torch.atan2(sine, rotation[..., :1])
    axis = rotation[..., 1:] / sine.clamp(min=1e-9)
    part = torch.cat(((share * half).cos(), (share * half).sin() * axis), -1)
    shift = moved - quaternion_rotate(rotation, rest)
    along = (shift * axis).sum(-1, keepdim=True)
    across = shift - along * axis
    # A point of the screw's axis (Murray, Li and Sastry 1994, section 2.3).
    centre = 0.5 * (across + torch.linalg.cross(axis, across) / half.tan().clamp(min=1e-9))
    turned = quaternion_rotate(part, rest - centre) + centre + share * along * axis
    straight = rest + share * (moved - rest)
    return torch.where(2.0 * half < _STRAIGHT, straight, turned), part
