"""Pictures without a window: used by video export and by commands on machines that have no display."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from jaxtyping import Float, UInt8

    from app.render.cameras import OrbitCamera
    from engine.geometry.rest_shape import RestShape


@dataclass(frozen=True, slots=True)
class Overlays:
    """Marks drawn over the object.

    Attributes:
        pins: pinned points [m], world, shape (k, 3), or None.
        pull: touched point and target [m], world, or None.
    """

    pins: Float[np.ndarray, "k 3"] | None = None
    pull: tuple[Float[np.ndarray, "3"], Float[np.ndarray, "3"]] | None = None


class OffscreenRenderer:
    """Draws one object to images of a fixed size. Never make one in the process that shows a window."""

    def __init__(
        self,
        rest: RestShape,
        *,
        size: tuple[int, int],
        vertices: Float[np.ndarray, "n 3"],
        camera: OrbitCamera | None = None,
        floor: bool = True,
        multi_samples: int = 8,
    ) -> None:
        """Open a hidden render window.

        Args:
            rest: the object; only its faces and render parts are used.
            size: width and height of the images [pixels].
            vertices: simulation vertices [m], world, shape (n, 3), of the first image; they set the scale of the floor.
            camera: where to look from; None looks at the first image's object.
            floor: whether to draw the floor.
            multi_samples: samples for each pixel; smooth edges cost little when no one is waiting.
        """
        _prefer_surface_without_display()
        import pyvista as pv

        from app.render.stage import Stage

        self.size = (int(size[0]), int(size[1]))
        self._plotter = pv.Plotter(off_screen=True, window_size=list(self.size), lighting="none")
        window = self._plotter.render_window
        assert window is not None
        self._window = window
        self._window.SetMultiSamples(multi_samples)
        self._stage = Stage(self._plotter.renderer)
        self._stage.set_object(rest, vertices)
        self._stage.set_floor_shown(floor)
        if camera is None:
            self._stage.frame_object(self.size[0] / self.size[1])
        else:
            self._stage.camera = camera
        self._started = False

    def image(self, vertices: Float[np.ndarray, "n 3"], overlays: Overlays | None = None) -> UInt8[np.ndarray, "h w 3"]:
        """Draw the object at simulation vertices [m], world, and return the picture, shape (h, w, 3)."""
        if not self._stage.update(np.asarray(vertices)):
            raise ValueError("vertices hold values that are not finite, so the picture cannot be drawn")
        marks = overlays or Overlays()
        self._stage.markers.set_pins(np.zeros((0, 3)) if marks.pins is None else marks.pins)
        self._stage.markers.set_pull(*(marks.pull or (None, None)))
        self._stage.prepare(*self.size)
        if not self._started:
            self._plotter.show(auto_close=False, interactive=False)
            self._started = True
        self._stage.prepare(*self.size)
        self._window.Render()
        return np.ascontiguousarray(self._plotter.image[..., :3])

    def close(self) -> None:
        """Close the hidden window and free its memory."""
        self._plotter.close()

    def __enter__(self) -> OffscreenRenderer:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close."""
        self.close()


def _prefer_surface_without_display() -> None:
    """Ask VTK for EGL where there is no display, so that it does not first complain about a missing one."""
    if sys.platform.startswith("linux") and not os.environ.get("DISPLAY"):
        os.environ.setdefault("VTK_DEFAULT_OPENGL_WINDOW", "vtkEGLRenderWindow")
