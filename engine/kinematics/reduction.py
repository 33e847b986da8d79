"""Which directions of the latent move this object: active subspaces.

The pull-back metric ``((I-P)J)^T W (I-P)J``, with ``P`` the W-projector on the six rigid velocities, is averaged over
samples of the prior; its leading eigenvectors span the reduced coordinates. A rigid object keeps none. The paper
reduces a scalar, the norm ``G`` of the displacement, whose averaged outer product of gradients ``J^T W d / G`` sees of
each sample one direction alone, that of its displacement ``d``. It is kept for comparison, as is no reduction.
Source: Constantine, "Active Subspaces", 2015, and for vector-valued functions; NeuROK, model reduction.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import scipy.stats
import torch
from jaxtyping import Float
from torch import Tensor

TRACE_SHARE = 0.999
MOST_DIRECTIONS = 24
# RMS displacement at |z| = 1 along the leading direction below which an object is rigid, as a share of size: that of
# a box is 0.0006, of an octopus 0.0085.
LEAST_LEADING_MOTION = 0.0015
# The same along a further direction below which it is noise. States reach to |z| = 6, and what small directions add
# up to is not small: the error of posed soft bodies was 0.246 of the motion with those above 0.0015, 0.180 with those
# above 0.001, 0.159 with those above 0.0005; but with the last a pinned body drifted by 0.13 % of its size.
LEAST_MOTION = 0.001


# RMS motion of the surface at |q| = 1 along the leading direction, as a share of size: the unit of q.
UNIT_MOTION = 0.03


class ReductionKind(StrEnum):
    """How the latent is reduced to an object's coordinates."""

    VECTOR = "vector"
    SCALAR = "scalar"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Reduction:
    """Directions of the latent, in the order of how much they move the object.

    Attributes:
        basis: orthonormal directions U, shape (k, r).
        unit: how many deviations of the prior one unit of q is: ``z = z0 + unit U q``. It makes the coordinates of a
            bear, whose directions move it by half a percent, as well scaled as those of a chain.
        rms_motion: RMS non-rigid displacement of the surface at |z - z0| = 1 along each, unit frame, shape (r,).
        spectrum: all eigenvalues of the averaged metric, shape (k,), descending.
    """

    basis: Float[Tensor, "k r"]
    unit: float
    rms_motion: Float[Tensor, " r"]
    spectrum: Float[Tensor, " k"]

    def directions_for(self, share: float) -> int:
        """Return how many directions carry a share of the trace (a figure of merit of the training)."""
        cumulative = self.spectrum.cumsum(0) / self.spectrum.sum().clamp(min=1e-30)
        return int((cumulative < share).sum()) + 1


def rigid_velocities(points: Float[Tensor, "p 3"]) -> Float[Tensor, "p3 6"]:
    """Return the six rigid velocity fields of points, as columns over the flattened coordinates."""
    p = len(points)
    eye = torch.eye(3, dtype=points.dtype, device=points.device)
    translation = eye.expand(p, 3, 3)
    rotation = torch.linalg.cross(eye[None].expand(p, 3, 3), points[:, None].expand(p, 3, 3)).transpose(1, 2)
    return torch.cat((translation, rotation), -1).reshape(3 * p, 6)


def without_rigid(
    tangents: Float[Tensor, "k p 3"], points: Float[Tensor, "p 3"], mass: Float[Tensor, " p"]
) -> Float[Tensor, "k p 3"]:
    """Subtract from each tangent field its best rigid velocity in the mass-weighted norm."""
    rigid = rigid_velocities(points)
    weight = mass.repeat_interleave(3)
    flat = tangents.flatten(1)
    gram = rigid.t() @ (rigid * weight[:, None])
    share = torch.linalg.lstsq(gram, rigid.t() @ (flat * weight).t()).solution
    return (flat - (rigid @ share).t()).view_as(tangents)


def active_subspace(
    metric: Float[Tensor, "k k"], *, size: float, chosen_by: Float[Tensor, "k k"] | None = None
) -> Reduction:
    """Return the leading directions of an averaged pull-back metric (masses sum to one).

    Args:
        metric: averaged over prior samples; its trace is the mean squared motion at |z| = 1 [unit frame squared].
        size: bounding-box diagonal of the rest shape, unit frame.
        chosen_by: matrix whose eigenvectors are the directions and whose eigenvalues end them; the metric by default.
    """
    chooser = metric if chosen_by is None else chosen_by
    values, vectors = torch.linalg.eigh(chooser.double())
    values, vectors = values.flip(0).clamp(min=0.0), vectors.flip(1)
    squared = torch.einsum("ki,kl,li->i", vectors, metric.double(), vectors).clamp(min=0.0)
    cumulative = values.cumsum(0) / values.sum().clamp(min=1e-30)
    enough = int((cumulative < TRACE_SHARE).sum()) + 1
    # Up to the first direction that hardly moves anything.
    motion = squared.sqrt() / size
    moving = int((motion >= LEAST_MOTION).long().cumprod(0).sum())
    r = min(enough, moving, MOST_DIRECTIONS) if motion[0] >= LEAST_LEADING_MOTION else 0
    # Eigenvectors have no sign of their own: the largest entry is made positive, so that a load is repeatable.
    basis = vectors[:, :r]
    if r:
        pivot = torch.take_along_dim(basis, basis.abs().argmax(0, keepdim=True), 0)
        basis = basis * pivot.sign()
    unit = UNIT_MOTION * size / float(squared[0].sqrt()) if r else 1.0
    return Reduction(basis.to(metric.dtype), unit, squared[:r].sqrt().to(metric.dtype), values.to(metric.dtype))


def share_of_radius(kept: int, of: int) -> float:
    """Return the 95 % radius of a standard normal distribution's ``kept`` coordinates over that of all.

    A hinge may go as far as one coordinate does, and not as far as 32 together.
    """
    return float(np.sqrt(scipy.stats.chi2.ppf(0.95, kept) / scipy.stats.chi2.ppf(0.95, of))) if kept else 0.0
