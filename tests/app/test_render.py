"""Tests of drawing without a window."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import trimesh

from app.render.floor import grid_spacing
from app.render.shading_normals import ShadingNormals
from engine.geometry.rest_shape import rest_shape_from_arrays
from tests.app.conftest import ball

ROOT = Path(__file__).resolve().parents[2]

PROGRAM = """
import numpy as np, trimesh
from app.render.offscreen import OffscreenRenderer, Overlays
from engine.geometry.rest_shape import rest_shape_from_arrays
mesh = trimesh.creation.icosphere(subdivisions=3)
rest = rest_shape_from_arrays(mesh.vertices, mesh.faces)
vertices = 0.5 * np.asarray(rest.vertices) + (0, 0, 0.5)
with OffscreenRenderer(rest, size=(320, 200), vertices=vertices) as renderer:
    first = renderer.image(vertices)
    again = renderer.image(vertices)
    moved = renderer.image(vertices + (0.2, 0, 0))
    marked = renderer.image(vertices, Overlays(pull=(vertices[0], vertices[0] + 0.4), pins=vertices[:1]))
assert first.shape == (200, 320, 3) and first.dtype == np.uint8, first.shape
assert (first == again).all(), "the same scene gives the same picture"
assert (first != moved).any() and (first != marked).any()
assert first[100, 160].mean() > first[5, 5].mean() + 40, "the object stands out from the background"
print("drawn")
"""


def test_pictures_without_a_display() -> None:
    """With DISPLAY unset a picture has the asked size, shows the object, and follows its vertices."""
    environment = {key: value for key, value in os.environ.items() if key not in ("DISPLAY", "WAYLAND_DISPLAY")}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "drawn" in done.stdout
    assert "Warn" not in done.stderr
    assert "ERR" not in done.stderr


def test_normals_of_a_ball_point_outward() -> None:
    """On a sphere the shading normal is the direction from the centre, wherever the sphere is."""
    rest = ball()
    normals = ShadingNormals(rest.render_parts)
    unit = np.asarray(rest.vertices, np.float32)
    made = normals.update(2.0 * unit + np.float32(3.0))[0]
    expected = unit[rest.render_parts[0].sim_index]
    expected = expected / np.linalg.norm(expected, axis=1, keepdims=True)
    assert float(np.einsum("vd,vd->v", made, expected).min()) > 0.999


def test_normals_turn_with_the_object() -> None:
    """Rotating the vertices rotates the normals."""
    rest = ball()
    normals = ShadingNormals(rest.render_parts)
    turn = trimesh.transformations.rotation_matrix(1.0, (1, 2, 3))[:3, :3].astype(np.float32)
    unit = np.asarray(rest.vertices, np.float32)
    still, turned = normals.update(unit)[0].copy(), normals.update(unit @ turn.T)[0]
    np.testing.assert_allclose(turned, still @ turn.T, atol=1e-4)


def test_hard_edges_stay_hard() -> None:
    """A box keeps one normal on each of its sides."""
    box = trimesh.creation.box((1.0, 2.0, 3.0))
    rest = rest_shape_from_arrays(np.asarray(box.vertices), np.asarray(box.faces))
    made = ShadingNormals(rest.render_parts).update(np.asarray(rest.vertices, np.float32))[0]
    assert np.allclose(np.abs(made).max(axis=1), 1.0, atol=1e-5)


def test_normals_are_cheap() -> None:
    """Twenty thousand vertices take a small part of a frame."""
    mesh = trimesh.creation.icosphere(6)
    vertices, faces = np.asarray(mesh.vertices, np.float32), np.asarray(mesh.faces)
    normals = ShadingNormals(rest_shape_from_arrays(vertices, faces).render_parts)
    spent = []
    for _ in range(5):
        started = time.perf_counter()
        normals.update(vertices)
        spent.append(time.perf_counter() - started)
    assert min(spent) < 0.02


def test_grid_spacing_is_round() -> None:
    """The grid's cells are 1, 2 or 5 times a power of ten."""
    for size in (1e-3, 0.3, 1.0, 7.0, 4e4):
        spacing = grid_spacing(size)
        mantissa = spacing / 10.0 ** np.floor(np.log10(spacing) + 1e-9)
        assert min(abs(mantissa - step) for step in (1.0, 2.0, 5.0)) < 1e-6
        assert 0.1 < spacing / size < 0.6
