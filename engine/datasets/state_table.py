"""States of a batch of objects as tensors: gathered from the objects, or from tables that lie on a GPU.

With everything on the GPU, a batch of any size costs the processor nothing but the choice of its states. The compact
dataset (`engine.datasets.pack`) takes 0.1 GB there, the whole dataset some GB.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float16, Int, Int8
from torch import Tensor

from engine.datasets.sampling import SampledMotion


@dataclass(frozen=True, slots=True)
class RawStates:
    """Chosen states of chosen samples, in the number formats of the shards; state 0 of each row is the rest shape.

    Attributes:
        points: as `SampledMotion.points`.
        normals: of the rest shape.
        rotations: of the first ``p`` samples.
        component, part: of these.
    """

    points: Float16[Tensor, "b s n 3"]
    normals: Int8[Tensor, "b n 3"]
    rotations: Float16[Tensor, "b s p 4"]
    component: Int[Tensor, "b p"]
    part: Int[Tensor, "b p"]

    def to(self, device: torch.device | str) -> RawStates:
        """Return the same on another device."""
        return RawStates(*(getattr(self, name).to(device) for name in self.__slots__))


def gathered_states(
    motions: Sequence[SampledMotion], states: Int[np.ndarray, "b s"], order: Int[np.ndarray, "b n"], count: int
) -> RawStates:
    """Gather states from objects in memory; ``order`` names samples, of which the first ``count`` are an item's."""
    rows = [
        (
            motion.points[own][:, samples],
            motion.normals[own[0]][samples],
            motion.rotations[own][:, samples[:count]],
            motion.component[samples[:count]].astype(np.int64),
            motion.part[samples[:count]].astype(np.int64),
        )
        for motion, own, samples in zip(motions, states, order, strict=True)
    ]
    return RawStates(*(torch.from_numpy(np.stack(column)) for column in zip(*rows, strict=True)))


class StateTable:
    """All states of a set of objects on one device, in one table each for positions, normals and rotations."""

    def __init__(self, motions: Sequence[SampledMotion], device: torch.device | str) -> None:
        """Copy the objects to the device; of each as many samples as the object with the fewest has."""
        samples = min(motion.points.shape[1] for motion in motions)
        self.samples, self.device = samples, torch.device(device)
        self._row = {motion.record.key: i for i, motion in enumerate(motions)}
        self._first = np.cumsum([0, *(len(motion.points) for motion in motions)])

        def table(name: str) -> Tensor:
            return torch.from_numpy(np.concatenate([getattr(m, name)[:, :samples] for m in motions])).to(device)

        self._points, self._normals, self._rotations = table("points"), table("normals"), table("rotations")
        labels = [np.stack((motion.component[:samples], motion.part[:samples])).astype(np.int64) for motion in motions]
        self._labels = torch.from_numpy(np.stack(labels)).to(device)

    def gathered(
        self,
        motions: Sequence[SampledMotion],
        states: Int[np.ndarray, "b s"],
        order: Int[np.ndarray, "b n"],
        count: int,
    ) -> RawStates:
        """Gather the states on the device; see `gathered_states`."""
        rows = np.array([self._row[motion.record.key] for motion in motions])
        state = torch.from_numpy(self._first[rows][:, None] + states).to(self.device)
        row, sample = torch.from_numpy(rows).to(self.device), torch.from_numpy(order).to(self.device)
        item = sample[:, None, :count]
        return RawStates(
            self._points[state[..., None], sample[:, None]],
            self._normals[state[:, :1], sample],
            self._rotations[state[..., None], item],
            self._labels[row[:, None], 0, sample[:, :count]],
            self._labels[row[:, None], 1, sample[:, :count]],
        )
