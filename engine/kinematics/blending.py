"""Points driven by blended handles, with their tangents along the reduced coordinates.

Symbols: ``H`` handle dual quaternions, row 0 the state and rows 1..k its derivatives along ``q``; ``W`` blending
weights; ``b = W H`` the blend, whose real part has length ``N^(1/2)``. A point goes to ``n(b) / N`` with ``n`` quadratic
in ``b`` (Kavan et al. 2008, dual quaternion linear blending), so its tangents are ``(dn - x dN) / N``.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor


@dataclass(frozen=True, slots=True)
class DrivenPoints:
    """Points of one state with derivatives along the reduced coordinates.

    Attributes:
        positions: shape (p, 3), unit frame.
        position_tangents: shape (k, p, 3).
        rotations: blended unit quaternions, shape (p, 4).
        rotation_tangents: shape (k, p, 4).
    """

    positions: Float[Tensor, "p 3"]
    position_tangents: Float[Tensor, "k p 3"]
    rotations: Float[Tensor, "p 4"]
    rotation_tangents: Float[Tensor, "k p 4"]


def drive(weights: Float[Tensor, "p t"], handles: Float[Tensor, "t 8"], points: Float[Tensor, "p 3"]) -> Float[Tensor, "p 3"]:
    """Return the points carried by blended handles: one matrix product and a few sums, whatever the mesh."""
    b = weights @ handles
    w, u, dw, d = b[:, :1], b[:, 1:4], b[:, 4:5], b[:, 5:]
    inverse = 2.0 / (b[:, :4] * b[:, :4]).sum(-1, keepdim=True)
    # R x + t = x + 2/N (u x (u x x + w x) + w d - dw u + u x d), with the crosses gathered into one.
    inner = torch.linalg.cross(u, points).add_(w * points).add_(d)
    moved = torch.linalg.cross(u, inner).add_(w * d).sub_(dw * u)
    return moved.mul_(inverse).add_(points)


def drive_with_tangents(
    weights: Float[Tensor, "p t"], handles: Float[Tensor, "k1 t 8"], points: Float[Tensor, "p 3"]
) -> DrivenPoints:
    """Return the driven points and their derivatives; ``handles`` holds the state and then its k tangents."""
    t = handles.shape[1]
    b = (weights @ handles.transpose(0, 1).reshape(t, -1)).view(len(weights), -1, 8).transpose(0, 1)
    b0, db = b[:1], b[1:]
    norm = (b0[..., :4] * b0[..., :4]).sum(-1, keepdim=True)
    half = 2.0 / norm
    w, u, dw, d = b0[..., :1], b0[..., 1:4], b0[..., 4:5], b0[..., 5:]
    tw, tu, tdw, td = db[..., :1], db[..., 1:4], db[..., 4:5], db[..., 5:]
    inner = torch.linalg.cross(u, points[None]) + w * points + d
    numerator = torch.linalg.cross(u, inner) + w * d - dw * u
    shift = numerator * half
    points_k = points.expand(len(db), -1, -1)
    inner_k = torch.linalg.cross(tu, points_k) + tw * points + td
    numerator_k = torch.linalg.cross(tu, inner.expand_as(tu)) + torch.linalg.cross(u.expand_as(tu), inner_k)
    numerator_k = numerator_k + tw * d + w * td - tdw * u - dw * tu
    # d(n 2/N) = dn 2/N - shift dN/N
    growth = (b0[..., :4] * db[..., :4]).sum(-1, keepdim=True) * half
    length = norm.rsqrt()
    rotation = b0[..., :4] * length
    rotation_k = db[..., :4] * length - rotation * (0.5 * growth)
    return DrivenPoints(points + shift[0], numerator_k * half - shift * growth, rotation[0], rotation_k)
