"""Solids moved by particles: filling, carrying, and what plasticine, jelly and sand do."""

from __future__ import annotations

import numpy as np
import pytest
import trimesh
from scipy.spatial.transform import Rotation

from engine.datasets.simulated.continuum import Load, Material, Tool, continuum, draw_material, simulate
from engine.datasets.simulated.particle_surface import carrier_of, check_sound, fill_with_particles

BALL = trimesh.creation.icosphere(subdivisions=3, radius=0.5)
VERTICES, FACES = np.asarray(BALL.vertices), np.asarray(BALL.faces)
SHIFT = np.array([1.0, 2.0, 3.0])


def _forks() -> trimesh.Trimesh:
    """Two bars that almost touch, joined by a third at one end."""
    bars = [trimesh.creation.box((1.0, 0.2, 0.2)).apply_translation((0, y, 0)) for y in (-0.12, 0.12)]
    bridge = trimesh.creation.box((0.2, 0.44, 0.2)).apply_translation((0.4, 0, 0))
    return trimesh.boolean.union([*bars, bridge], engine="manifold").subdivide_to_size(0.1)


def test_particles_fill_a_ball() -> None:
    """As many particles as asked for lie inside, and their cells add up to the ball's volume."""
    grains, spacing = fill_with_particles(VERTICES, FACES, 1000, np.random.default_rng(1))
    assert len(grains) == pytest.approx(1000, rel=0.1)
    assert np.linalg.norm(grains, axis=1).max() <= 0.5
    assert len(grains) * spacing**3 == pytest.approx(BALL.volume, rel=0.03)


def test_a_sheet_cannot_be_filled() -> None:
    """A flat sheet encloses nothing, and the error says so."""
    sheet = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], dtype=float)
    with pytest.raises(ValueError, match="no volume"):
        fill_with_particles(sheet, np.array([[0, 1, 2], [0, 2, 3]]), 100, np.random.default_rng(0))


def test_a_rigid_motion_of_the_particles_carries_the_surface_exactly() -> None:
    """Turned and moved particles turn and move the surface, smoothing or not, to rounding."""
    grains, spacing = fill_with_particles(VERTICES, FACES, 500, np.random.default_rng(2))
    carrier = carrier_of(VERTICES, FACES, grains, spacing)
    turn = Rotation.from_rotvec([0.4, -1.0, 0.7])
    moved, gradient = carrier.carry(turn.apply(grains) + SHIFT)
    assert moved == pytest.approx(turn.apply(VERTICES) + SHIFT, abs=1e-9)
    assert gradient == pytest.approx(np.tile(turn.as_matrix(), (len(VERTICES), 1, 1)), abs=1e-9)


def test_a_stretch_of_the_particles_stretches_the_surface() -> None:
    """A uniform stretch by 1.4 is met within a twentieth of the object's size, though it is drawn to a rotation."""
    grains, spacing = fill_with_particles(VERTICES, FACES, 1000, np.random.default_rng(2))
    stretch = np.diag([1.4, 1.0, 0.8])
    moved, _ = carrier_of(VERTICES, FACES, grains, spacing).carry(grains @ stretch)
    assert np.abs(moved - VERTICES @ stretch).max() < 0.05


def test_a_neighbour_across_a_gap_does_not_carry() -> None:
    """Particles of one bar of a fork leave the vertices at the free end of the other where they were."""
    fork = _forks()
    vertices, faces = np.asarray(fork.vertices), np.asarray(fork.faces)
    grains, spacing = fill_with_particles(vertices, faces, 600, np.random.default_rng(4))
    free = grains[:, 0] < 0
    lifted = grains + np.where(free & (grains[:, 1] > 0), 0.3, 0.0)[:, None] * [0.0, 0.0, 1.0]
    moved, _ = carrier_of(vertices, faces, grains, spacing).carry(lifted)
    end = vertices[:, 0] < -0.3
    other = vertices[:, 1] < 0
    assert moved[end & other] == pytest.approx(vertices[end & other], abs=1e-9)
    assert moved[end & ~other] == pytest.approx(vertices[end & ~other] + [0.0, 0.0, 0.3], abs=1e-9)


def test_a_torn_surface_and_one_turned_inside_out_are_refused() -> None:
    """A vertex far away is torn, and a mirrored solid is inside out; the error tells which."""
    torn = VERTICES.copy()
    torn[0] += 5.0
    identity = np.tile(np.eye(3), (1, len(VERTICES), 1, 1))
    with pytest.raises(ValueError, match="torn"):
        check_sound(np.stack((VERTICES, torn)), FACES, identity)
    with pytest.raises(ValueError, match="inside out"):
        check_sound(np.stack((VERTICES, VERTICES)), FACES, -identity)
    check_sound(np.stack((VERTICES, 1.5 * VERTICES)), FACES, 1.5 * identity)


def _plate(path, **options) -> Tool:
    return Tool(0.0, path, 0.5, np.zeros(3), np.zeros(3), steps=1, **options)


def test_a_falling_body_falls_freely() -> None:
    """Before it touches anything a body falls by g t^2 / 2 (as implicit Euler sums it) and keeps its shape."""
    pytest.importorskip("newton")
    grains, spacing = fill_with_particles(VERTICES, FACES, 100, np.random.default_rng(5))
    grains[:, 2] += 3.0
    away = _plate(lambda _: np.array([0.0, 0.0, 50.0]), duration=0.125)
    states = simulate(grains, spacing, draw_material(Material.JELLY, np.random.default_rng(0)), away)
    fallen = 9.81 * 0.0125**2 * np.arange(1, 11) * np.arange(2, 12) / 2
    assert states == pytest.approx(grains - fallen[:, None, None] * [0.0, 0.0, 1.0], abs=2e-4)


def test_plasticine_stays_pressed_and_jelly_springs_back() -> None:
    """A ball pressed to 0.6 of its height and let go stays flat if of plasticine, and rises again if of jelly."""
    pytest.importorskip("newton")
    grains, spacing = fill_with_particles(VERTICES, FACES, 300, np.random.default_rng(6))
    grains[:, 2] += 0.5
    times, heights = [0.0, 0.3, 0.4, 0.6], [1.0, 0.6, 0.6, 2.0]
    press = _plate(lambda t: np.array([0.0, 0.0, np.interp(t, times, heights)]), duration=0.9)
    height = {}
    for material in (Material.PLASTICINE, Material.JELLY):
        # Stiff, so that the ball's own weight hardly flattens it.
        constants = {**draw_material(material, np.random.default_rng(1)), "young_modulus": 4e5}
        states = simulate(grains, spacing, constants, press)
        extent = np.ptp(states[:, :, 2], axis=1) + spacing
        assert extent[28] == pytest.approx(0.6, abs=0.06)
        height[material] = extent[-1]
    assert height[Material.PLASTICINE] < 0.7
    assert height[Material.JELLY] > 0.9


def test_a_motion_begins_at_rest_and_comes_out_the_same_again() -> None:
    """Frame 0 is the given shape but for a rigid motion, rotations are unit, and a seed gives the same bits twice."""
    pytest.importorskip("newton")
    one, two = (
        continuum(
            np.random.default_rng(7),
            frames=8,
            shape=(3.0 * VERTICES, FACES),
            name="ball",
            material=Material.SAND_BAG,
            load=Load.DROPPED,
            particles=150,
        )
        for _ in range(2)
    )
    assert np.array_equal(one.positions, two.positions)
    assert np.array_equal(one.rotations, two.rotations)
    assert one.family == "continuum/sand_bag" and one.kind == "continuum" and one.name == "ball" and not one.fixed
    assert one.positions.dtype == np.float32 and 4 <= len(one.positions) <= 8
    edges = BALL.edges_unique
    lengths = np.linalg.norm(np.diff(one.positions[0][edges], axis=1)[:, 0], axis=-1)
    assert lengths == pytest.approx(3.0 * BALL.edges_unique_length, rel=1e-4)
    assert np.linalg.norm(one.rotations, axis=-1) == pytest.approx(1.0, abs=1e-5)
    assert np.ptp(one.positions[-1, :, 2]) < 0.95 * np.ptp(one.positions[0, :, 2])
