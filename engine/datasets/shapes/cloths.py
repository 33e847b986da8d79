"""Cloths and garments at rest: open triangulated surfaces with near-uniform triangles.

Flat ones lie in the XY plane; worn and hanging ones stand upright, Z up, their front towards -Y. A cloth is about one
unit wide. Every surface is one manifold component with a boundary and one winding (outwards where there is an inside).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import trimesh
from jaxtyping import Float

from engine.datasets.shapes.garments import GARMENTS
from engine.datasets.shapes.primitives import Rng
from engine.datasets.shapes.triangulation import fill, polygon_area, sampled, stacked_rings


def _flat(loops: list[Float[np.ndarray, "_ 2"]], rng: Rng, count: int) -> trimesh.Trimesh:
    """Return the flat region inside closed polylines (the first is the outline, others are holes)."""
    area = polygon_area(loops[0]) - sum(polygon_area(hole) for hole in loops[1:])
    spacing = float(np.sqrt(area / (count * np.sqrt(0.75))))
    rims: list[Float[np.ndarray, "k 2"]] = []
    for loop in loops:
        # Sides are sampled one by one so that corners stay; finely drawn curves are one side.
        closed = np.concatenate((loop, loop[:1]))
        if len(loop) > 12:
            rims.append(sampled(closed, spacing, at_least=8))
        else:
            rims.append(np.concatenate([sampled(closed[i : i + 2], spacing, at_least=1) for i in range(len(loop))]))
    points, faces = fill(rims, spacing, rng)
    return trimesh.Trimesh(np.column_stack((points, np.zeros(len(points)))), faces, process=False)


def _ellipse(rx: float, ry: float, power: float = 1.0) -> Float[np.ndarray, "k 2"]:
    """Return an ellipse (power 1) or a rectangle with round corners (powers down to 0.2), counterclockwise."""
    t = np.linspace(0, 2 * np.pi, 400, endpoint=False)
    c, s = np.cos(t), np.sin(t)
    return np.column_stack((rx * np.sign(c) * np.abs(c) ** power, ry * np.sign(s) * np.abs(s) ** power))


def _count(rng: Rng) -> int:
    return int(rng.integers(700, 1900))


def towel(rng: Rng) -> trimesh.Trimesh:
    """A rectangle: towel, flag, blanket or napkin."""
    w, h = 0.5, 0.5 * rng.uniform(0.45, 1.0)
    return _flat([np.array([[-w, -h], [w, -h], [w, h], [-w, h]])], rng, _count(rng))


def blanket(rng: Rng) -> trimesh.Trimesh:
    """A rectangle with round corners, as a rug or a mat."""
    return _flat([_ellipse(0.5, rng.uniform(0.3, 0.5), rng.uniform(0.3, 0.6))], rng, _count(rng))


def tablecloth(rng: Rng) -> trimesh.Trimesh:
    """A round or oval cloth."""
    return _flat([_ellipse(0.5, rng.choice([0.5, rng.uniform(0.3, 0.5)]))], rng, _count(rng))


def bandana(rng: Rng) -> trimesh.Trimesh:
    """A triangle: bandana, shawl or pennant."""
    return _flat([np.array([[-0.5, 0], [0.5, 0], [rng.uniform(-0.15, 0.15), rng.uniform(0.4, 1.0)]])], rng, _count(rng))


def scarf(rng: Rng) -> trimesh.Trimesh:
    """A long strip, with straight or pointed ends: scarf, ribbon or belt."""
    w, tip = rng.uniform(0.05, 0.12), rng.choice([0.0, rng.uniform(0.02, 0.08)])
    outline = np.array([[-0.5, -w], [0.5, -w], [0.5 + tip, 0.0], [0.5, w], [-0.5, w], [-0.5 - tip, 0.0]])
    if tip == 0.0:
        outline = outline[[0, 1, 3, 4]]
    return _flat([outline], rng, int(rng.integers(600, 1200)))


def poncho(rng: Rng) -> trimesh.Trimesh:
    """A flat round or square cloth with a hole for the head."""
    hole = _ellipse(0.1, rng.uniform(0.07, 0.12))[::-1]
    return _flat([_ellipse(0.5, rng.uniform(0.4, 0.5), rng.uniform(0.3, 1.0)), hole], rng, _count(rng))


def star_cloth(rng: Rng) -> trimesh.Trimesh:
    """A cloth with a lobed or scalloped edge, as a doily, a leaf or a starfish cut from felt."""
    lobes, depth = int(rng.integers(3, 9)), rng.uniform(0.05, 0.2)
    t = np.linspace(0, 2 * np.pi, 600, endpoint=False)
    radius = 0.45 * (1 + depth * np.cos(lobes * t))
    outline = np.column_stack((radius * np.cos(t), radius * np.sin(t) * rng.uniform(0.6, 1.0)))
    return _flat([outline], rng, _count(rng))


def curtain(rng: Rng) -> trimesh.Trimesh:
    """A pleated curtain that hangs in the XZ plane, its pleats along Z."""
    w, h = 0.5, rng.uniform(0.35, 0.7)
    mesh = _flat([np.array([[-w, -h], [w, -h], [w, h], [-w, h]])], rng, int(rng.integers(1200, 2200)))
    x, z, _ = mesh.vertices.T
    pleats, depth = int(rng.integers(4, 9)), rng.uniform(0.15, 0.3)
    phase = 2 * np.pi * pleats * (x + 0.5)
    # The cloth keeps its length across the pleats: what swings out in Y is missing in X.
    swing = depth / pleats * np.cos(phase) * (1 - 0.3 * rng.random() * (z / h + 1) / 2)
    squeeze = 1 / np.sqrt(1 + 0.5 * (2 * np.pi * depth) ** 2)
    mesh.vertices = np.column_stack((x * squeeze, swing, z))
    return mesh


def cape(rng: Rng) -> trimesh.Trimesh:
    """A cape: part of a cone's mantle around the back (+Y), open in front, narrow at the neck."""
    neck, hem, length = rng.uniform(0.12, 0.18), rng.uniform(0.4, 0.6), rng.uniform(0.8, 1.1)
    sweep = rng.uniform(0.9, 1.5) * np.pi
    # The mantle unrolls to a sector of a ring, which is meshed flat.
    slope = np.hypot(hem - neck, length)
    inner, outer = neck * slope / (hem - neck), hem * slope / (hem - neck)
    half = 0.5 * sweep * neck / inner
    t = np.linspace(-half, half, 60)
    arc = np.column_stack((np.sin(t), -np.cos(t)))
    corners = [outer * arc, (inner * arc)[::-1]]
    area = half * (outer**2 - inner**2)
    spacing = float(np.sqrt(area / (_count(rng) * np.sqrt(0.75))))
    sides = [
        corners[0],
        np.stack((corners[0][-1], corners[1][0])),
        corners[1],
        np.stack((corners[1][-1], corners[0][0])),
    ]
    points, faces = fill([np.concatenate([sampled(side, spacing) for side in sides])], spacing, rng)
    radius, angle = np.linalg.norm(points, axis=1), np.arctan2(points[:, 0], -points[:, 1])
    around = angle / half * 0.5 * sweep
    share = (radius - inner) / (outer - inner)
    ripple = 1 + rng.uniform(0, 0.12) * share * np.cos(rng.integers(4, 9) * around)
    r = (neck + (hem - neck) * share) * ripple
    vertices = np.column_stack((r * np.sin(around), r * np.cos(around), -length * share))
    return trimesh.Trimesh(vertices, faces[:, ::-1], process=False)


def _revolved(
    profile: Float[np.ndarray, "k 2"], rng: Rng, *, tip: bool, waves: float = 0.0, count: int | None = None
) -> trimesh.Trimesh:
    """Return the surface of revolution of a profile (radius, z) given from its top down, open at its lower end.

    Args:
        profile: polyline; with ``tip`` it starts on the axis.
        rng: draws the vertex count and the number of waves.
        tip: shut the upper end.
        waves: relative depth of ripples at the hem.
        count: vertices aimed at.
    """
    steps = np.linalg.norm(np.diff(profile, axis=0), axis=1)
    area = float((np.pi * (profile[1:, 0] + profile[:-1, 0]) * steps).sum())
    spacing = float(np.sqrt(area / ((count or _count(rng)) * np.sqrt(0.75))))
    reach = np.concatenate(([0.0], np.cumsum(steps)))
    rows = max(round(float(reach[-1]) / (spacing * np.sqrt(0.75))), 4)
    stations = np.linspace(0, reach[-1], rows + 1)[1 if tip else 0 :]
    lobes, squash = int(rng.integers(4, 10)), rng.uniform(0.75, 1.0)

    def section(station: float, angles: Float[np.ndarray, " k"]) -> Float[np.ndarray, "k 3"]:
        r, z = np.interp(station, reach, profile[:, 0]), np.interp(station, reach, profile[:, 1])
        wave = 1 + waves * (station / reach[-1]) ** 2 * np.cos(lobes * angles)
        # The rings run down, so that they turn the other way about Z.
        return np.column_stack(
            (r * wave * np.cos(angles), -squash * r * wave * np.sin(angles), np.full(len(angles), z))
        )

    return stacked_rings(section, stations, spacing, closed=(tip, False))


def skirt(rng: Rng) -> trimesh.Trimesh:
    """A skirt: a cone open at both ends, mostly with a wavy hem."""
    waist, hem, length = rng.uniform(0.15, 0.25), rng.uniform(0.35, 0.5), rng.uniform(0.3, 0.8)
    flare = rng.uniform(0.7, 1.6)
    s = np.linspace(0, 1, 30)
    profile = np.column_stack((waist + (hem - waist) * s**flare, -length * s))
    return _revolved(profile, rng, tip=False, waves=rng.uniform(0, 0.15))


def sleeve(rng: Rng) -> trimesh.Trimesh:
    """A tube open at both ends, straight, tapered or bellied: sleeve, leg warmer or lampshade."""
    s = np.linspace(0, 1, 30)
    radius = rng.uniform(0.12, 0.3) * (1 + rng.uniform(-0.4, 0.4) * s + rng.uniform(-0.2, 0.3) * np.sin(np.pi * s))
    return _revolved(np.column_stack((radius, 0.5 - s)), rng, tip=False)


def hat(rng: Rng) -> trimesh.Trimesh:
    """A hat: dome, straight crown and a brim, or a pointed one."""
    crown, tall, brim = rng.uniform(0.2, 0.3), rng.uniform(0.1, 0.35), rng.uniform(0.08, 0.3)
    t = np.linspace(0, 0.5 * np.pi, 20)
    dome = np.column_stack((np.sin(t), np.cos(t) * rng.uniform(0.4, 0.9))) * crown
    if rng.random() < 0.25:
        dome = np.array([[0.0, rng.uniform(0.4, 0.7)], [crown, 0.0]])
    foot = np.array([crown * rng.uniform(1.0, 1.15), -tall])
    edge = foot + brim * np.array([1.0, rng.uniform(-0.5, 0.15)])
    return _revolved(np.concatenate((dome, foot[None], edge[None])), rng, tip=True)


def bag(rng: Rng) -> trimesh.Trimesh:
    """An open pouch: round bottom below, an opening above."""
    wide, tall, neck = rng.uniform(0.25, 0.45), rng.uniform(0.5, 0.9), rng.uniform(0.5, 1.0)
    t = np.linspace(0, 0.5 * np.pi, 16)
    bottom = np.column_stack((np.sin(t) ** 0.7, -np.cos(t) * 0.5)) * wide
    profile = np.concatenate((bottom, [[wide * 0.5 * (1 + neck), 0.6 * tall], [wide * neck, tall]]))
    mesh = _revolved(profile, rng, tip=True)
    # The profile was given from its tip: below, so that the winding has to be turned.
    mesh.invert()
    return mesh


CLOTHS: dict[str, Callable[[Rng], trimesh.Trimesh]] = {
    f.__name__: f
    for f in (towel, blanket, tablecloth, bandana, scarf, poncho, star_cloth, curtain, cape, skirt, sleeve, hat, bag)
} | GARMENTS
