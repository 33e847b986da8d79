"""The object on the stage: one actor for each material part, moved by writing points and normals in place."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyvista as pv

from app.render.poly_actor import poly_actor
from app.render.shaders import install_object_light
from app.render.shading_normals import ShadingNormals

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jaxtyping import Float, UInt8
    from vtkmodules.vtkRenderingCore import vtkActor, vtkRenderer

    from app.render.cameras import View
    from engine.geometry.rest_shape import RenderPart

# Directions toward the lights, in world axes for the sky and in picture axes (right, up, toward the eye) for the lamps.
_KEY_LIGHT = np.array((-0.45, 0.62, 0.64))
_FILL_LIGHT = np.array((0.85, 0.10, 0.35))


class ObjectActor:
    """Draws the render parts of one object at moving simulation vertices."""

    def __init__(
        self, parts: Sequence[RenderPart], vertices: Float[np.ndarray, "n 3"], *, texture_limit: int = 8192
    ) -> None:
        """Build the actors at simulation vertices [m], world, shape (n, 3).

        Args:
            parts: what to draw.
            vertices: where.
            texture_limit: largest side of a texture [pixels]; larger ones are thinned until they fit.
        """
        self._parts = tuple(parts)
        self._normals = ShadingNormals(self._parts)
        self._meshes = [_part_mesh(part) for part in self._parts]
        pairs = zip(self._parts, self._meshes, strict=True)
        self.actors = [_part_actor(part, mesh, texture_limit) for part, mesh in pairs]
        self._uniforms = [install_object_light(actor) for actor in self.actors]
        self.low = np.zeros(3)
        self.high = np.ones(3)
        self.update(vertices)

    def add_to(self, renderer: vtkRenderer) -> None:
        """Show the object."""
        for actor in self.actors:
            renderer.AddActor(actor)

    def remove_from(self, renderer: vtkRenderer) -> None:
        """Take the object off the stage and free its buffers."""
        for actor in self.actors:
            renderer.RemoveActor(actor)
            actor.ReleaseGraphicsResources(renderer.GetVTKWindow())

    def update(self, vertices: Float[np.ndarray, "n 3"]) -> None:
        """Move to simulation vertices [m], world, shape (n, 3); they must be finite."""
        vertices = np.ascontiguousarray(vertices, np.float32)
        self.low, self.high = vertices.min(axis=0), vertices.max(axis=0)
        normals = self._normals.update(vertices)
        for part, mesh, normal in zip(self._parts, self._meshes, normals, strict=True):
            # Assigning mesh.points would share memory with the engine's array; writing keeps our own.
            np.copyto(np.asarray(mesh.points), vertices[part.sim_index])
            mesh.GetPoints().Modified()
            np.copyto(np.asarray(mesh.point_data["Normals"]), normal)
            mesh.GetPointData().GetNormals().Modified()
            mesh.Modified()

    def light(self, view: View) -> None:
        """Turn the lights with the view: the lamps go with the eye, the sky stays above."""
        up = np.array((view.right[2], view.up[2], -view.forward[2]))
        for uniforms in self._uniforms:
            uniforms.SetUniform3f("nkUpVC", tuple(up))
            uniforms.SetUniform3f("nkKeyVC", tuple(_KEY_LIGHT / np.linalg.norm(_KEY_LIGHT)))
            uniforms.SetUniform3f("nkFillVC", tuple(_FILL_LIGHT / np.linalg.norm(_FILL_LIGHT)))


def _part_mesh(part: RenderPart) -> pv.PolyData:
    faces = np.column_stack((np.full(len(part.faces), 3), part.faces)).astype(np.int64)
    mesh = pv.PolyData(np.array(part.vertices, np.float32), faces.reshape(-1))
    mesh.point_data["Normals"] = np.array(part.normals, np.float32)
    mesh.point_data.active_normals_name = "Normals"
    if part.texture is not None and part.uv is not None:
        mesh.active_texture_coordinates = np.array(part.uv, np.float32)
    if part.colors is not None:
        tinted = np.asarray(part.colors, np.float64) * np.asarray(part.base_color)
        mesh.point_data["colors"] = np.clip(np.rint(tinted), 0, 255).astype(np.uint8)
        mesh.set_active_scalars("colors")
    return mesh


def _part_actor(part: RenderPart, mesh: pv.PolyData, texture_limit: int) -> vtkActor:
    red, green, blue, alpha = (float(channel) for channel in part.base_color)
    opacity = float(np.clip(alpha, 0.05, 1.0))
    metal = float(np.clip(part.metallic, 0.0, 1.0))
    # A metal throws back its surroundings, of which there are none here: a darker body with a strong highlight.
    shade = 1.0 - 0.2 * metal
    actor = poly_actor(mesh, color=(shade * red, shade * green, shade * blue), vertex_colors=part.colors is not None)
    roughness = float(np.clip(part.roughness, 0.12, 1.0))
    surface = actor.GetProperty()
    surface.SetOpacity(opacity)
    surface.SetDiffuse(1.0)
    surface.SetSpecularPower(float(np.clip(2.0 / roughness**4, 2.0, 200.0)))
    surface.SetSpecular(0.04 + (0.75 * (1.0 - roughness) ** 0.5 + 0.35 * metal) * (1.0 - roughness))
    surface.SetSpecularColor(*(1.0 - metal + metal * channel for channel in (red, green, blue)))
    if part.texture is not None and part.uv is not None:
        texture = pv.Texture(np.ascontiguousarray(thinned(part.texture, texture_limit)))
        texture.SetUseSRGBColorSpace(True)
        texture.SetInterpolate(True)
        texture.SetMipmap(True)
        texture.SetRepeat(True)
        actor.SetTexture(texture)
    see_through = part.colors is not None and bool((part.colors[:, 3] < 255).any())
    if opacity >= 1.0 and not see_through:
        # Four-channel colours and textures would otherwise be drawn in the translucent pass, unsorted.
        actor.ForceOpaqueOn()
    return actor


def thinned(image: UInt8[np.ndarray, "h w c"], limit: int) -> UInt8[np.ndarray, "h w c"]:
    """Return every n-th row and column of an image so that its sides are at most ``limit`` pixels."""
    step = -(-max(image.shape[:2]) // limit)
    return image if step <= 1 else image[::step, ::step]
