"""The motion of a handle or a query, and its blend over points: dual quaternions, or affine maps for the ablation.

A motion is a row of numbers that mixes linearly: the eight of a unit dual quaternion (Kavan et al. 2008), or the twelve
of an affine map's departure from the identity (linear blend skinning), which knows nothing of rotations.
"""

from __future__ import annotations

from enum import StrEnum

import torch
from jaxtyping import Float
from torch import Tensor

from engine.geometry.dual_quaternion import dual_apply, dual_normalize, dual_quaternion_about


class MotionKind(StrEnum):
    """How a handle moves what it drives."""

    DUAL_QUATERNION = "dual_quaternion"
    AFFINE = "affine"

    @property
    def numbers(self) -> int:
        """Free numbers per handle: a half-angle tangent vector and a shift, or a matrix and a shift."""
        return 6 if self is MotionKind.DUAL_QUATERNION else 12


def motion_about(raw: Float[Tensor, "*b n"], pivots: Float[Tensor, "*b 3"], kind: MotionKind) -> Float[Tensor, "*b m"]:
    """Return the motions that free numbers describe, each about its pivot, unit frame."""
    if kind is MotionKind.DUAL_QUATERNION:
        turn, shift = raw.split(3, -1)
        rotation = torch.nn.functional.normalize(torch.cat((torch.ones_like(turn[..., :1]), turn), -1), dim=-1)
        return dual_quaternion_about(rotation, pivots, shift)
    matrix, shift = raw[..., :9].unflatten(-1, (3, 3)), raw[..., 9:]
    return torch.cat((raw[..., :9], shift - (matrix @ pivots[..., None])[..., 0]), -1)


def blend(
    weights: Float[Tensor, "b p t"], motions: Float[Tensor, "b t m"], points: Float[Tensor, "b p 3"]
) -> tuple[Float[Tensor, "b p 3"], Float[Tensor, "b p 4"]]:
    """Return the positions and rotations of points driven by blended motions; an affine blend has no rotation."""
    blended = weights @ motions
    if motions.shape[-1] == 8:
        blended = dual_normalize(blended)
        return dual_apply(blended, points), blended[..., :4]
    matrix, shift = blended[..., :9].unflatten(-1, (3, 3)), blended[..., 9:]
    still = points.new_zeros(*points.shape[:-1], 4)
    still[..., 0] = 1.0
    return points + (matrix @ points[..., None])[..., 0] + shift, still
