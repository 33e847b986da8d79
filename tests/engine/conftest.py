"""Small objects and the shipped network, shared by the engine's tests."""

from __future__ import annotations

import numpy as np
import pytest
import trimesh
from scipy.spatial.transform import Rotation

from engine.datasets.shapes.primitives import placed, rounded_box
from engine.geometry.rest_shape import RestShape, rest_shape_from_arrays
from engine.kinematics.object_kinematics import ObjectKinematics
from engine.model.checkpoint import Checkpoint, load_checkpoint


def shape_of(*meshes: trimesh.Trimesh, name: str) -> RestShape:
    """Return the rest shape of meshes put side by side, Z up."""
    joined = trimesh.util.concatenate(list(meshes))
    return rest_shape_from_arrays(np.array(joined.vertices), np.array(joined.faces), name=name)


@pytest.fixture(scope="session")
def checkpoint() -> Checkpoint:
    """The network that the program ships."""
    return load_checkpoint()


@pytest.fixture(scope="session")
def bean() -> RestShape:
    """A soft bent bean, closed, one component."""
    mesh = trimesh.creation.capsule(height=1.2, radius=0.35, count=(18, 20))
    mesh.apply_translation(-mesh.bounds.mean(0))
    x, y, z = mesh.vertices.T
    mesh.vertices = np.stack((x + 0.3 * z**2, y, z), -1)
    return shape_of(mesh, name="bean")


@pytest.fixture(scope="session")
def laptop() -> RestShape:
    """Two rounded slabs at 110 degrees about the rear edge of the lower one."""
    base = placed(rounded_box(np.array([1.4, 1.0, 0.08]), 0.02), (0, 0, -0.04))
    lid = placed(rounded_box(np.array([1.4, 1.0, 0.05]), 0.02), (0, 0, 0.03))
    turn = np.eye(4)
    turn[:3, :3] = Rotation.from_rotvec([-np.deg2rad(110), 0, 0]).as_matrix()
    turn[:3, 3] = np.array([0, 0.5, 0]) - turn[:3, :3] @ np.array([0, 0.5, 0])
    lid.apply_transform(turn)
    return shape_of(base, lid, name="laptop")


@pytest.fixture(scope="session")
def block() -> RestShape:
    """A box with bevelled edges."""
    return shape_of(rounded_box(np.array([1.0, 0.7, 0.5]), 0.06), name="block")


@pytest.fixture(scope="session")
def bean_kinematics(bean: RestShape, checkpoint: Checkpoint) -> ObjectKinematics:
    """The bean, ready to move."""
    return ObjectKinematics(bean, checkpoint)


@pytest.fixture(scope="session")
def laptop_kinematics(laptop: RestShape, checkpoint: Checkpoint) -> ObjectKinematics:
    """The laptop, ready to move."""
    return ObjectKinematics(laptop, checkpoint)
