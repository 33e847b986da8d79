"""Cloths of MuJoCo: what is held stays, what hangs hardly stretches, every load moves it."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("mujoco")

from engine.datasets.simulated.cloth_loads import LOADS, place, standing
from engine.datasets.simulated.flex_cloth import cloth
from engine.datasets.simulated.mujoco_model import FlexBody, Material


def _grid(n: int) -> tuple[np.ndarray, np.ndarray]:
    """A square of n x n vertices in the XY plane, every other cell cut the other way."""
    u = np.linspace(-0.5, 0.5, n)
    x, y = np.meshgrid(u, u, indexing="ij")
    index = np.arange(n * n).reshape(n, n)
    a, b, c, d = index[:-1, :-1].ravel(), index[1:, :-1].ravel(), index[1:, 1:].ravel(), index[:-1, 1:].ravel()
    odd = (np.add.outer(np.arange(n - 1), np.arange(n - 1)) % 2).ravel().astype(bool)[:, None]
    first = np.where(odd, np.stack((a, b, c), -1), np.stack((a, b, d), -1))
    second = np.where(odd, np.stack((a, c, d), -1), np.stack((b, c, d), -1))
    return np.stack((x, y, np.zeros_like(x)), -1).reshape(-1, 3), np.concatenate((first, second))


@pytest.mark.parametrize("load", LOADS)
def test_every_load_moves_a_cloth_that_hardly_stretches(load: str):
    """Each load bends the cloth; 95 of 100 edges keep their length within 15 percent; held vertices stay."""
    vertices, faces = _grid(18)
    motion = cloth(np.random.default_rng(2), shape=(vertices, faces), name="square", load=load)
    assert motion.family == "cloth/square"
    assert motion.fixed == (load != "draped")
    assert 4 <= len(motion.positions) <= 24
    x = motion.positions.astype(np.float64)
    moved = np.linalg.norm(x - x[0], axis=-1).max(0)
    assert moved.max() > 0.1
    assert (moved.min() < 1e-6) == (load != "draped")
    edges = faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2)
    length = np.linalg.norm(x[:, edges[:, 0]] - x[:, edges[:, 1]], axis=-1)
    assert np.quantile(np.abs(length / length[0] - 1), 0.95) < 0.15


def test_pinned_vertices_do_not_move():
    """Every vertex of the grip is exactly where it was after a second of wind."""
    vertices, faces = _grid(12)
    rng = np.random.default_rng(0)
    scene = place(standing(vertices, rng), faces, "wind", 0.2, rng)
    masses = np.full(len(vertices), 0.2 / len(vertices))
    material = Material(young=3e5, thickness=1e-3)
    body = FlexBody(scene.vertices, faces, masses, material, pinned=scene.pinned, step=0.01)
    snapshots = body.run(100, every=20, force=scene.force)
    still = np.broadcast_to(scene.vertices[scene.pinned], (5, len(scene.pinned), 3))
    np.testing.assert_allclose(snapshots[:, scene.pinned], still, atol=1e-12)
    assert np.abs(snapshots - scene.vertices).max() > 0.1


def test_a_strip_stretches_by_its_weight_over_its_stiffness():
    """A strip hung by its upper edge grows by m g L / (2 E t w), the answer for a bar under its own weight."""
    vertices, faces = _grid(11)
    x = vertices[:, [0, 2, 1]]
    areas = np.bincount(faces.ravel(), minlength=len(x)).astype(float)
    masses = 0.2 * areas / areas.sum()
    pinned = np.flatnonzero(x[:, 2] > 0.5 - 1e-9)
    body = FlexBody(
        x, faces, masses, Material(young=1e5, poisson=0.0, damping=0.1, thickness=1e-3), pinned=pinned, step=0.02
    )
    lower = x[:, 2] < -0.5 + 1e-9
    grown = -0.5 - body.run(200, every=200)[0][lower, 2].mean()
    assert grown == pytest.approx(0.2 * 9.81 * 1.0 / (2 * 1e5 * 1e-3 * 1.0), rel=0.1)


def test_the_same_seed_gives_the_same_cloth():
    """Two runs from one seed agree bit for bit."""
    first, second = (cloth(np.random.default_rng(4), shape=_grid(14), load="wind") for _ in range(2))
    np.testing.assert_array_equal(first.positions, second.positions)
    np.testing.assert_array_equal(first.rotations, second.rotations)


def test_a_flat_cloth_is_stood_upright():
    """A flat sheet comes to lie in the XZ plane with a longest side of 1, whatever way it lay."""
    vertices = _grid(6)[0] * (3.0, 2.0, 1.0)
    x = standing(vertices @ np.array([[0.6, 0.8, 0], [-0.8, 0.6, 0], [0, 0, 1.0]]), np.random.default_rng(1))
    np.testing.assert_allclose(np.ptp(x, axis=0).max(), 1.0)
    np.testing.assert_allclose(x[:, 1], 0.0, atol=1e-12)
