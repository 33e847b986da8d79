"""States of an object brought to one placement, and the areas that weigh their vertices."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int

from engine.geometry.modes import polar_rotation
from engine.geometry.surface import face_normals_and_areas


def aligned(
    shapes: Float[np.ndarray, "c s 3"],
) -> tuple[Float[np.ndarray, "c s 3"], Float[np.ndarray, "c 3 3"]]:
    """Return the shapes about their centres, turned onto the first one, and the rotations that were taken off."""
    centred = shapes - shapes.mean(1, keepdims=True)
    turn = polar_rotation(np.einsum("csi,sj->cij", centred, centred[0]))
    return np.einsum("csi,cij->csj", centred, turn), turn


def vertex_areas(points: Float[np.ndarray, "n 3"], faces: Int[np.ndarray, "m 3"]) -> Float[np.ndarray, " n"]:
    """Return a third of the area of the triangles around each vertex."""
    _, areas = face_normals_and_areas(points, faces)
    return np.bincount(faces.ravel(), np.repeat(areas / 3, 3), minlength=len(points))
