"""Closed solids swept along a curve: cross-sections that vary along it, with round or pointed ends."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import trimesh
from jaxtyping import Float
from scipy.interpolate import CubicSpline

from engine.datasets.shapes.primitives import Rng
from engine.datasets.shapes.triangulation import stacked_rings

Curve = Float[np.ndarray, "k 3"]


def transported(centres: Curve, *, looped: bool) -> tuple[Curve, Curve]:
    """Return two unit normals along a curve that turn about it as little as possible; equal at both ends of a loop."""
    tangents = np.gradient(centres, axis=0)
    if looped:
        tangents[0] = tangents[-1] = centres[1] - centres[-2]
    tangents /= np.linalg.norm(tangents, axis=1, keepdims=True)
    first = np.zeros_like(centres)
    normal = np.cross(tangents[0], np.eye(3)[np.abs(tangents[0]).argmin()])
    for i, tangent in enumerate(tangents):
        normal = normal - (normal @ tangent) * tangent
        normal /= np.linalg.norm(normal)
        first[i] = normal
    second = np.cross(tangents, first)
    if looped:
        gap = np.arctan2(first[0] @ second[-1], first[0] @ first[-1])
        turn = np.linspace(0, gap, len(centres))[:, None]
        first, second = np.cos(turn) * first + np.sin(turn) * second, np.cos(turn) * second - np.sin(turn) * first
    return first, second


def loft(
    centres: Curve,
    radii: Float[np.ndarray, "k 2"],
    *,
    count: int,
    power: float = 1.0,
    lobes: tuple[int, float] = (0, 0.0),
    twist: float = 0.0,
    looped: bool = False,
) -> trimesh.Trimesh:
    """Return a closed tube about a finely drawn curve.

    Args:
        centres: the curve.
        radii: half widths along the two transported normals; zero at the ends of a curve that is not looped.
        count: vertices aimed at.
        power: 1 for elliptic cross-sections, down to 0.3 for boxy ones.
        lobes: number and relative depth of ripples around the cross-section.
        twist: turns of the cross-section from end to end.
        looped: the curve's last point is its first one.
    """
    first, second = transported(centres, looped=looped)
    length = np.linalg.norm(np.diff(centres, axis=0), axis=1)
    mean = np.sqrt((radii**2).mean(1))
    meridian = np.hypot(length, np.diff(mean))
    area = float((np.pi * (mean[1:] + mean[:-1]) * meridian).sum())
    spacing = float(np.sqrt(area / (count * np.sqrt(0.75))))
    reach = np.concatenate(([0.0], np.cumsum(meridian)))
    rows = max(round(float(reach[-1]) / (spacing * np.sqrt(0.75))), 6)
    stations = np.linspace(0, reach[-1], rows + 1)
    stations = stations[:-1] if looped else stations[1:-1]
    table = np.column_stack((centres, first, second, radii))

    def section(station: float, angles: Float[np.ndarray, " k"]) -> Float[np.ndarray, "k 3"]:
        row = np.array([np.interp(station, reach, column) for column in table.T])
        turned = angles + 2 * np.pi * twist * station / reach[-1]
        c, s = np.cos(angles), np.sin(angles)
        around = 1 + lobes[1] * np.cos(lobes[0] * angles)
        local = np.stack((np.sign(c) * np.abs(c) ** power * row[9], np.sign(s) * np.abs(s) ** power * row[10]))
        local = local * around
        turn = turned - angles
        x, y = np.cos(turn) * local[0] - np.sin(turn) * local[1], np.sin(turn) * local[0] + np.cos(turn) * local[1]
        return row[:3] + x[:, None] * row[3:6] + y[:, None] * row[6:9]

    return stacked_rings(section, stations, spacing, closed=(not looped, not looped), looped=looped)


def round_ends(length: Float[np.ndarray, " k"], radius: Float[np.ndarray, " k"]) -> Float[np.ndarray, " k"]:
    """Return radii that close like half balls at both ends of the arc lengths."""
    total = float(length[-1])
    factor = np.ones(len(length))
    for away, end in ((length, radius[0]), (total - length, radius[-1])):
        share = np.minimum(away / max(min(float(end), 0.3 * total), 1e-9), 1)
        factor = factor * np.sqrt(np.clip(1 - (1 - share) ** 2, 0, 1))
    return radius * factor


def _count(rng: Rng) -> int:
    return int(rng.integers(800, 2000))


def _arc_length(curve: Curve) -> Float[np.ndarray, " k"]:
    return np.concatenate(([0.0], np.cumsum(np.linalg.norm(np.diff(curve, axis=0), axis=1))))


def _smooth(knots: list[float], k: int = 200) -> Float[np.ndarray, " k"]:
    """Return a smooth (cosine-blended) run through evenly spaced values."""
    t = np.linspace(0, len(knots) - 1, k)
    i = np.minimum(t.astype(int), len(knots) - 2)
    blend = 0.5 - 0.5 * np.cos(np.pi * (t - i))
    values = np.array(knots)
    return values[i] * (1 - blend) + values[i + 1] * blend


def banana(rng: Rng) -> trimesh.Trimesh:
    """A bent fruit or sausage, thick in the middle, often edged."""
    t = np.linspace(-0.5, 0.5, 200) * rng.uniform(0.6, 2.2)
    curve = np.column_stack((np.sin(t), 0 * t, 1 - np.cos(t))) / max(abs(t[0]), 0.3) * 0.6
    thick = rng.uniform(0.1, 0.22) * _smooth([rng.uniform(0.3, 0.7), 1.0, 1.0, rng.uniform(0.2, 0.7)])
    radius = round_ends(_arc_length(curve), thick)
    edges = (5, rng.uniform(0.0, 0.06))
    return loft(curve, np.column_stack((radius, radius * rng.uniform(0.8, 1.0))), count=_count(rng), lobes=edges)


def horn(rng: Rng) -> trimesh.Trimesh:
    """A horn or tusk: a cone along an open helix."""
    t = np.linspace(0, 1, 200)
    turn, lift = rng.uniform(0.5, 4.5), rng.uniform(0.3, 0.9)
    wide = 0.5 * (1 - 0.5 * t)
    curve = np.column_stack((wide * np.cos(turn * t), wide * np.sin(turn * t), lift * t))
    radius = round_ends(_arc_length(curve), rng.uniform(0.12, 0.18) * (1 - 0.85 * t))
    rings = 1 + rng.uniform(0, 0.06) * np.sin(2 * np.pi * rng.integers(5, 12) * t)
    return loft(curve, np.column_stack((radius, radius)) * rings[:, None], count=_count(rng))


def shell(rng: Rng) -> trimesh.Trimesh:
    """A spiral shell that winds up a cone and grows by a constant factor per turn."""
    turns, growth = rng.uniform(1.6, 2.6), rng.uniform(1.7, 2.3)
    t = np.linspace(0, turns, 300)
    size = growth ** (t - turns)
    lift = rng.uniform(0.3, 1.1)
    curve = (
        np.column_stack((np.cos(2 * np.pi * t), np.sin(2 * np.pi * t), -lift * np.ones_like(t) * 1.2)) * size[:, None]
    )
    radius = round_ends(_arc_length(curve), 0.36 * rng.uniform(0.75, 0.95) * size)
    return loft(0.5 * curve, 0.5 * np.column_stack((radius, radius)), count=int(rng.integers(1400, 2400)))


def tube(rng: Rng) -> trimesh.Trimesh:
    """A noodle, worm or snake: a smooth random curve that does not come back on itself."""
    n = int(rng.integers(4, 7))
    knots = np.cumsum(np.column_stack((rng.uniform(0.25, 0.4, n), rng.normal(0, 0.16, (n, 2)))), 0)
    curve = np.asarray(CubicSpline(np.arange(n), knots)(np.linspace(0, n - 1, 200)))
    thick = rng.uniform(0.06, 0.12) * _smooth([float(v) for v in rng.uniform(0.6, 1.2, 4)])
    radius = round_ends(_arc_length(curve), thick)
    shape = np.column_stack((radius, radius * rng.uniform(0.6, 1.0)))
    return loft(curve, shape, count=_count(rng), power=float(rng.choice([1.0, 0.6])), twist=rng.uniform(-0.5, 0.5))


def knot(rng: Rng) -> trimesh.Trimesh:
    """A torus knot or a wavy ring: pretzel, rope or garland."""
    p, q = [(2, 3), (3, 2), (1, 3), (1, 4), (2, 5), (1, 5)][int(rng.integers(6))]
    t = np.linspace(0, 2 * np.pi, 400)
    bulge = rng.uniform(0.35, 0.45)
    r = 1 + bulge * np.cos(q * t)
    curve = 0.5 * np.column_stack((r * np.cos(p * t), r * np.sin(p * t), bulge * np.sin(q * t)))
    thick = rng.uniform(0.05, 0.08) if p > 1 else rng.uniform(0.1, 0.17)
    radius = np.full((400, 2), thick)
    return loft(curve, radius, count=int(rng.integers(1400, 2600)), looped=True)


def vase(rng: Rng) -> trimesh.Trimesh:
    """A vase, jar or bowl: hollow, its wall as one closed surface, round, lobed or square."""
    wall = rng.uniform(0.05, 0.08)
    outer = rng.uniform(0.25, 0.5) * _smooth(
        [float(v) for v in rng.uniform([0.6, 0.8, 0.35, 0.5], [1.0, 1.2, 1.0, 1.1])]
    )
    z = np.linspace(0, rng.uniform(0.5, 1.3), len(outer))
    bottom = np.column_stack((np.linspace(0, outer[0], 40)[:-1], np.zeros(39)))
    lip_t = np.linspace(0, np.pi, 14)[1:-1]
    lip = np.column_stack((outer[-1] - 0.5 * wall * (1 - np.cos(lip_t)), z[-1] + 0.5 * wall * np.sin(lip_t)))
    kept = z > 1.3 * wall
    inner = np.column_stack((np.maximum(outer - wall, 0.05), z))[kept][::-1]
    floor = np.column_stack((np.linspace(inner[-1, 0], 0, 40)[1:], np.full(39, inner[-1, 1])))
    profile = np.concatenate((bottom, np.column_stack((outer, z)), lip, inner, floor))
    return revolved(profile, rng, count=int(rng.integers(1300, 2400)))


def bottle(rng: Rng) -> trimesh.Trimesh:
    """A bottle, skittle, pear, lamp or chess piece: solid of revolution with a random outline."""
    knots = [float(v) for v in rng.uniform(0.2, 1.0, int(rng.integers(4, 7)))]
    radius = rng.uniform(0.2, 0.35) * _smooth([max(knots[0], 0.5), *knots])
    z = np.linspace(0, rng.uniform(0.9, 1.3), len(radius))
    profile = np.column_stack((round_ends(z, radius), z))
    profile[[0, -1], 0] = 0
    return revolved(profile, rng, count=_count(rng))


def revolved(profile: Float[np.ndarray, "k 2"], rng: Rng, *, count: int) -> trimesh.Trimesh:
    """Return the solid of revolution of a profile (radius, z) from the axis, outside upwards, to the axis again.

    The draw decides on lobes or a squarish cross-section, which keep the wall's thickness only roughly.
    """
    steps = np.linalg.norm(np.diff(profile, axis=0), axis=1)
    area = float((np.pi * (profile[1:, 0] + profile[:-1, 0]) * steps).sum())
    spacing = float(np.sqrt(area / (count * np.sqrt(0.75))))
    reach = np.concatenate(([0.0], np.cumsum(steps)))
    rows = round(float(reach[-1]) / (spacing * np.sqrt(0.75)))
    lobes, depth = int(rng.integers(3, 9)), float(rng.choice([0.0, rng.uniform(0, 0.1)]))
    squash = rng.uniform(0.7, 1.0)

    def section(station: float, angles: Float[np.ndarray, " k"]) -> Float[np.ndarray, "k 3"]:
        r = np.interp(station, reach, profile[:, 0]) * (1 + depth * np.cos(lobes * angles))
        z = np.full(len(angles), np.interp(station, reach, profile[:, 1]))
        return np.column_stack((r * np.cos(angles), squash * r * np.sin(angles), z))

    return stacked_rings(section, np.linspace(0, reach[-1], rows + 1)[1:-1], spacing)


LOFTS: dict[str, Callable[[Rng], trimesh.Trimesh]] = {
    f.__name__: f for f in (banana, horn, shell, tube, knot, vase, bottle)
}
