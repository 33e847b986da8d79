"""Rigid objects of MuJoCo keep their shape, fall and are turned as their rotations say."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import pdist
from scipy.spatial.transform import Rotation
from trimesh.creation import box

pytest.importorskip("mujoco")

from engine.datasets.simulated.rigid_body import OBJECTS, rigid_body


@pytest.mark.parametrize("name", sorted(OBJECTS))
def test_a_thrown_object_keeps_its_shape(name: str):
    """Distances between vertices stay within 1e-5 of the size, and all is one part that moves."""
    motion = rigid_body(np.random.default_rng(1), name=name)
    assert motion.family == f"rigid/{name}" and motion.positions.shape[0] == 8
    assert motion.part is not None and not motion.part.any()
    sample = motion.positions[:, :: max(1, len(motion.part) // 100)].astype(np.float64)
    distances = np.stack([pdist(x) for x in sample])
    assert np.abs(distances - distances[0]).max() < 1e-5
    assert np.linalg.norm(motion.positions[-1] - motion.positions[0], axis=-1).max() > 0.05


def test_rotations_are_those_of_the_body():
    """Turning the first frame by the given rotations, and moving it, gives every frame to single precision."""
    motion = rigid_body(np.random.default_rng(7), name="stool")
    first = motion.positions[0].astype(np.float64)
    for x, q in zip(motion.positions, motion.rotations, strict=True):
        assert (q == q[0]).all()
        turned = Rotation.from_quat(q[0], scalar_first=True).apply(first)
        shift = x - turned
        np.testing.assert_allclose(shift, np.tile(shift.mean(0), (len(x), 1)), atol=3e-6)
    assert Rotation.from_quat(motion.rotations[:, 0], scalar_first=True).magnitude().max() > 0.5


def test_a_given_shape_falls_on_the_floor_and_not_through_it():
    """A cube of another unit is scaled to 1 and its lowest corner sinks by a bounded height."""
    cube = box((300.0, 300.0, 300.0))
    motion = rigid_body(np.random.default_rng(0), shape=(cube.vertices, cube.faces), name="cube")
    assert np.ptp(motion.positions[0], axis=0).max() == pytest.approx(1.0, abs=1e-5)
    sunk = motion.positions[0, :, 2].min() - motion.positions[:, :, 2].min(1)
    assert 0.0 < sunk.max() < 1.05


def test_the_same_seed_gives_the_same_throw():
    """Two runs from one seed agree bit for bit."""
    first, second = (rigid_body(np.random.default_rng(3)) for _ in range(2))
    assert first.family == second.family
    np.testing.assert_array_equal(first.positions, second.positions)


def test_a_flat_shape_is_refused():
    """A sheet has no volume: MuJoCo's reason is passed on."""
    corners = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], dtype=float)
    with pytest.raises(ValueError):
        rigid_body(np.random.default_rng(0), shape=(corners, np.array([[0, 1, 2], [0, 2, 3]])))
