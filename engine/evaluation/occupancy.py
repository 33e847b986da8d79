"""Intersection over union of the volumes of two closed meshes, on a grid.

The joint bounding box is divided into 64 x 64 x 64 voxels. A voxel is inside a mesh where the mesh winds around its
centre: the crossings of the ray from the centre upward are counted with the sign of the surface's orientation, all
columns at once. The union of overlapping pieces is inside once, a cavity (a closed piece facing inward) is outside.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float, Int

RESOLUTION = 64
# Rays are moved off the centres of their columns by these shares of a voxel, so that none meets an edge of a mesh whose
# vertices stand on round numbers.
_ASIDE = (0.0137, 0.0071)


def volume_iou(
    first: Float[np.ndarray, "n 3"],
    second: Float[np.ndarray, "k 3"],
    first_faces: Int[np.ndarray, "m 3"],
    second_faces: Int[np.ndarray, "l 3"],
    *,
    resolution: int = RESOLUTION,
) -> float:
    """Return the intersection of the two volumes over their union, on voxels of their joint bounding box."""
    low = np.minimum(first.min(0), second.min(0))
    high = np.maximum(first.max(0), second.max(0))
    a = occupancy(first, first_faces, low, high, resolution=resolution)
    b = occupancy(second, second_faces, low, high, resolution=resolution)
    union = int(np.count_nonzero(a | b))
    return float(np.count_nonzero(a & b) / union) if union else 1.0


def occupancy(
    vertices: Float[np.ndarray, "n 3"],
    faces: Int[np.ndarray, "m 3"],
    low: Float[np.ndarray, "3"],
    high: Float[np.ndarray, "3"],
    *,
    resolution: int = RESOLUTION,
) -> Bool[np.ndarray, "r r r"]:
    """Return which voxels of a box have their centre inside a closed mesh, indexed x, y, z."""
    size = np.where(high > low, (high - low) / resolution, 1.0)
    # In voxels, so that the ray of column (i, j) stands at the whole numbers i and j.
    grid = (np.asarray(vertices, np.float64) - low) / size - 0.5
    grid[:, :2] -= _ASIDE
    triangle, i, j = _columns(grid[faces][..., :2], resolution)
    a, b, c = (grid[faces[triangle, k]] for k in range(3))
    ray = np.stack((i, j), -1).astype(np.float64)
    area = _cross(b - a, c - a)
    u, v = _cross(c - b, ray - b[:, :2]), _cross(a - c, ray - c[:, :2])
    w = _cross(b - a, ray - a[:, :2])
    sign = np.sign(area)
    hit = (u * sign > 0) & (v * sign > 0) & (w * sign > 0)
    height = (u * a[:, 2] + v * b[:, 2] + w * c[:, 2])[hit] / area[hit]
    # A crossing above a voxel's centre counts for that voxel and all below it.
    above = np.clip(np.ceil(height), 0, resolution).astype(np.int64)
    crossings = np.zeros((resolution, resolution, resolution + 1))
    np.add.at(crossings, (i[hit], j[hit], above), sign[hit])
    winding = np.cumsum(crossings[:, :, ::-1], axis=2)[:, :, ::-1][:, :, 1:]
    return np.abs(winding) > 0.5


def _columns(
    corners: Float[np.ndarray, "m 3 2"], resolution: int
) -> tuple[Int[np.ndarray, " q"], Int[np.ndarray, " q"], Int[np.ndarray, " q"]]:
    """Return every triangle with every column of its bounding rectangle: triangle, i, j."""
    first = np.clip(np.ceil(corners.min(1)), 0, resolution).astype(np.int64)
    last = np.clip(np.floor(corners.max(1)), -1, resolution - 1).astype(np.int64)
    wide = np.maximum(last - first + 1, 0)
    count = wide[:, 0] * wide[:, 1]
    triangle = np.repeat(np.arange(len(corners)), count)
    step = np.arange(len(triangle)) - np.repeat(np.cumsum(count) - count, count)
    i = first[triangle, 0] + step // np.maximum(wide[triangle, 1], 1)
    j = first[triangle, 1] + step % np.maximum(wide[triangle, 1], 1)
    return triangle, i, j


def _cross(one: Float[np.ndarray, "q c"], two: Float[np.ndarray, "q d"]) -> Float[np.ndarray, " q"]:
    """Return the cross product in the plane of the first two coordinates."""
    return one[:, 0] * two[:, 1] - one[:, 1] * two[:, 0]
