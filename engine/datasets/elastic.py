"""Procedural soft bodies and sheets, bent and twisted by their own finite-element modes; and bodies that stay rigid."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import trimesh
from jaxtyping import Float, Int
from scipy.spatial.transform import Rotation
from skimage.measure import marching_cubes

from engine.datasets.motion import Motion
from engine.datasets.primitives import (
    Rng,
    along,
    box,
    capsule,
    cylinder,
    icosphere,
    placed,
    random_bar,
    random_lump,
    torus,
)
from engine.geometry.modes import ModalPoser, build_cage, eigenmodes

Arrays = tuple[Float[np.ndarray, "n 3"], Int[np.ndarray, "m 3"]]


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


def _amplitudes(poser: ModalPoser, rng: Rng, *, largest_turn: float, largest_strain: float) -> Float[np.ndarray, " k"]:
    """Draw modal amplitudes, softer modes larger, scaled so that no element turns or stretches beyond the bounds."""
    frequencies = poser.modes.frequencies
    k = len(frequencies)
    amplitudes = rng.normal(size=k) * (frequencies[0] / frequencies) ** 1.5
    amplitudes *= rng.random(k) < rng.choice([0.15, 0.5, 1.0])
    if not amplitudes.any():
        amplitudes[rng.integers(k)] = 1.0
    gradient = np.einsum("k,kedb->edb", amplitudes, poser.gradients)
    skew = 0.5 * (gradient - gradient.transpose(0, 2, 1))
    turn = np.quantile(np.linalg.norm(skew, axis=(1, 2)), 0.98) / np.sqrt(2)
    strain = np.quantile(np.linalg.norm(gradient - skew, axis=(1, 2)), 0.98)
    limit = min(largest_turn / max(turn, 1e-9), largest_strain / max(strain, 1e-9))
    return amplitudes * limit * rng.uniform(0.4, 1.0)


def _bend(mesh: Arrays, rng: Rng, *, frames: int, family: str, sheet: bool, fixed_above: float | None = None) -> Motion:
    vertices, faces = mesh
    resolution = int(rng.integers(12, 17)) if sheet else int(rng.integers(8, 13))
    cage = build_cage(vertices, faces, resolution=resolution, solid=not sheet)
    fixed = None if fixed_above is None else cage.nodes[:, 2] > fixed_above
    poser = ModalPoser(eigenmodes(cage, count=16 if sheet else 14, fixed=fixed))
    bounds = (1.3, 0.4) if sheet else (1.1, 0.45)
    positions = np.zeros((frames, len(vertices), 3), dtype=np.float32)
    rotations = np.zeros((frames, len(vertices), 4), dtype=np.float32)
    for i in range(frames):
        a = _amplitudes(poser, rng, largest_turn=bounds[0], largest_strain=bounds[1])
        x, r = poser.surface(a * (i > 0))
        positions[i] = x
        rotations[i] = Rotation.from_matrix(r).as_quat(scalar_first=True)
    component = trimesh.graph.connected_component_labels(
        trimesh.Trimesh(vertices, faces, process=False).edges, len(vertices)
    )
    return Motion(family, faces.astype(np.int32), component.astype(np.int32), positions, rotations)


def _joined(parts: list[trimesh.Trimesh]) -> Arrays:
    """Return the vertices and faces of meshes put side by side."""
    offsets = np.cumsum([0, *[len(p.vertices) for p in parts]])
    faces = [np.asarray(p.faces) + o for p, o in zip(parts, offsets, strict=False)]
    return np.concatenate([np.asarray(p.vertices) for p in parts]), np.concatenate(faces)


def soft_body(rng: Rng, *, frames: int) -> Motion:
    """A soft solid, in a third of cases with separate decorations (eyes, buttons, patches) that ride on it."""
    name = str(rng.choice(list(SOLIDS), p=[0.2, 0.3, 0.18, 0.1, 0.12, 0.1]))
    body = SOLIDS[name](rng)
    parts = [body]
    if rng.random() < 0.35:
        spots = rng.choice(len(body.vertices), int(rng.integers(1, 8)))
        radius = 0.04 * float(body.extents.max())
        parts += [
            placed(icosphere(subdivisions=1, radius=radius * rng.uniform(0.5, 1.3)), body.vertices[s]) for s in spots
        ]
    return _bend(_joined(parts), rng, frames=frames, family=f"elastic/{name}", sheet=False)


def sheet(rng: Rng, *, frames: int) -> Motion:
    """A cloth, flag, towel or mat: a grid, rectangular or round, flat or folded; some hang from a rail that is held."""
    n = int(rng.integers(16, 26))
    w, h = rng.uniform(0.6, 1.4), rng.uniform(0.6, 1.4)
    u, v = np.meshgrid(np.linspace(-0.5, 0.5, n), np.linspace(-0.5, 0.5, n), indexing="ij")
    if rng.random() < 0.2:
        square = np.stack((u, v), -1) * 2
        radius = np.abs(square).max(-1) / np.maximum(np.linalg.norm(square, axis=-1), 1e-9)
        u, v = u * radius, v * radius
    depth = rng.uniform(0, 0.07) * np.sin(rng.uniform(3, 22) * u + rng.uniform(0, 6)) * (1 - rng.uniform(0, 1) * v)
    depth += rng.uniform(-0.3, 0.3) * u**2 * (rng.random() < 0.4)
    vertices = np.stack((u * w, depth, v * h), -1).reshape(-1, 3)
    index = np.arange(n * n).reshape(n, n)
    a, b, c, d = index[:-1, :-1].ravel(), index[1:, :-1].ravel(), index[1:, 1:].ravel(), index[:-1, 1:].ravel()
    faces = np.concatenate((np.stack((a, b, c), -1), np.stack((a, c, d), -1)))
    hung, fixed_above = rng.random() < 0.5, None
    if hung:
        fixed_above = 0.5 * h - 0.04
        if rng.random() < 0.75:
            rod = along(cylinder(rng.uniform(0.015, 0.05), w * rng.uniform(1.0, 1.25), sections=12), -X_AXIS, X_AXIS)
            rod = placed(rod, (0, 0, 0.5 * h))
            faces = np.concatenate((faces, rod.faces + len(vertices)))
            vertices = np.concatenate((vertices, rod.vertices))
    family = "cloth/hung" if hung else "cloth/free"
    return _bend((vertices, faces), rng, frames=frames, family=family, sheet=True, fixed_above=fixed_above)


X_AXIS = np.array([1.0, 0.0, 0.0])


def rigid_body(rng: Rng) -> Motion:
    """A body that does not deform: one hard lump, or a few touching ones (a hammer, a stool, a vase)."""
    parts = [random_lump(rng, rng.uniform(0.3, 1.2, 3))]
    if rng.random() < 0.35:
        parts = [box(rng.uniform(0.3, 1.2, 3))]
    if rng.random() < 0.3:
        top = parts[0].bounds[1, 2]
        parts.append(placed(random_bar(rng, 0.6, rng.uniform(0.1, 0.4)), (0, 0, top + 0.29)))
    vertices, faces = _joined(parts)
    counts = [len(p.vertices) for p in parts]
    positions = np.tile(vertices.astype(np.float32), (2, 1, 1))
    rotations = np.tile(np.array([1, 0, 0, 0], dtype=np.float32), (2, len(vertices), 1))
    component = np.repeat(np.arange(len(parts)), counts).astype(np.int32)
    return Motion("rigid/lump", faces.astype(np.int32), component, positions, rotations)
