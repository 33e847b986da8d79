"""Object-space elasticity on a graph of surface samples, softened where the prior says the object is free to move.

Each edge is compared with the decoder's own blended rotation of its two ends, so a part that moves rigidly costs
nothing; the relative rotation of neighbours is bending. Edges that the prior's own states stretch or turn a lot are a
joint: their weight falls as ``1 / (1 + (s_e/0.1)^2)^2``, so a hinge is free without a label.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Float64, Int
from scipy.spatial import cKDTree
from torch import Tensor

from engine.kinematics.blending import DrivenPoints
from engine.kinematics.object_kinematics import PriorStates

NEIGHBOURS = 5
JOINT_STRAIN = 0.1
BENDING_SHARE = 0.3


@dataclass(frozen=True, slots=True)
class ElasticGraph:
    """Edges between surface samples.

    Attributes:
        ends: the two samples of each edge, shape (e, 2).
        rest: rest vectors over their lengths, unit frame, shape (e, 3), and ``length`` (e,).
        weight: relative stiffness of each edge, sum 1 before the prior softens it, shape (e,).
        freedom: ``s_e``, the RMS strain and turn of each edge over prior states, shape (e,).
        stretch_share: share of the prior's edge motion that is stretch, between 0 (parts turn) and 1 (it stretches).
    """

    ends: Int[Tensor, "e 2"]
    rest: Float[Tensor, "e 3"]
    length: Float[Tensor, "e 1"]
    weight: Float64[np.ndarray, " e"]
    freedom: Float64[np.ndarray, " e"]
    stretch_share: float


def build_elastic_graph(samples: Float64[np.ndarray, "p 3"], prior: PriorStates) -> ElasticGraph:
    """Connect each sample to its nearest ones and weigh the edges by what the prior's states do to them."""
    k = min(NEIGHBOURS + 1, len(samples))
    _, near = cKDTree(samples).query(samples, k=k)
    pairs = np.stack((np.repeat(np.arange(len(samples)), k - 1), near[:, 1:].ravel()), -1)
    ends_np = np.unique(np.sort(pairs, -1), axis=0)
    ends = torch.as_tensor(ends_np, dtype=torch.long)
    vector = samples[ends_np[:, 1]] - samples[ends_np[:, 0]]
    length_np = np.maximum(np.linalg.norm(vector, axis=-1, keepdims=True), 1e-6)
    dtype = prior.positions.dtype
    rest = torch.as_tensor(vector / length_np, dtype=dtype)
    length = torch.as_tensor(length_np, dtype=dtype)
    stretch, turn = _edge_strain(ends, rest, length, prior.positions, prior.rotations)
    stretch_square = stretch.square().sum(-1).mean(0).double().numpy()
    turn_square = turn.square().sum(-1).mean(0).double().numpy()
    freedom = np.sqrt(stretch_square + turn_square)
    uniform = 1.0 / len(ends_np)
    weight = uniform / (1.0 + (freedom / JOINT_STRAIN) ** 2) ** 2
    share = float(stretch_square.sum() / max(float((stretch_square + turn_square).sum()), 1e-12))
    return ElasticGraph(ends, rest, length, weight, freedom, share)


def _edge_strain(
    ends: Int[Tensor, "e 2"],
    rest: Float[Tensor, "e 3"],
    length: Float[Tensor, "e 1"],
    positions: Float[Tensor, "*s p 3"],
    rotations: Float[Tensor, "*s p 4"],
) -> tuple[Float[Tensor, "*s e 3"], Float[Tensor, "*s e 3"]]:
    """Return stretch (vector strain) and turn (relative rotation vector, small angles [rad]) of every edge."""
    ra, rb = rotations[..., ends[:, 0], :], rotations[..., ends[:, 1], :]
    rb = torch.where((ra * rb).sum(-1, keepdim=True) < 0, -rb, rb)
    mean = torch.nn.functional.normalize(ra + rb, dim=-1)
    edge = (positions[..., ends[:, 1], :] - positions[..., ends[:, 0], :]) / length
    w, u = mean[..., :1], mean[..., 1:]
    c = 2.0 * torch.linalg.cross(u, edge)
    stretch = edge - w * c + torch.linalg.cross(u, c) - rest
    turn = 2.0 * (ra[..., :1] * rb[..., 1:] - rb[..., :1] * ra[..., 1:] - torch.linalg.cross(ra[..., 1:], rb[..., 1:]))
    return stretch, turn


class Elasticity:
    """Elastic energy of an object with unit modulus, and its derivatives along the reduced coordinates."""

    def __init__(self, graph: ElasticGraph) -> None:
        """Keep the graph; residuals are scaled so that the energy is half their squared length."""
        self.graph = graph
        root = torch.as_tensor(np.sqrt(graph.weight), dtype=graph.rest.dtype)
        self._scale = torch.cat((root, root * BENDING_SHARE**0.5))[:, None]

    def residuals(self, points: DrivenPoints) -> tuple[Float64[np.ndarray, " n"], Float64[np.ndarray, "r n"]]:
        """Return residuals (n = 6 e) and their derivatives along each coordinate, for the samples' driven points."""
        g = self.graph
        a, b = g.ends[:, 0], g.ends[:, 1]
        ra, rb = points.rotations[a], points.rotations[b]
        ta, tb = points.rotation_tangents[:, a], points.rotation_tangents[:, b]
        flip = torch.where((ra * rb).sum(-1, keepdim=True) < 0, -1.0, 1.0)
        rb, tb = rb * flip, tb * flip
        total = ra + rb
        inverse = 1.0 / total.norm(dim=-1, keepdim=True)
        mean = total * inverse
        tm = (ta + tb) * inverse
        tm = tm - mean * (mean * tm).sum(-1, keepdim=True)
        e = (points.positions[b] - points.positions[a]) / g.length
        te = (points.position_tangents[:, b] - points.position_tangents[:, a]) / g.length
        w, u, tw, tu = mean[..., :1], mean[..., 1:], tm[..., :1], tm[..., 1:]
        c = 2.0 * torch.linalg.cross(u, e)
        stretch = e - w * c + torch.linalg.cross(u, c) - g.rest
        tc = 2.0 * (torch.linalg.cross(tu, e.expand_as(te)) + torch.linalg.cross(u.expand_as(te), te))
        t_stretch = te - tw * c - w * tc + torch.linalg.cross(tu, c.expand_as(te))
        t_stretch = t_stretch + torch.linalg.cross(u.expand_as(te), tc)
        wa, va, wb, vb = ra[..., :1], ra[..., 1:], rb[..., :1], rb[..., 1:]
        turn = 2.0 * (wa * vb - wb * va - torch.linalg.cross(va, vb))
        twa, tva, twb, tvb = ta[..., :1], ta[..., 1:], tb[..., :1], tb[..., 1:]
        t_turn = twa * vb + wa * tvb - twb * va - wb * tva
        t_turn = t_turn - torch.linalg.cross(tva, vb.expand_as(tva)) - torch.linalg.cross(va.expand_as(tvb), tvb)
        residual = torch.cat((stretch, turn)) * self._scale
        tangents = torch.cat((t_stretch, 2.0 * t_turn), 1) * self._scale
        return residual.double().numpy().ravel(), tangents.flatten(1).double().numpy()
