"""Closed surfaces from which the procedural objects are put together, as welded (vertices, faces) meshes."""

from __future__ import annotations

import numpy as np
import trimesh
from jaxtyping import Float
from trimesh.creation import box, capsule, cone, cylinder, icosphere, torus

Rng = np.random.Generator
Vector = Float[np.ndarray, "3"] | tuple[float | int, float | int, float | int]


def placed(mesh: trimesh.Trimesh, at: Vector) -> trimesh.Trimesh:
    """Return a copy of the mesh moved by ``at``."""
    copy = mesh.copy()
    copy.apply_translation(np.asarray(at, dtype=float))
    return copy


def turned(mesh: trimesh.Trimesh, axis: Vector, angle: float) -> trimesh.Trimesh:
    """Return a copy of the mesh turned about an axis through the origin by ``angle`` [rad]."""
    copy = mesh.copy()
    copy.apply_transform(trimesh.transformations.rotation_matrix(angle, np.asarray(axis, dtype=float)))
    return copy


def along(mesh: trimesh.Trimesh, start: Float[np.ndarray, "3"], end: Float[np.ndarray, "3"]) -> trimesh.Trimesh:
    """Return a copy of a mesh centred on the origin along Z, laid between two points (its length is kept)."""
    copy = mesh.copy()
    direction = np.asarray(end, dtype=float) - np.asarray(start, dtype=float)
    copy.apply_transform(trimesh.geometry.align_vectors([0, 0, 1], direction / np.linalg.norm(direction)))
    copy.apply_translation(0.5 * (np.asarray(start) + np.asarray(end)))
    return copy


def rounded_box(extents: Float[np.ndarray, "3"], bevel: float) -> trimesh.Trimesh:
    """Return a box whose edges are cut: the convex hull of three boxes, each thinner in two directions."""
    extents = np.asarray(extents, dtype=float)
    bevel = min(bevel, 0.45 * float(extents.min()))
    corners = [box(np.where(np.arange(3) == d, extents, extents - 2 * bevel)).vertices for d in range(3)]
    return trimesh.convex.convex_hull(np.concatenate(corners))


def open_box(extents: Float[np.ndarray, "3"], wall: float) -> trimesh.Trimesh:
    """Return a box without its top (+Z) side, with walls of the given thickness, as one closed surface."""
    half = 0.5 * np.asarray(extents, dtype=float)
    square = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]], dtype=float)
    rings = [
        np.column_stack((square * half[:2], np.full(4, -half[2]))),
        np.column_stack((square * half[:2], np.full(4, half[2]))),
        np.column_stack((square * (half[:2] - wall), np.full(4, half[2]))),
        np.column_stack((square * (half[:2] - wall), np.full(4, -half[2] + wall))),
    ]
    faces: list[tuple[int, int, int]] = [(0, 2, 1), (0, 3, 2), (12, 13, 14), (12, 14, 15)]
    for ring in range(3):
        for i in range(4):
            a, b = 4 * ring + i, 4 * ring + (i + 1) % 4
            faces += [(a, b, b + 4), (a, b + 4, a + 4)]
    return trimesh.Trimesh(np.concatenate(rings), np.array(faces), process=False)


def random_bar(rng: Rng, length: float, width: float) -> trimesh.Trimesh:
    """Return a link along Z, centred on the origin: box, rounded box, cylinder, capsule or a stretched ball."""
    choice = rng.integers(5)
    flat = width * rng.uniform(0.4, 1.0)
    if choice == 0:
        return box((width, flat, length))
    if choice == 1:
        return rounded_box(np.array([width, flat, length]), 0.2 * flat)
    if choice == 2:
        return cylinder(0.5 * width, length, sections=14)
    if choice == 3:
        return capsule(height=max(length - width, 0.05 * length), radius=0.5 * width, count=(12, 12)).apply_translation(
            (0, 0, 0)
        )
    ball = icosphere(subdivisions=2)
    return ball.apply_scale((0.5 * width, 0.5 * flat, 0.5 * length))


def random_lump(rng: Rng, extents: Float[np.ndarray, "3"]) -> trimesh.Trimesh:
    """Return a compact solid that fills the extents: box, rounded box, cylinder, ball, cone, torus or a hull."""
    choice = rng.integers(7)
    if choice == 0:
        solid = box((1, 1, 1))
    elif choice == 1:
        solid = rounded_box(np.ones(3), rng.uniform(0.05, 0.3))
    elif choice == 2:
        solid = cylinder(0.5, 1.0, sections=int(rng.integers(6, 25)))
    elif choice == 3:
        solid = icosphere(subdivisions=2, radius=0.5)
    elif choice == 4:
        solid = placed(cone(0.5, 1.0, sections=16), (0, 0, -0.5))
    elif choice == 5:
        solid = torus(0.35, 0.15, major_sections=18, minor_sections=10)
    else:
        solid = trimesh.convex.convex_hull(rng.normal(size=(int(rng.integers(8, 30)), 3)))
    solid = solid.copy()
    solid.apply_translation(-solid.bounds.mean(0))
    solid.apply_scale(np.asarray(extents) / np.maximum(solid.extents, 1e-9))
    return solid
