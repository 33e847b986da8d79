"""What a tool is told and what it may ask for, free of Qt, so that gestures can be tested with plain numbers."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    from jaxtyping import Float

    from app.picking import SurfaceHit
    from app.render.cameras import OrbitCamera, View

CLICK_PIXELS = 3.0


class Button(StrEnum):
    """A mouse button."""

    LEFT = "left"
    MIDDLE = "middle"
    RIGHT = "right"


class ToolChoice(StrEnum):
    """What the left button does on the object."""

    DRAG = "drag"
    CAMERA = "camera"
    PIN = "pin"


@dataclass(frozen=True, slots=True)
class Pointer:
    """Where the pointer is.

    Attributes:
        x: device pixels from the left edge of the viewport; may lie outside it during a drag.
        y: device pixels from the upper edge.
        shift: whether Shift is held.
        ratio: device pixels per logical pixel of the viewport.
    """

    x: float
    y: float
    shift: bool = False
    ratio: float = 1.0

    def moved_from(self, other: Pointer) -> bool:
        """Tell whether this is a drag from another place and no longer a click."""
        reach = CLICK_PIXELS * self.ratio
        return (self.x - other.x) ** 2 + (self.y - other.y) ** 2 >= reach**2


class Host(Protocol):
    """What a tool may ask of the viewport: look, turn the camera, and send wishes for the object."""

    @property
    def camera(self) -> OrbitCamera:
        """The camera being turned."""
        ...

    def view(self) -> View:
        """Return the present view."""
        ...

    def hit(self, x: float, y: float) -> SurfaceHit | None:
        """Return the point of the object under a device pixel."""
        ...

    def pin_at(self, x: float, y: float) -> int | None:
        """Return the pin under a device pixel."""
        ...

    def pin_position(self, index: int) -> Float[np.ndarray, "3"]:
        """Return the place of a pin [m], world."""
        ...

    def zoom(self, steps: float) -> None:
        """Come closer by wheel steps."""
        ...

    def camera_moved(self) -> None:
        """Say that the picture must be drawn anew."""
        ...

    def hold(self, face: int, barycentric: tuple[float, float, float]) -> None:
        """Take hold of a point of the object."""
        ...

    def pull(self, target: Float[np.ndarray, "3"]) -> None:
        """Pull the held point toward a place [m], world."""
        ...

    def let_go(self) -> None:
        """Let go of the held point."""
        ...

    def pin(self, face: int, barycentric: tuple[float, float, float], target: Float[np.ndarray, "3"] | None) -> None:
        """Fix a point of the object at a place [m], world, or where it is now."""
        ...

    def unpin(self, index: int) -> None:
        """Free a pin."""
        ...
