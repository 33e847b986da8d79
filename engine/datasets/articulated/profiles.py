"""Closed surfaces that are not boxes: turned on a lathe, lofted, drawn along curves, and cut from flat outlines."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import trimesh
from jaxtyping import Float, Int
from manifold3d import triangulate

from engine.datasets.shapes.primitives import Vector

Number = float | int  # Literals in the makers are often whole.
Points = Float[np.ndarray, "k 3"] | Sequence[Vector]
Outline = Float[np.ndarray, "k 2"]


def vec(x: Number, y: Number, z: Number) -> Float[np.ndarray, "3"]:
    """Return a point or a step."""
    return np.array([x, y, z], dtype=float)


def lathe(profile: Outline | Sequence[tuple[Number, Number]], *, sections: int = 20) -> trimesh.Trimesh:
    """Return the surface of revolution about Z of a profile of (radius, height) pairs, shape (k, 2).

    A profile that begins and ends on the axis gives a solid; any other is closed into a ring.
    """
    line = np.asarray(profile, dtype=float)
    angles = 2 * np.pi * np.arange(sections) / sections
    circle = np.column_stack((np.cos(angles), np.sin(angles)))
    poles = line[0, 0] < 1e-9 and line[-1, 0] < 1e-9
    rows = line[1:-1] if poles else line
    rings = np.stack([np.column_stack((r * circle, np.full(sections, z))) for r, z in rows])
    if not poles:
        return _solid(rings.reshape(-1, 3), _strips(len(rows), sections, loop=True))
    ends = np.array([[0, 0, line[0, 1]], [0, 0, line[-1, 1]]])
    return _capped(rings, ends)


def vessel(
    outer: Outline | Sequence[tuple[Number, Number]], *, wall: Number, floor: Number, sections: int = 20
) -> trimesh.Trimesh:
    """Return an open pot: ``outer`` runs from the rim's (radius, height) up from the foot, without the axis."""
    line = np.asarray(outer, dtype=float)
    inner = np.column_stack((line[::-1, 0] - wall, np.maximum(line[::-1, 1], line[0, 1] + floor)))
    keep = np.concatenate(([True], np.abs(np.diff(inner[:, 1])) > 1e-9))
    inner = inner[keep]
    ends = [(0.0, line[0, 1]), *line, *inner, (0.0, inner[-1, 1])]
    return lathe(np.array(ends), sections=sections)


def loft(rings: Float[np.ndarray, "k s 3"]) -> trimesh.Trimesh:
    """Return the closed surface through rings of equally many points, with a fan at either end."""
    return _capped(rings, np.stack((rings[0].mean(0), rings[-1].mean(0))))


def tube(
    path: Points,
    radii: Number | Sequence[Number] | Float[np.ndarray, " k"],
    *,
    sections: int = 10,
    flat: Number = 1.0,
    bulge: Number = 1.0,
) -> trimesh.Trimesh:
    """Return a tube with round ends along a path, its radius given for each of the points.

    ``flat`` scales the second direction of the cross-section, which is level where the path is not vertical; the ends
    stand out by ``bulge`` radii.
    """
    line, radius = np.asarray(path, dtype=float), np.broadcast_to(np.asarray(radii, dtype=float), (len(path),))
    tangents = _unit(np.gradient(line, axis=0))
    angles = np.deg2rad([75.0, 40.0])
    start = [(line[0] - bulge * np.sin(t) * radius[0] * tangents[0], np.cos(t) * radius[0]) for t in angles]
    end = [(line[-1] + bulge * np.sin(t) * radius[-1] * tangents[-1], np.cos(t) * radius[-1]) for t in angles[::-1]]
    centres = np.stack([c for c, _ in start] + [*line] + [c for c, _ in end])
    widths = np.array([r for _, r in start] + [*radius] + [r for _, r in end])
    tangents = np.concatenate((tangents[[0, 0]], tangents, tangents[[-1, -1]]))
    return loft(_around(centres, widths, tangents, sections, flat))


def loop(path: Points, radius: Number, *, sections: int = 8) -> trimesh.Trimesh:
    """Return a closed ring of round cross-section along a closed path (its last point is not its first)."""
    line = np.asarray(path, dtype=float)
    tangents = _unit(np.roll(line, -1, 0) - np.roll(line, 1, 0))
    normal = _unit(np.cross(line - line.mean(0), tangents).sum(0))
    side = np.cross(tangents, normal)
    angles = 2 * np.pi * np.arange(sections) / sections
    rings = line[:, None] + radius * np.cos(angles)[:, None] * side[:, None] + radius * np.sin(angles)[:, None] * normal
    return _solid(rings.reshape(-1, 3), _strips(len(line), sections, loop=True))


def limb(
    start: Vector, end: Vector, first: Number, last: Number | None = None, *, sections: int = 10, flat: Number = 1.0
) -> trimesh.Trimesh:
    """Return a capsule between two points whose radius goes from ``first`` to ``last``."""
    a, b = np.asarray(start, dtype=float), np.asarray(end, dtype=float)
    share = np.linspace(0, 1, 4)[:, None]
    return tube(a + share * (b - a), first + share[:, 0] * ((last or first) - first), sections=sections, flat=flat)


def plate(outline: Outline | Sequence[tuple[Number, Number]], thickness: Number, *, layers: int = 1) -> trimesh.Trimesh:
    """Return a flat outline in the XY plane, counter-clockwise, given a thickness along Z about Z = 0."""
    line = np.asarray(outline, dtype=float)
    heights = thickness * (np.linspace(0, 1, layers + 1) - 0.5)
    rings = np.concatenate([np.column_stack((line, np.full(len(line), z))) for z in heights])
    cap = np.asarray(triangulate([line]), dtype=np.int64)
    return _solid(rings, np.concatenate((_strips(layers + 1, len(line)), cap[:, ::-1], cap + layers * len(line))))


def cushion(extents: Vector, *, power: Number = 2.5, round_power: Number = 3.0, sections: int = 20) -> trimesh.Trimesh:
    """Return a rounded pad that fills the extents: a superellipse in plan, rounded over its height."""
    half = 0.5 * np.asarray(extents, dtype=float)
    heights = np.sin(np.linspace(-1.45, 1.45, 8))
    widths = (1 - np.abs(heights) ** round_power) ** (1 / round_power)
    plan = superellipse(2 * half[0], 2 * half[1], power, sections)
    return loft(
        np.stack(
            [np.column_stack((w * plan, np.full(sections, half[2] * z))) for z, w in zip(heights, widths, strict=True)]
        )
    )


def superellipse(width: Number, height: Number, power: Number, count: int = 24) -> Outline:
    """Return a rounded outline: an ellipse at power 2, nearly a rectangle at 8."""
    angles = 2 * np.pi * (np.arange(count) + 0.5) / count
    c, s = np.cos(angles), np.sin(angles)
    return np.column_stack(
        (0.5 * width * np.sign(c) * np.abs(c) ** (2 / power), 0.5 * height * np.sign(s) * np.abs(s) ** (2 / power))
    )


def arc(centre: Vector, u: Vector, v: Vector, start: Number, end: Number, count: int = 10) -> Float[np.ndarray, "k 3"]:
    """Return points centre + cos t u + sin t v for t from ``start`` to ``end`` [rad]."""
    t = np.linspace(start, end, count)[:, None]
    return np.asarray(centre, dtype=float) + np.cos(t) * np.asarray(u) + np.sin(t) * np.asarray(v)


def upright(mesh: trimesh.Trimesh) -> trimesh.Trimesh:
    """Return a copy whose XY plane became the XZ plane: flat outlines stand up, their thickness along Y."""
    copy = mesh.copy()
    copy.vertices = copy.vertices[:, [0, 2, 1]] * (1.0, -1.0, 1.0)
    return copy


def _unit(vectors: Float[np.ndarray, "*k 3"]) -> Float[np.ndarray, "*k 3"]:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-12)


def _around(
    centres: Float[np.ndarray, "k 3"],
    radii: Float[np.ndarray, " k"],
    tangents: Float[np.ndarray, "k 3"],
    sections: int,
    flat: Number,
) -> Float[np.ndarray, "k s 3"]:
    """Return circles about the centres, carried along the path without twist."""
    first = np.array([0.0, 0.0, 1.0]) if abs(tangents[0, 2]) < 0.9 else np.array([1.0, 0.0, 0.0])
    angles = 2 * np.pi * np.arange(sections) / sections
    rings = np.zeros((len(centres), sections, 3))
    for i, (centre, radius, tangent) in enumerate(zip(centres, radii, tangents, strict=True)):
        first = _unit(first - tangent * (first @ tangent))
        second = np.cross(tangent, first)
        rings[i] = centre + radius * (np.cos(angles)[:, None] * first + flat * np.sin(angles)[:, None] * second)
    return rings


def _strips(rows: int, sections: int, *, loop: bool = False) -> Int[np.ndarray, "m 3"]:
    i, j = np.meshgrid(np.arange(rows if loop else rows - 1), np.arange(sections), indexing="ij")
    up, right = (i + 1) % rows, (j + 1) % sections
    a, b, c, d = (x.ravel() for x in (i * sections + j, i * sections + right, up * sections + right, up * sections + j))
    return np.concatenate((np.column_stack((a, b, c)), np.column_stack((a, c, d))))


def _capped(rings: Float[np.ndarray, "k s 3"], ends: Float[np.ndarray, "2 3"]) -> trimesh.Trimesh:
    rows, sections = rings.shape[:2]
    j = np.arange(sections)
    right, top, last = (j + 1) % sections, rows * sections, (rows - 1) * sections
    bottom = np.column_stack((np.full(sections, top), right, j))
    lid = np.column_stack((np.full(sections, top + 1), last + j, last + right))
    return _solid(np.concatenate((rings.reshape(-1, 3), ends)), np.concatenate((_strips(rows, sections), bottom, lid)))


def _solid(vertices: Float[np.ndarray, "n 3"], faces: Int[np.ndarray, "m 3"]) -> trimesh.Trimesh:
    """Return the mesh with its faces turned outward."""
    mesh = trimesh.Trimesh(vertices, faces, process=False)
    if mesh.volume < 0:
        mesh.invert()
    return mesh
