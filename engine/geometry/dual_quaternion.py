"""Quaternions and unit dual quaternions as plain tensors.

A quaternion is ``(w, x, y, z)``; a dual quaternion is ``(real, dual)``, eight numbers. A unit dual quaternion
with real part ``r`` and translation ``t`` [unit frame] has the dual part ``0.5 (0, t) r`` and maps
``x -> r x r* + t``. Source: Kavan et al., "Geometric Skinning with Approximate Dual Quaternion Blending", 2008.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor


def quaternion_multiply(a: Float[Tensor, "*n 4"], b: Float[Tensor, "*m 4"]) -> Float[Tensor, "*k 4"]:
    """Return the Hamilton product ``a b`` (leading axes broadcast)."""
    aw, ax, ay, az = a.unbind(-1)
    bw, bx, by, bz = b.unbind(-1)
    return torch.stack(
        (
            aw * bw - ax * bx - ay * by - az * bz,
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw,
        ),
        -1,
    )


def quaternion_conjugate(q: Float[Tensor, "*n 4"]) -> Float[Tensor, "*n 4"]:
    """Return the conjugate, which is the inverse of a unit quaternion."""
    return torch.cat((q[..., :1], -q[..., 1:]), -1)


def quaternion_rotate(q: Float[Tensor, "*n 4"], x: Float[Tensor, "*m 3"]) -> Float[Tensor, "*k 3"]:
    """Rotate the points ``x`` by the unit quaternions ``q`` (leading axes broadcast)."""
    w, u = q[..., :1], q[..., 1:]
    u, x = torch.broadcast_tensors(u, x)
    c = torch.linalg.cross(u, x) * 2.0
    return x + w * c + torch.linalg.cross(u, c)


def quaternion_from_matrix(matrix: Float[Tensor, "*n 3 3"]) -> Float[Tensor, "*n 4"]:
    """Return the unit quaternion, ``w >= 0``, of each rotation matrix.

    The largest of the four candidate components is taken as the pivot, so it is accurate at every angle.
    """
    m = matrix
    xx, yy, zz = m[..., 0, 0], m[..., 1, 1], m[..., 2, 2]
    yz_, xz_, xy_ = m[..., 2, 1], m[..., 0, 2], m[..., 1, 0]
    zy_, zx_, yx_ = m[..., 1, 2], m[..., 2, 0], m[..., 0, 1]
    # Row i of this symmetric matrix is 4 q_i q.
    outer = torch.stack(
        (
            torch.stack((1 + xx + yy + zz, yz_ - zy_, xz_ - zx_, xy_ - yx_), -1),
            torch.stack((yz_ - zy_, 1 + xx - yy - zz, xy_ + yx_, xz_ + zx_), -1),
            torch.stack((xz_ - zx_, xy_ + yx_, 1 - xx + yy - zz, yz_ + zy_), -1),
            torch.stack((xy_ - yx_, xz_ + zx_, yz_ + zy_, 1 - xx - yy + zz), -1),
        ),
        -2,
    )
    pivot = outer.diagonal(dim1=-2, dim2=-1).argmax(-1)
    row = torch.take_along_dim(outer, pivot[..., None, None].expand(*pivot.shape, 1, 4), -2)
    q = torch.nn.functional.normalize(row.squeeze(-2), dim=-1)
    return torch.where(q[..., :1] < 0, -q, q)


def quaternion_to_matrix(q: Float[Tensor, "*n 4"]) -> Float[Tensor, "*n 3 3"]:
    """Return the rotation matrix of each unit quaternion."""
    identity = torch.eye(3, dtype=q.dtype, device=q.device)
    columns = [quaternion_rotate(q, identity[i]) for i in range(3)]
    return torch.stack(columns, -1)


def dual_quaternion(rotation: Float[Tensor, "*n 4"], translation: Float[Tensor, "*n 3"]) -> Float[Tensor, "*n 8"]:
    """Return the unit dual quaternion of ``x -> rotation x + translation``."""
    pure = torch.cat((torch.zeros_like(translation[..., :1]), translation), -1)
    return torch.cat((rotation, 0.5 * quaternion_multiply(pure, rotation)), -1)


def dual_quaternion_about(
    rotation: Float[Tensor, "*n 4"], pivot: Float[Tensor, "*n 3"], translation: Float[Tensor, "*n 3"]
) -> Float[Tensor, "*n 8"]:
    """Return the unit dual quaternion of ``x -> rotation (x - pivot) + pivot + translation``."""
    return dual_quaternion(rotation, pivot + translation - quaternion_rotate(rotation, pivot))


def dual_multiply(a: Float[Tensor, "*n 8"], b: Float[Tensor, "*m 8"]) -> Float[Tensor, "*k 8"]:
    """Return the product ``a b``: first ``b`` is applied, then ``a``."""
    ar, ad, br, bd = a[..., :4], a[..., 4:], b[..., :4], b[..., 4:]
    return torch.cat((quaternion_multiply(ar, br), quaternion_multiply(ar, bd) + quaternion_multiply(ad, br)), -1)


def dual_inverse(a: Float[Tensor, "*n 8"]) -> Float[Tensor, "*n 8"]:
    """Return the inverse of a unit dual quaternion."""
    return torch.cat((quaternion_conjugate(a[..., :4]), quaternion_conjugate(a[..., 4:])), -1)


def dual_translation(a: Float[Tensor, "*n 8"]) -> Float[Tensor, "*n 3"]:
    """Return the translation of a unit dual quaternion."""
    return 2.0 * quaternion_multiply(a[..., 4:], quaternion_conjugate(a[..., :4]))[..., 1:]


def dual_normalize(a: Float[Tensor, "*n 8"]) -> Float[Tensor, "*n 8"]:
    """Divide by the length of the real part; with `dual_apply` that is all a blend needs."""
    return a / a[..., :4].norm(dim=-1, keepdim=True)


def dual_apply(a: Float[Tensor, "*n 8"], x: Float[Tensor, "*m 3"]) -> Float[Tensor, "*k 3"]:
    """Map the points ``x`` by the dual quaternions ``a``, whose real part has length one."""
    return quaternion_rotate(a[..., :4], x) + dual_translation(a)
