"""Tests of the gestures with a viewport made of numbers: no window, no OpenGL."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from app.picking import pick_surface
from app.render.cameras import OrbitCamera
from app.tools.gestures import Gestures
from app.tools.pointer import Button, Pointer, ToolChoice

WALL = 0.5 * np.array(((-1, 0, -1), (1, 0, -1), (1, 0, 1), (-1, 0, 1)), float)
WALL_FACES = np.array(((0, 1, 2), (0, 2, 3)))


class NumberHost:
    """A wall of one metre seen from the front, in a picture of 800 x 600 pixels."""

    def __init__(self) -> None:
        """Look at the wall."""
        self.camera = OrbitCamera(np.zeros(3), 4.0, -0.5 * np.pi, 0.0)
        self.calls: list[tuple[Any, ...]] = []
        self.pins: list[np.ndarray] = []

    def view(self) -> Any:
        """Return the view."""
        return self.camera.view(800, 600)

    def hit(self, x: float, y: float) -> Any:
        """Pick on the wall."""
        return pick_surface(WALL, WALL_FACES, *self.view().ray(x, y))

    def pin_at(self, x: float, y: float) -> int | None:
        """Return a pin within nine pixels."""
        near = [i for i, pin in enumerate(self.pins) if np.linalg.norm(self.view().project(pin) - (x, y)) < 9]
        return near[0] if near else None

    def pin_position(self, index: int) -> np.ndarray:
        """Return the place of a pin."""
        return self.pins[index]

    def zoom(self, steps: float) -> None:
        """Zoom."""
        self.camera.zoom(steps, 0.1, 100.0)

    def camera_moved(self) -> None:
        """Note it."""
        self.calls.append(("camera",))

    def hold(self, face: int, barycentric: tuple[float, float, float]) -> None:
        """Note it."""
        self.calls.append(("grab", face, barycentric))

    def pull(self, target: np.ndarray) -> None:
        """Note it."""
        self.calls.append(("drag", target))

    def let_go(self) -> None:
        """Note it."""
        self.calls.append(("release",))

    def pin(self, face: int, barycentric: tuple[float, float, float], target: np.ndarray | None) -> None:
        """Note it."""
        self.calls.append(("pin", face, barycentric, target))

    def unpin(self, index: int) -> None:
        """Note it."""
        self.calls.append(("unpin", index))

    @property
    def names(self) -> list[str]:
        """Names of the calls."""
        return [call[0] for call in self.calls]


@pytest.fixture
def host() -> NumberHost:
    """A wall to pull on."""
    return NumberHost()


@pytest.fixture
def gestures(host: NumberHost) -> Gestures:
    """Gestures on the wall."""
    return Gestures(host)


def test_pull_follows_the_pointer_in_the_picture_plane(host: NumberHost, gestures: Gestures) -> None:
    """Pressing holds the point under the pointer, moving pulls it along, releasing lets go; the camera stays."""
    before = (host.camera.azimuth, host.camera.elevation, host.camera.distance, tuple(host.camera.focus))
    gestures.press(Button.LEFT, Pointer(420, 280))
    gestures.move(Pointer(500, 200))
    gestures.wheel(3.0)
    gestures.press(Button.MIDDLE, Pointer(500, 200))
    gestures.move(Pointer(520, 200))
    gestures.release(Button.MIDDLE, Pointer(520, 200))
    gestures.release(Button.LEFT, Pointer(520, 200))
    assert host.names == ["grab", "drag", "drag", "release"]
    _, face, weights = host.calls[0]
    np.testing.assert_allclose(host.view().project(np.array(weights) @ WALL[WALL_FACES[face]]), (420, 280), atol=1e-6)
    np.testing.assert_allclose(host.view().project(host.calls[2][1]), (520, 200), atol=1e-6)
    assert before == (host.camera.azimuth, host.camera.elevation, host.camera.distance, tuple(host.camera.focus))


def test_a_click_does_not_pull(host: NumberHost, gestures: Gestures) -> None:
    """Below three pixels the hand has not moved."""
    gestures.press(Button.LEFT, Pointer(420, 280))
    gestures.move(Pointer(421, 281))
    gestures.release(Button.LEFT, Pointer(421, 281))
    assert host.names == ["grab", "release"]


def test_beside_the_object_the_camera_turns(host: NumberHost, gestures: Gestures) -> None:
    """A drag that begins on nothing orbits and sends no command, even over the object."""
    azimuth = host.camera.azimuth
    gestures.press(Button.LEFT, Pointer(20, 20))
    gestures.move(Pointer(400, 300))
    gestures.release(Button.LEFT, Pointer(400, 300))
    assert set(host.names) == {"camera"}
    assert host.camera.azimuth != azimuth


def test_middle_drag_slides(host: NumberHost, gestures: Gestures) -> None:
    """A middle drag moves the focus by what the pointer moved at its depth."""
    view = host.view()
    gestures.press(Button.MIDDLE, Pointer(400, 300))
    gestures.move(Pointer(460, 300))
    gestures.release(Button.MIDDLE, Pointer(460, 300))
    assert host.camera.focus[0] == pytest.approx(-60 * view.metres_per_pixel(np.zeros(3)))


def test_double_click_pins_and_unpins(host: NumberHost, gestures: Gestures) -> None:
    """A double click fixes the point, on a pin it frees it."""
    gestures.double_click(Pointer(420, 280))
    assert host.calls[0][0] == "pin"
    assert host.calls[0][3] is None
    host.pins.append(np.zeros(3))
    gestures.double_click(Pointer(400, 300))
    assert host.calls[1] == ("unpin", 0)


def test_shift_at_release_leaves_a_pin(host: NumberHost, gestures: Gestures) -> None:
    """With Shift held the pull becomes a pin at the pointer, set before the hand lets go."""
    gestures.press(Button.LEFT, Pointer(420, 280, shift=True))
    gestures.move(Pointer(500, 200, shift=True))
    gestures.release(Button.LEFT, Pointer(500, 200, shift=True))
    assert host.names == ["grab", "drag", "pin", "release"]
    np.testing.assert_allclose(host.view().project(host.calls[2][3]), (500, 200), atol=1e-6)


def test_shift_released_before_the_button_leaves_a_pin(host: NumberHost, gestures: Gestures) -> None:
    """Letting go of Shift during the pull fixes the point there; moving on changes nothing."""
    gestures.press(Button.LEFT, Pointer(420, 280, shift=True))
    gestures.move(Pointer(500, 200, shift=True))
    gestures.shift_released(Pointer(500, 200))
    gestures.move(Pointer(300, 300))
    gestures.release(Button.LEFT, Pointer(300, 300))
    assert host.names == ["grab", "drag", "pin", "release"]


def test_right_button_cancels(host: NumberHost, gestures: Gestures) -> None:
    """The right button lets go, and the rest of the left drag does nothing."""
    gestures.press(Button.LEFT, Pointer(420, 280))
    gestures.move(Pointer(500, 200))
    gestures.press(Button.RIGHT, Pointer(500, 200))
    gestures.move(Pointer(100, 100))
    gestures.release(Button.LEFT, Pointer(100, 100))
    assert host.names == ["grab", "drag", "release"]


def test_dragging_a_pin_moves_it(host: NumberHost, gestures: Gestures) -> None:
    """A pin that is dragged is lifted, pulled and set again where the pointer lets go."""
    host.pins.append(np.zeros(3))
    gestures.press(Button.LEFT, Pointer(402, 301))
    gestures.move(Pointer(460, 301))
    gestures.release(Button.LEFT, Pointer(460, 301))
    assert host.names == ["unpin", "grab", "drag", "pin", "release"]


def test_a_click_on_a_pin_leaves_it(host: NumberHost, gestures: Gestures) -> None:
    """Touching a pin without moving sends nothing."""
    host.pins.append(np.zeros(3))
    gestures.press(Button.LEFT, Pointer(402, 301))
    gestures.release(Button.LEFT, Pointer(402, 301))
    assert host.names == []


def test_pin_tool_pins_with_one_click(host: NumberHost, gestures: Gestures) -> None:
    """With the pin tool a click fixes and a drag does nothing."""
    gestures.choice = ToolChoice.PIN
    gestures.press(Button.LEFT, Pointer(420, 280))
    gestures.release(Button.LEFT, Pointer(420, 280))
    gestures.press(Button.LEFT, Pointer(420, 280))
    gestures.release(Button.LEFT, Pointer(480, 280))
    assert host.names == ["pin"]


def test_camera_tool_turns_over_the_object(host: NumberHost, gestures: Gestures) -> None:
    """With the camera tool nothing is pulled."""
    gestures.choice = ToolChoice.CAMERA
    gestures.press(Button.LEFT, Pointer(400, 300))
    gestures.move(Pointer(460, 300))
    gestures.release(Button.LEFT, Pointer(460, 300))
    assert host.names == ["camera"]


def test_lost_release_lets_go(host: NumberHost, gestures: Gestures) -> None:
    """When the button came up over another window, the next movement ends the pull."""
    gestures.press(Button.LEFT, Pointer(420, 280))
    gestures.move(Pointer(500, 200))
    gestures.lost(Pointer(510, 200))
    assert host.names[-1] == "release"
    assert not gestures.pulling
