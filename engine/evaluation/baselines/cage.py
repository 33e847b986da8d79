"""A cage of a few dozen triangles, drawn tight around a shape.

Source: Jakab et al., "KeypointDeformer", 2021, section 3: a sphere whose corners move toward the centre until they
are near the surface. An ellipsoid in the proportions of the shape replaces the sphere, so that a long thin shape has
corners along its whole length.
"""

from __future__ import annotations

import numpy as np
import torch
import trimesh
from jaxtyping import Float, Int
from torch import Tensor

# Distance that a corner keeps from the surface, and least distance from the centre, in half extents of the shape.
MARGIN = 0.2
_STEPS = 12


def sphere_template(subdivisions: int = 1) -> tuple[Float[Tensor, "v 3"], Int[Tensor, "f 3"]]:
    """Return corners on the unit sphere and outward triangles: 42 and 80 at one subdivision of the icosahedron."""
    sphere = trimesh.creation.icosphere(subdivisions=subdivisions, radius=1.0)
    return torch.from_numpy(np.array(sphere.vertices)).float(), torch.from_numpy(np.array(sphere.faces)).long()


def wrap(template: Float[Tensor, "v 3"], points: Float[Tensor, "b p 3"]) -> Float[Tensor, "b v 3"]:
    """Draw the template around each cloud of surface points, unit frame."""
    low, high = points.amin(1), points.amax(1)
    centre = 0.5 * (low + high)
    half = 0.5 * (high - low) + MARGIN
    # The ellipsoid around a box of half extents a has the half axes sqrt(3) a.
    start = 3.0**0.5 * half[:, None] * template
    length = start.norm(dim=-1)
    inward = -start / length[..., None]
    start = start + centre[:, None]
    travelled = torch.zeros_like(length)
    for _ in range(_STEPS):
        # No surface is nearer than the nearest point: a step of that length passes through nothing.
        free = torch.cdist(start + travelled[..., None] * inward, points).amin(-1) - MARGIN
        travelled = torch.minimum(travelled + free.clamp(min=0.0), length - MARGIN)
    return start + travelled[..., None] * inward
