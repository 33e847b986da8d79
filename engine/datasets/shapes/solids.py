"""Procedural solids with character: closed surfaces of blobs, soft toys, tentacles, rings, bars and supershapes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import trimesh
from jaxtyping import Float
from skimage.measure import marching_cubes

from engine.datasets.shapes.primitives import Rng, capsule, icosphere, torus


def metaballs(
    starts: Float[np.ndarray, "b 3"],
    ends: Float[np.ndarray, "b 3"],
    radii: Float[np.ndarray, "b 2"],
    *,
    blend: float = 0.12,
    resolution: int = 34,
) -> trimesh.Trimesh:
    """Return one closed surface around capsules with two radii each, smoothly joined, by marching cubes."""
    low = np.minimum(starts, ends).min(0) - radii.max() - 2 * blend
    high = np.maximum(starts, ends).max(0) + radii.max() + 2 * blend
    pitch = float((high - low).max()) / resolution
    axes = [np.arange(low[d], high[d] + pitch, pitch) for d in range(3)]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), -1)
    total = np.zeros(grid.shape[:3])
    for a, b, (ra, rb) in zip(starts, ends, radii, strict=True):
        axis = b - a
        along_axis = np.clip((grid - a) @ axis / max(float(axis @ axis), 1e-9), 0, 1)
        distance = np.linalg.norm(grid - a - along_axis[..., None] * axis, axis=-1) - (ra + along_axis * (rb - ra))
        total += np.exp(-np.clip(distance / (0.5 * blend), -30, 30))
    vertices, faces, _, _ = marching_cubes(np.log(np.maximum(total, 1e-30)), 0.0, spacing=(pitch,) * 3)
    mesh = trimesh.Trimesh(vertices + low, faces[:, ::-1], process=True)
    largest = max(mesh.split(only_watertight=False), key=lambda part: len(part.faces))
    return largest


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
    return metaballs(a, b, np.stack((r0, r1), -1), blend=rng.uniform(0.05, 0.12), resolution=38)


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
    return metaballs(a, b, np.stack((r0, r1), -1), blend=0.05, resolution=42)


def ring(rng: Rng) -> trimesh.Trimesh:
    """A torus, more or less thick, flattened or lobed."""
    mesh = torus(0.7, rng.uniform(0.12, 0.34), major_sections=40, minor_sections=16)
    wobble = 1 + rng.uniform(0, 0.15) * np.cos(rng.integers(2, 6) * np.arctan2(*mesh.vertices[:, :2].T))[:, None]
    mesh.vertices = mesh.vertices * wobble * rng.uniform([0.7, 0.8, 0.6], [1.3, 1.2, 1.3])
    return mesh


def bar(rng: Rng) -> trimesh.Trimesh:
    """A noodle, pillow, banana or egg: one rounded bar, straight or bent."""
    mesh = capsule(height=rng.uniform(0.2, 2.0), radius=0.3, count=(20, 24))
    mesh.apply_translation(-mesh.bounds.mean(0))
    mesh.apply_scale((1, rng.uniform(0.4, 1.2), 1))
    bend = rng.uniform(0, 1.0) * (rng.random() < 0.6)
    x, y, z = mesh.vertices.T
    mesh.vertices = np.stack((x + bend * z**2, y, z - bend * x * z), -1)
    return mesh


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


SOLIDS: dict[str, Callable[[Rng], trimesh.Trimesh]] = {
    f.__name__: f for f in (blob, plush, tentacled, ring, bar, supershape)
}
