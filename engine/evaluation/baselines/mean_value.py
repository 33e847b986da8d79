"""Mean value coordinates of a closed triangle mesh: weights with which its corners carry any point of space.

They sum to one, reproduce affine maps exactly and are smooth off the mesh. With ``u_i`` the directions from the point
to the corners of a triangle, ``e_i = u_j x u_k`` of its other two corners and ``theta_i`` the angle between those, the
integral of directions over the spherical triangle is ``m = 1/2 sum theta_i e_i / |e_i|``; corner ``i`` at the distance
``d_i`` gets ``(e_i . m) / (d_i u_i . e_i)``.
Source: Ju, Schaefer, Warren, "Mean value coordinates for closed triangular meshes", 2005, section 3; the vector form is
that of Floater, Kos, Reimers, "Mean value coordinates in 3D", 2005.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor

# Distance from a corner, and volume spanned by three unit directions, that count as nothing.
_NEAR, _FLAT = 1e-9, 1e-9


def mean_value_coordinates(
    cage: Float[Tensor, "*b v 3"], faces: Int[Tensor, "f 3"], points: Float[Tensor, "*b p 3"]
) -> Float[Tensor, "*b p v"]:
    """Return the weights of the cage's corners at each point, summing to one.

    Computed in double precision, returned in the precision of the points.

    Args:
        cage: corners, in the unit and frame of the points.
        faces: triangles of the cage, all turned outwards.
        points: anywhere; on a corner the weight is that corner's alone, on a face it is barycentric.
    """
    # Coordinates come first, so that every product below runs over long rows.
    toward = (cage.double()[..., None, :, :] - points.double()[..., :, None, :]).movedim(-1, 0).contiguous()
    d = (toward * toward).sum(0).sqrt()
    u = toward / d.clamp(min=_NEAR)
    corner = [u[..., faces[:, i]] for i in range(3)]
    opposite = [_cross(corner[(i + 1) % 3], corner[(i + 2) % 3]) for i in range(3)]
    sine = [(e * e).sum(0).sqrt() for e in opposite]
    theta = [torch.atan2(sine[i], (corner[(i + 1) % 3] * corner[(i + 2) % 3]).sum(0)) for i in range(3)]
    mean = torch.stack([0.5 * theta[i] / sine[i].clamp(min=_NEAR) * opposite[i] for i in range(3)]).sum(0)
    volume = (corner[0] * opposite[0]).sum(0)
    # In the plane of a triangle but outside it, the triangle weighs nothing.
    flat = volume.abs() < _FLAT
    inverse = torch.where(flat, 0.0, 1.0 / torch.where(flat, 1.0, volume))
    reach = [d[..., faces[:, i]].clamp(min=_NEAR) for i in range(3)]
    share = torch.stack([(opposite[i] * mean).sum(0) * inverse / reach[i] for i in range(3)], -1)
    inside = flat & (theta[0] + theta[1] + theta[2] > 2.0 * torch.pi - 1e-4)
    if inside.any():
        # On a triangle: barycentric coordinates by the areas that the point cuts off, and nothing else counts.
        plane = torch.stack([sine[i] * reach[(i + 1) % 3] * reach[(i + 2) % 3] for i in range(3)], -1)
        on_face = inside.any(-1, keepdim=True)[..., None]
        share = torch.where(on_face, torch.where(inside[..., None], plane, 0.0), share)
    weights = torch.zeros_like(d).index_add_(-1, faces.flatten(), share.flatten(-2))
    touched = d < _NEAR
    weights = torch.where(touched.any(-1, keepdim=True), touched.double(), weights)
    return (weights / weights.sum(-1, keepdim=True)).to(points.dtype)


def _cross(a: Float[Tensor, "3 *n"], b: Float[Tensor, "3 *n"]) -> Float[Tensor, "3 *n"]:
    """Return the cross product of vectors whose coordinates come first."""
    return torch.stack((a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]))
