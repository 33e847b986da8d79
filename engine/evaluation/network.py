"""The network as a method to be measured, with its reductions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from engine.evaluation.objects import EvaluationObject
from engine.kinematics.object_kinematics import ObjectKinematics
from engine.kinematics.reduction import ReductionKind
from engine.model.checkpoint import Checkpoint


@dataclass(frozen=True, slots=True)
class NetworkMethod:
    """A checkpoint and how its latent is reduced."""

    checkpoint: Checkpoint
    reduction: ReductionKind = ReductionKind.VECTOR
    label: str = "neurok"
    sees_states: bool = False

    @property
    def name(self) -> str:
        """Name in the tables."""
        return self.label if self.reduction is ReductionKind.VECTOR else f"{self.label}, {self.reduction} reduction"

    def prepare(self, item: EvaluationObject) -> PreparedNetwork:
        """Encode the rest shape."""
        return PreparedNetwork(item, ObjectKinematics(item.shape, self.checkpoint, reduction=self.reduction))


class PreparedNetwork:
    """One object as the network moves it."""

    def __init__(self, item: EvaluationObject, kinematics: ObjectKinematics) -> None:
        """Carry the blending weights to the object's samples."""
        self.kinematics = kinematics
        self._samples = kinematics.posable(item.samples)

    @property
    def freedoms(self) -> int:
        """Number of reduced coordinates."""
        return self.kinematics.k_q

    @property
    def weights(self) -> Float64[np.ndarray, "n t"]:
        """Blending weights of the vertices."""
        return self.kinematics.vertex_weights.double().numpy()

    def pose(self, q: Float64[np.ndarray, " r"]) -> tuple[Float64[np.ndarray, "p 3"], Float64[np.ndarray, "p r 3"]]:
        """Return the samples at ``q``, unit frame, and their derivatives along each coordinate."""
        return self._samples.pose(q)

    def vertices(self, q: Float64[np.ndarray, " r"]) -> Float64[np.ndarray, "n 3"]:
        """Return all vertices at ``q``, unit frame."""
        return self.kinematics.decode(q).astype(np.float64)
