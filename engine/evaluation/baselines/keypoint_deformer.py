"""KeyPointDeformer: a few unsupervised keypoints move a cage, and the cage carries the surface.

    p = sum_i softmax(logits)_i x_i,    c' = c + (W_n + W_0 + W(A)) (p_B - p_A),    x' = Phi c'

A PointNet picks K keypoints ``p`` on the rest shape A. Their displacements move the corners ``c`` of a cage drawn
around A through an influence matrix: nearness ``W_n`` (the authors' program, too, lets only near keypoints act), a
learned base ``W_0``, and a part ``W(A)`` that the network predicts for the shape. Mean value coordinates ``Phi`` carry
the surface. Regularisers as in the paper: keypoints near farthest-point samples of the surface, and a small ``W(A)``.

Three things are stronger than in the paper. Its shapes have no correspondence and are compared by Chamfer distance;
here points are compared with themselves. It predicts the keypoints of B anew; here, by default, they are those that
best reproduce B (`StateKeypoints`), as inverse kinematics will choose them. The predicted influence sees where the
corner and the keypoint are, not the shape as a whole alone.

Source: Jakab, Tucker, Makadia, Wu, Snavely, Kanazawa, "KeypointDeformer", CVPR 2021.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from engine.datasets.pairs import PairBatch
from engine.evaluation.baselines.cage import sphere_template, wrap
from engine.evaluation.baselines.mean_value import mean_value_coordinates
from engine.evaluation.baselines.network import BaselineNetwork, as_array, as_batch, spread
from engine.evaluation.baselines.posables import STRIDE, LinearPosable
from engine.model.blocks import PointFeatures

KEYPOINT_SPREAD, INFLUENCE_SIZE = 0.02, 1e-3
# Weight, beside the mean squared error, of the squared distance of a fitted keypoint from the one that is followed.
FOLLOWING = 1e-3
# Reach of a keypoint before training, unit frame.
NEAR = 0.35


class StateKeypoints(StrEnum):
    """Where the keypoints of a state B are in training.

    ``predicted`` by the network that sees B, as in the paper; ``followed`` from A with the points they are made of;
    ``fitted`` to B by least squares and held to those, which no prediction can beat.
    """

    PREDICTED = "predicted"
    FOLLOWED = "followed"
    FITTED = "fitted"


class KeypointDeformer(BaselineNetwork):
    """The network: point features, keypoint logits, influence."""

    name = "keypoint_deformer"

    def __init__(
        self, *, keypoints: int = 8, width: int = 128, subdivisions: int = 1, states: str = StateKeypoints.FITTED
    ) -> None:
        """``keypoints`` of three coordinates each; ``subdivisions`` of the icosahedron that is the cage."""
        super().__init__()
        self._settings = {"keypoints": keypoints, "width": width, "subdivisions": subdivisions, "states": str(states)}
        self.seed_count, self.states = keypoints, StateKeypoints(states)
        template, faces = sphere_template(subdivisions)
        self.template: Tensor
        self.faces: Tensor
        self.register_buffer("template", template, persistent=False)
        self.register_buffer("faces", faces, persistent=False)
        self.features = PointFeatures(width, 6, 64)
        self.logits = nn.Sequential(nn.Linear(2 * width, width), nn.GELU(), nn.Linear(width, keypoints))
        self.shape = nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.Linear(width, width))
        self.at_keypoint = nn.Linear(2 * width + 3, width)
        self.at_corner = nn.Linear(6, width)
        last = nn.Linear(width, 1)
        with torch.no_grad():
            last.weight.mul_(0.1)
        self.pair = nn.Sequential(nn.Linear(width + 4, width), nn.GELU(), last)
        self.base = nn.Parameter(torch.zeros(len(template), keypoints))

    def settings(self) -> dict[str, Any]:
        """Return the arguments that build the same network again."""
        return dict(self._settings)

    def pick(
        self, points: Float[Tensor, "b p 3"], normals: Float[Tensor, "b p 3"], component: Int[Tensor, "b p"]
    ) -> tuple[Float[Tensor, "b k p"], Float[Tensor, "b d"], Float[Tensor, "b p d"]]:
        """Return the share of each point in each keypoint, the feature of the shape, and those of the points."""
        own, pooled = self.features.components(points, normals, component)
        own = self.features.gather(own, pooled, component)
        shape = own.amax(1)
        logits = self.logits(torch.cat((own, shape[:, None].expand_as(own)), -1))
        return logits.transpose(1, 2).softmax(-1), self.shape(shape), own

    def influence(
        self,
        cage: Float[Tensor, "b v 3"],
        keypoints: Float[Tensor, "b k 3"],
        at_keypoints: Float[Tensor, "b k d"],
        shape: Float[Tensor, "b d"],
    ) -> Float[Tensor, "b v k"]:
        """Return the part of the influence matrix that is the network's prediction for the shape."""
        seen = torch.cat((at_keypoints, shape[:, None].expand_as(at_keypoints), keypoints), -1)
        # The cage's corner in its own direction and place: which corner it is, and where the wrapping put it.
        corner = self.at_corner(torch.cat((cage, self.template.expand_as(cage)), -1))
        apart = cage[:, :, None] - keypoints[:, None]
        mixed = nn.functional.gelu(self.at_keypoint(seen)[:, None] + corner[:, :, None])
        return self.pair(torch.cat((mixed, apart, apart.norm(dim=-1, keepdim=True)), -1)).squeeze(-1)

    def reconstruct(self, batch: PairBatch) -> tuple[Float[Tensor, "bf p 3"], Float[Tensor, ""]]:
        """Return the states B as reached from the rest shapes A, and the regulariser."""
        shares, shape, own = self.pick(batch.points, batch.normals, batch.component)
        keypoints = shares @ batch.points
        with torch.no_grad():
            cage = wrap(self.template, batch.points)
            carried = mean_value_coordinates(cage, self.faces, batch.points)
        offset = self.influence(cage, keypoints, shares @ own, shape)
        basis = carried @ (nearness(cage, keypoints) + self.base + offset)
        moved = batch.points[:, None] + basis[:, None] @ self._displacements(batch, shares, keypoints, basis)
        farthest = torch.take_along_dim(batch.points, batch.seeds[..., None], 1)
        regulariser = KEYPOINT_SPREAD * spread(keypoints, farthest) + INFLUENCE_SIZE * offset.square().mean()
        return moved.flatten(0, 1), regulariser

    def _displacements(
        self,
        batch: PairBatch,
        shares: Float[Tensor, "b k p"],
        keypoints: Float[Tensor, "b k 3"],
        basis: Float[Tensor, "b p k"],
    ) -> Float[Tensor, "b f k 3"]:
        """Return how far the keypoints move to each state; ``basis`` is what a unit of each does to the points."""
        count = batch.frames
        if self.states is StateKeypoints.PREDICTED:
            repeated = [x.repeat_interleave(count, 0) for x in (batch.normals, batch.component)]
            # A batch has no normals of the states: those of A stand in.
            picked = self.pick(batch.deformed, repeated[0], repeated[1])[0]
            return (picked @ batch.deformed).unflatten(0, (-1, count)) - keypoints[:, None]
        motion = batch.deformed.unflatten(0, (-1, count)) - batch.points[:, None]
        followed = shares[:, None] @ motion
        if self.states is StateKeypoints.FOLLOWED:
            return followed
        with torch.no_grad():
            points = basis.shape[1]
            normal = basis.mT @ basis / points + FOLLOWING * torch.eye(basis.shape[2])
            force = basis.mT[:, None] @ motion / points + FOLLOWING * followed
            return torch.linalg.solve(normal[:, None], force)

    @torch.no_grad()
    def ready(
        self,
        points: Float[np.ndarray, "s 3"],
        normals: Float[np.ndarray, "s 3"],
        component: Int[np.ndarray, " s"],
        queries: Float[np.ndarray, "p 3"],
        vertices: Float[np.ndarray, "n 3"],
    ) -> LinearPosable:
        """Make one object ready: three coordinates a keypoint, see `BaselineNetwork.ready`."""
        samples = as_batch(points)
        shares, shape, own = self.pick(samples, as_batch(normals), torch.from_numpy(component.astype(np.int64))[None])
        keypoints = shares @ samples
        cage = wrap(self.template, samples)
        offset = self.influence(cage, keypoints, shares @ own, shape)
        influence = as_array(nearness(cage, keypoints) + self.base + offset)
        # Displacement of every point by each keypoint: the same along all three axes.
        bases = []
        for targets in (queries, vertices):
            carried = mean_value_coordinates(
                cage[0].double(), self.faces, torch.from_numpy(np.array(targets, np.float64))
            )
            scalar = STRIDE * (carried.numpy() @ influence)
            bases.append(np.einsum("pk,de->kdpe", scalar, np.eye(3)).reshape(-1, len(targets), 3))
        return LinearPosable(queries, bases[0], vertices, bases[1])


def nearness(cage: Float[Tensor, "b v 3"], keypoints: Float[Tensor, "b k 3"]) -> Float[Tensor, "b v k"]:
    """Return how much each corner follows each keypoint before anything is learned: shares that sum to one."""
    return (-torch.cdist(cage, keypoints).square() / (2.0 * NEAR**2)).softmax(-1)
