"""Elastic solids of MuJoCo: beam theory, loads and repeatability."""

from __future__ import annotations

import numpy as np
import pytest
from trimesh.creation import box, icosphere

pytest.importorskip("mujoco")

from engine.datasets.simulated.elastic_cage import ElasticCage
from engine.datasets.simulated.flex_solid import soft_solid
from engine.datasets.simulated.frame_choice import chosen_frames
from engine.datasets.simulated.mujoco_model import Material, check_motion, compile_model
from engine.datasets.simulated.solid_loads import LOADS


def _beam_sag(*, across: int, young: float, poisson: float) -> float:
    """Sag of the free end of a beam of length 1, 0.2 x 0.2 thick, with so many cubes across."""
    length, depth = 1.0, 0.2
    beam = box((length, depth, depth))
    cage = ElasticCage(np.asarray(beam.vertices), np.asarray(beam.faces), nodes=1000, finest=5 * across)
    assert len(cage.nodes) == (5 * across + 1) * (across + 1) ** 2
    held = np.flatnonzero(cage.nodes[:, 0] < cage.nodes[:, 0].min() + 1e-9)
    # Critical damping of the first mode, and a step that is a small part of its period.
    pace = 3.516 * np.sqrt(young * depth**2 / 12) / length**2
    material = Material(young=young, poisson=poisson, damping=2 / pace)
    body = cage.body(material, pinned=held, step=0.3 / pace, tolerance=1e-12)
    snapshots = body.run(150, every=75)
    np.testing.assert_allclose(snapshots[-1][held], cage.nodes[held], atol=1e-15)
    tip = cage.nodes[:, 0] > cage.nodes[:, 0].max() - 1e-9
    sag = cage.nodes[tip, 2].mean() - snapshots[:, tip, 2].mean(1)
    assert abs(sag[1] - sag[0]) < 1e-3 * sag[1], "not at rest"
    return float(sag[1])


def test_a_clamped_beam_sags_as_beam_theory_says():
    """Three refinements approach Timoshenko's sag from below, and the finest is within five percent of it."""
    young, poisson, gravity, depth = 2.0e4, 0.0, 9.81, 0.2
    shear = young / (2 * (1 + poisson))
    bending = gravity * depth**2 / (8 * young * depth**4 / 12)
    exact = bending + gravity * depth**2 / (2 * 5 / 6 * shear * depth**2)
    sags = [_beam_sag(across=n, young=young, poisson=poisson) / exact for n in (1, 2, 4)]
    assert sags[0] < sags[1] < sags[2]
    assert sags[2] - sags[1] < sags[1] - sags[0]
    assert sags[2] == pytest.approx(1.0, abs=0.05)


@pytest.mark.parametrize("load", list(LOADS))
def test_every_load_deforms_a_solid(load: str):
    """Each load changes the shape, which a rigid motion cannot undo, and the first frame is the rest shape."""
    ball = icosphere(subdivisions=3)
    ball.apply_scale((1.0, 0.7, 0.5))
    motion = soft_solid(np.random.default_rng(3), shape=(ball.vertices, ball.faces), name="egg", load=load)
    assert motion.family == "elastic/egg"
    assert motion.fixed if load == "pinned" else load == "pulled" or not motion.fixed
    assert motion.positions.dtype == np.float32 and motion.rotations.dtype == np.float32
    assert 4 <= len(motion.positions) <= 24
    assert np.ptp(motion.positions[0], axis=0).max() == pytest.approx(1.0, abs=1e-5)
    edges = np.linalg.norm(motion.positions[:, ball.edges[:, 0]] - motion.positions[:, ball.edges[:, 1]], axis=-1)
    assert np.abs(edges / edges[0] - 1).max() > 0.02
    np.testing.assert_array_equal(motion.rotations[0], np.tile([1, 0, 0, 0], (len(ball.vertices), 1)))
    np.testing.assert_allclose(np.linalg.norm(motion.rotations, axis=-1), 1.0, atol=1e-5)


def test_the_same_seed_gives_the_same_solid():
    """Two runs from one seed agree bit for bit."""
    first, second = (soft_solid(np.random.default_rng(5), name="ring", load="free") for _ in range(2))
    np.testing.assert_array_equal(first.positions, second.positions)
    np.testing.assert_array_equal(first.rotations, second.rotations)


def test_a_free_solid_keeps_its_momentum():
    """Without gravity and contact the centre of mass of the cage stays where it was."""
    cube = box((1, 1, 1))
    cage = ElasticCage(np.asarray(cube.vertices), np.asarray(cube.faces), nodes=130)
    assert cage.masses.sum() == pytest.approx(1.0)
    snapshots = LOADS["free"](cage, np.random.default_rng(0))
    centres = np.einsum("c,scd->sd", cage.masses, snapshots)
    assert np.abs(snapshots - cage.nodes).max() > 0.05
    np.testing.assert_allclose(centres, 0.0, atol=1e-4)


def test_a_bad_model_and_an_explosion_are_named():
    """What MuJoCo refuses and what flies away both raise, with the reason."""
    with pytest.raises(ValueError, match="XML"):
        compile_model("<mujoco><nonsense/></mujoco>")
    with pytest.raises(ValueError, match="not finite"):
        check_motion(np.full((2, 3), np.nan))
    with pytest.raises(ValueError, match="99"):
        check_motion(np.full((2, 3), 99.0))


def test_frames_are_chosen_by_shape_and_not_by_place():
    """Snapshots that only move rigidly are no frames, and the ones that bend most come in order of time."""
    ball = icosphere(subdivisions=2, radius=0.5)
    rest, stretch = np.asarray(ball.vertices), np.linspace(1.0, 1.6, 13)
    with pytest.raises(ValueError, match="hardly changed"):
        chosen_frames(rest, rest + np.arange(5)[:, None, None] * 0.1, ball.faces, 8)
    snapshots = np.stack([rest * (1.0, 1.0, s) for s in stretch])
    positions, _ = chosen_frames(rest, snapshots, ball.faces, 5)
    heights = np.ptp(positions[..., 2], axis=1)
    np.testing.assert_allclose(heights[[0, -1]], (1.0, 1.6), atol=1e-6)
    assert len(positions) == 5 and (np.diff(heights) > 0.1).all()
