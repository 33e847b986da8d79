"""Closed surfaces of implicit solids: rounded primitives, their smooth unions and cuts, and the mesh of the zero level.

Distances are negative inside; lengths are arbitrary. The mesh comes from marching cubes; as these leave slivers, the
vertices are then moved towards the means of their neighbours and laid back on the surface.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import trimesh
from jaxtyping import Bool, Float, Int
from scipy.ndimage import map_coordinates
from skimage.measure import marching_cubes

from engine.datasets.shapes.primitives import Vector
from engine.datasets.shapes.triangulation import neighbour_means

Field = Callable[[Float[np.ndarray, "n 3"]], Float[np.ndarray, " n"]]
CORNERS = np.array([[i, j, k] for i in (0, 1) for j in (0, 1) for k in (0, 1)])


def capsule(a: Vector, b: Vector, ra: float, rb: float | None = None, *, flat: Vector = (1, 1, 1)) -> Field:
    """Return a capsule with a radius at each end; ``flat`` divides distances per axis (below 1: thinner there)."""
    start, way, end_radius = np.asarray(a, float), np.asarray(b, float) - np.asarray(a, float), ra if rb is None else rb
    scale, size = 1.0 / np.asarray(flat, float), float(min(flat))
    way_scaled = way * scale

    def field(p: Float[np.ndarray, "n 3"]) -> Float[np.ndarray, " n"]:
        q = (p - start) * scale
        t = np.clip(q @ way_scaled / max(float(way_scaled @ way_scaled), 1e-12), 0, 1)
        return (np.linalg.norm(q - t[:, None] * way_scaled, axis=1) - ra - t * (end_radius - ra)) * size

    return field


def ellipsoid(centre: Vector, radii: Vector) -> Field:
    """Return an axis-aligned ellipsoid (near its surface the value is the distance)."""
    c, r = np.asarray(centre, float), np.asarray(radii, float)

    def field(p: Float[np.ndarray, "n 3"]) -> Float[np.ndarray, " n"]:
        first = np.linalg.norm((p - c) / r, axis=1)
        second = np.linalg.norm((p - c) / r**2, axis=1)
        return first * (first - 1) / np.maximum(second, 1e-9)

    return field


def rounded_box(centre: Vector, half: Vector, bevel: float) -> Field:
    """Return a box with round edges; ``half`` includes the bevel."""
    c, h = np.asarray(centre, float), np.asarray(half, float) - bevel

    def field(p: Float[np.ndarray, "n 3"]) -> Float[np.ndarray, " n"]:
        q = np.abs(p - c) - h
        return np.linalg.norm(np.maximum(q, 0), axis=1) + np.minimum(q.max(1), 0) - bevel

    return field


def drum(centre: Vector, radius: float, half: float, bevel: float, *, axis: int = 2) -> Field:
    """Return a cylinder with round edges along a coordinate axis; radius and half height include the bevel."""
    c, others = np.asarray(centre, float), [d for d in range(3) if d != axis]

    def field(p: Float[np.ndarray, "n 3"]) -> Float[np.ndarray, " n"]:
        local = p - c
        q = np.stack((np.linalg.norm(local[:, others], axis=1) - radius, np.abs(local[:, axis]) - half), 1) + bevel
        return np.linalg.norm(np.maximum(q, 0), axis=1) + np.minimum(q.max(1), 0) - bevel

    return field


def hoop(centre: Vector, large: float, small: float, *, axis: int = 2) -> Field:
    """Return a torus about a coordinate axis."""
    c, others = np.asarray(centre, float), [d for d in range(3) if d != axis]

    def field(p: Float[np.ndarray, "n 3"]) -> Float[np.ndarray, " n"]:
        local = p - c
        return np.hypot(np.linalg.norm(local[:, others], axis=1) - large, local[:, axis]) - small

    return field


def union(fields: list[Field], blend: float) -> Field:
    """Return the smooth union; fillets are about ``blend`` wide."""
    k = 0.5 * blend

    def field(p: Float[np.ndarray, "n 3"]) -> Float[np.ndarray, " n"]:
        values = np.stack([f(p) for f in fields])
        low = values.min(0)
        return low - k * np.log(np.exp(-np.minimum((values - low) / k, 50)).sum(0))

    return field


def without(solid: Field, cut: Field, blend: float) -> Field:
    """Return a solid less another one, with edges rounded by about ``blend``."""
    k = 0.5 * blend

    def field(p: Float[np.ndarray, "n 3"]) -> Float[np.ndarray, " n"]:
        a, b = solid(p), -cut(p)
        high = np.maximum(a, b)
        return high + k * np.log1p(np.exp(-np.minimum(np.abs(a - b) / k, 50)))

    return field


def surface_of(field: Field, low: Vector, high: Vector, *, count: int = 1500) -> trimesh.Trimesh:
    """Return the largest component of the zero level in a box as a closed mesh of about ``count`` vertices.

    Raises:
        ValueError: nothing is inside, or the mesh is not closed.
    """
    low, size = np.asarray(low, float), np.asarray(high, float) - np.asarray(low, float)
    coarse = float(size.max()) / 24
    values = _sampled(field, low, coarse, np.ceil(size / coarse).astype(int) + 1)
    crossed = _crossed(values).sum()
    if crossed == 0:
        raise ValueError("the implicit solid is empty in its box: no cell of the grid is crossed by its surface")
    pitch = float(np.clip(coarse * np.sqrt(crossed / count), size.max() / 90, coarse))
    grid = _refined(field, values, low, coarse, pitch, np.ceil(size / pitch).astype(int) + 1)
    points, faces, _, _ = marching_cubes(grid, 0.0)
    mesh = _largest(points.astype(np.float64), faces)
    if not mesh.is_watertight:
        raise ValueError(f"the implicit solid is not closed on a grid of {grid.shape} nodes")
    mesh.vertices = _evened(mesh, grid) * pitch + low
    return mesh


def mesh_of(parts: list[Field], *, blend: float, count: int, reach: float = 1.8) -> trimesh.Trimesh:
    """Return the mesh of a smooth union that lies within ``reach`` of the origin; its box is found on a coarse grid.

    Raises:
        ValueError: nothing is inside, or the mesh is not closed.
    """
    field = union(parts, blend)
    axis = np.linspace(-reach, reach, 30)
    points = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), -1).reshape(-1, 3)
    pitch = float(axis[1] - axis[0])
    near = points[field(points) < 0.6 * pitch]
    if not len(near):
        raise ValueError(f"the implicit solid has nothing within {reach} of the origin")
    return surface_of(field, near.min(0) - pitch, near.max(0) + pitch, count=count)


def _largest(points: Float[np.ndarray, "n 3"], faces: Int[np.ndarray, "m 3"]) -> trimesh.Trimesh:
    """Return the component with the most vertices."""
    edges = np.concatenate((faces[:, :2], faces[:, 1:]))
    label = trimesh.graph.connected_component_labels(edges, len(points))
    keep = label == np.bincount(label).argmax()
    renumbered = np.cumsum(keep) - 1
    return trimesh.Trimesh(points[keep], renumbered[faces[keep[faces[:, 0]]]], process=False)


def _sampled(
    field: Field, low: Float[np.ndarray, "3"], pitch: float, shape: Int[np.ndarray, "3"]
) -> Float[np.ndarray, "x y z"]:
    points = np.stack(np.meshgrid(*[np.arange(n) * pitch for n in shape], indexing="ij"), -1).reshape(-1, 3) + low
    return field(points).reshape(tuple(shape))


def _refined(
    field: Field,
    coarse_values: Float[np.ndarray, "a b c"],
    low: Float[np.ndarray, "3"],
    coarse: float,
    pitch: float,
    shape: Int[np.ndarray, "3"],
) -> Float[np.ndarray, "x y z"]:
    """Return the field on a finer grid, evaluated near the surface and interpolated elsewhere; outside at the rim."""
    where = np.stack(np.meshgrid(*[np.arange(n) * pitch / coarse for n in shape], indexing="ij"))
    grid = map_coordinates(coarse_values, where, order=1, mode="nearest")
    near = np.abs(grid) < 2.0 * coarse
    grid[near] = field(np.argwhere(near) * pitch + low)
    # A field that leaves the box is shut at the rim.
    rim = np.ones(grid.shape, dtype=bool)
    rim[1:-1, 1:-1, 1:-1] = False
    grid[rim] = np.maximum(grid[rim], 0.25 * pitch)
    return grid / pitch


def _crossed(grid: Float[np.ndarray, "x y z"]) -> Bool[np.ndarray, "a b c"]:
    """Return which cells have corners on both sides."""
    inside = grid < 0
    x, y, z = np.array(grid.shape) - 1
    corners = np.stack([inside[i : x + i, j : y + j, k : z + k] for i, j, k in CORNERS])
    return np.asarray(corners.any(0) & ~corners.all(0))


def _evened(mesh: trimesh.Trimesh, grid: Float[np.ndarray, "x y z"]) -> Float[np.ndarray, "n 3"]:
    """Return the vertices moved along the surface towards the means of their neighbours, in grid units."""
    slopes = np.gradient(grid)
    points = np.asarray(mesh.vertices)
    mean = neighbour_means(np.asarray(mesh.faces), len(points))
    for _ in range(6):
        points = points + 0.6 * (mean @ points - points)
        value = map_coordinates(grid, points.T, order=1)
        slope = np.stack([map_coordinates(s, points.T, order=1) for s in slopes], -1)
        step = value[:, None] * slope / np.maximum((slope**2).sum(-1), 0.05)[:, None]
        points = points - np.clip(step, -0.5, 0.5)
    # Edges sharper than the grid come out jagged: a last step rounds them.
    return points + 0.5 * (mean @ points - points)
