"""The stage: background, floor, object, marks and camera of one renderer, on screen or off."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from vtkmodules.vtkRenderingCore import vtkLight

from app.render.cameras import OrbitCamera, View, clipping_range
from app.render.floor import FloorGrid, FloorShadow
from app.render.markers import Markers
from app.render.scene_actors import ObjectActor

if TYPE_CHECKING:
    from jaxtyping import Float
    from vtkmodules.vtkRenderingCore import vtkRenderer

    from engine.geometry.rest_shape import RestShape

BACKGROUND_LOW = (0.052, 0.058, 0.068)
BACKGROUND_HIGH = (0.118, 0.130, 0.150)


class Stage:
    """Everything drawn, and the one place that moves it. It never renders by itself."""

    def __init__(self, renderer: vtkRenderer) -> None:
        """Dress an empty renderer."""
        self._renderer = renderer
        self.camera = OrbitCamera()
        self.size = 1.0
        self.vertices: Float[np.ndarray, "n 3"] = np.zeros((0, 3), np.float32)
        renderer.SetBackground(*BACKGROUND_LOW)
        renderer.SetBackground2(*BACKGROUND_HIGH)
        renderer.GradientBackgroundOn()
        renderer.RemoveAllLights()
        renderer.AutomaticLightCreationOff()
        # The objects' own program lights them; VTK only hands it normals and positions where at least one light is on.
        lamp = vtkLight()
        lamp.SetLightTypeToHeadlight()
        renderer.AddLight(lamp)
        # Plain alpha blending: the only translucent things are the floor and its shadow, drawn in order.
        renderer.SetUseOIT(False)
        self.markers = Markers(renderer)
        self._grid = FloorGrid(self.size)
        self._grid.add_to(renderer)
        self._object: ObjectActor | None = None
        self._shadow: FloorShadow | None = None
        self._floor_shown = True
        # A software renderer takes long over large textures; the viewport lowers this there.
        self.texture_limit = 8192

    def set_object(self, rest: RestShape, vertices: Float[np.ndarray, "n 3"], *, frame: bool = True) -> None:
        """Replace the object by another at simulation vertices [m], world; optionally look at it anew."""
        self.clear_object()
        vertices = np.ascontiguousarray(vertices, np.float32)
        self.size = max(float(np.linalg.norm(np.ptp(vertices, axis=0))), 1e-6)
        self._grid.remove_from(self._renderer)
        self._grid = FloorGrid(self.size)
        self._grid.add_to(self._renderer)
        self._shadow = FloorShadow(rest.faces, vertices, self.size)
        self._shadow.add_to(self._renderer)
        self._object = ObjectActor(rest.render_parts, vertices, texture_limit=self.texture_limit)
        self._object.add_to(self._renderer)
        self._show_floor()
        self.update(vertices)
        if frame:
            self.frame_object(1.0)

    def clear_object(self) -> None:
        """Empty the stage of its object and marks."""
        if self._object is not None:
            self._object.remove_from(self._renderer)
        if self._shadow is not None:
            self._shadow.remove_from(self._renderer)
        self._object = self._shadow = None
        self.vertices = np.zeros((0, 3), np.float32)
        self.markers.set_pins(np.zeros((0, 3)))
        self.markers.set_pull(None, None)

    def update(self, vertices: Float[np.ndarray, "n 3"]) -> bool:
        """Move the object to simulation vertices [m], world, shape (n, 3).

        Returns:
            Whether they were drawn; non-finite vertices are refused, since they would turn the camera's bounds over.
        """
        if self._object is None or self._shadow is None or not np.isfinite(vertices).all():
            return False
        self.vertices = vertices
        self._object.update(vertices)
        if self._floor_shown:
            self._shadow.update(vertices)
        return True

    def set_floor_shown(self, shown: bool) -> None:
        """Show or hide the floor and its shadow."""
        self._floor_shown = shown
        self._show_floor()

    def frame_object(self, aspect: float) -> None:
        """Look at the object so that all of it is seen (aspect = width / height of the picture)."""
        if self._object is not None:
            self.camera.frame(self._object.low, self._object.high, aspect)

    def zoom(self, steps: float) -> None:
        """Come closer by wheel steps, between touching the object and seeing it as a dot."""
        self.camera.zoom(steps, 0.05 * self.size, 60.0 * self.size)

    def prepare(self, width: int, height: int) -> View:
        """Set camera, lights and marks for a picture of the given size [device pixels]; call before each render."""
        view = self.camera.view(width, height)
        low, high = (np.zeros(3), np.ones(3)) if self._object is None else (self._object.low, self._object.high)
        near, far = clipping_range(view, low, high, self._grid.radius)
        vtk_camera = self._renderer.GetActiveCamera()
        vtk_camera.SetPosition(*view.position)
        vtk_camera.SetFocalPoint(*self.camera.focus)
        vtk_camera.SetViewUp(*view.up)
        vtk_camera.SetViewAngle(2.0 * np.degrees(np.arctan(view.tangent)))
        vtk_camera.SetClippingRange(near, far)
        if self._object is not None:
            self._object.light(view)
        self.markers.place(view)
        return view

    def _show_floor(self) -> None:
        self._grid.actor.SetVisibility(self._floor_shown)
        if self._shadow is not None:
            self._shadow.actor.SetVisibility(self._floor_shown)
