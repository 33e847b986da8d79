"""Actors straight from polygon meshes.

PyVista's own mapper runs every mesh through a surface filter; for a mesh that is a surface already and changes at each
frame, this is a copy for nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import vtkmodules.vtkRenderingOpenGL2  # noqa: F401  (registers the OpenGL classes)
from vtkmodules.vtkRenderingCore import vtkActor, vtkPolyDataMapper

if TYPE_CHECKING:
    import pyvista as pv


def poly_actor(
    mesh: pv.PolyData,
    *,
    color: tuple[float, float, float] = (1.0, 1.0, 1.0),
    lighting: bool = True,
    vertex_colors: bool = False,
) -> vtkActor:
    """Return an actor that draws a mesh, and draws it anew whenever the mesh is marked modified.

    Args:
        mesh: polygons; the actor keeps a reference, not a copy.
        color: surface colour, red, green and blue in 0..1.
        lighting: whether light falls on it; False shows the plain colour.
        vertex_colors: whether the active point scalars are colours to show.
    """
    mapper = vtkPolyDataMapper()
    mapper.SetInputData(mesh)
    mapper.SetScalarVisibility(vertex_colors)
    if vertex_colors:
        mapper.SetColorModeToDirectScalars()
    # Fragment programs here read positions as they are written; VTK would otherwise shift and scale large meshes.
    mapper.SetVBOShiftScaleMethod(0)
    actor = vtkActor()
    actor.SetMapper(mapper)
    surface = actor.GetProperty()
    surface.SetColor(*color)
    surface.SetLighting(lighting)
    surface.SetInterpolationToPhong()
    actor.PickableOff()
    return actor
