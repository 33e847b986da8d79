"""Rigid blobs in the manner of CANOR: Gaussian ellipsoids found on a shape, each moved as a rigid body.

    w_n(x) = softmax_n (o_n - 1/2 |S_n^-1 R_n^T (x - c_n)|^2),    x' = sum_n w_n(x) (T_n x)

A learned codebook of N tokens gathers from the points of the rest shape by cross-attention, and says of each blob its
centre ``c``, orientation ``R``, scale ``S`` and opacity ``o``. A pose is one rigid motion ``T`` a blob.

The paper voxelises the blobs with features and decodes an occupancy field, whose surface has no correspondence, for one
category at a time. Here the blobs drive the given mesh by their weights. Its encoder predicts the blobs of every state;
since the data has correspondence, the motion of a blob is instead the best rigid motion of its own points (weighted
Procrustes), which no prediction can beat for that blob.

Source: He, Geng, Wu, Wu, "Category-Agnostic Neural Object Rigging", CVPR 2025 (arXiv:2505.20283).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from engine.datasets.pairs import PairBatch
from engine.evaluation.baselines.network import BaselineNetwork, as_array, as_batch, spread
from engine.evaluation.baselines.posables import BlobPosable
from engine.geometry.dual_quaternion import quaternion_to_matrix
from engine.model.blocks import Block, PointFeatures

CENTRE_SPREAD = 0.02
# Scale of a fresh blob, unit frame, for 24 of them; it grows as there are fewer.
_SCALE = 0.35


class RigidBlobs(BaselineNetwork):
    """The encoder of blobs."""

    name = "blobs"

    def __init__(self, *, blobs: int = 24, width: int = 128, depth: int = 3, heads: int = 4) -> None:
        """``blobs`` of six coordinates each; ``depth`` blocks of ``width`` channels in ``heads`` heads."""
        super().__init__()
        self._settings = {"blobs": blobs, "width": width, "depth": depth, "heads": heads}
        self.seed_count = blobs
        self.features = PointFeatures(width, 6, 64)
        self.codebook = nn.Parameter(torch.randn(blobs, width))
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(depth))
        self.norm = nn.LayerNorm(width)
        self.key, self.query = nn.Linear(width, width), nn.Linear(width, width)
        self.shape = nn.Linear(width, 8)
        with torch.no_grad():
            self.shape.weight.mul_(0.1)
            self.shape.bias.zero_()
            self.shape.bias[0] = 1.0
            self.shape.bias[4:7] = float(np.log(_SCALE * (24 / blobs) ** (1 / 3)))

    def settings(self) -> dict[str, Any]:
        """Return the arguments that build the same network again."""
        return dict(self._settings)

    def find(
        self, points: Float[Tensor, "b p 3"], normals: Float[Tensor, "b p 3"], component: Int[Tensor, "b p"]
    ) -> tuple[Float[Tensor, "b n 3"], Float[Tensor, "b n 3 3"], Float[Tensor, "b n"]]:
        """Return the blobs' centres, whitening matrices ``S^-1 R^T``, and opacities (logarithms)."""
        own, pooled = self.features.components(points, normals, component)
        own = self.features.gather(own, pooled, component)
        tokens = self.codebook.expand(len(points), -1, -1)
        for block in self.blocks:
            tokens = block(tokens, own)
        tokens = self.norm(tokens)
        score = self.query(tokens) @ self.key(own).transpose(1, 2) * self.codebook.shape[1] ** -0.5
        centres = score.softmax(-1) @ points
        shape = self.shape(tokens)
        turn = quaternion_to_matrix(nn.functional.normalize(shape[..., :4], dim=-1))
        scale = shape[..., 4:7].clamp(-4.0, 2.0).exp()
        return centres, turn.transpose(-1, -2) / scale[..., None], shape[..., 7]

    def reconstruct(self, batch: PairBatch) -> tuple[Float[Tensor, "bf p 3"], Float[Tensor, ""]]:
        """Return the states B as reached from the rest shapes A, and the regulariser."""
        centres, whitening, opacity = self.find(batch.points, batch.normals, batch.component)
        weights = blob_weights(centres, whitening, opacity, batch.points)
        count = batch.frames
        deformed = batch.deformed.unflatten(0, (-1, count))
        turn, shift = best_motions(weights.detach(), batch.points, deformed)
        each = batch.points[:, None, None] @ turn.transpose(-1, -2) + shift[..., None, :]
        moved = torch.einsum("bpn,bfnpd->bfpd", weights, each)
        farthest = torch.take_along_dim(batch.points, batch.seeds[..., None], 1)
        return moved.flatten(0, 1), CENTRE_SPREAD * spread(centres, farthest)

    @torch.no_grad()
    def ready(
        self,
        points: Float[np.ndarray, "s 3"],
        normals: Float[np.ndarray, "s 3"],
        component: Int[np.ndarray, " s"],
        queries: Float[np.ndarray, "p 3"],
        vertices: Float[np.ndarray, "n 3"],
    ) -> BlobPosable:
        """Make one object ready: six coordinates a blob, see `BaselineNetwork.ready`."""
        found = self.find(as_batch(points), as_batch(normals), torch.from_numpy(component.astype(np.int64))[None])
        weights = [as_array(blob_weights(*found, as_batch(targets))) for targets in (queries, vertices)]
        rest = np.asarray(vertices, np.float64)
        return BlobPosable(as_array(found[0]), np.asarray(queries, np.float64), weights[0], rest, weights[1])


def blob_weights(
    centres: Float[Tensor, "b n 3"],
    whitening: Float[Tensor, "b n 3 3"],
    opacity: Float[Tensor, "b n"],
    points: Float[Tensor, "b p 3"],
) -> Float[Tensor, "b p n"]:
    """Return the share of each blob in each point, from the Gaussians."""
    apart = (points[:, :, None] - centres[:, None]).transpose(1, 2) @ whitening.transpose(-1, -2)
    return (opacity[..., None] - 0.5 * apart.square().sum(-1)).transpose(1, 2).softmax(-1)


@torch.no_grad()
def best_motions(
    weights: Float[Tensor, "b p n"], points: Float[Tensor, "b p 3"], deformed: Float[Tensor, "b f p 3"]
) -> tuple[Float[Tensor, "b f n 3 3"], Float[Tensor, "b f n 3"]]:
    """Return the rotation and shift of each blob that best carry its weighted points to each state.

    Source: Kabsch 1976. A blob without points of its own turns with nothing: a small multiple of the identity is added.
    """
    share = (weights / weights.sum(1, keepdim=True).clamp(min=1e-6)).transpose(1, 2)
    before = share @ points
    after = share[:, None] @ deformed
    outer = torch.einsum("bnp,bpi,bfpj->bfnij", share, points, deformed)
    outer = outer - before[:, None, :, :, None] * after[..., None, :]
    outer = outer + 1e-5 * torch.eye(3, dtype=outer.dtype)
    u, _, vt = torch.linalg.svd(outer)
    v = vt.transpose(-1, -2).clone()
    v[..., 2] *= torch.linalg.det(u @ vt)[..., None].sign()
    turn = v @ u.transpose(-1, -2)
    return turn, after - (turn @ before[:, None, ..., None]).squeeze(-1)
