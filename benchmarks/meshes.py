"""Objects of a wanted size: one bent bean, the same at every resolution."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import trimesh

from app.commands.resolution import with_vertices
from engine.geometry.rest_shape import RestShape, rest_shape_from_arrays


def bean(count: int) -> trimesh.Trimesh:
    """Return a closed bent bean with about ``count`` vertices, Z up."""
    capsule = trimesh.creation.capsule(height=1.2, radius=0.35, count=(18, 20))
    vertices, faces = with_vertices(np.array(capsule.vertices), np.array(capsule.faces), count=count)
    middle = 0.5 * (vertices[:, 2].min() + vertices[:, 2].max())
    vertices[:, 0] += 0.3 * (vertices[:, 2] - middle) ** 2
    return trimesh.Trimesh(vertices, faces, process=False)


def bean_shape(count: int) -> RestShape:
    """Return the bean as a rest shape."""
    mesh = bean(count)
    return rest_shape_from_arrays(np.array(mesh.vertices), np.array(mesh.faces), name=f"bean of {count}")


def bean_file(count: int, folder: Path) -> Path:
    """Write the bean to a GLB file and return its path."""
    path = folder / f"bean_{count}.glb"
    mesh = bean(count)
    # glTF has Y up.
    mesh.vertices = mesh.vertices[:, (0, 2, 1)] * (1.0, 1.0, -1.0)
    mesh.export(path)
    return path
