"""The floor: a grid that fades into the background, and the soft shadow of whatever hangs above it.

The shadow is not traced. The object's surface is laid down on a small image of the floor, each piece weighted by its
area and by how near the floor it is, and blurred: dark and tight under a foot, pale and wide under a raised wing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyvista as pv
from scipy.ndimage import gaussian_filter

from app.render.poly_actor import poly_actor
from app.render.shaders import install_floor
from engine.geometry.surface import face_normals_and_areas, sample_surface

if TYPE_CHECKING:
    from jaxtyping import Float, Int
    from vtkmodules.vtkRenderingCore import vtkRenderer

_TEXELS = 96
_SAMPLES = 6000
_MARGIN = 0.55
_DARKEST = 0.62


class FloorGrid:
    """A large quad at z = 0 whose program draws the grid."""

    def __init__(self, size: float) -> None:
        """Lay a floor for an object of the given size [m]."""
        self.radius = 9.0 * size
        self.actor = poly_actor(_square(self.radius))
        self.actor.ForceTranslucentOn()
        uniforms = install_floor(self.actor)
        uniforms.SetUniform2f("nkCentre", (0.0, 0.0))
        uniforms.SetUniformf("nkReach", self.radius)
        uniforms.SetUniformf("nkSpacing", grid_spacing(size))

    def add_to(self, renderer: vtkRenderer) -> None:
        """Show the floor."""
        renderer.AddActor(self.actor)

    def remove_from(self, renderer: vtkRenderer) -> None:
        """Take the floor away."""
        renderer.RemoveActor(self.actor)


def _square(reach: float) -> pv.PolyData:
    corners = np.array(((-reach, -reach, 0), (reach, -reach, 0), (reach, reach, 0), (-reach, reach, 0)), np.float32)
    return pv.PolyData(corners, np.array((4, 0, 1, 2, 3)))


def grid_spacing(size: float) -> float:
    """Return a round spacing [m] (1, 2 or 5 times a power of ten) near a fifth of the object's size [m]."""
    target = max(size, 1e-9) / 5.0
    power = 10.0 ** np.floor(np.log10(target))
    for step in (1.0, 2.0, 5.0, 10.0):
        if step * power >= target:
            return float(step * power)
    return float(10.0 * power)


class FloorShadow:
    """A quad just above the floor that carries the object's soft shadow."""

    def __init__(self, faces: Int[np.ndarray, "m 3"], rest: Float[np.ndarray, "n 3"], size: float) -> None:
        """Prepare the shadow of triangles at rest vertices [m] of an object of the given size [m]."""
        self._size = size
        _, area = face_normals_and_areas(np.asarray(rest, np.float64), faces)
        # Vertices would not do: a table top has four of them, all at its corners.
        samples = sample_surface(area, _SAMPLES, np.random.default_rng(0))
        self._corners = np.ascontiguousarray(faces[samples.face].T)
        self._shares = np.ascontiguousarray(samples.barycentric.T[..., None], np.float32)
        self._area = float(area.sum()) / _SAMPLES
        self._pixels = np.zeros((_TEXELS, _TEXELS, 4), np.uint8)
        self._texture = pv.Texture(self._pixels.copy())
        self._texture.SetInterpolate(True)
        self._texture.SetRepeat(False)
        self._image = self._texture.GetInput()
        quad = pv.PolyData(np.zeros((4, 3), np.float32), np.array((4, 0, 1, 2, 3)))
        quad.active_texture_coordinates = np.array(((0, 0), (1, 0), (1, 1), (0, 1)), np.float32)
        self._quad = quad
        self.actor = poly_actor(quad, lighting=False)
        self.actor.SetTexture(self._texture)
        self.actor.ForceTranslucentOn()

    def add_to(self, renderer: vtkRenderer) -> None:
        """Show the shadow."""
        renderer.AddActor(self.actor)

    def remove_from(self, renderer: vtkRenderer) -> None:
        """Take the shadow away."""
        renderer.RemoveActor(self.actor)
        self.actor.ReleaseGraphicsResources(renderer.GetVTKWindow())

    def update(self, vertices: Float[np.ndarray, "n 3"]) -> None:
        """Follow the object at simulation vertices [m], world, shape (n, 3)."""
        first, second, third = (vertices[corner] for corner in self._corners)
        points = self._shares[0] * first + self._shares[1] * second + self._shares[2] * third
        low, high = points.min(axis=0), points.max(axis=0)
        reach = 0.5 * float(max(high[0] - low[0], high[1] - low[1])) + _MARGIN * 0.4 * self._size
        centre = 0.5 * (low[:2] + high[:2])
        texel = 2.0 * reach / _TEXELS
        cell = ((points[:, :2] - (centre - reach)) / texel).astype(np.int32)
        np.clip(cell, 0, _TEXELS - 1, out=cell)
        height = np.maximum(points[:, 2], 0.0) / self._size
        near = self._area * np.exp(-height / 0.05)
        far = self._area * np.exp(-height / 0.35)
        index = cell[:, 1] * _TEXELS + cell[:, 0]
        scale = 1.0 / texel**2
        tight = np.bincount(index, near, _TEXELS * _TEXELS).reshape(_TEXELS, _TEXELS) * scale
        wide = np.bincount(index, far, _TEXELS * _TEXELS).reshape(_TEXELS, _TEXELS) * scale
        spread = 0.03 * self._size / texel
        cover = gaussian_filter(tight, spread, mode="constant") + 0.45 * gaussian_filter(
            wide, 3.0 * spread, mode="constant"
        )
        alpha = _DARKEST * (1.0 - np.exp(-0.9 * cover))
        self._write(alpha)
        x0, x1 = centre[0] - reach, centre[0] + reach
        y0, y1 = centre[1] - reach, centre[1] + reach
        lift = 1e-3 * self._size
        corners = ((x0, y0, lift), (x1, y0, lift), (x1, y1, lift), (x0, y1, lift))
        np.copyto(np.asarray(self._quad.points), np.array(corners, np.float32))
        self._quad.GetPoints().Modified()
        self._quad.Modified()

    def _write(self, alpha: Float[np.ndarray, "t t"]) -> None:
        scalars = self._image.GetPointData().GetScalars()
        stored = pv.convert_array(scalars)
        stored.reshape(_TEXELS, _TEXELS, 4)[..., 3] = np.clip(255.0 * alpha, 0, 255).astype(np.uint8)
        scalars.Modified()
        self._image.Modified()
