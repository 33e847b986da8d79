"""Geometry of whole batches is that of single items."""

from __future__ import annotations

import numpy as np
import torch
from scipy.spatial.transform import Rotation

from engine.datasets.batched import canonical_yaws, farthest_seeds, polar_rotations, rigid_fits
from engine.geometry.canonical_frame import canonical_yaw
from engine.geometry.rigid_fit import rigid_fit
from engine.geometry.surface import farthest_points


def test_rigid_fits_are_those_of_single_items() -> None:
    """Each fit is the one that NumPy finds, also of a flat set, and it undoes a rigid motion."""
    rng = np.random.default_rng(0)
    target = rng.normal(size=(5, 40, 3))
    target[1, :, 2] = 0.0
    turns = Rotation.random(5, rng=rng).as_matrix()
    source = target @ turns.transpose(0, 2, 1) + rng.normal(size=(5, 1, 3))
    rotation, shift = rigid_fits(torch.from_numpy(source), torch.from_numpy(target))
    for i in range(5):
        fit, move = rigid_fit(source[i], target[i], np.ones(40))
        np.testing.assert_allclose(rotation[i].numpy(), fit, atol=1e-9)
        np.testing.assert_allclose(shift[i].numpy(), move, atol=1e-9)
        np.testing.assert_allclose(source[i] @ fit.T + move, target[i], atol=1e-9)


def test_polar_rotations_are_exact() -> None:
    """The rotation of a product of a rotation and a symmetric stretch is found again."""
    rng = np.random.default_rng(0)
    turns = Rotation.random(50, rng=rng).as_matrix()
    stretches = np.exp(rng.uniform(-0.5, 0.5, (50, 3)))[:, :, None] * np.eye(3)
    axes = Rotation.random(50, rng=rng).as_matrix()
    symmetric = axes @ stretches @ axes.transpose(0, 2, 1)
    np.testing.assert_allclose(polar_rotations(torch.from_numpy(turns @ symmetric)).numpy(), turns, atol=1e-9)


def test_seeds_are_those_of_single_items() -> None:
    """Each row holds the farthest points that NumPy chooses."""
    rng = np.random.default_rng(0)
    points, component = rng.random((4, 60, 3)), rng.integers(3, size=(4, 60))
    seeds = farthest_seeds(torch.from_numpy(points), torch.from_numpy(component), 9).numpy()
    for i in range(4):
        np.testing.assert_array_equal(seeds[i], farthest_points(points[i], component[i], 9))


def test_canonical_yaws_are_those_of_single_items() -> None:
    """Each frame is the one of NumPy, for shapes with a front and for a round one."""
    rng = np.random.default_rng(0)
    points, normals = rng.normal(size=(6, 80, 3)) * [2.0, 1.0, 0.5], rng.normal(size=(6, 80, 3))
    normals /= np.linalg.norm(normals, axis=-1, keepdims=True)
    around = 2 * np.pi * np.arange(80) / 80
    points[5] = normals[5] = np.stack((np.cos(around), np.sin(around), 0 * around), 1)
    frames = canonical_yaws(torch.from_numpy(points), torch.from_numpy(normals)).numpy()
    for i in range(5):
        np.testing.assert_allclose(frames[i], canonical_yaw(points[i], normals[i]), atol=1e-9)
    np.testing.assert_allclose(frames[5] @ frames[5].T, np.eye(3), atol=1e-12)
