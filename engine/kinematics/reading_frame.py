"""The frame in which the network reads an object, and the way back of the motions that it answers with.

A network trained at canonical yaw (`engine.geometry.canonical_frame`) is shown the object turned to that yaw and
brought to the unit frame anew. Its motions are then carried back to the object's own unit frame: a motion is a row of
numbers that mixes linearly, and so is its change of frame, so the way back is one matrix for all handles and states.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Float64, Int
from torch import Tensor

from engine.geometry.canonical_frame import canonical_yaw
from engine.geometry.dual_quaternion import dual_inverse, dual_multiply, dual_quaternion, quaternion_from_matrix
from engine.geometry.surface import face_normals_and_areas


@dataclass(frozen=True, slots=True)
class ReadingFrame:
    """``x_read = scale (rotation x - centre)`` from the unit frame of the object.

    Attributes:
        rotation: about the up axis, shape (3, 3).
        centre: of the turned object's bounding box, shape (3,).
        scale: one over half its longest side.
    """

    rotation: Float64[np.ndarray, "3 3"]
    centre: Float64[np.ndarray, "3"]
    scale: float

    def enter(self, points: Float[np.ndarray, "n 3"]) -> Float64[np.ndarray, "n 3"]:
        """Carry points of the unit frame to the frame that the network reads."""
        return (np.asarray(points, np.float64) @ self.rotation.T - self.centre) * self.scale

    def turn(self, normals: Float[np.ndarray, "n 3"]) -> Float64[np.ndarray, "n 3"]:
        """Carry directions of the unit frame to the frame that the network reads."""
        return np.asarray(normals, np.float64) @ self.rotation.T

    def way_back(self, numbers: int, dtype: torch.dtype) -> Float[Tensor, "m m"]:
        """Return the matrix that carries motions, as rows of 8 or 12 numbers, back to the object's unit frame."""
        eye = torch.eye(numbers, dtype=torch.float64)
        rotation, centre = torch.as_tensor(self.rotation), torch.as_tensor(self.centre)
        if numbers == 8:
            unscaled = torch.cat((eye[:, :4], eye[:, 4:] / self.scale), -1)
            enter = dual_quaternion(quaternion_from_matrix(rotation[None])[0], -centre).expand(8, 8)
            return dual_multiply(dual_multiply(dual_inverse(enter), unscaled), enter).to(dtype)
        matrix, shift = eye[:, :9].unflatten(-1, (3, 3)), eye[:, 9:]
        turned = rotation.t() @ matrix @ rotation
        moved = (shift / self.scale - (matrix @ centre)) @ rotation
        return torch.cat((turned.flatten(1), moved), -1).to(dtype)


def reading_frame(
    vertices: Float[np.ndarray, "n 3"], faces: Int[np.ndarray, "m 3"], *, canonical: bool
) -> ReadingFrame:
    """Return the frame in which the network reads a mesh, itself in the unit frame.

    Args:
        vertices: rest positions, unit frame.
        faces: triangles.
        canonical: whether the network was trained at canonical yaw; else it reads the unit frame.
    """
    if not canonical:
        return ReadingFrame(np.eye(3), np.zeros(3), 1.0)
    normals, areas = face_normals_and_areas(vertices, faces)
    corners = vertices[faces]
    # Midpoints of the edges, a third of the area each, integrate squares over a triangle exactly.
    middles = 0.5 * (corners + np.roll(corners, 1, 1)).reshape(-1, 3)
    rotation = canonical_yaw(middles, np.repeat(normals, 3, 0), np.repeat(areas, 3))
    turned = vertices @ rotation.T
    low, high = turned.min(0), turned.max(0)
    return ReadingFrame(rotation, 0.5 * (low + high), 2.0 / float((high - low).max()))
