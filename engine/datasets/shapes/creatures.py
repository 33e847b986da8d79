"""Animals and dolls as smooth unions of rounded solids. They face +X, Z up, about one to two units long."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import trimesh

from engine.datasets.shapes.implicit import Field, capsule, drum, ellipsoid, hoop, mesh_of
from engine.datasets.shapes.primitives import Rng


def _count(rng: Rng) -> int:
    return int(rng.integers(1200, 2400))


def _legs(rng: Rng, *, back: float, front: float, apart: float, top: float, thick: float, length: float) -> list[Field]:
    """Return four legs with feet; hips at z = ``top``."""
    foot, stance = rng.uniform(1.0, 1.4) * thick, rng.normal(0, 0.06, 4)
    fields: list[Field] = []
    for i, (x, side) in enumerate(((back, -1), (back, 1), (front, -1), (front, 1))):
        low = (x + stance[i], side * apart, top - length)
        fields += [capsule((x, side * apart * 0.9, top), low, thick * 1.2, thick)]
        fields += [capsule(low, (low[0] + 0.6 * foot, low[1], low[2]), foot, foot * 0.8)]
    return fields


def elephant(rng: Rng) -> trimesh.Trimesh:
    """An elephant: round body, trunk, flat ears, pillar legs, thin tail."""
    fat, thick = rng.uniform(0.34, 0.45), rng.uniform(0.11, 0.16)
    parts = [ellipsoid((0, 0, 0), (0.55, fat, fat * 1.05))]
    parts += _legs(rng, back=-0.32, front=0.32, apart=0.2, top=-0.1, thick=thick, length=rng.uniform(0.35, 0.55))
    parts.append(ellipsoid((0.6, 0, 0.25), (0.28, 0.26, 0.3)))
    curl, at = rng.uniform(-0.6, 2.2), np.array([0.8, 0.0, 0.18])
    for j in range(4):
        angle = -1.4 + curl * j / 3
        step = 0.2 * np.array([np.cos(angle), 0, np.sin(angle)])
        parts.append(capsule(at, at + step, 0.11 - 0.015 * j, 0.1 - 0.015 * j))
        at = at + step
    ear = rng.uniform(0.2, 0.32)
    for side in (-1, 1):
        parts.append(ellipsoid((0.48, side * (0.22 + 0.7 * ear), 0.3), (0.07, ear, ear * 1.2)))
    parts.append(capsule((-0.5, 0, 0.1), (-0.75, 0, -0.15), 0.06))
    return mesh_of(parts, blend=rng.uniform(0.04, 0.09), count=_count(rng))


def dinosaur(rng: Rng) -> trimesh.Trimesh:
    """A long-necked or an upright dinosaur, some with plates along the back."""
    parts: list[Field] = [ellipsoid((0, 0, 0), (0.45, rng.uniform(0.24, 0.34), rng.uniform(0.26, 0.34)))]
    upright = rng.random() < 0.4
    lift = rng.uniform(0.3, 0.7)
    neck = np.array([0.55, 0, 0.45 + 0.4 * lift]) if not upright else np.array([0.45, 0, 0.5])
    parts += [capsule((0.3, 0, 0.1), neck, 0.2, 0.11 if not upright else 0.2)]
    parts += [ellipsoid(neck + np.array((0.12, 0, 0.02)), (0.22, 0.13, 0.13) if not upright else (0.32, 0.2, 0.2))]
    tail, sway = rng.uniform(0.6, 1.0), rng.normal(0, 0.25)
    middle = np.array([-0.35 - 0.5 * tail, 0.3 * sway, -0.12])
    parts += [capsule((-0.3, 0, 0), middle, 0.22, 0.13)]
    parts += [capsule(middle, (-0.35 - tail, sway, rng.uniform(-0.2, 0.2)), 0.13, 0.05)]
    if upright:
        for side in (-1, 1):
            parts += [capsule((-0.02, side * 0.2, -0.1), (-0.05, side * 0.24, -0.55), 0.17, 0.11)]
            parts += [capsule((-0.05, side * 0.24, -0.55), (0.12, side * 0.24, -0.56), 0.11)]
            parts += [capsule((0.35, side * 0.2, 0.1), (0.55, side * 0.24, -0.05), 0.08, 0.06)]
    else:
        parts += _legs(rng, back=-0.25, front=0.25, apart=0.2, top=-0.1, thick=0.11, length=rng.uniform(0.3, 0.45))
    if rng.random() < 0.5:
        height = rng.uniform(0.12, 0.2)
        for x in np.linspace(-0.5, 0.3, 5):
            parts.append(capsule((x, 0, 0.2), (x, 0, 0.28 + height - 0.3 * x**2), 0.09, 0.04, flat=(1, 0.7, 1)))
    return mesh_of(parts, blend=rng.uniform(0.04, 0.08), count=_count(rng))


def dog(rng: Rng) -> trimesh.Trimesh:
    """A dog, cat, pig or horse: body, legs, head with a snout, ears up or hanging, a tail."""
    fat, long, neck = rng.uniform(0.2, 0.34), rng.uniform(0.3, 0.55), rng.uniform(0.2, 0.5)
    parts: list[Field] = [capsule((-long, 0, 0), (long, 0, 0), fat, fat * rng.uniform(0.9, 1.1))]
    thick = rng.uniform(0.07, 0.11)
    length = rng.uniform(0.3, 0.6)
    parts += _legs(rng, back=-long, front=long, apart=0.7 * fat, top=-0.3 * fat, thick=thick, length=length)
    head, skull = np.array([long + 0.55 * neck + 0.1, 0, 0.15 + neck]), rng.uniform(0.19, 0.26)
    parts += [capsule((long, 0, 0.05), head, 0.8 * fat, 0.12), capsule(head, head + np.array((0.03, 0, 0)), skull)]
    snout = rng.uniform(0.1, 0.3)
    parts += [
        capsule(head + np.array((0.6 * skull, 0, -0.05)), head + np.array((0.6 * skull + snout, 0, -0.08)), 0.12, 0.08)
    ]
    ear, up = rng.uniform(0.15, 0.3), rng.uniform(-1.0, 1.0)
    for side in (-1, 1):
        root = head + np.array((-0.05, side * 0.75 * skull, 0.6 * skull))
        parts.append(capsule(root, root + ear * np.array([-0.1, side * 0.5, up]), 0.08, 0.06))
    end = np.array([-long - fat - rng.uniform(0.1, 0.4), rng.normal(0, 0.1), rng.uniform(-0.1, 0.4)])
    parts.append(capsule((-long - 0.7 * fat, 0, 0.1), end, 0.07, rng.uniform(0.05, 0.09)))
    return mesh_of(parts, blend=rng.uniform(0.03, 0.08), count=_count(rng))


def bunny(rng: Rng) -> trimesh.Trimesh:
    """A sitting hare with long ears, some bent, and a round tail."""
    fat, skull = rng.uniform(0.36, 0.46), rng.uniform(0.24, 0.32)
    parts: list[Field] = [ellipsoid((0, 0, 0), (fat * 1.05, fat * 0.9, fat))]
    head = np.array([0.3, 0, 0.42 + 0.4 * skull])
    parts += [
        ellipsoid(head, (skull * 1.1, skull * 0.95, skull)),
        capsule((-fat, 0, -0.1), (-fat - 0.06, 0, -0.1), 0.13),
    ]
    ear, flop = rng.uniform(0.35, 0.6), rng.uniform(-0.2, 0.9)
    for side in (-1, 1):
        root = head + np.array((-0.08, side * 0.12, 0.7 * skull))
        middle = root + 0.5 * ear * np.array([-0.25, side * 0.25, 1.0])
        tip = middle + 0.5 * ear * np.array([-0.4, side * (0.3 + flop * (rng.random() < 0.5)), 1.0 - flop])
        parts += [capsule(root, middle, 0.08, 0.1), capsule(middle, tip, 0.1, 0.06)]
        parts += [capsule((0.3, side * 0.2, -0.05), (0.42, side * 0.2, -0.33), 0.11, 0.1)]
        parts += [capsule((-0.1, side * 0.3, -0.25), (0.28, side * 0.34, -0.36), 0.17, 0.1)]
    return mesh_of(parts, blend=rng.uniform(0.03, 0.07), count=_count(rng))


def duck(rng: Rng) -> trimesh.Trimesh:
    """A rubber duck: a flat-bottomed body with a turned-up tail, wings, head and bill."""
    fat, skull = rng.uniform(0.34, 0.42), rng.uniform(0.24, 0.32)
    head = np.array([0.28, 0, 0.4 + 0.5 * skull])
    parts = [ellipsoid((0, 0, 0), (0.52, fat, 0.33)), capsule((0.22, 0, 0.2), head, 0.2, 0.18)]
    parts += [ellipsoid(head, (skull, skull * 0.95, skull)), capsule((-0.4, 0, 0.05), (-0.62, 0, 0.3), 0.17, 0.06)]
    bill = head + np.array((skull * 0.85, 0, -0.06))
    parts.append(ellipsoid(bill + np.array((0.1, 0, 0)), (rng.uniform(0.14, 0.22), rng.uniform(0.1, 0.16), 0.06)))
    for side in (-1, 1):
        wing = rng.uniform(0.02, 0.12)
        parts.append(ellipsoid((-0.08, side * (fat + wing), 0.06), (0.3, 0.08 + wing, 0.16)))
    return mesh_of(parts, blend=rng.uniform(0.03, 0.06), count=_count(rng))


def fish(rng: Rng) -> trimesh.Trimesh:
    """A fish or whale: body, fins and a tail fin, upright or flat."""
    tall, wide = rng.uniform(0.2, 0.42), rng.uniform(0.13, 0.3)
    parts = [ellipsoid((0, 0, 0), (0.6, wide, tall)), capsule((-0.3, 0, 0), (-0.75, 0, 0.02), 0.16, 0.07)]
    span, whale = rng.uniform(0.22, 0.4), rng.random() < 0.35
    for side in (-1, 1):
        tip = (-1.0, side * span, 0.05) if whale else (-1.0, 0, side * span)
        parts.append(capsule((-0.75, 0, 0.02), tip, 0.08, 0.07, flat=(1, 1, 0.7) if whale else (1, 0.7, 1)))
        fin = rng.uniform(0.1, 0.25)
        parts.append(capsule((0.15, side * 0.8 * wide, -0.1), (0.0, side * (wide + fin), -0.18), 0.09, 0.06))
    if rng.random() < 0.8:
        parts.append(
            capsule((0.1, 0, 0.8 * tall), (-0.15, 0, tall + rng.uniform(0.05, 0.2)), 0.13, 0.06, flat=(1, 0.6, 1))
        )
    return mesh_of(parts, blend=rng.uniform(0.03, 0.07), count=_count(rng))


def doll(rng: Rng) -> trimesh.Trimesh:
    """A doll with arms and legs in some pose; some wear a skirt, a hat or a bun."""
    head, hips = rng.uniform(0.2, 0.3), -0.35
    parts: list[Field] = [capsule((0, 0, hips), (0, 0, 0.15), 0.19, 0.17), capsule((0, 0, 0.2), (0, 0, 0.35), 0.09)]
    skull = np.array([0, 0, 0.38 + head])
    parts.append(ellipsoid(skull, (head, head, head * 1.1)))
    raise_arm, bend = rng.uniform(-1.2, 1.2, 2), rng.uniform(-0.6, 0.6, 2)
    spread, thick = rng.uniform(0.1, 0.5), rng.uniform(0.075, 0.1)
    for i, side in enumerate((-1, 1)):
        elbow = np.array([0, side * (0.2 + 0.3 * np.cos(raise_arm[i])), 0.14 + 0.3 * np.sin(raise_arm[i])])
        angle = raise_arm[i] + bend[i]
        hand = elbow + 0.28 * np.array([0.3, side * np.cos(angle), np.sin(angle)])
        parts += [capsule((0, side * 0.14, 0.14), elbow, thick), capsule(elbow, hand, thick, thick * 0.9)]
        parts += [capsule(hand, hand + 0.02, thick * 1.2)]
        knee, foot = (
            np.array([0.05, side * (0.12 + 0.4 * spread), -0.7]),
            np.array([0, side * (0.12 + 0.8 * spread), -1.05]),
        )
        parts += [capsule((0, side * 0.11, hips), knee, 0.13, 0.11), capsule(knee, foot, 0.11, 0.09)]
        parts += [capsule(foot, foot + np.array((0.13, 0, -0.02)), 0.1)]
    choice = rng.integers(4)
    if choice == 0:
        parts.append(capsule((0, 0, -0.2), (0, 0, -0.62), 0.16, 0.42, flat=(1, 1, 0.6)))
    elif choice == 1:
        parts += [
            drum(skull + np.array((0, 0, 0.75 * head)), 1.5 * head, 0.05, 0.045),
            drum(skull + np.array((0, 0, 1.1 * head)), 0.8 * head, 0.2, 0.05),
        ]
    elif choice == 2:
        parts.append(
            capsule(
                skull + np.array((-0.6 * head, 0, 0.8 * head)), skull + np.array((-0.7 * head, 0, 0.9 * head)), 0.12
            )
        )
    return mesh_of(parts, blend=rng.uniform(0.03, 0.06), count=_count(rng))


def teddy(rng: Rng) -> trimesh.Trimesh:
    """A sitting teddy with a muzzle, in a scarf, a belt, a bow tie or bare."""
    fat, skull = rng.uniform(0.34, 0.44), rng.uniform(0.28, 0.36)
    head = np.array([0.03, 0, fat + 0.75 * skull])
    parts = [ellipsoid((0, 0, 0), (fat * 0.9, fat, fat * 1.1)), ellipsoid(head, (skull * 0.95, skull * 1.05, skull))]
    parts.append(ellipsoid(head + np.array((0.85 * skull, 0, -0.08)), (0.12, 0.15, 0.11)))
    for side in (-1, 1):
        parts.append(ellipsoid(head + np.array((0, side * 0.75 * skull, 0.75 * skull)), (0.07, 0.13, 0.13)))
        up = rng.uniform(-0.35, 0.35)
        parts.append(capsule((0.05, side * 0.8 * fat, 0.2), (0.25, side * (fat + 0.3), 0.05 + up), 0.14, 0.13))
        parts.append(capsule((0.1, side * 0.5 * fat, -0.3), (fat + 0.25, side * (0.5 * fat + 0.15), -0.33), 0.17, 0.15))
        parts.append(ellipsoid((fat + 0.3, side * (0.5 * fat + 0.16), -0.27), (0.08, 0.16, 0.2)))
    choice, collar = rng.integers(4), 0.8 * fat
    if choice == 0:
        parts += [
            hoop((0.02, 0, collar), 0.28, 0.1),
            capsule((0.3, 0.1, collar), (0.42, 0.18, collar - 0.4), 0.1, 0.08),
        ]
    elif choice == 1:
        parts.append(hoop((0, 0, -0.1), 0.93 * fat, 0.09))
    elif choice == 2:
        for side in (-1, 1):
            parts.append(capsule((0.34, 0, collar), (0.38, side * 0.17, collar), 0.04, 0.11))
    return mesh_of(parts, blend=rng.uniform(0.03, 0.05), count=int(rng.integers(1600, 2600)))


def turtle(rng: Rng) -> trimesh.Trimesh:
    """A turtle or beetle: a domed shell with a rim, four or six flippers, a head and a tail."""
    wide, tall = rng.uniform(0.4, 0.55), rng.uniform(0.25, 0.4)
    parts: list[Field] = [ellipsoid((0, 0, 0), (0.55, wide, tall)), ellipsoid((0, 0, -0.05), (0.65, wide + 0.1, 0.12))]
    parts += [capsule((0.5, 0, 0), (0.85, 0, 0.12), 0.12, 0.17), capsule((-0.5, 0, -0.05), (-0.8, 0, -0.08), 0.1, 0.05)]
    for x in np.linspace(-0.4, 0.4, int(rng.integers(2, 4))):
        for side in (-1, 1):
            end = (1.35 * x + rng.normal(0, 0.08), side * (wide + rng.uniform(0.2, 0.4)), -rng.uniform(0.1, 0.3))
            parts.append(capsule((x, side * 0.7 * wide, -0.08), end, 0.13, 0.1, flat=(1, 1, 0.8)))
    return mesh_of(parts, blend=rng.uniform(0.03, 0.06), count=_count(rng))


def hand(rng: Rng) -> trimesh.Trimesh:
    """A hand or glove: a palm, a wrist and four or five fingers, more or less bent."""
    palm, thick = rng.uniform(0.26, 0.34), rng.uniform(0.085, 0.12)
    parts: list[Field] = [ellipsoid((0, 0, 0), (0.16, palm, 0.38)), capsule((0, 0, -0.3), (0, 0, -0.7), 0.18, 0.2)]
    fingers, fan, curl = int(rng.integers(3, 5)), rng.uniform(0.1, 0.45), rng.uniform(0, 1.2)
    for k in range(fingers):
        u = k / (fingers - 1) - 0.5
        base = np.array([0, 2 * u * (palm - 0.06), 0.3 - 0.25 * u**2])
        out = np.array([0, fan * 2 * u, 1.0]) / np.hypot(1, fan * 2 * u)
        middle = base + out * rng.uniform(0.22, 0.28)
        tip = middle + rng.uniform(0.2, 0.28) * (np.cos(curl) * out + np.sin(curl) * np.array([1.0, 0, 0]))
        parts += [capsule(base, middle, thick, thick * 0.95), capsule(middle, tip, thick * 0.95, thick * 0.8)]
    thumb = np.array([0.12, -palm - 0.22, 0.15])
    parts += [
        capsule((0.02, -0.7 * palm, -0.15), thumb, thick * 1.2, thick),
        capsule(thumb, thumb + np.array((0.03, -0.06, 0.18)), thick),
    ]
    return mesh_of(parts, blend=rng.uniform(0.025, 0.05), count=int(rng.integers(1600, 2600)))


CREATURES: dict[str, Callable[[Rng], trimesh.Trimesh]] = {
    f.__name__: f for f in (elephant, dinosaur, dog, bunny, duck, fish, doll, teddy, turtle, hand)
}
