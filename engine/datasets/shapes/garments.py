"""Garments sewn from two equal panels along their seams, with openings for neck, arms, legs and hem.

Panels are drawn in the XZ plane, Z up; the front one is pushed towards -Y and the back one towards +Y.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import trimesh
from jaxtyping import Bool, Float, Int

from engine.datasets.shapes.primitives import Rng
from engine.datasets.shapes.triangulation import distance_to_segments, fill, neighbour_means, polygon_area, sampled

Path = list[tuple[float, float]]
# A side of a panel: its points, and whether it stays open.
Side = tuple[Path, bool]


def sewn(sides: list[Side], rng: Rng, *, depth: float, count: int) -> trimesh.Trimesh:
    """Return two panels sewn together along the sides that do not stay open.

    Args:
        sides: counterclockwise sides of the panel in (x, z), each from the end of the one before it.
        rng: draws the lattice.
        depth: how far each panel stands off the seams' plane, at most.
        count: vertices aimed at, both panels together.
    """
    corners = [np.array(path, dtype=float) for path, _ in sides]
    outline = np.concatenate([path[:-1] for path in corners])
    spacing = float(np.sqrt(2 * polygon_area(outline) / (count * np.sqrt(0.75))))
    pieces = [
        sampled(path, spacing, at_least=4 if opened else 1) for path, (_, opened) in zip(corners, sides, strict=True)
    ]
    rim = np.concatenate(pieces)
    # Edge k of the rim joins its points k and k + 1.
    opened = np.repeat([is_open for _, is_open in sides], [len(p) for p in pieces])
    seam = ~(opened & np.roll(opened, 1))
    points, faces = fill([rim], spacing, rng)
    points, faces = _without_chords(points, faces, np.flatnonzero(seam), len(rim))
    start, end = rim[~opened], np.roll(rim, -1, 0)[~opened]
    away = distance_to_segments(points, start, end)
    width = max(float(np.quantile(away, 0.9)), 1.5 * depth)
    bulge = depth * np.sqrt(np.clip(1 - (1 - np.minimum(away / width, 1)) ** 2, 0, 1))

    back = np.arange(len(points)) + len(points)
    on_seam = np.concatenate((seam, np.zeros(len(points) - len(rim), dtype=bool)))
    back[on_seam] = np.flatnonzero(on_seam)
    all_faces = np.concatenate((faces, back[faces[:, ::-1]]))
    front_points = np.column_stack((points[:, 0], -bulge, points[:, 1]))
    vertices = np.concatenate((front_points, front_points * (1, -1, 1)))
    used, all_faces = np.unique(all_faces, return_inverse=True)
    vertices, all_faces = vertices[used], all_faces.reshape(-1, 3)
    return trimesh.Trimesh(_relaxed(vertices, all_faces), all_faces, process=False)


def _without_chords(
    points: Float[np.ndarray, "n 2"], faces: Int[np.ndarray, "m 3"], seam: Int[np.ndarray, " s"], rim: int
) -> tuple[Float[np.ndarray, "k 2"], Int[np.ndarray, "l 3"]]:
    """Split inner edges that join two seam vertices: sewn, both panels would share them."""
    is_seam = np.zeros(len(points), dtype=bool)
    is_seam[seam] = True
    triangles = [tuple(map(int, f)) for f in faces]
    while True:
        owners: dict[tuple[int, int], list[int]] = {}
        for t, face in enumerate(triangles):
            for i in range(3):
                owners.setdefault(tuple(sorted((face[i], face[(i + 1) % 3]))), []).append(t)  # type: ignore[arg-type]
        chords = [e for e, ts in owners.items() if len(ts) == 2 and e[1] < rim and is_seam[e[0]] and is_seam[e[1]]]
        if not chords:
            return points, np.array(triangles, dtype=np.int64)
        a, b = chords[0]
        middle = len(points)
        points = np.concatenate((points, points[[a, b]].mean(0, keepdims=True)))
        for t in owners[a, b]:
            face = triangles[t]
            triangles[t] = tuple(middle if v == a else v for v in face)
            triangles.append(tuple(middle if v == b else v for v in face))


def _relaxed(vertices: Float[np.ndarray, "n 3"], faces: Int[np.ndarray, "m 3"]) -> Float[np.ndarray, "n 3"]:
    """Return the garment with its inner vertices and seams evened out; the rims of the openings stay."""
    moves = np.ones(len(vertices), dtype=bool)
    moves[boundary_vertices(faces, len(vertices))] = False
    mean = neighbour_means(faces, len(vertices))
    for step in (0.5,) * 5 + (0.5, -0.45) * 5:
        vertices = vertices + step * moves[:, None] * (mean @ vertices - vertices)
    return vertices


def boundary_vertices(faces: Int[np.ndarray, "m 3"], count: int) -> Bool[np.ndarray, " n"]:
    """Return which vertices lie on an edge that only one triangle has."""
    edges = np.sort(np.concatenate((faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]])), 1)
    unique, number = np.unique(edges, axis=0, return_counts=True)
    result = np.zeros(count, dtype=bool)
    result[unique[number == 1]] = True
    return result


def _mirrored(right: list[Side]) -> list[Side]:
    """Return a whole outline from its right half, which runs from the middle of the hem to the middle of the top."""
    left = [([(-x, z) for x, z in path[::-1]], opened) for path, opened in right[::-1]]
    # The first and the last side cross the middle: their halves are joined.
    first = (left[-1][0][:-1] + right[0][0], right[0][1])
    last = (right[-1][0] + left[0][0][1:], right[-1][1])
    return [first, *right[1:-1], last, *left[1:-1]]


def _curve(start: tuple[float, float], pull: tuple[float, float], end: tuple[float, float]) -> Path:
    """Return a parabola between two points with the tangents that meet in ``pull``."""
    t = np.linspace(0, 1, 13)[:, None]
    points = (1 - t) ** 2 * np.array(start) + 2 * t * (1 - t) * np.array(pull) + t**2 * np.array(end)
    return [(float(x), float(z)) for x, z in points]


def _count(rng: Rng) -> int:
    return int(rng.integers(1300, 2300))


def _upper(rng: Rng, *, length: float, flare: float, sleeve: float) -> list[Side]:
    """Return the outline of a top: hem at z = -length, shoulders at z = 0, sleeves of the given length."""
    half, neck = rng.uniform(0.24, 0.3), rng.uniform(0.08, 0.12)
    drop, armhole = rng.uniform(0.03, 0.07), rng.uniform(0.2, 0.26)
    shoulder, pit = (half * 0.92, -drop), (half, -armhole)
    hem = half + flare
    dip = -drop - rng.uniform(0.04, 0.14)
    right: list[Side] = [
        ([(0.0, -length), (hem, -length)], True),
        (_curve((hem, -length), (half * 0.95, -0.5 * length), pit), False),
    ]
    if sleeve > 0:
        # Steeper sleeves would lie over the side seam.
        slope = rng.uniform(0.1, 0.65)
        out = np.array([np.cos(slope), -np.sin(slope)])
        width = rng.uniform(0.13, 0.17)
        top = np.array(shoulder) + sleeve * out
        low = top + width * np.array([-np.sin(slope), -np.cos(slope)])
        right += [
            ([pit, (float(low[0]), float(low[1]))], False),
            ([(float(low[0]), float(low[1])), (float(top[0]), float(top[1]))], True),
            ([(float(top[0]), float(top[1])), shoulder, (neck, 0.0)], False),
        ]
    else:
        strap = rng.uniform(0.05, 0.09)
        right += [
            (_curve(pit, (neck + strap + 0.02, -armhole), (neck + strap, -0.3 * drop)), True),
            ([(neck + strap, -0.3 * drop), (neck, 0.0)], False),
        ]
    right.append(([(neck, 0.0), (0.8 * neck, 0.6 * dip), (0.0, dip)], True))
    return _mirrored(right)


def t_shirt(rng: Rng) -> trimesh.Trimesh:
    """A shirt with short or long sleeves."""
    sides = _upper(rng, length=rng.uniform(0.6, 0.8), flare=rng.uniform(-0.03, 0.05), sleeve=rng.uniform(0.2, 0.5))
    return sewn(sides, rng, depth=rng.uniform(0.05, 0.1), count=_count(rng))


def tank_top(rng: Rng) -> trimesh.Trimesh:
    """A top with straps instead of sleeves."""
    sides = _upper(rng, length=rng.uniform(0.5, 0.75), flare=rng.uniform(-0.03, 0.06), sleeve=0.0)
    return sewn(sides, rng, depth=rng.uniform(0.06, 0.1), count=_count(rng))


def dress(rng: Rng) -> trimesh.Trimesh:
    """A long top with a wide hem, with or without sleeves."""
    sleeve = float(rng.choice([0.0, rng.uniform(0.2, 0.4)]))
    sides = _upper(rng, length=rng.uniform(0.9, 1.2), flare=rng.uniform(0.08, 0.25), sleeve=sleeve)
    return sewn(sides, rng, depth=rng.uniform(0.07, 0.12), count=_count(rng))


def trousers(rng: Rng) -> trimesh.Trimesh:
    """Trousers or shorts."""
    waist, hip, length = rng.uniform(0.2, 0.25), rng.uniform(0.26, 0.3), rng.uniform(0.5, 1.1)
    leg, gap, crotch = rng.uniform(0.12, 0.19), rng.uniform(0.03, 0.12), rng.uniform(0.28, 0.34)
    right: list[Side] = [
        ([(0.0, -crotch), (gap, -length)], False),
        ([(gap, -length), (gap + leg, -length)], True),
        ([(gap + leg, -length), (hip, -0.6 * crotch), (waist, 0.0)], False),
        ([(waist, 0.0), (0.0, 0.0)], True),
    ]
    left = [([(-x, z) for x, z in path[::-1]], opened) for path, opened in right[::-1]]
    top = (right[-1][0] + left[0][0][1:], True)
    return sewn([*right[:-1], top, *left[1:]], rng, depth=rng.uniform(0.06, 0.1), count=_count(rng))


def sock(rng: Rng) -> trimesh.Trimesh:
    """A sock or a stocking, open at the top; seen from its side in the XZ plane."""
    leg, tall, foot = rng.uniform(0.11, 0.15), rng.uniform(0.35, 0.8), rng.uniform(0.35, 0.5)
    high = rng.uniform(0.14, 0.18)
    sides: list[Side] = [
        (_curve((-leg, tall), (-leg * 1.2, 0.0), (0.0, -0.02)), False),
        ([(0.0, -0.02), (foot - 0.1, 0.0)], False),
        (_curve((foot - 0.1, 0.0), (foot + 0.08, 0.0), (foot, 0.7 * high)), False),
        (_curve((foot, 0.7 * high), (foot - 0.05, high), (leg + 0.08, high + 0.04)), False),
        (_curve((leg + 0.08, high + 0.04), (leg, high + 0.06), (leg, tall)), False),
        ([(leg, tall), (-leg, tall)], True),
    ]
    return sewn(sides, rng, depth=rng.uniform(0.06, 0.09), count=_count(rng))


def tote(rng: Rng) -> trimesh.Trimesh:
    """A flat bag sewn on three sides, open at the top."""
    w, top, h = rng.uniform(0.3, 0.4), rng.uniform(0.3, 0.45), rng.uniform(0.5, 0.9)
    sides: list[Side] = [
        ([(-w, 0.0), (w, 0.0), (top, h)], False),
        ([(top, h), (-top, h)], True),
        ([(-top, h), (-w, 0.0)], False),
    ]
    return sewn(sides, rng, depth=rng.uniform(0.05, 0.15), count=_count(rng))


GARMENTS: dict[str, Callable[[Rng], trimesh.Trimesh]] = {
    f.__name__: f for f in (t_shirt, tank_top, dress, trousers, sock, tote)
}
