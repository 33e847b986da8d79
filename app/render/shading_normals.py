"""Shading normals of a moving object, one per render vertex.

Render vertices of one simulation vertex share a normal when the file gave them the same one, and keep their own
when the file gave them different ones: smooth surfaces stay smooth across texture seams, hard edges stay hard.
The normal of such a group is the area-weighted mean over its own triangles (Max, "Weights for computing vertex
normals from facet normals", 1999, discusses the weights), summed by a sparse matrix that is built once.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jaxtyping import Float, Int

    from engine.geometry.rest_shape import RenderPart

# Two normals of a file count as one when they agree to this fraction of their length.
_SAME_NORMAL = 1.0 / 32.0
_LEVELS = 66


class ShadingNormals:
    """Recomputes the render normals of all parts of an object from its simulation vertices."""

    def __init__(self, parts: Sequence[RenderPart]) -> None:
        """Group the render vertices and build the summing matrix."""
        sim = np.concatenate([part.sim_index for part in parts])
        normal = np.concatenate([part.normals for part in parts])
        offsets = np.cumsum([0, *(len(part.vertices) for part in parts)])
        corners = np.concatenate([part.faces + offset for part, offset in zip(parts, offsets[:-1], strict=True)])
        rounded = np.rint(np.nan_to_num(normal) / _SAME_NORMAL).astype(np.int64)
        # One whole number for vertex and rounded normal: sorting rows takes ten times as long.
        levels = np.clip(rounded + _LEVELS // 2, 0, _LEVELS - 1) @ np.array((_LEVELS**2, _LEVELS, 1))
        _, group = np.unique(sim.astype(np.int64) * _LEVELS**3 + levels, return_inverse=True)
        group = group.reshape(-1)
        rows = group[corners].reshape(-1)
        columns = np.repeat(np.arange(len(corners)), 3)
        ones = np.ones(len(rows), np.float32)
        shape = (int(group.max()) + 1, len(corners))
        self._sum = sparse.csr_matrix((ones, (rows, columns)), shape=shape, dtype=np.float32)
        self._triangles: Int[np.ndarray, "m 3"] = sim[corners]
        self._groups: list[Int[np.ndarray, " v"]] = [group[start:stop] for start, stop in pairwise(offsets)]

    def update(self, vertices: Float[np.ndarray, "n 3"]) -> list[Float[np.ndarray, "v 3"]]:
        """Return the unit normals of every part, shape (v, 3) each, for simulation vertices of shape (n, 3)."""
        first = vertices[self._triangles[:, 0]]
        one = vertices[self._triangles[:, 1]] - first
        two = vertices[self._triangles[:, 2]] - first
        cross = np.empty_like(one)
        # Written out: np.cross copies its arguments several times and takes three times as long.
        np.subtract(one[:, 1] * two[:, 2], one[:, 2] * two[:, 1], out=cross[:, 0])
        np.subtract(one[:, 2] * two[:, 0], one[:, 0] * two[:, 2], out=cross[:, 1])
        np.subtract(one[:, 0] * two[:, 1], one[:, 1] * two[:, 0], out=cross[:, 2])
        summed = self._sum @ cross
        length = np.sqrt(np.einsum("gd,gd->g", summed, summed))
        summed /= np.maximum(length, np.float32(1e-30))[:, None]
        return [summed[group] for group in self._groups]
