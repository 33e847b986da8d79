"""Near-uniform triangles: outlines filled by a jittered lattice, and closed rings of points joined one to the next.

Lengths are arbitrary; planar outlines run counterclockwise.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import numpy as np
import trimesh
from jaxtyping import Bool, Float, Int
from scipy.sparse import csr_matrix, diags
from scipy.spatial import Delaunay

from engine.datasets.shapes.primitives import Rng

Points = Float[np.ndarray, "n 2"]


def sampled(path: Float[np.ndarray, "k d"], spacing: float, *, at_least: int = 2) -> Float[np.ndarray, "n d"]:
    """Return points of a polyline about ``spacing`` apart, from its first point to just before its last one."""
    reach = np.concatenate(([0.0], np.cumsum(np.linalg.norm(np.diff(path, axis=0), axis=1))))
    count = max(round(float(reach[-1]) / spacing), at_least)
    where = reach[-1] * np.arange(count) / count
    return np.stack([np.interp(where, reach, path[:, d]) for d in range(path.shape[1])], -1)


def polygon_area(outline: Points) -> float:
    """Return the area inside a closed polygon (the last point joins the first)."""
    x, y = outline.T
    return 0.5 * abs(float(x @ np.roll(y, -1) - y @ np.roll(x, -1)))


def distance_to_segments(
    points: Points, a: Float[np.ndarray, "s 2"], b: Float[np.ndarray, "s 2"]
) -> Float[np.ndarray, " n"]:
    """Return each point's distance to the nearest of the segments from ``a`` to ``b``."""
    along = b - a
    t = np.einsum("nsd,sd->ns", points[:, None] - a, along) / np.maximum((along**2).sum(-1), 1e-18)
    nearest = a + np.clip(t, 0, 1)[..., None] * along
    return np.linalg.norm(points[:, None] - nearest, axis=-1).min(1)


def inside(points: Points, outline: Float[np.ndarray, "k 2"]) -> Bool[np.ndarray, " n"]:
    """Return which points lie inside a closed polygon (crossings of a ray to the right)."""
    a, b = outline, np.roll(outline, -1, 0)
    x, y = points[:, :1], points[:, 1:]
    crosses = (a[:, 1] > y) != (b[:, 1] > y)
    rise = np.where(b[:, 1] == a[:, 1], 1.0, b[:, 1] - a[:, 1])
    return (crosses & (x < a[:, 0] + (y - a[:, 1]) * (b[:, 0] - a[:, 0]) / rise)).sum(1) % 2 == 1


def fill(
    loops: Sequence[Float[np.ndarray, "_ 2"]], spacing: float, rng: Rng
) -> tuple[Float[np.ndarray, "n 2"], Int[np.ndarray, "m 3"]]:
    """Triangulate the region inside the first loop and outside the others (holes), counterclockwise.

    The loops are sampled about ``spacing`` apart already and come first among the vertices, in order.
    """
    rim = np.concatenate(loops)
    a, b = rim, np.concatenate([np.roll(loop, -1, 0) for loop in loops])
    low, high = rim.min(0), rim.max(0)
    rows = np.arange(low[1], high[1], spacing * np.sqrt(0.75))
    columns = np.arange(low[0] - spacing, high[0] + spacing, spacing)
    x = columns + 0.5 * spacing * (np.arange(len(rows))[:, None] % 2)
    lattice = np.stack((x, np.broadcast_to(rows[:, None], x.shape)), -1).reshape(-1, 2)
    lattice = lattice + rng.uniform(0, spacing, 2) + rng.uniform(-0.12, 0.12, lattice.shape) * spacing

    def within(points: Points) -> Bool[np.ndarray, " n"]:
        kept = inside(points, loops[0])
        for hole in loops[1:]:
            kept &= ~inside(points, hole)
        return kept

    lattice = lattice[within(lattice)]
    points = np.concatenate((rim, lattice[distance_to_segments(lattice, a, b) > 0.6 * spacing]))
    faces = np.zeros((0, 3), dtype=np.int64)
    for _ in range(3):
        faces = Delaunay(points).simplices.astype(np.int64)
        u, v = points[faces[:, 1]] - points[faces[:, 0]], points[faces[:, 2]] - points[faces[:, 0]]
        turn = u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0]
        faces[turn < 0] = faces[turn < 0][:, ::-1]
        faces = faces[(np.abs(turn) > 1e-3 * spacing**2) & within(points[faces].mean(1))]
        smooth = neighbour_means(faces, len(points)) @ points
        points = np.concatenate((rim, smooth[len(rim) :]))
    return points, faces


def neighbour_means(faces: Int[np.ndarray, "m 3"], count: int) -> csr_matrix:
    """Return the (n, n) matrix that takes the mean of the neighbours of each vertex; every vertex has a triangle."""
    rows, columns = faces[:, [0, 1, 2, 1, 2, 0]].ravel(), faces[:, [1, 2, 0, 0, 1, 2]].ravel()
    linked = csr_matrix((np.ones(len(rows)), (rows, columns)), shape=(count, count))
    linked.data[:] = 1.0
    degree = np.asarray(linked.sum(1)).ravel()
    return csr_matrix(diags(1.0 / np.maximum(degree, 1.0)) @ linked)


def zipped(first: Int[np.ndarray, " a"], second: Int[np.ndarray, " b"]) -> Int[np.ndarray, "m 3"]:
    """Return the triangles between two rings of vertex numbers, whatever their counts (one: a cone's tip).

    The rings start at the same angle and run counterclockwise seen from the second; normals then point outwards.
    """
    a, b = len(first), len(second)
    if a == 1 or b == 1:
        tip, ring = (first[0], second) if a == 1 else (second[0], first)
        fan = np.stack((ring, np.roll(ring, -1), np.full(len(ring), tip)), -1)
        return fan[:, ::-1] if a == 1 else fan
    middle = np.concatenate(((np.arange(a) + 0.5) / a, (np.arange(b) + 0.5) / b))
    order = np.argsort(middle, kind="stable")
    of_first = order < a
    i, j = np.cumsum(of_first) - of_first, np.cumsum(~of_first) - ~of_first
    third = np.where(of_first, first[(i + 1) % a], second[(j + 1) % b])
    return np.stack((first[i % a], third, second[j % b]), -1)


def stacked_rings(
    section: Callable[[float, Float[np.ndarray, " k"]], Float[np.ndarray, "k 3"]],
    stations: Float[np.ndarray, " s"],
    spacing: float,
    *,
    closed: tuple[bool, bool] = (True, True),
    looped: bool = False,
) -> trimesh.Trimesh:
    """Return a tube through cross-sections, each with as many vertices as its length asks for.

    Args:
        section: from a station and angles in [0, 2 pi) to points of the ring there, counterclockwise about the way on.
        stations: where the rings lie, in order.
        spacing: wanted edge length; a ring has at least six vertices.
        closed: whether the first and the last ring are shut by a tip in their middle. A shut end has a small ring.
        looped: the last ring is joined to the first one.
    """
    rings: list[Float[np.ndarray, "k 3"]] = []
    fine = np.arange(240) * 2 * np.pi / 240
    for k, station in enumerate(stations):
        loop = section(float(station), fine)
        around = np.linalg.norm(loop - np.roll(loop, -1, 0), axis=1)
        count = max(round(float(around.sum()) / spacing), 6)
        # Equal arcs instead of equal angles.
        points = sampled(np.concatenate((loop, loop[:1])), float(around.sum()) / count)
        if k == 0 and closed[0]:
            rings.append(points.mean(0, keepdims=True))
        rings.append(points)
        if k == len(stations) - 1 and closed[1]:
            rings.append(points.mean(0, keepdims=True))
    starts = np.cumsum([0, *map(len, rings)])
    numbers = [np.arange(s, e) for s, e in itertools.pairwise(starts)]
    pairs = [*itertools.pairwise(numbers), *([(numbers[-1], numbers[0])] if looped else [])]
    faces = np.concatenate([zipped(p, q) for p, q in pairs])
    return trimesh.Trimesh(np.concatenate(rings), faces, process=False)
