"""Tests of picking against hits that are known in closed form."""

from __future__ import annotations

import time

import numpy as np
import pytest
import trimesh

from app.picking import pick_surface

SQUARE = np.array(((0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)), float)
SQUARE_FACES = np.array(((0, 1, 2), (0, 2, 3)))
DOWN = np.array((0.0, 0.0, -1.0))


def test_hit_is_exact_within_the_triangle() -> None:
    """The barycentric point is the hit itself, not the nearest vertex."""
    hit = pick_surface(SQUARE, SQUARE_FACES, np.array((0.7, 0.2, 5.0)), DOWN)
    assert hit is not None
    assert hit.face == 0
    np.testing.assert_allclose(hit.position, (0.7, 0.2, 0.0), atol=1e-12)
    np.testing.assert_allclose(np.array(hit.barycentric) @ SQUARE[SQUARE_FACES[0]], hit.position, atol=1e-12)
    assert hit.distance == pytest.approx(5.0)


def test_miss_beside_the_object() -> None:
    """A ray that passes by hits nothing."""
    assert pick_surface(SQUARE, SQUARE_FACES, np.array((1.2, 0.2, 5.0)), DOWN) is None


def test_nothing_behind_the_eye_is_hit() -> None:
    """A surface behind the eye is not under the pointer."""
    assert pick_surface(SQUARE, SQUARE_FACES, np.array((0.5, 0.4, -5.0)), DOWN, two_sided=True) is None


def test_empty_stage() -> None:
    """Without an object there is nothing to hit."""
    assert pick_surface(np.zeros((0, 3)), np.zeros((0, 3), int), np.zeros(3), DOWN) is None


def test_nearest_of_two_surfaces() -> None:
    """The occluded surface is not hit."""
    vertices = np.concatenate((SQUARE, SQUARE + np.array((0.0, 0.0, 2.0))))
    faces = np.concatenate((SQUARE_FACES, SQUARE_FACES + 4))
    hit = pick_surface(vertices, faces, np.array((0.5, 0.4, 5.0)), DOWN)
    assert hit is not None
    assert hit.face >= 2


def test_back_side_only_of_open_surfaces() -> None:
    """From behind, a closed object is transparent to the hand and an open sheet is not."""
    origin, up = np.array((0.5, 0.4, -5.0)), np.array((0.0, 0.0, 1.0))
    assert pick_surface(SQUARE, SQUARE_FACES, origin, up) is None
    assert pick_surface(SQUARE, SQUARE_FACES, origin, up, two_sided=True) is not None


def test_far_from_the_origin() -> None:
    """The same ray hits the same point after both are moved by a million metres."""
    mesh = trimesh.creation.icosphere(3)
    vertices, faces = np.asarray(mesh.vertices), np.asarray(mesh.faces)
    origin = np.array((3.0, 0.4, 0.3))
    direction = -origin / np.linalg.norm(origin)
    near = pick_surface(vertices, faces, origin, direction)
    far = pick_surface(vertices + 1e6, faces, origin + 1e6, direction)
    assert near is not None
    assert far is not None
    assert near.face == far.face
    np.testing.assert_allclose(far.barycentric, near.barycentric, atol=1e-6)


def test_hidden_torus_tube() -> None:
    """Of the four surfaces of a torus along a ray, the first is hit."""
    mesh = trimesh.creation.torus(1.0, 0.3, major_sections=48, minor_sections=24)
    origin = np.array((5.0, 0.0, 0.01))
    hit = pick_surface(np.asarray(mesh.vertices), np.asarray(mesh.faces), origin, np.array((-1.0, 0.0, 0.0)))
    assert hit is not None
    assert hit.position[0] == pytest.approx(1.3, abs=0.01)


def test_two_hundred_thousand_triangles_in_time() -> None:
    """Picking stays below a frame's share on large meshes."""
    mesh = trimesh.creation.icosphere(7)
    vertices, faces = np.asarray(mesh.vertices, np.float32), np.asarray(mesh.faces, np.int32)
    origin = np.array((3.0, 0.4, 0.3))
    direction = -origin / np.linalg.norm(origin)
    spent = []
    for _ in range(5):
        started = time.perf_counter()
        assert pick_surface(vertices, faces, origin, direction) is not None
        spent.append(time.perf_counter() - started)
    assert len(faces) > 200_000
    assert min(spent) < 0.03
