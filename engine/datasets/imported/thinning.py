"""Fewer vertices for surfaces that have too many: quadric edge collapse where installed, else a grid that snaps."""

from __future__ import annotations

import importlib.util

import numpy as np
import trimesh
from jaxtyping import Float, Int

from engine.geometry.welding import first_of_equal

# Vertices and triangles; the axes are anonymous, since lists hold meshes of different counts.
Arrays = tuple[Float[np.ndarray, "_ 3"], Int[np.ndarray, "_ 3"]]

# A surface may have so many vertices; one that has more is brought to about a third of them.
MAX_VERTICES, GOAL = 20_000, 7_000
# A piece is never brought below so many.
_LEAST = 150


def thinned(meshes: list[Arrays]) -> list[Arrays]:
    """Return the meshes, each with proportionally fewer vertices where all together have over `MAX_VERTICES`.

    Needs no package; `fast-simplification` keeps shapes better where it is installed.
    """
    total = sum(len(vertices) for vertices, _ in meshes)
    if total <= MAX_VERTICES:
        return meshes
    return [_thinner(v, f, max(_LEAST, round(GOAL * len(v) / total))) for v, f in meshes]


def _thinner(vertices: Float[np.ndarray, "n 3"], faces: Int[np.ndarray, "m 3"], goal: int) -> Arrays:
    if len(vertices) <= goal:
        return vertices, faces
    if importlib.util.find_spec("fast_simplification") is not None:
        mesh = trimesh.Trimesh(vertices, faces, process=False)
        mesh = mesh.simplify_quadric_decimation(face_count=max(4, round(goal * len(faces) / len(vertices))))
        points, corners = np.asarray(mesh.vertices, np.float64), np.asarray(mesh.faces, np.int64)
        used, number = np.unique(corners, return_inverse=True)
        if len(used) >= 4:
            return points[used], number.reshape(-1, 3)
    return snapped(vertices, faces, goal)


def snapped(vertices: Float[np.ndarray, "n 3"], faces: Int[np.ndarray, "m 3"], goal: int) -> Arrays:
    """Return the mesh with the vertices of each cell of a grid joined at their mean, about ``goal`` of them."""
    low, extent = vertices.min(0), float(np.ptp(vertices, axis=0).max())
    fine, coarse = extent / 4096.0, extent
    best = vertices, faces
    for _ in range(24):
        pitch = float(np.sqrt(fine * coarse))
        best = _joined_in_cells(vertices, faces, np.floor((vertices - low) / pitch).astype(np.int64))
        if len(best[0]) > goal:
            fine = pitch
        else:
            coarse = pitch
        if 0.85 * goal <= len(best[0]) <= goal:
            break
    return best


def _joined_in_cells(
    vertices: Float[np.ndarray, "n 3"], faces: Int[np.ndarray, "m 3"], cell: Int[np.ndarray, "n 3"]
) -> Arrays:
    _, label = np.unique(cell, axis=0, return_inverse=True)
    label = label.reshape(-1)
    counts = np.bincount(label)
    means = np.stack([np.bincount(label, weights=vertices[:, d]) / counts for d in range(3)], -1)
    corners = label[faces]
    corners = corners[(corners != np.roll(corners, 1, axis=1)).all(1)]
    corners = corners[first_of_equal(corners)] if len(corners) else corners
    used, number = np.unique(corners, return_inverse=True)
    return means[used], number.reshape(-1, 3)
