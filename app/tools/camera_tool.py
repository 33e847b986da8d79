"""Turning and sliding the camera."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from app.tools.pointer import Host, Pointer


class CameraTool:
    """Orbits with one button and pans with another."""

    def __init__(self, host: Host) -> None:
        """Work on a viewport's camera."""
        self._host = host
        self._last: Pointer | None = None
        self._pans = False

    @property
    def active(self) -> bool:
        """Whether a button that moves the camera is held."""
        return self._last is not None

    def press(self, pointer: Pointer, *, pan: bool) -> None:
        """Begin to orbit or to pan."""
        self._last = pointer
        self._pans = pan

    def move(self, pointer: Pointer) -> None:
        """Follow the pointer."""
        if self._last is None:
            return
        right, down = pointer.x - self._last.x, pointer.y - self._last.y
        self._last = pointer
        view = self._host.view()
        if self._pans:
            self._host.camera.pan(right, down, view)
        else:
            self._host.camera.orbit(right, down, view.height)
        self._host.camera_moved()

    def release(self) -> None:
        """Stop."""
        self._last = None
