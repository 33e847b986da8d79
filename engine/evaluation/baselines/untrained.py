"""Baselines that learn nothing from other objects: the rest pose, eigenmodes, and principal components of the truth."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from jaxtyping import Float, Float64, Int
from scipy.sparse import csr_matrix

from engine.evaluation.baselines.posables import STRIDE, LinearPosable
from engine.evaluation.method import PreparedMethod
from engine.evaluation.objects import EvaluationObject
from engine.geometry.modes import EigenModes, ModalPoser, build_cage, eigenmodes
from engine.geometry.surface import SurfaceSamples

MOST_COORDINATES = 24
# Cubes along the longest side of a cage, finest first: a cage that falls into loose pieces is made coarser.
_RESOLUTIONS = (12, 10, 8, 6, 5, 4, 3, 2)


@dataclass(frozen=True, slots=True)
class RestPose:
    """The object as it is: rigid placement alone, no coordinates."""

    name: str = "rest"
    sees_states: bool = False

    def prepare(self, item: EvaluationObject) -> PreparedMethod:
        """Make an object ready."""
        return _strided(item, np.zeros((0, *item.vertices.shape)))


@dataclass(frozen=True, slots=True)
class PrincipalComponents:
    """The best linear coordinates of this object's own true states. An upper bound that cheats: it has seen the answer.

    Attributes:
        count: most components; there are never more than states other than rest.
    """

    count: int = MOST_COORDINATES
    name: str = "pca_of_truth"
    sees_states: bool = True

    def prepare(self, item: EvaluationObject) -> PreparedMethod:
        """Make an object ready from its true states: displacements from rest, weighed alike at every vertex."""
        moved = (item.states[item.others] - item.vertices).reshape(len(item.others), -1)
        # Rest stays q = 0, so the displacements are not centred.
        _, size, directions = np.linalg.svd(moved, full_matrices=False)
        kept = int((size > 1e-9 * max(float(size[0]), 1e-12)).sum()) if len(size) else 0
        basis = directions[: min(kept, self.count)].reshape(-1, *item.vertices.shape)
        return _strided(item, basis)


class ModeMotion(StrEnum):
    """How amplitudes of modes become a pose."""

    LINEAR = "linear"
    ROTATION_STRAIN = "rotation_strain"


@dataclass(frozen=True, slots=True)
class Eigenmodes:
    """The softest modes of the shape itself, one material throughout, on a cage of cubes; nothing is learned.

    Part of the elastic and cloth data is made of such modes with the same rotation-strain coordinates
    (`engine.datasets.modal`), some of it held at one end and on a cage of its own: there this baseline knows how the
    data came to be. The simulated objects (families of ``flex`` jobs) are free of that.

    Attributes:
        count: modes.
        motion: linear, or by rotation-strain coordinates, which keep lengths in large bends.
    """

    count: int = MOST_COORDINATES
    motion: ModeMotion = ModeMotion.ROTATION_STRAIN
    name: str = "eigenmodes"
    sees_states: bool = False

    def prepare(self, item: EvaluationObject) -> PreparedMethod:
        """Make an object ready."""
        modes = cage_modes(item, self.count)
        if self.motion is ModeMotion.LINEAR:
            carry = modes.cage.interpolation()
            fields = [np.asarray(carry @ field) for field in modes.displacements]
            return _strided(item, np.stack(fields))
        return ModalPosable(item, modes)


def cage_modes(item: EvaluationObject, count: int) -> EigenModes:
    """Return the modes of the finest cage that holds the object together; fewer where the cage is very coarse.

    Raises:
        ValueError: no cage of any size has modes.
    """
    problem: Exception | None = None
    for resolution in _RESOLUTIONS:
        cage = build_cage(item.vertices, item.faces, resolution=resolution, solid=item.closed)
        possible = min(count, 3 * len(cage.nodes) - 9)
        try:
            return eigenmodes(cage, count=possible)
        except (ValueError, RuntimeError) as error:
            problem = error
    raise ValueError(f"{item.record.key} has no eigenmodes on any cage: {problem}")


class ModalPosable:
    """Modes by rotation-strain coordinates; a unit of each coordinate moves the surface by `STRIDE`."""

    def __init__(self, item: EvaluationObject, modes: EigenModes) -> None:
        """Prepare the poser and what carries its nodes to the samples and vertices."""
        self._poser = ModalPoser(modes)
        self._to_mesh = modes.cage.interpolation()
        self._to_samples = csr_matrix(_sample_matrix(item.samples, item.faces, len(item.vertices)) @ self._to_mesh)
        fields = np.stack([np.asarray(self._to_samples @ field) for field in modes.displacements])
        self._unit = STRIDE / np.maximum(np.sqrt((fields**2).sum(-1).mean(-1)), 1e-9)

    @property
    def freedoms(self) -> int:
        """Number of modes."""
        return len(self._unit)

    @property
    def weights(self) -> None:
        """There are no handles whose motions are blended."""
        return None

    def pose(self, q: Float64[np.ndarray, " r"]) -> tuple[Float64[np.ndarray, "p 3"], Float64[np.ndarray, "p r 3"]]:
        """Return the samples at ``q``, unit frame, and their derivatives along each coordinate."""
        nodes, tangents = self._poser.pose_with_tangents(q * self._unit)
        nodes, tangents = self._centred(nodes), tangents - tangents.mean(1, keepdims=True)
        along = (tangents * self._unit[:, None, None]).transpose(1, 0, 2)
        carried = np.asarray(self._to_samples @ along.reshape(len(nodes), -1)).reshape(-1, len(q), 3)
        return np.asarray(self._to_samples @ nodes), carried

    def vertices(self, q: Float64[np.ndarray, " r"]) -> Float64[np.ndarray, "n 3"]:
        """Return the vertices of the mesh at ``q``, unit frame."""
        return np.asarray(self._to_mesh @ self._centred(self._poser.pose(q * self._unit)[0]))

    def _centred(self, nodes: Float64[np.ndarray, "c 3"]) -> Float64[np.ndarray, "c 3"]:
        """Keep the mean of the nodes in place; the poser keeps its first node there, about which a body would swing."""
        return nodes + (self._poser.modes.cage.nodes.mean(0) - nodes.mean(0))


def _sample_matrix(samples: SurfaceSamples, faces: Int[np.ndarray, "m 3"], count: int) -> csr_matrix:
    """Return the matrix that carries values of ``count`` vertices to the samples."""
    rows = np.repeat(np.arange(len(samples.face)), 3)
    shape = (len(samples.face), count)
    return csr_matrix((samples.barycentric.ravel(), (rows, faces[samples.face].ravel())), shape=shape)


def _strided(item: EvaluationObject, basis: Float[np.ndarray, "r n 3"]) -> LinearPosable:
    """Return a linear object whose coordinates each move the samples by `STRIDE` a unit."""
    fields = np.einsum("pk,rpkd->rpd", item.samples.barycentric, basis[:, item.faces[item.samples.face]])
    unit = (STRIDE / np.maximum(np.sqrt((fields**2).sum(-1).mean(-1)), 1e-9))[:, None, None]
    return LinearPosable(item.at(item.samples, item.vertices), unit * fields, item.vertices, unit * basis)
