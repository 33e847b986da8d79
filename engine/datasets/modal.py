"""Soft bodies and sheets bent and twisted by their own finite-element modes, and bodies that stay rigid."""

from __future__ import annotations

import numpy as np
import trimesh
from jaxtyping import Float, Int
from scipy.spatial.transform import Rotation

from engine.datasets.motion import Motion
from engine.datasets.shapes.primitives import Rng, along, box, cylinder, icosphere, placed, random_bar, random_lump
from engine.datasets.shapes.solids import SOLIDS
from engine.geometry.modes import ModalPoser, build_cage, eigenmodes

Arrays = tuple[Float[np.ndarray, "n 3"], Int[np.ndarray, "m 3"]]


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
    name = str(rng.choice(list(SOLIDS)))
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
