"""Geometry of many small point sets at once, as tensors on any device: what a training batch is made with.

Each function does to a batch what a function of NumPy elsewhere does to one item (`rigid_fit`, `farthest_points`,
`canonical_yaw`), so that a batch costs a few large operations, on the processor or beside the network on a GPU.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor

from engine.geometry.canonical_frame import LENGTH_SHARE


def nearest_rotations(matrices: Float[Tensor, "*b 3 3"]) -> Float[Tensor, "*b 3 3"]:
    """Return the rotation nearest to each matrix (determinant +1)."""
    u, _, vt = torch.linalg.svd(matrices)
    turned = torch.linalg.det(u) * torch.linalg.det(vt)
    u = torch.cat((u[..., :2], u[..., 2:] * turned.sign()[..., None, None]), -1)
    return u @ vt


def rigid_fits(
    source: Float[Tensor, "b n 3"], target: Float[Tensor, "b n 3"]
) -> tuple[Float[Tensor, "b 3 3"], Float[Tensor, "b 3"]]:
    """Return the rotation and translation that carry each ``source`` closest to its ``target`` (Kabsch)."""
    a, b = source.mean(1, keepdim=True), target.mean(1, keepdim=True)
    rotation = nearest_rotations((target - b).transpose(1, 2) @ (source - a))
    return rotation, (b - a @ rotation.transpose(1, 2))[:, 0]


def polar_rotations(matrices: Float[Tensor, "*b 3 3"], *, steps: int = 6) -> Float[Tensor, "*b 3 3"]:
    """Return the rotation of the polar decomposition of matrices of positive determinant.

    Newton's iteration ``X <- (X + X^-T) / 2`` (Higham 1986) doubles the exact digits at every step; the inverse is
    written with cross products. For the thousands of matrices of a batch it is far cheaper than a decomposition each.
    """
    x = matrices
    for _ in range(steps):
        a, b, c = x.unbind(-2)
        cofactors = torch.stack((torch.linalg.cross(b, c), torch.linalg.cross(c, a), torch.linalg.cross(a, b)), -2)
        determinant = (a * cofactors[..., 0, :]).sum(-1)[..., None, None]
        x = 0.5 * (x + cofactors / determinant)
    return x


def farthest_seeds(
    points: Float[Tensor, "b p 3"], component: Int[Tensor, "b p"], count: int, *, stranger: float = 0.25
) -> Int[Tensor, "b t"]:
    """Return indices of points far from one another, beginning with the first point; see `farthest_points`."""
    row = torch.arange(len(points), device=points.device)
    last = torch.zeros_like(row)
    nearest = points.new_full(points.shape[:2], torch.inf)
    x, y, z = points.unbind(-1)
    chosen = [last]
    for _ in range(count - 1):
        dx, dy, dz = (axis - axis[row, last][:, None] for axis in (x, y, z))
        strange = (component != component[row, last][:, None]).to(points.dtype)
        nearest = torch.minimum(nearest, dx * dx + dy * dy + dz * dz + stranger * strange)
        last = nearest.argmax(1)
        chosen.append(last)
    return torch.stack(chosen, 1)


def canonical_yaws(points: Float[Tensor, "b n 3"], normals: Float[Tensor, "b n 3"]) -> Float[Tensor, "b 3 3"]:
    """Return the rotation about Z that brings each surface to its canonical frame; see `canonical_yaw`."""
    flat = (points - points.mean(1, keepdim=True)).to(torch.float64)
    place = torch.complex(flat[..., 0], flat[..., 1])
    facing = torch.complex(normals[..., 0].double(), normals[..., 1].double())
    second = (place * place).mean(1) / place.abs().square().mean(1).clamp(min=1e-30)
    doubled = facing * facing
    fourth = (doubled * doubled).mean(1) / doubled.abs().square().mean(1).clamp(min=1e-30)
    sides = fourth + LENGTH_SHARE * second * second
    angle = torch.where(sides.abs() > 1e-9, sides.angle() / 4, 0.0)
    # Of the four quarters: long axis along x, the end with the longer tail at positive x.
    turned = place * torch.polar(torch.ones_like(angle), -angle)[:, None]
    across = (turned * turned).mean(1).real < 0
    angle = torch.where(across, angle + torch.pi / 2, angle)
    turned = torch.where(across[:, None], turned * -1j, turned)
    angle = torch.where(turned.real.pow(3).mean(1) < 0, angle + torch.pi, angle)
    c, s = angle.cos(), angle.sin()
    zero, one = torch.zeros_like(c), torch.ones_like(c)
    rows = torch.stack((c, s, zero, -s, c, zero, zero, zero, one), -1)
    return rows.view(-1, 3, 3).to(points.dtype)
