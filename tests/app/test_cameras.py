"""Tests of the camera's geometry."""

from __future__ import annotations

import numpy as np
import pytest

from app.render.cameras import OrbitCamera, clipping_range


def test_project_undoes_ray() -> None:
    """A point on the sight line through a pixel projects back to that pixel."""
    view = OrbitCamera(np.array((0.1, -0.2, 0.5)), 3.0, 0.7, 0.3).view(900, 600)
    origin, direction = view.ray(123.0, 456.0)
    np.testing.assert_allclose(view.project(origin + 2.5 * direction), (123.0, 456.0), atol=1e-9)


def test_parallel_plane_keeps_depth() -> None:
    """A pulled point keeps its distance along the viewing direction, wherever the pointer goes."""
    view = OrbitCamera().view(900, 600)
    through = np.array((0.3, 0.2, 0.1))
    for x, y in ((450, 300), (-50, 5000), (899, 0)):
        point = view.on_parallel_plane(x, y, through)
        assert float(view.depth(point)) == pytest.approx(float(view.depth(through)))
        np.testing.assert_allclose(view.project(point), (x, y), atol=1e-6)


def test_horizon_stays_level() -> None:
    """However one orbits, the picture's horizontal stays horizontal and the pole is not passed."""
    camera = OrbitCamera()
    for right, down in ((200, 900), (-40, -5000), (3, 77)):
        camera.orbit(right, down, 600)
        view = camera.view(900, 600)
        assert view.right[2] == 0.0
        assert view.up[2] > 0.0


def test_framing_shows_all_of_a_box() -> None:
    """Every corner of a framed box lies inside the picture."""
    low, high = np.array((-1.0, -0.2, 0.0)), np.array((1.0, 0.2, 0.6))
    for width, height in ((900, 600), (400, 900)):
        camera = OrbitCamera()
        camera.frame(low, high, width / height)
        view = camera.view(width, height)
        corners = np.array([(x, y, z) for x in (-1, 1) for y in (-0.2, 0.2) for z in (0, 0.6)])
        pixels = view.project(corners)
        assert (pixels > 0).all()
        assert (pixels < (width, height)).all()


def test_clipping_follows_a_flying_object() -> None:
    """Near and far hold the object at its side of the room, far away, and at the eye."""
    view = OrbitCamera(np.zeros(3), 4.0).view(900, 600)
    for place in (np.zeros(3), 500.0 * view.forward, view.position + 0.05 * view.forward):
        low, high = place - 0.4, place + 0.4
        near, far = clipping_range(view, low, high, 9.0)
        assert 0.0 < near < far
        assert far >= float(view.depth(high))
        assert near <= max(float(view.depth(place)), near)
        assert far / near <= 5001.0
