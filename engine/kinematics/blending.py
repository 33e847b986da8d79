"""Points driven by blended handles, with their tangents along the reduced coordinates.

Symbols: ``H`` handle dual quaternions, row 0 the state and rows 1..k its derivatives along ``q``; ``W`` blending
weights; ``b = W H`` the blend, whose real part has length ``N^(1/2)``. A point goes to ``n(b) / N`` with ``n``
quadratic in ``b`` (Kavan et al. 2008, dual quaternion linear blending), so its tangents are ``(dn - x dN) / N``.
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
        position_tangents: shape (p, k, 3).
        rotations: blended unit quaternions, shape (p, 4).
        rotation_tangents: shape (p, k, 4).
    """

    positions: Float[Tensor, "p 3"]
    position_tangents: Float[Tensor, "p k 3"]
    rotations: Float[Tensor, "p 4"]
    rotation_tangents: Float[Tensor, "p k 4"]


def drive(
    weights: Float[Tensor, "p t"], handles: Float[Tensor, "t m"], points: Float[Tensor, "p 3"]
) -> Float[Tensor, "p 3"]:
    """Return the points carried by blended handles: one matrix product and a few sums, whatever the mesh.

    Motions of twelve numbers are affine maps (the ablation of `engine.model.motions`).
    """
    b = weights @ handles
    if handles.shape[-1] == 12:
        return points + (b[:, :9].unflatten(-1, (3, 3)) @ points[..., None])[..., 0] + b[:, 9:]
    w, u, dw, d = b[:, :1], b[:, 1:4], b[:, 4:5], b[:, 5:]
    inverse = 2.0 / (b[:, :4] * b[:, :4]).sum(-1, keepdim=True)
    # R x + t = x + 2/N (u x (u x x + w x) + w d - dw u + u x d), with the crosses gathered into one.
    inner = torch.linalg.cross(u, points).add_(w * points).add_(d)
    moved = torch.linalg.cross(u, inner).add_(w * d).sub_(dw * u)
    return moved.mul_(inverse).add_(points)


def drive_with_tangents(
    weights: Float[Tensor, "p t"], handles: Float[Tensor, "k1 t m"], points: Float[Tensor, "p 3"]
) -> DrivenPoints:
    """Return the driven points and their derivatives; ``handles`` holds the state and then its k tangents."""
    if handles.shape[-1] == 12:
        return _drive_affine(weights, handles, points)
    p, t = len(weights), handles.shape[1]
    b = (weights @ handles.transpose(0, 1).reshape(t, -1)).view(p, -1, 8)
    b0, db = b[:, 0], b[:, 1:]
    w, u, dw, d = b0[:, :1], b0[:, 1:4], b0[:, 4:5], b0[:, 5:]
    half = 2.0 / (b0[:, :4] * b0[:, :4]).sum(-1, keepdim=True)
    inner = torch.linalg.cross(u, points) + w * points + d
    shift = half * (torch.linalg.cross(u, inner) + w * d - dw * u)
    # Jacobian of the shift by b, one 8x3 matrix per point (row = component of b).
    eye = torch.eye(3, dtype=b.dtype, device=b.device)
    u_cross = _cross_rows(u)
    jacobian = torch.cat(
        (
            (torch.linalg.cross(u, points) + d)[:, None],
            # d(u x inner): du x inner + u x (du x x), and the real part's share of -dw u
            -_cross_rows(inner) - torch.matmul(_cross_rows(points), u_cross) - dw[..., None] * eye,
            -u[:, None],
            u_cross + w[..., None] * eye,
        ),
        1,
    )
    # The norm's growth: d(n 2/N) = 2/N dn - shift dN/N.
    jacobian[:, :4] -= b0[:, :4, None] * shift[:, None]
    # Sine and cosine of the turn, normalised: dr = (db - r (r . db)) / |b|.
    length = (0.5 * half).sqrt()
    rotation = b0[:, :4] * length
    turning = length[..., None] * (
        torch.eye(4, dtype=b.dtype, device=b.device) - rotation[:, :, None] * rotation[:, None, :]
    )
    moved = torch.bmm(db, jacobian * half[..., None])
    turned = torch.bmm(db[..., :4], turning)
    return DrivenPoints(points + shift, moved, rotation, turned)


def _drive_affine(
    weights: Float[Tensor, "p t"], maps: Float[Tensor, "k1 t 12"], points: Float[Tensor, "p 3"]
) -> DrivenPoints:
    """Drive points by blended affine maps, which have no rotations to tell."""
    b = torch.einsum("pt,ktn->pkn", weights, maps)
    moved = (b[..., :9].unflatten(-1, (3, 3)) @ points[:, None, :, None])[..., 0] + b[..., 9:]
    still = points.new_zeros(len(points), 4)
    still[:, 0] = 1.0
    return DrivenPoints(points + moved[:, 0], moved[:, 1:], still, points.new_zeros(len(points), len(maps) - 1, 4))


# Row i, column j of the product with ``a`` is component j of ``a x e_i``.
_CROSS_ROWS = torch.zeros(3, 3, 3, dtype=torch.float64)
for _a, _i, _j in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
    _CROSS_ROWS[_a, _i, _j], _CROSS_ROWS[_i, _a, _j] = 1.0, -1.0


def _cross_rows(a: Float[Tensor, "p 3"]) -> Float[Tensor, "p 3 3"]:
    """Return, per point, the matrix whose row i is ``a x e_i``."""
    return (a @ _CROSS_ROWS.reshape(3, 9).to(a)).view(-1, 3, 3)
