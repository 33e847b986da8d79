"""Marks on the object: pins, and the pull as a rod from the touched point with an arrow at the cursor's end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyvista as pv
from vtkmodules.vtkCommonMath import vtkMatrix4x4

from app.render.cameras import orthonormal_frame
from app.render.poly_actor import poly_actor

if TYPE_CHECKING:
    from jaxtyping import Float
    from vtkmodules.vtkRenderingCore import vtkActor, vtkRenderer

    from app.render.cameras import View

PIN_COLOR = (0.98, 0.74, 0.30)
PULL_COLOR = (0.38, 0.72, 1.00)
_PIN_PIXELS = 5.5
_GRIP_PIXELS = 4.5
_ROD_PIXELS = 1.6
_HEAD_PIXELS = 5.5
_HEAD_LENGTH_PIXELS = 15.0


class Markers:
    """Draws pins and the pull, at a constant size in pixels, on top of the object."""

    def __init__(self, renderer: vtkRenderer) -> None:
        """Prepare the marks; none is shown yet."""
        self._renderer = renderer
        self._pins: list[vtkActor] = []
        self._pin_points = np.zeros((0, 3))
        self._pull: tuple[Float[np.ndarray, "3"], Float[np.ndarray, "3"]] | None = None
        self._grip = _flat_actor(pv.Sphere(radius=1.0, theta_resolution=18, phi_resolution=12), PULL_COLOR)
        self._rod = _flat_actor(
            pv.Cylinder(center=(0, 0, 0.5), direction=(0, 0, 1), radius=1.0, resolution=10), PULL_COLOR
        )
        self._head = _flat_actor(
            pv.Cone(center=(0, 0, -0.5), direction=(0, 0, 1), height=1.0, radius=1.0, resolution=18), PULL_COLOR
        )
        for actor in (self._grip, self._rod, self._head):
            actor.SetVisibility(False)
            renderer.AddActor(actor)

    def set_pins(self, points: Float[np.ndarray, "k 3"]) -> None:
        """Show pins at world points [m], shape (k, 3)."""
        self._pin_points = np.asarray(points, np.float64).reshape(-1, 3)
        while len(self._pins) < len(self._pin_points):
            actor = _flat_actor(pv.Sphere(radius=1.0, theta_resolution=18, phi_resolution=12), PIN_COLOR)
            self._renderer.AddActor(actor)
            self._pins.append(actor)
        while len(self._pins) > len(self._pin_points):
            self._renderer.RemoveActor(self._pins.pop())

    def set_pull(self, point: Float[np.ndarray, "3"] | None, target: Float[np.ndarray, "3"] | None) -> None:
        """Show a pull from a touched point [m] toward a target [m]; None hides it."""
        self._pull = None if point is None or target is None else (np.asarray(point, float), np.asarray(target, float))

    def place(self, view: View) -> None:
        """Scale and turn the marks for the view; call before each render."""
        for actor, point in zip(self._pins, self._pin_points, strict=True):
            _place(actor, point, np.eye(3) * (_PIN_PIXELS * view.metres_per_pixel(point) * _dots(view)))
        shown = self._pull is not None
        for actor in (self._grip, self._rod, self._head):
            actor.SetVisibility(shown)
        if self._pull is None:
            return
        point, target = self._pull
        pixel = view.metres_per_pixel(target) * _dots(view)
        _place(self._grip, point, np.eye(3) * (_GRIP_PIXELS * view.metres_per_pixel(point) * _dots(view)))
        span = target - point
        length = float(np.linalg.norm(span))
        if length < 2.0 * pixel:
            self._rod.SetVisibility(False)
            self._head.SetVisibility(False)
            return
        turn = orthonormal_frame(span / length)
        head = min(_HEAD_LENGTH_PIXELS * pixel, 0.6 * length)
        shrink = head / (_HEAD_LENGTH_PIXELS * pixel)
        _place(self._rod, point, turn * (_ROD_PIXELS * pixel, _ROD_PIXELS * pixel, length - 0.9 * head))
        width = _HEAD_PIXELS * pixel * shrink
        _place(self._head, target, turn * (width, width, head))


def _dots(view: View) -> float:
    """Return device pixels per design pixel: marks grow a little on tall pictures."""
    return max(view.height / 800.0, 0.6)


def _flat_actor(mesh: pv.PolyData, color: tuple[float, float, float]) -> vtkActor:
    actor = poly_actor(mesh, color=color, lighting=False)
    # Drawn in front of the object although it lies on or inside it.
    mapper = actor.GetMapper()
    mapper.SetResolveCoincidentTopologyToPolygonOffset()
    mapper.SetRelativeCoincidentTopologyPolygonOffsetParameters(0.0, -60000.0)
    return actor


def _place(actor: vtkActor, origin: Float[np.ndarray, "3"], axes: Float[np.ndarray, "3 3"]) -> None:
    matrix = np.eye(4)
    matrix[:3, :3] = axes
    matrix[:3, 3] = origin
    held = vtkMatrix4x4()
    held.DeepCopy(matrix.reshape(-1).tolist())
    actor.SetUserMatrix(held)
