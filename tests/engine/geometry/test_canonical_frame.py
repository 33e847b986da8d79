"""The canonical yaw turns with the object."""

from __future__ import annotations

import numpy as np
import pytest
import trimesh
from scipy.spatial.transform import Rotation

from engine.geometry.canonical_frame import canonical_yaw


def _wedge() -> tuple[np.ndarray, np.ndarray]:
    """Return samples of a box with a smaller box at one end: a long axis, sides, and a front."""
    parts = [trimesh.creation.box((3.0, 1.0, 0.5)), trimesh.creation.box((0.6, 0.6, 0.9))]
    parts[1].apply_translation((1.3, 0.0, 0.5))
    mesh = trimesh.util.concatenate(parts)
    points, face = trimesh.sample.sample_surface(mesh, 4000, seed=0)
    return np.asarray(points), np.asarray(mesh.face_normals[face])


@pytest.mark.parametrize("yaw", [0.0, 0.4, 1.3, 2.9, -1.8])
def test_the_frame_turns_with_the_object(yaw: float) -> None:
    """At any yaw the points get the same canonical coordinates, to 1e-9."""
    points, normals = _wedge()
    turn = Rotation.from_euler("z", yaw).as_matrix()
    there = points @ canonical_yaw(points, normals).T
    turned = points @ turn.T @ canonical_yaw(points @ turn.T, normals @ turn.T).T
    assert np.abs(there - turned).max() < 1e-9


def test_sides_face_along_the_axes_and_the_length_along_x() -> None:
    """A box turned by 0.3 rad is brought back: its faces to the axes, its long side to x."""
    points, normals = _wedge()
    turn = Rotation.from_euler("z", 0.3).as_matrix()
    back = canonical_yaw(points @ turn.T, normals @ turn.T) @ turn
    assert np.allclose(np.abs(back), np.eye(3), atol=0.02)


def test_a_shape_without_sides_gets_some_rotation() -> None:
    """A plate seen from above has no horizontal normals; the answer is a rotation all the same."""
    points = np.random.default_rng(0).uniform(-1, 1, (50, 3)) * np.array([1.0, 1.0, 0.0])
    frame = canonical_yaw(points, np.tile([0.0, 0.0, 1.0], (50, 1)))
    assert np.allclose(frame @ frame.T, np.eye(3)) and np.linalg.det(frame) == pytest.approx(1.0)
