"""What the baselines that have to be trained share: one step of training, and one object made ready."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Float64, Int
from torch import Tensor, nn

from engine.datasets.pairs import PairBatch
from engine.evaluation.method import PreparedMethod


class BaselineNetwork(nn.Module, ABC):
    """A network that says of a rest shape how it may deform."""

    name: str
    # Farthest-point samples of a rest shape that the network's regulariser asks for.
    seed_count: int

    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """Return the arguments that build the same network again."""

    @abstractmethod
    def reconstruct(self, batch: PairBatch) -> tuple[Float[Tensor, "bf p 3"], Float[Tensor, ""]]:
        """Return the states B as reached from the rest shapes A, and the regulariser to be added to the loss."""

    @abstractmethod
    def ready(
        self,
        points: Float[np.ndarray, "s 3"],
        normals: Float[np.ndarray, "s 3"],
        component: Int[np.ndarray, " s"],
        queries: Float[np.ndarray, "p 3"],
        vertices: Float[np.ndarray, "n 3"],
    ) -> PreparedMethod:
        """Make one object ready for inverse kinematics.

        Args:
            points: surface samples of the rest shape that the network looks at, unit frame.
            normals: unit normals there.
            component: connected component of each.
            queries: points of the rest shape that inverse kinematics follows.
            vertices: vertices of the rest mesh.
        """


def reconstruction_loss(batch: PairBatch, positions: Float[Tensor, "bf p 3"]) -> Float[Tensor, " bf"]:
    """Return the mean squared distance of each pair over ``m + 0.05``, ``m`` its RMS motion, as the network's loss."""
    error = (positions - batch.deformed).square().sum(-1).mean(1)
    motion = batch.motion.sqrt()
    return error / (motion + 0.05)


def spread(points: Float[Tensor, "b k 3"], spread_points: Float[Tensor, "b s 3"]) -> Float[Tensor, ""]:
    """Return the squared Chamfer distance to farthest-point samples: it keeps points on the surface and apart."""
    apart = torch.cdist(points, spread_points).square()
    return apart.amin(2).mean() + apart.amin(1).mean()


def as_batch(values: Float[np.ndarray, "..."]) -> Float[Tensor, "1 ..."]:
    """Return an array as a batch of one, single precision."""
    return torch.from_numpy(np.array(values, np.float32))[None]


def as_array(values: Tensor) -> Float64[np.ndarray, "..."]:
    """Return the only item of a batch, double precision."""
    return values[0].detach().double().numpy()
