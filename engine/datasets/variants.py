"""Coarser surfaces of the same object: decimated and remeshed copies that move as the original does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import cast

import numpy as np
import trimesh
from jaxtyping import Float, Int
from scipy.spatial import KDTree
from scipy.spatial.transform import Rotation

from engine.datasets.motion import Motion
from engine.geometry.welding import has_area, number_by_first, vertex_components

VARIANTS = ("decimated", "remeshed")


def make_variant(motion: Motion, variant: str, rng: np.random.Generator) -> Motion:
    """Return the motion of a decimated or remeshed copy of the surface.

    Raises:
        ValueError: too little of the surface is left.
    """
    rest = motion.positions[0].astype(np.float64)
    if variant == "decimated":
        share = rng.uniform(0.12, 0.5)
        goal = max(int(share * len(motion.faces)), 60)
        vertices, faces = decimate(rest, motion.faces, goal)
    else:
        vertices, faces = cluster(rest, motion.faces, rng, cells=int(rng.integers(16, 32)))
    if len(faces) < 20:
        raise ValueError(f"the {variant} surface has {len(faces)} triangles")
    return carried(motion, vertices, faces)


def decimate(
    vertices: Float[np.ndarray, "n 3"], faces: Int[np.ndarray, "m 3"], goal: int
) -> tuple[Float[np.ndarray, "k 3"], Int[np.ndarray, "l 3"]]:
    """Return the surface with about ``goal`` triangles, by quadric error (Garland and Heckbert 1997)."""
    mesh = trimesh.Trimesh(vertices, faces, process=False)
    coarse = mesh.simplify_quadric_decimation(face_count=min(goal, len(faces)))
    return _used(np.asarray(coarse.vertices, dtype=np.float64), np.asarray(coarse.faces))


def cluster(
    vertices: Float[np.ndarray, "n 3"], faces: Int[np.ndarray, "m 3"], rng: np.random.Generator, *, cells: int
) -> tuple[Float[np.ndarray, "k 3"], Int[np.ndarray, "l 3"]]:
    """Return the surface cut fine and joined again cell by cell of a grid laid at random: rounder edges, new triangles.

    Components stay apart. ``cells`` is the number of cells along the longest side.
    """
    pitch = float(np.ptp(vertices, 0).max()) / cells
    component = vertex_components(faces, len(vertices))
    cut = trimesh.remesh.subdivide_to_size(vertices, faces, 0.7 * pitch, max_iter=8, return_index=True)
    fine, fine_faces, origin = cast("tuple[np.ndarray, np.ndarray, np.ndarray]", cut)
    fine, fine_faces = np.asarray(fine), np.asarray(fine_faces)
    owner = np.zeros(len(fine), dtype=np.int64)
    owner[fine_faces.ravel()] = np.repeat(component[faces[np.asarray(origin), 0]], 3)
    cell = np.floor((fine @ Rotation.random(rng=rng).as_matrix().T + rng.random(3) * pitch) / pitch).astype(np.int64)
    cell -= cell.min(0)
    extent = cell.max(0) + 1
    number = ((owner * extent[0] + cell[:, 0]) * extent[1] + cell[:, 1]) * extent[2] + cell[:, 2]
    label, _ = number_by_first(number)
    count = np.bincount(label)
    centre = np.stack([np.bincount(label, fine[:, d]) / count for d in range(3)], -1)
    joined = label[fine_faces]
    whole = (joined[:, 0] != joined[:, 1]) & (joined[:, 1] != joined[:, 2]) & (joined[:, 2] != joined[:, 0])
    joined = joined[whole]
    _, first = np.unique(np.sort(joined, axis=1), axis=0, return_index=True)
    return _used(centre, joined[np.sort(first)])


def carried(motion: Motion, vertices: Float[np.ndarray, "k 3"], faces: Int[np.ndarray, "l 3"]) -> Motion:
    """Return the motion of another surface, each vertex following the nearest place on the original.

    A vertex keeps its offset from that place, turned with it, so that the copy's rest shape is exact. It follows the
    component that most of its own piece lies on, however close another one is.
    """
    rest = motion.positions[0].astype(np.float64)
    chosen = np.zeros(len(vertices), dtype=np.int64)
    weight = np.zeros((len(vertices), 3))
    owner = motion.component[motion.faces[:, 0]]
    for piece, mine in _pieces(motion, vertices, faces):
        triangles = np.flatnonzero(owner == piece)
        near, weight[mine] = _nearest(vertices[mine], rest[motion.faces[triangles]])
        chosen[mine] = triangles[near]
    corners = motion.faces[chosen]
    nearest = corners[np.arange(len(corners)), weight.argmax(-1)]
    offset = vertices - np.einsum("kc,kcd->kd", weight, rest[corners])
    first = Rotation.from_quat(motion.rotations[0][nearest], scalar_first=True).inv()
    positions = np.zeros((len(motion.positions), len(vertices), 3), dtype=np.float32)
    rotations = np.zeros((len(motion.positions), len(vertices), 4), dtype=np.float32)
    for i, (frame, turn) in enumerate(zip(motion.positions, motion.rotations, strict=True)):
        here = Rotation.from_quat(turn[nearest], scalar_first=True)
        along = np.einsum("kc,kcd->kd", weight, frame[corners].astype(np.float64))
        positions[i] = along + (here * first).apply(offset)
        rotations[i] = here.as_quat(scalar_first=True)
    return replace(
        motion,
        faces=faces.astype(np.int32),
        component=motion.component[nearest],
        positions=positions,
        rotations=rotations,
        part=None if motion.part is None else motion.part[nearest],
    )


def _pieces(
    motion: Motion, vertices: Float[np.ndarray, "k 3"], faces: Int[np.ndarray, "l 3"]
) -> Iterator[tuple[int, Int[np.ndarray, " j"]]]:
    """Yield a component of the original and the vertices of the copy that follow it."""
    label = vertex_components(faces, len(vertices))
    near = motion.component[KDTree(motion.positions[0]).query(vertices)[1]]
    votes = np.zeros((int(label.max()) + 1, int(motion.component.max()) + 1), dtype=np.int64)
    np.add.at(votes, (label, near), 1)
    follows = votes.argmax(1)[label]
    for piece in np.unique(follows):
        yield int(piece), np.flatnonzero(follows == piece)


def _nearest(
    points: Float[np.ndarray, "j 3"], triangles: Float[np.ndarray, "m 3 3"]
) -> tuple[Int[np.ndarray, " j"], Float[np.ndarray, "j 3"]]:
    """Return the triangle nearest to each point, and the barycentric weights of the nearest place on it."""
    near = KDTree(triangles.mean(1)).query(points, k=min(12, len(triangles)))[1].reshape(len(points), -1)
    flat = np.repeat(points, near.shape[1], 0)
    closest = trimesh.triangles.closest_point(triangles[near.ravel()], flat).reshape(*near.shape, 3)
    row = np.arange(len(points))
    best = np.linalg.norm(closest - points[:, None], axis=-1).argmin(1)
    chosen = near[row, best]
    weight = trimesh.triangles.points_to_barycentric(triangles[chosen], closest[row, best], method="cross")
    weight = np.clip(np.nan_to_num(weight, nan=1 / 3), 0, 1)
    return chosen, weight / weight.sum(-1, keepdims=True)


def _used(
    vertices: Float[np.ndarray, "n 3"], faces: Int[np.ndarray, "m 3"]
) -> tuple[Float[np.ndarray, "k 3"], Int[np.ndarray, "l 3"]]:
    """Return the surface without triangles that have no area, and without the vertices that no triangle uses."""
    faces = faces[has_area(vertices, faces, float(np.linalg.norm(np.ptp(vertices, 0))))]
    kept = np.unique(faces)
    number = np.full(len(vertices), -1)
    number[kept] = np.arange(len(kept))
    return vertices[kept], number[faces]
