"""Which tool a press goes to: the table of gestures, in one place.

Left on the object pulls it (or turns the camera, or sets a pin, by the chosen tool); left elsewhere orbits; middle
pans; the wheel zooms; a double click sets or frees a pin; right and Escape cancel. The camera never moves while a pull
is held.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.tools.camera_tool import CameraTool
from app.tools.drag_tool import DragTool
from app.tools.pointer import Button, Pointer, ToolChoice

if TYPE_CHECKING:
    from app.picking import SurfaceHit
    from app.tools.pointer import Host


class Gestures:
    """Sends pointer events of one viewport to its tools."""

    def __init__(self, host: Host) -> None:
        """Make the tools of a viewport."""
        self.choice = ToolChoice.DRAG
        self._host = host
        self._drag = DragTool(host)
        self._camera = CameraTool(host)
        self._held: Button | None = None
        self._pin_press: Pointer | None = None

    @property
    def pulling(self) -> bool:
        """Whether a pull is held, during which the camera stays where it is."""
        return self._drag.active

    def press(self, button: Button, pointer: Pointer) -> None:
        """A button goes down."""
        if button is Button.RIGHT:
            self.cancel()
            return
        if self._held is not None:
            return
        self._held = button
        if button is Button.MIDDLE:
            self._camera.press(pointer, pan=True)
            return
        if self.choice is ToolChoice.CAMERA:
            self._camera.press(pointer, pan=False)
            return
        pin = self._host.pin_at(pointer.x, pointer.y)
        hit = self._host.hit(pointer.x, pointer.y) if pin is None else self._hit_at_pin(pin)
        if self.choice is ToolChoice.PIN and (pin is not None or hit is not None):
            self._pin_press = pointer
        elif pin is not None and hit is not None:
            self._drag.press_pin(pointer, pin, hit)
        elif hit is not None:
            self._drag.press(pointer, hit)
        else:
            self._camera.press(pointer, pan=False)

    def move(self, pointer: Pointer) -> None:
        """The pointer moves, anywhere on the desktop while a button is held."""
        if self._drag.active:
            self._drag.move(pointer)
        elif self._camera.active:
            self._camera.move(pointer)

    def release(self, button: Button, pointer: Pointer) -> None:
        """A button comes up."""
        if button is not self._held:
            return
        self._held = None
        if self._pin_press is not None:
            if not pointer.moved_from(self._pin_press):
                self._toggle_pin(pointer)
            self._pin_press = None
        self._drag.release(pointer)
        self._camera.release()

    def double_click(self, pointer: Pointer) -> None:
        """Set a pin where the object is touched, or free the pin that is there."""
        self._drag.cancel()
        self._held = None
        self._camera.release()
        if self.choice is ToolChoice.DRAG:
            self._toggle_pin(pointer)

    def wheel(self, steps: float) -> None:
        """The wheel turns, toward the screen for positive steps."""
        if not self._drag.active:
            self._host.zoom(steps)
            self._host.camera_moved()

    def shift_released(self, pointer: Pointer) -> None:
        """Shift comes up."""
        self._drag.shift_released(pointer)

    def cancel(self) -> None:
        """Drop whatever is held."""
        self._drag.cancel()
        self._camera.release()
        self._pin_press = None
        self._held = None

    def lost(self, pointer: Pointer) -> None:
        """No button is down any more although none was seen to come up: the release went to another window."""
        if self._held is not None:
            self.release(self._held, pointer)

    def _toggle_pin(self, pointer: Pointer) -> None:
        pin = self._host.pin_at(pointer.x, pointer.y)
        if pin is not None:
            self._host.unpin(pin)
            return
        hit = self._host.hit(pointer.x, pointer.y)
        if hit is not None:
            self._host.pin(hit.face, hit.barycentric, None)

    def _hit_at_pin(self, index: int) -> SurfaceHit | None:
        """Return the point of the object under the middle of a pin, wherever on its disc the pointer is."""
        x, y = self._host.view().project(self._host.pin_position(index))
        return self._host.hit(float(x), float(y))
