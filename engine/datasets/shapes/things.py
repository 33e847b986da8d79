"""Things of the house and garden, soft versions of them included: smooth unions, cuts, and sewn shapes."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import trimesh
from jaxtyping import Float
from scipy.ndimage import gaussian_filter1d
from trimesh.creation import icosphere

from engine.datasets.shapes.garments import Side, sewn
from engine.datasets.shapes.implicit import Field, capsule, drum, ellipsoid, hoop, mesh_of, rounded_box, union, without
from engine.datasets.shapes.primitives import Rng
from engine.datasets.shapes.triangulation import sampled


def _count(rng: Rng) -> int:
    return int(rng.integers(1200, 2400))


def mug(rng: Rng) -> trimesh.Trimesh:
    """A mug or pot with one handle or two."""
    radius, half, wall = rng.uniform(0.3, 0.45), rng.uniform(0.3, 0.5), rng.uniform(0.08, 0.11)
    size = rng.uniform(0.5, 0.65) * half
    outside: list[Field] = [drum((0, 0, 0), radius, half, 0.05)]
    for side in (-1, 1)[: int(rng.integers(1, 3))]:
        outside.append(hoop((-side * (radius + 0.4 * size), 0, 0), size, rng.uniform(0.06, 0.08), axis=1))
    hollow = drum((0, 0, 2 * wall), radius - wall, half + wall, 0.06)
    return mesh_of([without(union(outside, 0.04), hollow, 0.05)], blend=0.01, count=int(rng.integers(1800, 2600)))


def cactus(rng: Rng) -> trimesh.Trimesh:
    """A cactus with arms, mostly in a pot."""
    tall, thick = rng.uniform(0.5, 0.9), rng.uniform(0.15, 0.24)
    parts: list[Field] = [capsule((0, 0, -0.4), (0, 0, tall), thick, thick * rng.uniform(0.8, 1.1))]
    for angle in rng.uniform(0, 2 * np.pi) + np.arange(int(rng.integers(1, 4))) * 2.3:
        z, out, arm = (
            rng.uniform(-0.1, 0.6) * tall,
            np.array([np.cos(angle), np.sin(angle), 0]),
            rng.uniform(0.5, 0.8) * thick,
        )
        elbow = out * (thick + rng.uniform(0.15, 0.3)) + (0, 0, z)
        parts += [
            capsule((0, 0, z), elbow, arm),
            capsule(elbow, elbow + np.array((0, 0, rng.uniform(0.15, 0.4))), arm, arm * 0.9),
        ]
    if rng.random() < 0.7:
        parts += [drum((0, 0, -0.6), thick + 0.14, 0.22, 0.05), drum((0, 0, -0.4), thick + 0.2, 0.07, 0.04)]
    return mesh_of(parts, blend=rng.uniform(0.02, 0.05), count=_count(rng))


def mushroom(rng: Rng) -> trimesh.Trimesh:
    """A mushroom, umbrella or table lamp: a cap on a stem, sometimes with a small one beside it."""
    parts: list[Field] = []
    for k in range(int(rng.integers(1, 3))):
        s = 1.0 if k == 0 else rng.uniform(0.4, 0.7)
        x, lean, wide, tall = 0.55 * k, rng.normal(0, 0.1), s * rng.uniform(0.4, 0.6), s * rng.uniform(0.5, 0.9)
        top = np.array([x + lean, 0.1 * k, tall - 0.3])
        parts.append(capsule((x, 0, -0.4), top, s * rng.uniform(0.12, 0.2), s * rng.uniform(0.09, 0.15)))
        dome = ellipsoid(top, (wide, wide, s * rng.uniform(0.25, 0.5)))
        under = ellipsoid(top - np.array((0, 0, 0.28 * s)), (0.9 * wide, 0.9 * wide, 0.3 * s))
        parts[-1] = union([parts[-1], without(dome, under, 0.08)], 0.04)
        if k == 1:
            parts.append(capsule((0, 0, -0.38), (0.55, 0, -0.38), 0.09))
    return mesh_of(parts, blend=0.05, count=_count(rng))


def cake(rng: Rng) -> trimesh.Trimesh:
    """A cake of one to three tiers, with candles or a cherry."""
    parts: list[Field] = []
    z, radius = -0.5, rng.uniform(0.5, 0.65)
    for _ in range(int(rng.integers(1, 4))):
        half = rng.uniform(0.1, 0.2)
        parts += [drum((0, 0, z + half), radius, half + 0.02, 0.06), hoop((0, 0, z + 2 * half), radius - 0.04, 0.05)]
        z, radius = z + 2 * half, radius * rng.uniform(0.6, 0.75)
    candles = int(rng.integers(0, 5))
    for k in range(candles):
        at = 0.7 * radius * np.array([np.cos(6.28 * k / candles), np.sin(6.28 * k / candles), 0])
        parts.append(capsule(at + np.array((0, 0, z)), at + np.array((0, 0, z + 0.25)), 0.06))
    if candles == 0:
        parts.append(capsule((0, 0, z + 0.08), (0, 0, z + 0.1), 0.13))
    return mesh_of(parts, blend=rng.uniform(0.02, 0.04), count=_count(rng))


def tree(rng: Rng) -> trimesh.Trimesh:
    """A tree: a trunk with roots under a fir's tiers or a crown of balls."""
    parts: list[Field] = [capsule((0, 0, -0.7), (0, 0, 0.2), rng.uniform(0.11, 0.16), 0.1)]
    for angle in 2 * np.pi * np.arange(4) / 4:
        parts.append(capsule((0, 0, -0.6), (0.25 * np.cos(angle), 0.25 * np.sin(angle), -0.75), 0.08, 0.05))
    if rng.random() < 0.5:
        tiers, wide = int(rng.integers(2, 5)), rng.uniform(0.4, 0.6)
        for k in range(tiers):
            z, r = -0.25 + 0.9 * k / tiers, wide * (1 - 0.7 * k / tiers)
            parts.append(capsule((0, 0, z), (0, 0, z + 0.45), r, 0.05, flat=(1, 1, 0.35)))
    else:
        for _ in range(int(rng.integers(4, 8))):
            at = rng.normal(0, 0.22, 3) + np.array((0, 0, 0.4))
            parts += [capsule(at, at + 0.01, rng.uniform(0.2, 0.3)), capsule((0, 0, 0.0), at, 0.09)]
    return mesh_of(parts, blend=rng.uniform(0.03, 0.07), count=_count(rng))


def armchair(rng: Rng) -> trimesh.Trimesh:
    """An upholstered chair, bench or sofa: seat, back, mostly arms, feet."""
    wide, deep, seat, back = (
        rng.uniform(0.35, 0.7),
        rng.uniform(0.3, 0.4),
        rng.uniform(0.1, 0.16),
        rng.uniform(0.3, 0.6),
    )
    soft = rng.uniform(0.05, 0.09)
    parts: list[Field] = [rounded_box((0, 0, 0), (deep, wide, seat), soft)]
    parts.append(rounded_box((-deep + 0.05, 0, 0.5 * back), (0.13, wide, 0.5 * back + seat), soft))
    if rng.random() < 0.7:
        for side in (-1, 1):
            parts.append(rounded_box((0, side * wide, 0.12), (deep, 0.11, seat + 0.13), soft))
    foot = rng.uniform(0.1, 0.4)
    for x in (-1, 1):
        for y in (-1, 1):
            parts.append(
                capsule(
                    (x * 0.8 * deep, y * 0.85 * wide, 0), (x * 0.85 * deep, y * 0.9 * wide, -seat - foot), 0.07, 0.06
                )
            )
    return mesh_of(parts, blend=rng.uniform(0.02, 0.05), count=int(rng.integers(1500, 2600)))


def shoe(rng: Rng) -> trimesh.Trimesh:
    """A shoe, boot or slipper with a sole and an opening."""
    long, shaft = rng.uniform(0.5, 0.65), rng.uniform(0.15, 0.6)
    sole = rounded_box((0.1, 0, -0.25), (long + 0.05, 0.25, 0.07), 0.06)
    toe = ellipsoid((0.1 + 0.45 * long, 0, -0.12), (0.55 * long, 0.23, rng.uniform(0.17, 0.24)))
    heel = capsule((-0.25, 0, -0.1), (-0.25, 0, shaft), 0.23, 0.24)
    instep = capsule((-0.2, 0, 0.05), (0.3, 0, -0.1), 0.22, 0.18)
    body = union([sole, toe, heel, instep], 0.06)
    hollow = capsule((-0.25, 0, 0.05), (-0.25, 0, shaft + 0.5), 0.13, 0.17)
    return mesh_of([without(body, hollow, 0.06)], blend=0.01, count=int(rng.integers(1500, 2500)))


def teapot(rng: Rng) -> trimesh.Trimesh:
    """A teapot or watering can: belly, lid, spout and handle."""
    fat, tall = rng.uniform(0.4, 0.5), rng.uniform(0.35, 0.45)
    parts: list[Field] = [ellipsoid((0, 0, 0), (fat, fat, tall)), drum((0, 0, -0.85 * tall), 0.6 * fat, 0.08, 0.05)]
    parts += [
        ellipsoid((0, 0, tall), (0.55 * fat, 0.55 * fat, 0.1)),
        capsule((0, 0, tall + 0.1), (0, 0, tall + 0.18), 0.06, 0.09),
    ]
    elbow, lift = np.array([fat + 0.2, 0, 0.0]), rng.uniform(0.2, 0.45)
    parts += [
        capsule((0.8 * fat, 0, -0.1), elbow, 0.14, 0.1),
        capsule(elbow, elbow + np.array((0.18, 0, lift)), 0.1, 0.075),
    ]
    parts.append(hoop((-fat - 0.05, 0, 0.02), rng.uniform(0.2, 0.26), 0.065, axis=1))
    return mesh_of(parts, blend=rng.uniform(0.03, 0.05), count=_count(rng))


def ice_cream(rng: Rng) -> trimesh.Trimesh:
    """A cone or a stick with one to three scoops."""
    parts: list[Field] = [capsule((0, 0, -0.9), (0, 0, -0.05), 0.06, 0.28)]
    if rng.random() < 0.3:
        parts = [capsule((0, 0, -0.9), (0, 0, 0.0), 0.09)]
    z = 0.05
    for _ in range(int(rng.integers(1, 4))):
        radius = rng.uniform(0.26, 0.36)
        at = (rng.normal(0, 0.05), rng.normal(0, 0.05), z)
        parts += [
            ellipsoid(at, (radius, radius, 0.85 * radius)),
            hoop((at[0], at[1], z - 0.4 * radius), radius * 0.85, 0.08),
        ]
        z += 1.25 * radius
    return mesh_of(parts, blend=rng.uniform(0.02, 0.06), count=_count(rng))


def toy_car(rng: Rng) -> trimesh.Trimesh:
    """A soft car or bus with four wheels, as one piece."""
    long, wide, low = rng.uniform(0.5, 0.7), rng.uniform(0.24, 0.32), rng.uniform(0.13, 0.18)
    parts: list[Field] = [rounded_box((0, 0, 0), (long, wide, low), 0.08)]
    cabin = rng.uniform(0.4, 0.9) * long
    parts.append(rounded_box((rng.uniform(-0.1, 0.1), 0, low + 0.12), (cabin, 0.85 * wide, 0.2), 0.1))
    wheel = rng.uniform(0.14, 0.2)
    for x in (-0.6 * long, 0.6 * long):
        for side in (-1, 1):
            parts.append(drum((x, side * wide, -low), wheel, 0.08, 0.03, axis=1))
    return mesh_of(parts, blend=rng.uniform(0.02, 0.05), count=_count(rng))


# Strokes of letters and digits in a unit box: each a polyline of (x, z).
STROKES: dict[str, list[list[tuple[float, float]]]] = {
    "A": [[(0, 0), (0.5, 1), (1, 0)], [(0.2, 0.4), (0.8, 0.4)]],
    "E": [[(0.8, 0), (0, 0), (0, 1), (0.8, 1)], [(0, 0.5), (0.6, 0.5)]],
    "F": [[(0, 0), (0, 1), (0.8, 1)], [(0, 0.5), (0.6, 0.5)]],
    "H": [[(0, 0), (0, 1)], [(0.8, 0), (0.8, 1)], [(0, 0.5), (0.8, 0.5)]],
    "K": [[(0, 0), (0, 1)], [(0.8, 1), (0, 0.45), (0.8, 0)]],
    "L": [[(0, 1), (0, 0), (0.7, 0)]],
    "M": [[(0, 0), (0, 1), (0.5, 0.3), (1, 1), (1, 0)]],
    "N": [[(0, 0), (0, 1), (0.8, 0), (0.8, 1)]],
    "S": [[(0, 0.12), (0.4, 0), (0.75, 0.2), (0.6, 0.45), (0.2, 0.58), (0.05, 0.8), (0.4, 1), (0.75, 0.88)]],
    "T": [[(0.5, 0), (0.5, 1)], [(0, 1), (1, 1)]],
    "X": [[(0, 0), (0.9, 1)], [(0.9, 0), (0, 1)]],
    "Y": [[(0.5, 0), (0.5, 0.5), (0, 1)], [(0.5, 0.5), (1, 1)]],
    "Z": [[(0, 1), (0.8, 1), (0, 0), (0.8, 0)]],
    "4": [[(0.6, 0), (0.6, 1), (0, 0.35), (0.9, 0.35)]],
}


def letter(rng: Rng) -> trimesh.Trimesh:
    """A thick letter of foam or felt, its strokes round or flat."""
    strokes = STROKES[str(rng.choice(list(STROKES)))]
    thick, flat, wide = rng.uniform(0.1, 0.15), rng.uniform(0.6, 1.0), rng.uniform(0.8, 1.2)
    slant = rng.uniform(-0.2, 0.3)
    parts: list[Field] = []
    for stroke in strokes:
        ends = [np.array([wide * (x - 0.5) + slant * (z - 0.5), 0, 1.3 * (z - 0.5)]) for x, z in stroke]
        parts += [capsule(a, b, thick, flat=(1, flat, 1)) for a, b in itertools.pairwise(ends)]
    return mesh_of(parts, blend=rng.uniform(0.01, 0.04), count=_count(rng))


def _sewn_outline(outline: Float[np.ndarray, "k 2"], rng: Rng, depth: float) -> trimesh.Trimesh:
    """Return a stuffed toy of two equal panels sewn together all around."""
    drawn = np.concatenate((outline, outline[:1]))
    even = sampled(drawn, float(np.linalg.norm(np.diff(drawn, axis=0), axis=1).sum()) / 400)
    # Corners a little round: sharp ones would have no thickness.
    even = gaussian_filter1d(even, 6.0, axis=0, mode="wrap")
    closed = [(float(x), float(z)) for x, z in np.concatenate((even, even[:1]))]
    sides: list[Side] = [(closed, False)]
    return sewn(sides, rng, depth=depth, count=_count(rng))


def star_toy(rng: Rng) -> trimesh.Trimesh:
    """A stuffed star or flower with three to eight points."""
    points, deep = int(rng.integers(3, 9)), rng.uniform(0.15, 0.4)
    t = np.linspace(0, 2 * np.pi, 400, endpoint=False)
    wave = np.cos(points * t + 0.5 * np.pi)
    radius = 0.6 * (1 + deep * np.sign(wave) * np.abs(wave) ** rng.uniform(0.7, 1.4))
    return _sewn_outline(np.column_stack((radius * np.cos(t), radius * np.sin(t))), rng, rng.uniform(0.1, 0.2))


def heart(rng: Rng) -> trimesh.Trimesh:
    """A stuffed heart."""
    t = np.linspace(0, 2 * np.pi, 400, endpoint=False)
    x = 0.6 * np.sin(t) ** 3
    z = rng.uniform(0.8, 1.1) * (
        0.49 * np.cos(t) - 0.19 * np.cos(2 * t) - 0.075 * np.cos(3 * t) - 0.038 * np.cos(4 * t)
    )
    return _sewn_outline(np.column_stack((x, z))[::-1], rng, rng.uniform(0.15, 0.25))


def cushion(rng: Rng) -> trimesh.Trimesh:
    """A cushion with pointed corners: square, oblong, triangular or hexagonal, its sides drawn in a little."""
    corners, waist = int(rng.choice([3, 4, 4, 4, 6])), rng.uniform(0.02, 0.07)
    angle = 2 * np.pi * (np.arange(corners) + 0.5) / corners
    corner = 0.6 * np.column_stack((np.cos(angle), np.sin(angle) * rng.uniform(0.6, 1.0)))
    t = np.linspace(0, 1, 60, endpoint=False)[:, None]
    sides = [
        a + t * (b - a) - 4 * waist * t * (1 - t) * (a + b) for a, b in zip(corner, np.roll(corner, -1, 0), strict=True)
    ]
    return _sewn_outline(np.concatenate(sides), rng, rng.uniform(0.14, 0.26))


def pumpkin(rng: Rng) -> trimesh.Trimesh:
    """A superformula body (Gielis 2003): pumpkin, star fruit, tomato, gear or pebble."""
    mesh = icosphere(subdivisions=4)
    x, y, z = mesh.vertices.T
    around, height = np.arctan2(y, x), np.arcsin(np.clip(z, -1, 1))

    def superformula(angle: Float[np.ndarray, " n"], lobes: int) -> Float[np.ndarray, " n"]:
        n1, n2 = rng.uniform(0.8, 2.0), rng.uniform(1.2, 2.2)
        shape = np.abs(np.cos(lobes * angle / 4)) ** n2 + np.abs(np.sin(lobes * angle / 4)) ** n2
        return np.clip(shape ** (-1 / n1), 0.5, 1.3)

    r1, r2 = superformula(around, int(rng.integers(3, 10))), superformula(height, int(rng.integers(2, 5)))
    # The lobes fade at the poles, where all angles meet.
    r1 = 1 + (r1 - 1) * np.cos(height) ** 0.5
    flat = rng.uniform(0.55, 1.0)
    mesh.vertices = 0.5 * np.column_stack((r1 * r2 * x, r1 * r2 * y, flat * r2 * z))
    return mesh


THINGS: dict[str, Callable[[Rng], trimesh.Trimesh]] = {
    f.__name__: f
    for f in (
        mug,
        cactus,
        mushroom,
        cake,
        tree,
        armchair,
        shoe,
        teapot,
        ice_cream,
        toy_car,
        letter,
        star_toy,
        heart,
        cushion,
        pumpkin,
    )
}
