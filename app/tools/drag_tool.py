"""Pulling the object: the touched point follows the pointer on the picture-parallel plane through it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from jaxtyping import Float

    from app.picking import SurfaceHit
    from app.tools.pointer import Host, Pointer


class DragTool:
    """Holds one point of the object from press to release."""

    def __init__(self, host: Host) -> None:
        """Pull on a viewport's object."""
        self._host = host
        self._start: Pointer | None = None
        self._hit: SurfaceHit | None = None
        self._through: Float[np.ndarray, "3"] | None = None
        self._moved = False
        self._shift = False
        self._pin: int | None = None
        self._was_pin = False

    @property
    def active(self) -> bool:
        """Whether a point, or a pin, is held."""
        return self._start is not None

    def press(self, pointer: Pointer, hit: SurfaceHit) -> None:
        """Take hold of a point; until the pointer moves the target is the point itself, so no force acts."""
        self._begin(pointer, hit, hit.position)
        self._host.hold(hit.face, hit.barycentric)

    def press_pin(self, pointer: Pointer, index: int, hit: SurfaceHit) -> None:
        """Take hold of a pin; it is only lifted once the pointer moves, so that a click leaves it in place."""
        self._begin(pointer, hit, self._host.pin_position(index))
        self._pin = index

    def move(self, pointer: Pointer) -> None:
        """Pull toward the pointer."""
        if self._start is None or self._through is None or self._hit is None:
            return
        if self._shift and not pointer.shift:
            # Shift let go before the button: the pull stays where it is, as a pin.
            self._finish(pointer, pin=True)
            return
        self._shift = pointer.shift
        self._moved = self._moved or pointer.moved_from(self._start)
        if not self._moved:
            return
        if self._pin is not None:
            self._host.unpin(self._pin)
            self._host.hold(self._hit.face, self._hit.barycentric)
            self._pin = None
            self._was_pin = True
        self._host.pull(self._target(pointer))

    def release(self, pointer: Pointer) -> None:
        """Let go, or leave a pin when Shift is held or a pin was being moved."""
        if self._start is None:
            return
        self._finish(pointer, pin=self._moved and (pointer.shift or self._was_pin))

    def shift_released(self, pointer: Pointer) -> None:
        """Turn the pull into a pin at the pointer."""
        if self._start is not None and self._moved:
            self._finish(pointer, pin=True)
        self._shift = False

    def cancel(self) -> None:
        """Let go at once."""
        if self._start is not None:
            held = self._pin is None
            self._start = None
            if held:
                self._host.let_go()

    def _begin(self, pointer: Pointer, hit: SurfaceHit, through: Float[np.ndarray, "3"]) -> None:
        self._start, self._hit, self._through = pointer, hit, through
        self._moved, self._shift, self._pin, self._was_pin = False, pointer.shift, None, False

    def _target(self, pointer: Pointer) -> Float[np.ndarray, "3"]:
        assert self._through is not None
        return self._host.view().on_parallel_plane(pointer.x, pointer.y, self._through)

    def _finish(self, pointer: Pointer, *, pin: bool) -> None:
        held = self._pin is None
        if pin and held and self._hit is not None:
            # The pin comes first, so that the point does not slip between the two commands.
            self._host.pin(self._hit.face, self._hit.barycentric, self._target(pointer))
        self._start = None
        if held:
            self._host.let_go()
