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
from scipy.spatial import KDTree
from torch import Tensor

from engine.kinematics.blending import DrivenPoints
from engine.kinematics.object_kinematics import PriorStates

NEIGHBOURS = 5
LEAST_LENGTH = 0.08  # unit frame
JOINT_STRAIN = 0.1
BENDING_SHARE = 0.3


@dataclass(frozen=True, slots=True)
class ElasticGraph:
    """Edges between surface samples.

    Attributes:
        ends: the two samples of each edge, shape (e, 2).
        rest: rest vectors over ``length`` (e, 1), which is theirs but no less than `LEAST_LENGTH`, shape (e, 3).
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
    near = np.asarray(KDTree(samples).query(samples, k=k)[1])
    pairs = np.stack((np.repeat(np.arange(len(samples)), k - 1), near[:, 1:].ravel()), -1)
    ends_np = np.unique(np.sort(pairs, -1), axis=0)
    ends = torch.as_tensor(ends_np, dtype=torch.long)
    vector = samples[ends_np[:, 1]] - samples[ends_np[:, 0]]
    # Samples of two parts may nearly coincide at a joint: their edge would be as stiff as it is short.
    length_np = np.maximum(np.linalg.norm(vector, axis=-1, keepdims=True), LEAST_LENGTH)
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
        root = torch.as_tensor(np.sqrt(graph.weight), dtype=graph.rest.dtype)[:, None]
        self._scale = root * root.new_tensor([1.0] * 3 + [BENDING_SHARE**0.5] * 3)

    def residuals(self, points: DrivenPoints) -> tuple[Float64[np.ndarray, " n"], Float64[np.ndarray, "r n"]]:
        """Return residuals (n = 6 e) and their derivatives along each coordinate, for the samples' driven points."""
        g = self.graph
        a, b = g.ends[:, 0], g.ends[:, 1]
        ra, rb = points.rotations[a], points.rotations[b]
        flip = torch.where((ra * rb).sum(-1, keepdim=True) < 0, -1.0, 1.0).to(ra.dtype)
        rb = rb * flip
        total = ra + rb
        inverse = 1.0 / total.norm(dim=-1, keepdim=True)
        mean = total * inverse
        back = _rotation_rows(mean)
        e = (points.positions[b] - points.positions[a]) / g.length
        local = torch.matmul(e[:, None], back)[:, 0]
        stretch = local - g.rest
        turn = torch.matmul(rb[:, None], 2.0 * _left_vector_rows(ra))[:, 0]
        # One 11x6 matrix per edge takes (edge vector, rotation of a, rotation of b) to (stretch, turn).
        eye = torch.eye(4, dtype=mean.dtype, device=mean.device)
        project = (eye - mean[:, :, None] * mean[:, None, :]) * inverse[..., None]
        # d(R^T e) = R^T de + (R^T e) x phi, with phi = 2 vec(conj(mean) dmean) the turn in the edge's frame
        spin = torch.matmul(torch.matmul(project, 2.0 * _left_vector_rows(mean)), _crossed(local))
        top = torch.cat((back / g.length[..., None], torch.zeros_like(back)), 2)
        by_a = torch.cat((spin, -2.0 * _left_vector_rows(rb)), 2)
        by_b = torch.cat((spin, 2.0 * _left_vector_rows(ra)), 2) * flip[..., None]
        matrix = torch.cat((top, by_a, by_b), 1)
        tp, tr = points.position_tangents, points.rotation_tangents
        moving = torch.cat((tp[b] - tp[a], tr[a], tr[b]), 2)
        tangents = torch.bmm(moving, matrix * self._scale[:, None])
        residual = torch.cat((stretch, turn), 1) * self._scale
        r = tangents.shape[1]
        return (
            residual.double().numpy().ravel(),
            tangents.transpose(0, 1).reshape(r, residual.numel()).double().numpy(),
        )


# The three maps below are linear or quadratic in their argument with constant coefficients, so each is one small
# matrix product; written component by component they cost more than all the rest of the residuals.
_CROSS = np.zeros((3, 3, 3))
for _i, _j, _k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
    _CROSS[_i, _j, _k], _CROSS[_j, _i, _k] = 1.0, -1.0


def _left_vector_coefficients() -> Float64[np.ndarray, "4 12"]:
    """Return c such that ``q c``, as a 4x3 matrix, maps a row quaternion ``r`` to ``vec(conj(q) r)``."""
    c = np.zeros((4, 4, 3))
    for d in range(3):
        c[0, 1 + d, d], c[1 + d, 0, d] = 1.0, -1.0
    c[1:, 1:] = -_CROSS
    return c.reshape(4, 12)


def _rotation_coefficients() -> Float64[np.ndarray, "16 9"]:
    """Return c such that ``(q q^T) c`` is the rotation matrix of a unit quaternion, row by row."""
    c = np.zeros((4, 4, 3, 3))
    c[0, 0] = np.eye(3)
    for i in range(3):
        c[1 + i, 1 + i] -= np.eye(3)
        for j in range(3):
            c[1 + i, 1 + j, i, j] += 2.0
            # 2 w [u]_x, whose row a, column b is -2 w eps_abi u_i
            c[0, 1 + i, :, :] = -2.0 * _CROSS[:, :, i]
    return c.reshape(16, 9)


_LEFT_VECTOR, _ROTATION = torch.as_tensor(_left_vector_coefficients()), torch.as_tensor(_rotation_coefficients())
_CROSSED = torch.as_tensor(_CROSS.reshape(3, 9))


def _rotation_rows(q: Float[Tensor, "e 4"]) -> Float[Tensor, "e 3 3"]:
    """Return the matrices by which a row vector is turned back: ``x^T R = (R^T x)^T``."""
    outer = (q[:, :, None] * q[:, None, :]).flatten(1)
    return (outer @ _ROTATION.to(q)).view(-1, 3, 3)


def _left_vector_rows(q: Float[Tensor, "e 4"]) -> Float[Tensor, "e 4 3"]:
    """Return the matrices by which a row quaternion ``r`` becomes ``vec(conj(q) r)``."""
    return (q @ _LEFT_VECTOR.to(q)).view(-1, 4, 3)


def _crossed(a: Float[Tensor, "e 3"]) -> Float[Tensor, "e 3 3"]:
    """Return the matrices by which a row vector ``f`` becomes ``a x f``."""
    return (a @ _CROSSED.to(a)).view(-1, 3, 3)
