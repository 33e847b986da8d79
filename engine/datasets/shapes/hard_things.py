"""Closed surfaces of things that nobody expects to bend: packages, vessels, tools, weights, stands.

Each is one smooth surface, as a scan of such a thing is; Z is up, the longest side is about two.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import trimesh

from engine.datasets.shapes.implicit import Field, capsule, drum, ellipsoid, hoop, mesh_of, rounded_box, without
from engine.datasets.shapes.primitives import Rng


def _count(rng: Rng) -> int:
    return int(rng.integers(700, 2000))


def carton(rng: Rng) -> trimesh.Trimesh:
    """A package, book, brick or case: a box whose edges are more or less round."""
    half = np.array([1.0, rng.uniform(0.45, 1.0), rng.uniform(0.12, 0.9)])[rng.permutation(3)]
    bevel = float(half.min()) * rng.uniform(0.06, 0.5)
    return mesh_of([rounded_box((0, 0, 0), (half[0], half[1], half[2]), bevel)], blend=0.02, count=_count(rng))


def can(rng: Rng) -> trimesh.Trimesh:
    """A tin, jar, puck or wheel: a cylinder, often with a rim or a lid."""
    radius = rng.uniform(0.35, 1.0)
    half = rng.uniform(0.25, 1.0)
    parts = [drum((0, 0, 0), radius, half, rng.uniform(0.02, 0.1))]
    if rng.random() < 0.4:
        parts += [drum((0, 0, side * half), radius + 0.04, 0.06, 0.03) for side in (-1, 1)]
    if rng.random() < 0.5:
        parts.append(drum((0, 0, half), radius * rng.uniform(0.4, 0.8), rng.uniform(0.1, 0.35), 0.04))
    return mesh_of(parts, blend=0.03, count=_count(rng))


def squeeze_bottle(rng: Rng) -> trimesh.Trimesh:
    """A flat bottle with shoulders, a neck and a cap."""
    half = np.array([rng.uniform(0.3, 0.55), rng.uniform(0.2, 0.35), rng.uniform(0.5, 0.8)])
    neck = rng.uniform(0.1, 0.2)
    parts = [
        rounded_box((0, 0, -0.2), (half[0], half[1], half[2]), float(half.min()) * rng.uniform(0.5, 0.95)),
        capsule((0, 0, half[2] - 0.4), (0, 0, half[2] + 0.05), neck * 1.6, neck),
        drum((0, 0, half[2] + 0.05), neck * rng.uniform(1.0, 1.5), rng.uniform(0.08, 0.2), 0.03),
    ]
    return mesh_of(parts, blend=rng.uniform(0.04, 0.2), count=_count(rng))


def bowl(rng: Rng) -> trimesh.Trimesh:
    """A bowl, dish or tray: the lower half of a flattened ball or a box, hollowed."""
    depth, wall = rng.uniform(0.3, 0.9), rng.uniform(0.08, 0.14)
    other = rng.uniform(0.7, 1.0)
    if rng.random() < 0.6:
        outer, inner = (
            ellipsoid((0, 0, 0), (1, other, depth)),
            ellipsoid((0, 0, 0), (1 - wall, other - wall, depth - wall)),
        )
        lid = rounded_box((0, 0, 1.0), (1.6, 1.6, 1.0), 0.02)
        body = without(without(outer, lid, 0.03), inner, 0.03)
    else:
        body = without(
            rounded_box((0, 0, 0), (1, other, 0.5 * depth), 0.1),
            rounded_box((0, 0, wall + 0.5), (1 - wall, other - wall, 0.5 * depth + 0.5), 0.08),
            0.03,
        )
    parts = [body]
    if rng.random() < 0.3:
        parts.append(drum((0, 0, -depth), 0.4, 0.08, 0.03))
    return mesh_of(parts, blend=0.03, count=_count(rng) + 600)


def mallet(rng: Rng) -> trimesh.Trimesh:
    """A hammer or axe of one piece: a handle, and a head across its end, often with a claw or blade."""
    thick, head = rng.uniform(0.06, 0.12), rng.uniform(0.12, 0.25)
    reach = rng.uniform(0.3, 0.6)
    parts = [capsule((0, 0, -1), (0, 0, 0.8), thick * rng.uniform(1.0, 1.7), thick)]
    parts.append(drum((0.3 * reach, 0, 0.85), head, reach, 0.04, axis=0))
    if rng.random() < 0.6:
        parts.append(capsule((-reach, 0, 0.85), (-reach - 0.3, 0, 0.7), 0.1, 0.05, flat=(1, rng.uniform(0.5, 1.2), 1)))
    return mesh_of(parts, blend=rng.uniform(0.03, 0.1), count=_count(rng))


def spanner(rng: Rng) -> trimesh.Trimesh:
    """A spanner: a flat bar with an open jaw, or a ring, at each end."""
    thick, width = rng.uniform(0.07, 0.13), rng.uniform(0.12, 0.2)
    parts: list[Field] = [rounded_box((0, 0, 0), (width, thick, 0.8), 0.5 * thick)]
    for side in (-1, 1):
        radius = rng.uniform(0.22, 0.36)
        eye = drum((0, 0, side * 0.9), radius, thick * 1.2, 0.03, axis=1)
        hole = drum((0, 0, side * 0.9), 0.55 * radius, 0.5, 0.02, axis=1)
        end = without(eye, hole, 0.02)
        if rng.random() < 0.6:
            gap = rounded_box((0, 0, side * 1.25), (0.5 * radius, 0.5, 0.35), 0.02)
            end = without(end, gap, 0.02)
        parts.append(end)
    return mesh_of(parts, blend=0.04, count=_count(rng) + 600)


def screwdriver(rng: Rng) -> trimesh.Trimesh:
    """A screwdriver, brush, torch or knob: a thick grip and a thinner shaft, with or without a tip."""
    grip, shaft = rng.uniform(0.15, 0.3), rng.uniform(0.05, 0.12)
    parts = [capsule((0, 0, -0.9), (0, 0, -0.9 + rng.uniform(0.5, 0.9)), grip, grip * rng.uniform(0.7, 1.1))]
    parts.append(capsule((0, 0, -0.5), (0, 0, 1.0), shaft))
    if rng.random() < 0.6:
        end = rng.uniform(0.1, 0.3)
        parts.append(ellipsoid((0, 0, 1.0), (end, rng.uniform(0.4, 1.0) * end, rng.uniform(0.15, 0.35))))
    return mesh_of(parts, blend=0.05, count=_count(rng))


def pan(rng: Rng) -> trimesh.Trimesh:
    """A pan or pot with a handle, or two."""
    depth, wall = rng.uniform(0.15, 0.5), rng.uniform(0.07, 0.12)
    outer = drum((0, 0, 0), 0.7, depth, 0.06)
    inner = drum((0, 0, 2.0 * wall + 1.0), 0.7 - wall, depth + 1.0, 0.05)
    parts = [without(outer, inner, 0.03)]
    if rng.random() < 0.6:
        parts.append(capsule((0.68, 0, 0.5 * depth), (1.5, 0, 0.5 * depth + 0.2), 0.07, 0.09))
    else:
        parts += [hoop((side * 0.75, 0, 0.5 * depth), 0.16, 0.06) for side in (-1, 1)]
    return mesh_of(parts, blend=0.04, count=_count(rng) + 600)


def stand(rng: Rng) -> trimesh.Trimesh:
    """A column, birdbath, trophy or lamp: a foot, a turned shaft, and something on top."""
    foot, shaft = rng.uniform(0.3, 0.6), rng.uniform(0.12, 0.25)
    parts = [drum((0, 0, -1), foot, rng.uniform(0.06, 0.15), 0.04)]
    if rng.random() < 0.5:
        parts.append(drum((0, 0, -0.8), 0.75 * foot, 0.12, 0.04))
    parts.append(capsule((0, 0, -1), (0, 0, 0.7), shaft * rng.uniform(1.0, 1.5), shaft))
    for _ in range(int(rng.integers(0, 3))):
        parts.append(ellipsoid((0, 0, rng.uniform(-0.6, 0.5)), (shaft * 1.7, shaft * 1.7, rng.uniform(0.08, 0.25))))
    top = rng.uniform(0.3, 0.8)
    draw = rng.random()
    if draw < 0.5:
        dish = without(ellipsoid((0, 0, 0.9), (top, top, 0.3)), ellipsoid((0, 0, 1.15), (top, top, 0.3)), 0.03)
        parts.append(dish)
    elif draw < 0.75:
        parts.append(ellipsoid((0, 0, 0.9), (0.6 * top, 0.6 * top, 0.6 * top)))
    else:
        parts.append(rounded_box((0, 0, 0.8), (0.6 * top, 0.6 * top, 0.2), 0.04))
    return mesh_of(parts, blend=rng.uniform(0.03, 0.08), count=_count(rng))


def dumbbell(rng: Rng) -> trimesh.Trimesh:
    """Two weights on a bar."""
    radius = rng.uniform(0.25, 0.6)
    parts = [capsule((0, 0, -0.8), (0, 0, 0.8), rng.uniform(0.07, 0.15))]
    for side in (-1, 1):
        at = (0.0, 0.0, side * 0.8)
        parts.append(
            drum(at, radius, rng.uniform(0.12, 0.3), 0.05)
            if rng.random() < 0.7
            else ellipsoid(at, (radius, radius, radius))
        )
    return mesh_of(parts, blend=0.04, count=_count(rng))


def figurine(rng: Rng) -> trimesh.Trimesh:
    """A figure of stone or china on its plinth: the plinth tells it from a soft toy."""
    belly, skull = rng.uniform(0.28, 0.42), rng.uniform(0.2, 0.32)
    parts = [
        rounded_box((0, 0, -0.95), (0.55, 0.5, 0.15), 0.04)
        if rng.random() < 0.5
        else drum((0, 0, -0.95), 0.55, 0.15, 0.04),
        ellipsoid((0, 0, -0.4), (belly, belly, rng.uniform(0.5, 0.65))),
        ellipsoid((rng.uniform(0, 0.1), 0, 0.35), (skull, skull, skull * rng.uniform(0.9, 1.2))),
    ]
    for side in (-1, 1):
        parts.append(capsule((0, side * belly, 0), (0.1, side * belly * 0.9, -0.5), 0.1, 0.13))
        if rng.random() < 0.6:
            tip = 0.35 + skull + rng.uniform(0.0, 0.2)
            parts.append(capsule((0, side * 0.6 * skull, 0.35 + 0.6 * skull), (0, side * 0.7 * skull, tip), 0.08, 0.04))
    return mesh_of(parts, blend=rng.uniform(0.04, 0.1), count=_count(rng))


HARD_THINGS: dict[str, Callable[[Rng], trimesh.Trimesh]] = {
    f.__name__: f
    for f in (carton, can, squeeze_bottle, bowl, mallet, spanner, screwdriver, pan, stand, dumbbell, figurine)
}
