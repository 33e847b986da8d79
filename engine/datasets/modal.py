"""Soft bodies and sheets bent and twisted by their own finite-element modes.

A mesh is scaled to a longest side of 1, wrapped in a cage of cubes and posed in rotation-strain coordinates, so that
bends and twists of 100 degrees keep their lengths (method: `engine.geometry.modes`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import trimesh
from jaxtyping import Bool, Float, Int
from scipy.spatial.transform import Rotation

from engine.datasets.motion import Motion, Source
from engine.datasets.shapes.cloths import CLOTHS
from engine.datasets.shapes.primitives import Rng, along, cylinder, icosphere, placed
from engine.datasets.shapes.solids import SOFT
from engine.geometry.modes import (
    CORNERS,
    EigenModes,
    ModalPoser,
    VoxelCage,
    _shape_gradients,
    build_cage,
    eigenmodes,
    polar_rotation,
)
from engine.geometry.surface import face_normals_and_areas
from engine.geometry.welding import vertex_components

Arrays = tuple[Float[np.ndarray, "n 3"], Int[np.ndarray, "m 3"]]
# Limbs and bodies that bend: drawn more often than stiffer things.
SUPPLE = (
    "plush",
    "blob",
    "tentacled",
    "tube",
    "banana",
    "elephant",
    "dinosaur",
    "dog",
    "bunny",
    "doll",
    "teddy",
    "fish",
)
HELD_CELLS = 1.05  # a held layer contains one whole layer of cubes: what lies in it does not move at all
SMALLEST_JACOBIAN = 0.12  # volume ratio of a cube's corner below which a pose counts as nearly inverted
LARGEST_TURN = np.deg2rad(145.0)
MOST_CUBES = 600  # more take long to factor and bend no differently
X_AXIS = np.array([1.0, 0.0, 0.0])


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a pose may reach.

    Attributes:
        turn: largest angle between the most turned ends [rad].
        strain: largest strain of nearly all elements.
        local: largest turn of one element from the rest [rad].
    """

    turn: float
    strain: float
    local: float


SOLID_BOUNDS = Bounds(np.deg2rad(110.0), 0.4, np.deg2rad(120.0))
SHEET_BOUNDS = Bounds(np.deg2rad(120.0), 0.35, np.deg2rad(105.0))


def soft_body(
    rng: Rng, *, frames: int, shape: Arrays | None = None, name: str = "", source: Source | None = None
) -> Motion:
    """Return a soft solid that bends: free, or held at its base or at one end.

    Args:
        rng: draws the shape, the decorations (eyes, buttons; in a third of cases), the support and the frames.
        frames: frame 0 is the rest shape.
        shape: vertices and faces of a closed mesh to bend, any unit; a shape of `SOFT` where not given.
        name: what the given shape is called; it becomes the family's name.
        source: where the given shape comes from.

    Raises:
        ValueError: the cage falls into pieces, no pose without inverted cubes was found, or nothing moved.
    """
    if shape is None:
        names = list(SOFT)
        weights = np.array([3.0 if n in SUPPLE else 1.0 for n in names])
        name = str(rng.choice(names, p=weights / weights.sum()))
        shape = _decorated(SOFT[name](rng), rng)
    support = str(rng.choice(["free", "base", "end"], p=[0.45, 0.35, 0.2]))
    return _bend(shape, rng, frames=frames, family=f"elastic/{name or 'given'}", support=support, source=source)


def sheet(
    rng: Rng, *, frames: int, shape: Arrays | None = None, name: str = "", source: Source | None = None
) -> Motion:
    """Return a cloth or garment that bends: free, or held at its upper edge, at one end or by a rod.

    Arguments and errors are those of `soft_body`; shapes are drawn from `CLOTHS`. Flat cloths mostly hang.
    """
    support = str(rng.choice(["free", "top", "end"], p=[0.45, 0.35, 0.2]))
    if shape is None:
        name = str(rng.choice(list(CLOTHS)))
        mesh = CLOTHS[name](rng)
        vertices, faces = np.asarray(mesh.vertices), np.asarray(mesh.faces)
        if np.ptp(vertices[:, 2]) < 1e-6:
            vertices = _hung(vertices, rng, support)
        if support == "top" and name in ("towel", "blanket", "curtain") and rng.random() < 0.6:
            wide, high = np.ptp(vertices[:, 0]), vertices[:, 2].max()
            rod = along(cylinder(rng.uniform(0.015, 0.04), wide * rng.uniform(1.0, 1.2), sections=12), -X_AXIS, X_AXIS)
            rod = placed(rod, (0, 0, high))
            faces = np.concatenate((faces, rod.faces + len(vertices)))
            vertices = np.concatenate((vertices, rod.vertices))
        shape = vertices, faces
    return _bend(
        shape, rng, frames=frames, family=f"cloth/{name or 'given'}", support=support, source=source, thin=True
    )


def _hung(vertices: Float[np.ndarray, "n 3"], rng: Rng, support: str) -> Float[np.ndarray, "n 3"]:
    """Return a flat cloth with a soft ripple, most of those that are held turned upright."""
    x, y, _ = vertices.T
    ripple = rng.uniform(0, 0.05) * np.sin(rng.uniform(3, 18) * x + rng.uniform(-6, 6) * y + rng.uniform(0, 6))
    ripple = ripple + rng.uniform(-0.3, 0.3) * x**2 * (rng.random() < 0.4)
    if support == "top" or rng.random() < 0.4:
        return np.column_stack((x, -ripple, y))
    return np.column_stack((x, y, ripple))


def _decorated(body: trimesh.Trimesh, rng: Rng) -> Arrays:
    """Return a body, in a third of cases with balls half sunk into it: eyes, a nose, buttons, bobbles."""
    parts = [body]
    if rng.random() < 0.35:
        radius = 0.04 * float(body.extents.max())
        for spot in rng.choice(len(body.vertices), int(rng.integers(1, 8))):
            ball = icosphere(subdivisions=1, radius=radius * rng.uniform(0.5, 1.3))
            parts.append(placed(ball, body.vertices[spot]))
    return _joined(parts)


def _joined(parts: list[trimesh.Trimesh]) -> Arrays:
    """Return the vertices and faces of meshes put side by side."""
    offsets = np.cumsum([0, *[len(p.vertices) for p in parts]])
    faces = [np.asarray(p.faces) + o for p, o in zip(parts, offsets, strict=False)]
    return np.concatenate([np.asarray(p.vertices) for p in parts]), np.concatenate(faces)


def _bend(
    mesh: Arrays,
    rng: Rng,
    *,
    frames: int,
    family: str,
    support: str,
    source: Source | None,
    thin: bool = False,
) -> Motion:
    vertices, faces = np.asarray(mesh[0], dtype=np.float64), np.asarray(mesh[1], dtype=np.int64)
    centre, size = 0.5 * (vertices.min(0) + vertices.max(0)), float(np.ptp(vertices, axis=0).max())
    if not np.isfinite(size) or size <= 0:
        raise ValueError(f"a shape of finite size was wanted, its longest side is {size}")
    unit = (vertices - centre) / size
    modes = _modes(unit, faces, rng, support=support, thin=thin)
    poser, bounds = ModalPoser(modes), SHEET_BOUNDS if thin else SOLID_BOUNDS
    interpolation = modes.cage.interpolation()
    rest_normals, _ = face_normals_and_areas(unit, faces)
    positions = np.tile(unit.astype(np.float32), (frames, 1, 1))
    rotations = np.tile(np.array([1, 0, 0, 0], dtype=np.float32), (frames, len(unit), 1))
    free = not modes.fixed.any()
    for i in range(1, frames):
        amplitudes = _amplitudes(poser, rng, bounds)
        for _ in range(9):
            nodes, node_turns = poser.pose(amplitudes)
            if _keeps_volume(modes.cage, nodes):
                surface = np.asarray(interpolation @ nodes)
                turns = _nearest_rotations(np.asarray(interpolation @ node_turns.reshape(-1, 9)).reshape(-1, 3, 3))
                if free:
                    # Free bodies are laid over their rest shape: which way the whole turned says nothing about bending.
                    back = polar_rotation(turns.mean(0)).T
                    surface, turns = (surface - surface.mean(0)) @ back.T + unit.mean(0), back @ turns
                if _turned_little(turns) and _unflipped(surface, turns, faces, rest_normals):
                    break
            amplitudes = 0.75 * amplitudes
        else:
            raise ValueError(f"{family}: no pose without inverted cubes or triangles was found for frame {i}")
        positions[i] = surface
        rotations[i] = Rotation.from_matrix(turns).as_quat(scalar_first=True)
    if frames > 1 and not np.abs(positions - positions[0]).max() > 0.02:
        raise ValueError(f"{family}: nothing moved by more than a fiftieth of the size")
    world = (positions * np.float32(size) + centre.astype(np.float32)).astype(np.float32)
    return Motion(
        family,
        faces.astype(np.int32),
        vertex_components(faces, len(vertices)),
        world,
        rotations,
        fixed=not free,
        source=source or Source(),
        name=family.split("/")[1] if source else "",
    )


def _modes(
    unit: Float[np.ndarray, "n 3"], faces: Int[np.ndarray, "m 3"], rng: Rng, *, support: str, thin: bool
) -> EigenModes:
    """Return modes of the first cage that holds together: cubes that touch in an edge make a hinge."""
    first = int(rng.integers(12, 17)) if thin else int(rng.integers(9, 14))
    way = np.array([0.0, 0.0, 1.0])
    if support == "end":
        way = np.eye(3)[np.ptp(unit, axis=0).argmax()] * rng.choice([-1.0, 1.0])
    depth, error = rng.uniform(0.04, 0.15), ValueError("no cage was built")
    for resolution in (first, first - 2, first - 4, first + 3, first - 5):
        cage = build_cage(unit, faces, resolution=resolution, solid=not thin)
        if len(cage.elements) > MOST_CUBES:
            error = ValueError(
                f"a cage of {len(cage.elements)} cubes at resolution {resolution}, more than {MOST_CUBES}"
            )
            continue
        try:
            return eigenmodes(cage, count=14, fixed=_held(cage, support, way, depth))
        except ValueError as caught:
            error = caught
    raise error


def _held(cage: VoxelCage, support: str, way: Float[np.ndarray, "3"], depth: float) -> Bool[np.ndarray, " c"] | None:
    """Return the nodes of the held layer: below for a base, above for what hangs, at the end of ``way`` otherwise."""
    if support == "free":
        return None
    height = cage.nodes @ (-way if support == "base" else way)
    thickness = max(depth * float(np.ptp(height)), HELD_CELLS * cage.pitch)
    return height > height.max() - thickness


def _amplitudes(poser: ModalPoser, rng: Rng, bounds: Bounds) -> Float[np.ndarray, " k"]:
    """Draw modal amplitudes: one mode alone, or several with the softer ones larger, scaled towards the bounds."""
    frequencies = poser.modes.frequencies
    k = len(frequencies)
    if rng.random() < 0.45:
        amplitudes = np.zeros(k)
        amplitudes[int(rng.integers(min(k, 7)))] = rng.choice([-1.0, 1.0])
    else:
        amplitudes = rng.normal(size=k) * (frequencies[0] / frequencies) ** 1.3
        amplitudes *= rng.random(k) < rng.choice([0.25, 0.5, 1.0])
        if not amplitudes.any():
            amplitudes[rng.integers(k)] = 1.0
    gradient = np.einsum("k,kedb->edb", amplitudes, poser.gradients)
    skew = 0.5 * (gradient - gradient.transpose(0, 2, 1))
    turn = np.stack((skew[:, 2, 1], skew[:, 0, 2], skew[:, 1, 0]), -1)
    away = turn if poser.modes.fixed.any() else turn - turn.mean(0)
    largest = float(np.quantile(np.linalg.norm(away, axis=1), 0.98))
    # The ends of a free body turn to opposite sides.
    ends = largest if poser.modes.fixed.any() else 2.0 * largest
    strain = float(np.quantile(np.linalg.norm(gradient - skew, axis=(1, 2)), 0.97))
    limit = min(bounds.turn / max(ends, 1e-9), bounds.local / max(largest, 1e-9), bounds.strain / max(strain, 1e-9))
    # Large poses are the rare and the telling ones: the law leans towards the limit.
    return amplitudes * limit * rng.uniform(0.15, 1.0) ** 0.6


def _nearest_rotations(matrices: Float[np.ndarray, "n 3 3"]) -> Float[np.ndarray, "n 3 3"]:
    """Return the rotations nearest to means of similar rotations, by Newton-Schulz steps instead of decompositions."""
    turns = matrices
    for _ in range(7):
        turns = 1.5 * turns - 0.5 * turns @ (turns.transpose(0, 2, 1) @ turns)
    if np.abs(turns.transpose(0, 2, 1) @ turns - np.eye(3)).max() > 1e-6:
        return polar_rotation(matrices)
    return turns


# Gradients of the shape functions near the eight corners of a cube of edge 1.
CORNER_GRADIENTS = np.stack([_shape_gradients(0.5 + 0.9 * (corner - 0.5), 1.0) for corner in CORNERS])


def _keeps_volume(cage: VoxelCage, nodes: Float[np.ndarray, "c 3"]) -> bool:
    """Return whether all cubes keep a part of their volume near all corners."""
    gradient = np.einsum("ead,cab->ecdb", nodes[cage.elements], CORNER_GRADIENTS / cage.pitch)
    return bool(np.linalg.det(gradient).min() > SMALLEST_JACOBIAN)


def _turned_little(turns: Float[np.ndarray, "n 3 3"]) -> bool:
    """Return whether no vertex turned by more than `LARGEST_TURN` from the rest."""
    return bool(np.trace(turns, axis1=1, axis2=2).min() > 1.0 + 2.0 * np.cos(LARGEST_TURN))


def _unflipped(
    surface: Float[np.ndarray, "n 3"],
    turns: Float[np.ndarray, "n 3 3"],
    faces: Int[np.ndarray, "m 3"],
    rest_normals: Float[np.ndarray, "m 3"],
) -> bool:
    """Return whether no triangle shows its back to where its corners' rotations say that it faces."""
    normals, _ = face_normals_and_areas(surface, faces)
    expected = np.einsum("mij,mj->mi", turns[faces].mean(1), rest_normals)
    return bool(np.einsum("mi,mi->m", normals, expected).min() > 0.0)
