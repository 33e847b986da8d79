"""Procedural solids with character: closed surfaces of blobs, soft toys, tentacles, rings, bars and supershapes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import trimesh
from jaxtyping import Float

from engine.datasets.shapes.creatures import CREATURES
from engine.datasets.shapes.hard_things import HARD_THINGS
from engine.datasets.shapes.implicit import capsule, surface_of, union
from engine.datasets.shapes.lofts import LOFTS, loft, round_ends
from engine.datasets.shapes.primitives import Rng, icosphere
from engine.datasets.shapes.things import THINGS


def metaballs(
    starts: Float[np.ndarray, "b 3"],
    ends: Float[np.ndarray, "b 3"],
    radii: Float[np.ndarray, "b 2"],
    *,
    blend: float = 0.12,
    count: int = 1400,
) -> trimesh.Trimesh:
    """Return one closed surface around capsules with two radii each, smoothly joined, of about ``count`` vertices."""
    margin = float(radii.max()) + 2 * blend
    field = union([capsule(a, b, float(r[0]), float(r[1])) for a, b, r in zip(starts, ends, radii, strict=True)], blend)
    return surface_of(
        field, np.minimum(starts, ends).min(0) - margin, np.maximum(starts, ends).max(0) + margin, count=count
    )


def blob(rng: Rng) -> trimesh.Trimesh:
    """A smooth union of a few random capsules."""
    n = int(rng.integers(2, 7))
    starts = np.cumsum(rng.normal(0, 0.3, (n, 3)), 0)
    ends = starts + rng.normal(0, 0.35, (n, 3))
    ends[1:] = np.where(rng.random((n - 1, 1)) < 0.6, starts[:-1], ends[1:])
    return metaballs(starts, ends, rng.uniform(0.15, 0.4, (n, 2)))


def plush(rng: Rng) -> trimesh.Trimesh:
    """A soft toy: body, head, ears or horns, arms, legs, sometimes a tail."""
    upright = rng.random() < 0.6
    belly, skull = rng.uniform(0.3, 0.55), rng.uniform(0.25, 0.45)
    up = np.array([0, 0, 1.0]) if upright else np.array([rng.uniform(0.5, 1.0), 0, rng.uniform(0.2, 0.8)])
    neck = up / np.linalg.norm(up) * (belly + 0.75 * skull)
    capsules = [(np.zeros(3), 0.3 * neck, belly, belly * 0.9), (neck, neck * 1.05, skull, skull)]
    ear, length = rng.uniform(0.08, 0.16), rng.uniform(0.0, 0.5)
    arm, leg = rng.uniform(0.1, 0.2, 2)
    spread, reach = rng.uniform(-0.4, 0.8), rng.uniform(0.2, 0.6)
    for side in (-1, 1):
        s = np.array([0, side, 0.0])
        tip = neck + s * 0.65 * skull + np.array([0, 0, 0.75 * skull])
        capsules.append((tip, tip + (s * 0.3 + np.array([0, 0, 1.0])) * length, ear, ear * 0.8))
        shoulder = 0.4 * neck + s * 0.75 * belly
        capsules.append((shoulder, shoulder + reach * np.array([0.3, side * 0.8, spread]), arm, arm))
        hip = np.array([0.1, side * 0.55 * belly, -0.6 * belly])
        forward = rng.uniform(0, 0.2) if not upright or rng.random() < 0.5 else 0.5
        capsules.append((hip, hip + reach * np.array([forward, side * 0.2, -0.8 if forward < 0.4 else -0.2]), leg, leg))
    if rng.random() < 0.4:
        capsules.append((-0.8 * belly * up, -1.6 * belly * up, 0.1, 0.08))
    if rng.random() < 0.5:
        snout = neck + np.array([0.8 * skull, 0, -0.1])
        capsules.append((snout, snout + 0.05, 0.4 * skull, 0.3 * skull))
    a, b, r0, r1 = (np.array([c[i] for c in capsules]) for i in range(4))
    return metaballs(a, b, np.stack((r0, r1), -1), blend=rng.uniform(0.05, 0.12))


def tentacled(rng: Rng) -> trimesh.Trimesh:
    """A round body with three to nine tapering arms of two or three segments."""
    n, head = int(rng.integers(3, 10)), rng.uniform(0.3, 0.5)
    pieces = [(np.zeros(3), np.array([0, 0, rng.uniform(0, 0.5)]), head, head)]
    droop, length, thick, sway = (
        rng.uniform(-1.0, 0.6),
        rng.uniform(0.35, 0.6),
        rng.uniform(0.09, 0.16),
        rng.normal(0, 0.5),
    )
    for i in range(n):
        angle = 2 * np.pi * (i + 0.15 * rng.normal()) / n
        at = 0.8 * head * np.array([np.cos(angle), np.sin(angle), -0.4])
        for j in range(int(rng.integers(2, 4))):
            turn = angle + sway * (j + 1) / 2
            step = length * np.array([np.cos(turn), np.sin(turn), droop * (1 - 0.8 * j)])
            pieces.append((at, at + step, thick * 0.78**j, thick * 0.78 ** (j + 1)))
            at = at + step
    a, b, r0, r1 = (np.array([c[i] for c in pieces]) for i in range(4))
    return metaballs(a, b, np.stack((r0, r1), -1), blend=0.05, count=1800)


def ring(rng: Rng) -> trimesh.Trimesh:
    """A swimming ring, doughnut or tyre: more or less thick, flattened or lobed."""
    t = np.linspace(0, 2 * np.pi, 300)
    # Deeper lobes would fold the inner side.
    lobes = int(rng.integers(2, 6))
    wobble = 1 + rng.uniform(0, 0.5) / lobes**2 * np.cos(lobes * t)
    curve = (
        np.column_stack((np.cos(t), np.sin(t), 0 * t))
        * 0.7
        * wobble[:, None]
        * rng.uniform([0.8, 0.8, 1], [1.2, 1.2, 1])
    )
    radii = np.tile(rng.uniform(0.12, 0.3) * np.array([1.0, rng.uniform(0.6, 1.1)]), (300, 1))
    return loft(curve, radii, count=int(rng.integers(900, 1800)), power=float(rng.choice([1.0, 0.6])), looped=True)


def bar(rng: Rng) -> trimesh.Trimesh:
    """An eraser, egg or sponge: one rounded bar, straight or bent, of round or boxy cross-section."""
    t = np.linspace(-0.5, 0.5, 200) * (bend := rng.uniform(0.01, 1.5) if rng.random() < 0.6 else 0.01)
    curve = np.column_stack((np.sin(t), 0 * t, 1 - np.cos(t))) / bend * rng.uniform(0.9, 2.2)
    thick = round_ends(np.linspace(0, float(np.ptp(curve[:, 0])), 200), np.full(200, 0.3))
    radii = np.column_stack((thick, thick * rng.uniform(0.4, 1.2)))
    return loft(curve, radii, count=int(rng.integers(700, 1600)), power=float(rng.choice([1.0, 0.5, 0.35])))


def supershape(rng: Rng) -> trimesh.Trimesh:
    """A ball whose radius varies by smooth lobes (fruit, cushion, pebble, star)."""
    mesh = icosphere(subdivisions=4)
    d = mesh.vertices.copy()
    radius = np.ones(len(d))
    for _ in range(int(rng.integers(1, 5))):
        radius += rng.uniform(0.03, 0.2) * np.cos(
            rng.uniform(1.5, 5) * (d @ (v := rng.normal(size=3)) / np.linalg.norm(v)) + rng.uniform(0, 6)
        )
    mesh.vertices = d * radius[:, None] * rng.uniform(0.5, 1.2, 3)
    return mesh


SOLIDS: dict[str, Callable[[Rng], trimesh.Trimesh]] = (
    {f.__name__: f for f in (blob, plush, tentacled, ring, bar, supershape)} | LOFTS | CREATURES | THINGS
)
# What people expect to be hard, and what to give: the still shape is all that the network sees, so a kind of thing that
# is soft in one half of the dataset and hard in the other would be taken for soft.
_HARD_NAMES = frozenset({"mug", "teapot", "toy_car", "letter", "armchair", "vase", "bottle", "horn", "shell"})
HARD = {name: make for name, make in SOLIDS.items() if name in _HARD_NAMES} | HARD_THINGS
SOFT = {name: make for name, make in SOLIDS.items() if name not in _HARD_NAMES}
