"""The exact optical flow against what a pinhole camera does to a plane, and the conventions of its medians."""

from __future__ import annotations

import numpy as np
import pytest

from app.render.cameras import View
from app.render.optical_flow import motion_magnitude, optical_flow, rasterise

QUAD = np.array(((0, 1, 2), (0, 2, 3)))


def looking_down_y(*, width: int = 40, height: int = 30, distance: float = 2.0) -> View:
    """Return a camera on the negative Y axis that looks along +Y; at its distance a metre covers height / 2 pixels."""
    x, y, z = np.eye(3)
    return View(np.array((0.0, -distance, 0.0)), x, z, y, width, height, 1.0 / distance)


def upright_quad(half_width: float, half_height: float, y: float = 0.0) -> np.ndarray:
    """Return the corners of a rectangle that faces the camera [m], shape (4, 3)."""
    signs = ((-1, -1), (1, -1), (1, 1), (-1, 1))
    return np.array([(half_width * a, y, half_height * b) for a, b in signs])


@pytest.mark.parametrize("forward", [False, True])
def test_shift_in_the_picture_plane(forward: bool) -> None:
    """A rectangle that moves parallel to the picture has one flow: its shift times pixels per metre at its depth."""
    view, quad = looking_down_y(), upright_quad(0.5, 0.4, y=1.0 if forward else 0.0)
    pixels_per_metre = 15.0 * 2.0 / (3.0 if forward else 2.0)
    flow, mask = optical_flow(view, QUAD, quad, quad + np.array((0.2, 0.0, -0.1)))
    assert mask.any() and not mask.all()
    np.testing.assert_allclose(flow[mask], np.tile((0.2, 0.1), (mask.sum(), 1)) * pixels_per_metre, atol=1e-9)
    assert not flow[~mask].any()


def test_coming_closer_spreads_from_the_middle() -> None:
    """A rectangle that comes closer by a third of its distance has flow (d / (d - s) - 1) times the pixel's offset."""
    view, quad = looking_down_y(distance=3.0), upright_quad(0.6, 0.5)
    flow, mask = optical_flow(view, QUAD, quad, quad - np.array((0.0, 1.0, 0.0)))
    y, x = np.nonzero(mask)
    offset = np.stack((x + 0.5 - 20.0, y + 0.5 - 15.0), -1)
    np.testing.assert_allclose(flow[mask], 0.5 * offset, atol=1e-9)


def test_places_on_a_slanted_plane_are_those_of_the_sight_lines() -> None:
    """Barycentric places on a surface that leans away are where the pixels' sight lines meet it."""
    view, quad = looking_down_y(), upright_quad(0.9, 0.6)
    quad[:, 1] = 0.8 * quad[:, 0] + 0.3 * quad[:, 2]
    normal = np.array((-0.8, 1.0, -0.3))
    seen = rasterise(view, quad, QUAD)
    rows, columns = np.nonzero(seen.face >= 0)
    assert len(rows) > 100
    for row, column in zip(rows, columns, strict=True):
        place = seen.barycentric[row, column] @ quad[QUAD[seen.face[row, column]]]
        origin, direction = view.ray(column + 0.5, row + 0.5)
        met = origin - direction * (origin @ normal) / (direction @ normal)
        np.testing.assert_allclose(place, met, atol=1e-9)


def test_pixels_are_those_whose_centres_are_covered() -> None:
    """A rectangle from -0.4 to 0.4 by -0.2 to 0.2 metres at 15 pixels a metre covers 12 by 6 pixels, each once."""
    seen = rasterise(looking_down_y(), upright_quad(0.4, 0.2), QUAD)
    rows, columns = np.nonzero(seen.face >= 0)
    assert (set(rows), set(columns)) == (set(range(12, 18)), set(range(14, 26)))
    assert len(rows) == 72


def test_the_nearer_surface_hides_the_farther() -> None:
    """Of two rectangles in one line of sight the nearer one is seen, whichever is named first."""
    near, far = upright_quad(0.3, 0.3, y=-0.5), upright_quad(0.8, 0.6, y=0.5)
    for quads, nearer in (((near, far), 0), ((far, near), 1)):
        seen = rasterise(looking_down_y(), np.concatenate(quads), np.concatenate((QUAD, QUAD + 4)))
        assert seen.face[15, 20] // 2 == nearer


def test_triangles_behind_the_eye_are_not_seen() -> None:
    """What has a corner behind the eye leaves no pixel and raises nothing."""
    assert (rasterise(looking_down_y(), upright_quad(1.0, 1.0, y=-2.5), QUAD).face < 0).all()


def test_medians_over_picture_and_object() -> None:
    """A small mover has no motion by the median of the picture, a large one has; by the object's pixels both have."""
    view = looking_down_y()
    small = [upright_quad(0.2, 0.2) + np.array((step, 0.0, 0.0)) for step in (0.0, 0.1, 0.4)]
    found = motion_magnitude(view, QUAD, small)
    # Shifts of 0.1 and 0.3 m at 15 pixels a metre: 1.5 and 4.5 pixels.
    assert found.picture == 0.0
    assert found.surface == pytest.approx(3.0, abs=1e-9)
    large = [upright_quad(5.0, 5.0) + np.array((step, 0.0, 0.0)) for step in (0.0, 0.1, 0.4)]
    assert motion_magnitude(view, QUAD, large).picture == pytest.approx(3.0, abs=1e-9)


def test_one_frame_is_no_motion() -> None:
    """A single frame is refused in words."""
    with pytest.raises(ValueError, match="at least two frames"):
        motion_magnitude(looking_down_y(), QUAD, [upright_quad(1.0, 1.0)])
