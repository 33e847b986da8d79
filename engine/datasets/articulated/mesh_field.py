"""Signed distances from groups of closed meshes on a grid, exact near their surfaces.

The sign is that of the winding number, counted along the columns of the grid, so that meshes may overlap; the distance
is that to the triangle on which the nearest of many surface samples lies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import trimesh
from jaxtyping import Bool, Float, Int
from scipy.ndimage import binary_dilation
from scipy.spatial import KDTree

from engine.datasets.shapes.primitives import Rng

BAND = 3  # Cells on either side of a surface in which distances are computed.


@dataclass(frozen=True, slots=True)
class Surface:
    """The triangles of one rigid part, points spread over them, and what says how thick it is.

    Attributes:
        triangles: corners, shape (m, 3, 3).
        points: samples of the surface, shape (s, 3).
        triangle_of: the triangle of each sample.
        tree: the samples, for the nearest of them.
        radius: twice the volume by the area: the radius of a rod, the thickness of a plate.
        swell: by how much each triangle is moved outwards where it is asked to be, so that thin meshes survive.
    """

    triangles: Float[np.ndarray, "m 3 3"]
    points: Float[np.ndarray, "s 3"]
    triangle_of: Int[np.ndarray, " s"]
    tree: KDTree
    radius: float
    swell: Float[np.ndarray, " m"]

    def distance(self, points: Float[np.ndarray, "n 3"]) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
        """Return the distance of points from the surface, and the swell there."""
        nearest = self.triangle_of[self.tree.query(points)[1]]
        foot = trimesh.triangles.closest_point(self.triangles[nearest], points)
        return np.linalg.norm(points - foot, axis=1), self.swell[nearest]


def surface_of_part(meshes: Sequence[trimesh.Trimesh], rng: Rng, *, pitch: float) -> Surface:
    """Return the surface of a part with samples about a third of the grid's pitch apart.

    What is thinner than the grid can see (half a thickness of 0.72 pitch) is to swell to that.
    """
    spacing = 0.35 * pitch
    thin = [abs(float(mesh.volume)) / float(mesh.area) for mesh in meshes]
    swell = np.repeat(np.maximum(0.72 * pitch - np.array(thin), 0.0), [len(mesh.faces) for mesh in meshes])
    triangles = np.concatenate([np.asarray(mesh.vertices)[mesh.faces] for mesh in meshes])
    areas = 0.5 * np.linalg.norm(np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0]), axis=1)
    keep = areas > 1e-12
    triangles, areas, swell = triangles[keep], areas[keep], swell[keep]
    count = int(np.clip(areas.sum() / spacing**2, 60, 40_000))
    # Evenly spaced draws along the summed areas leave no triangle out that is larger than its share.
    draws = (np.arange(count) + rng.random(count)) / count * areas.sum()
    chosen = np.minimum(np.searchsorted(np.cumsum(areas), draws), len(areas) - 1)
    u, v = rng.random((2, count))
    over = u + v > 1
    u, v = np.where(over, 1 - u, u), np.where(over, 1 - v, v)
    a, b, c = triangles[chosen].transpose(1, 0, 2)
    points = np.concatenate((a + u[:, None] * (b - a) + v[:, None] * (c - a), triangles.mean(1)))
    chosen = np.concatenate((chosen, np.arange(len(triangles))))
    volume = abs(float(sum(mesh.volume for mesh in meshes)))
    return Surface(triangles, points, chosen, KDTree(points), 2 * volume / float(areas.sum()), swell)


@dataclass(frozen=True, slots=True)
class Grid:
    """Points of a cubic grid: ``low + pitch * index``."""

    low: Float[np.ndarray, "3"]
    pitch: float
    shape: tuple[int, int, int]

    def points(self, cells: Int[np.ndarray, "n 3"]) -> Float[np.ndarray, "n 3"]:
        """Return where grid points lie."""
        return self.low + self.pitch * cells


def signed_distance(surface: Surface, grid: Grid) -> Float[np.ndarray, "x y z"]:
    """Return the distance from a swollen part on the grid, negative inside, cut off at ``BAND`` cells."""
    inside = _inside(surface.triangles, grid)
    far = BAND * grid.pitch
    field = np.where(inside, -far, far)
    near = np.zeros(grid.shape, dtype=bool)
    near[tuple(np.rint((surface.points - grid.low) / grid.pitch).astype(int).T)] = True
    cells = np.argwhere(binary_dilation(near, np.ones((3, 3, 3), dtype=bool), iterations=BAND))
    distance, swell = surface.distance(grid.points(cells))
    place = tuple(cells.T)
    field[place] = np.clip(np.where(inside[place], -distance, distance) - swell, -far, far)
    return field


def _inside(triangles: Float[np.ndarray, "m 3 3"], grid: Grid) -> Bool[np.ndarray, "x y z"]:
    """Return where the winding number is positive, from the signed crossings along each column of the grid."""
    corners = (triangles - grid.low) / grid.pitch
    first = np.ceil(corners[..., :2].min(1)).astype(int)
    size = np.maximum(np.floor(corners[..., :2].max(1)).astype(int) - first + 1, 0)
    counts = size.prod(1)
    which = np.repeat(np.arange(len(triangles)), counts)
    step = np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts)
    column = first[which] + np.column_stack((step // size[which, 1], step % size[which, 1]))
    a, b, c = (corners[which, k, :2] - column for k in range(3))
    weights = np.stack([p[:, 0] * q[:, 1] - p[:, 1] * q[:, 0] for p, q in ((b, c), (c, a), (a, b))], -1)
    hit = (weights > 0).all(1) | (weights < 0).all(1)
    weights, which, column = weights[hit], which[hit], column[hit]
    total = weights.sum(1)
    height = (weights * corners[which, :, 2]).sum(1) / total
    crossings = np.zeros((grid.shape[0], grid.shape[1], grid.shape[2] + 1))
    level = np.clip(np.ceil(height).astype(int), 0, grid.shape[2])
    # A triangle that looks down is entered from below, one that looks up is left.
    np.add.at(crossings, (*column.T, level), -np.sign(total))
    return np.cumsum(crossings, axis=2)[..., :-1] > 0.5
