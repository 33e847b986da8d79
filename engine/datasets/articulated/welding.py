"""Articulated objects as one closed skin over all the parts, as scanned or modelled files often are.

The skin is the zero level of the union of the parts' signed distances, cut by narrow gaps where parts touch that no
joint connects there, and bridged at the joints; it follows the parts by dual quaternion skinning (Kavan et al. 2007)
that blends only in a narrow band at the joints.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import trimesh
from jaxtyping import Float, Int
from scipy.ndimage import map_coordinates
from scipy.spatial import KDTree
from scipy.spatial.transform import Rotation
from skimage.measure import marching_cubes

from engine.datasets.articulated.assembly import Assembly, draw_coordinates, world_motion
from engine.datasets.articulated.contacts import Contact, contacts_of, union_of_parts
from engine.datasets.articulated.mesh_field import Grid, Surface, signed_distance, surface_of_part
from engine.datasets.motion import Motion
from engine.datasets.shapes.primitives import Rng

RIGID_WEIGHT = 0.98
MOST_VERTICES = 8_000
LARGEST_GRID = 2_500_000
MOST_GLUED_EDGES = 4


@dataclass(frozen=True, slots=True)
class Welded:
    """One skin over the parts in a starting pose.

    Attributes:
        vertices: shape (n, 3), in the starting pose.
        faces: shape (m, 3).
        weights: share of each part in each vertex, shape (n, p), each row sums to 1.
        start: joint coordinates of the starting pose.
    """

    vertices: Float[np.ndarray, "n 3"]
    faces: Int[np.ndarray, "m 3"]
    weights: Float[np.ndarray, "n p"]
    start: Float[np.ndarray, " j"]


def sweep_welded(assembly: Assembly, rng: Rng, *, frames: int, family: str) -> Motion:
    """Return frames of the object as one closed skin, its joints moved one by one and together.

    Frame 0 is the pose in which the skin was made: lids and doors, whose joints turn one way only, stand open there.

    Raises:
        ValueError: if a joint slides, or the parts do not make one closed surface.
    """
    if assembly.slides:
        raise ValueError(f"{family}: slides cannot be welded")
    skin = _weld_somehow(assembly, rng, family)
    coordinates = draw_coordinates(assembly, rng, frames=frames, start=skin.start)
    poses = assembly.poses(coordinates) @ np.linalg.inv(assembly.poses(skin.start[None]))
    positions, rotations = _skinned(skin, poses, assembly.parents)
    whole = world_motion(assembly, rng, frames=frames)
    positions = positions @ whole[:, :3, :3].swapaxes(1, 2) + whole[:, None, :3, 3]
    turns = Rotation.from_matrix(np.repeat(whole[:, :3, :3], len(skin.vertices), axis=0))
    local = Rotation.from_quat(rotations.reshape(-1, 4), scalar_first=True)
    dominant = skin.weights.argmax(1)
    return Motion(
        f"articulated/{family}",
        skin.faces.astype(np.int32),
        np.zeros(len(skin.vertices), dtype=np.int32),
        positions.astype(np.float32),
        (turns * local).as_quat(scalar_first=True).reshape(rotations.shape).astype(np.float32),
        fixed=assembly.fixed,
        part=np.where(skin.weights.max(1) > RIGID_WEIGHT, dominant, -1).astype(np.int32),
    )


def _weld_somehow(assembly: Assembly, rng: Rng, family: str) -> Welded:
    """Return the skin in a first pose that gives one; a finer grid helps where thin parts broke."""
    reason = ""
    for factor in (1.0, 1.7, 2.8):
        target = int(factor * (1500 + 60 * len(assembly.parts)))
        try:
            return weld(assembly, rng, start=_open_pose(assembly, rng), vertex_target=target)
        except ValueError as error:
            reason = str(error)
    raise ValueError(f"{family}: {reason}")


def _open_pose(assembly: Assembly, rng: Rng) -> Float[np.ndarray, " j"]:
    """Return a pose in which what turns one way only stands open, so that it touches its frame at the hinge alone."""
    low, high = assembly.limits
    one_way = np.minimum(-low, high) < 0.05 * np.maximum(-low, high)
    far = np.where(high > -low, high, low)
    # One share for all keeps the leaves of a book, or a seat and its cover, in their order.
    return np.where(one_way, far * rng.uniform(0.4, 0.75), 0.0)


def weld(assembly: Assembly, rng: Rng, *, start: Float[np.ndarray, " j"], vertex_target: int) -> Welded:
    """Return one skin of about ``vertex_target`` vertices over the parts at the joint coordinates ``start``.

    Raises:
        ValueError: if the parts do not make one closed surface, or one lies wholly inside another.
    """
    poses = assembly.poses(start[None])[0]
    groups = [
        [mesh.copy().apply_transform(pose) for mesh in group] for group, pose in zip(assembly.parts, poses, strict=True)
    ]
    area = sum(float(mesh.area) for group in groups for mesh in group)
    bounds = np.concatenate([mesh.bounds for group in groups for mesh in group])
    extent = np.ptp(bounds, axis=0)
    # Marching cubes gives about one and a third vertices for each square of the grid that the surface covers.
    pitch = max(float(np.sqrt(1.3 * area / vertex_target)), float((extent.prod() / LARGEST_GRID) ** (1 / 3)))
    surfaces = [surface_of_part(group, rng, pitch=pitch) for group in groups]
    low = bounds.min(0) - pitch * (4 + rng.random(3))
    nx, ny, nz = (int(n) + 6 for n in np.ceil((bounds.max(0) - low) / pitch))
    grid = Grid(low, pitch, (nx, ny, nz))
    fields = np.stack([signed_distance(surface, grid) for surface in surfaces])
    contacts = contacts_of(assembly, poses, surfaces, fields, grid)
    field = union_of_parts(fields, contacts, grid)
    if field.min() >= 0:
        raise ValueError("no surface")
    vertices, faces, _, _ = marching_cubes(field, 0.0, spacing=(pitch,) * 3)
    mesh = _one_piece(trimesh.Trimesh(vertices + low, faces, process=True))
    vertices = np.asarray(mesh.vertices)
    # The fields that were cut apart say whose a vertex is; distances from the surfaces, which are thinner, would not.
    steps = ((vertices - low) / pitch).T
    owners = np.argmin([map_coordinates(field, steps, order=1) for field in fields], axis=0)
    weights = _weights(vertices, owners, _exposed(surfaces, fields, grid), contacts, pitch=pitch)
    if len(np.unique(owners)) < len(surfaces):
        raise ValueError(f"{len(surfaces) - len(np.unique(owners))} parts are lost in the skin")
    _check_unglued(vertices, owners, np.asarray(mesh.edges_unique), contacts, pitch=pitch)
    return Welded(vertices, np.asarray(mesh.faces), weights, start)


def _check_unglued(
    vertices: Float[np.ndarray, "n 3"],
    owners: Int[np.ndarray, " n"],
    edges: Int[np.ndarray, "e 2"],
    contacts: list[Contact],
    *,
    pitch: float,
) -> None:
    """Raise ValueError if the skin runs on from one part to another where they are not joined."""
    edges = edges[owners[edges[:, 0]] != owners[edges[:, 1]]]
    glued = np.ones(len(edges), dtype=bool)
    middle = vertices[edges].mean(1)
    ends = np.sort(owners[edges], axis=1)
    for contact in contacts:
        rows = (ends == sorted((contact.one, contact.other))).all(1)
        glued[rows] &= ~contact.connects(middle[rows], margin=1.5 * pitch)
    if glued.sum() > MOST_GLUED_EDGES:
        pairs, counts = np.unique(ends[glued], axis=0, return_counts=True)
        raise ValueError(f"parts {pairs[counts.argmax()].tolist()} are glued together")


def _one_piece(mesh: trimesh.Trimesh) -> trimesh.Trimesh:
    """Return the largest piece without its crumbs, its stair steps smoothed.

    Raises:
        ValueError: if what is left out is more than crumbs, or the surface is not closed, or it is too large.
    """
    labels = trimesh.graph.connected_component_labels(mesh.face_adjacency, len(mesh.faces))
    # Hollows inside are inside out: their volume is negative, and nobody misses them.
    volumes = np.bincount(
        labels, np.einsum("md,md->m", mesh.triangles[:, 0], np.cross(*mesh.triangles[:, 1:].swapaxes(0, 1)))
    )
    counts = np.where(volumes > 0, np.bincount(labels), 0)
    if counts.max() < 0.94 * counts.sum():
        raise ValueError(f"the parts make {(counts > 0).sum()} pieces, not one")
    mesh.update_faces(labels == counts.argmax())
    mesh.remove_unreferenced_vertices()
    if not mesh.is_watertight or len(mesh.vertices) > MOST_VERTICES:
        raise ValueError(f"the skin is not closed, or has too many vertices ({len(mesh.vertices)})")
    return trimesh.smoothing.filter_taubin(mesh, lamb=0.5, nu=0.53, iterations=6)


def _exposed(surfaces: list[Surface], fields: Float[np.ndarray, "p x y z"], grid: Grid) -> list[KDTree]:
    """Return the samples of each part that lie in no other part: those that are buried do not pull at the skin.

    Raises:
        ValueError: if a part has none.
    """
    trees = []
    for part, surface in enumerate(surfaces):
        cells = np.rint((surface.points - grid.low) / grid.pitch).astype(int)
        buried = fields[:, *cells.T] <= -0.25 * grid.pitch
        buried[part] = False
        free = ~buried.any(0)
        if not free.any():
            raise ValueError(f"part {part} has no surface of its own")
        trees.append(KDTree(surface.points[free]))
    return trees


def _weights(
    vertices: Float[np.ndarray, "n 3"],
    owners: Int[np.ndarray, " n"],
    surfaces: list[KDTree],
    contacts: list[Contact],
    *,
    pitch: float,
) -> Float[np.ndarray, "n p"]:
    """Return the share of each part in each vertex: all to its owner, except in a narrow band around joints."""
    far = 6 * pitch
    distance = np.stack([tree.query(vertices, distance_upper_bound=far)[0] for tree in surfaces], -1)
    distance = np.minimum(distance, far)
    own = distance[np.arange(len(vertices)), owners]
    result = np.zeros_like(distance)
    result[np.arange(len(vertices)), owners] = 1.0
    band = 1.7 * pitch
    for contact in contacts:
        zone = contact.connects(vertices)
        for one, other in ((contact.one, contact.other), (contact.other, contact.one)):
            rows = zone & (owners == one)
            share = np.clip(1 - (distance[rows, other] - own[rows]) / band, 0, 1)
            result[rows, other] = share**2 * (3 - 2 * share)
    return result / result.sum(1, keepdims=True)


def _skinned(
    skin: Welded, poses: Float[np.ndarray, "f p 4 4"], parents: list[int]
) -> tuple[Float[np.ndarray, "f n 3"], Float[np.ndarray, "f n 4"]]:
    """Return positions and rotations of the skin when the parts have moved by ``poses``."""
    frames, parts = poses.shape[:2]
    turn = (
        Rotation.from_matrix(poses[..., :3, :3].reshape(-1, 3, 3)).as_quat(scalar_first=True).reshape(frames, parts, 4)
    )
    for part, parent in enumerate(parents):
        if parent >= 0:
            # Of the two quaternions of a rotation the one on the parent's side, so that blends take the short way.
            turn[:, part] *= np.where((turn[:, part] * turn[:, parent]).sum(-1, keepdims=True) < 0, -1.0, 1.0)
    shift = np.concatenate((np.zeros((frames, parts, 1)), poses[..., :3, 3]), -1)
    real = np.einsum("np,fpq->fnq", skin.weights, turn)
    dual = np.einsum("np,fpq->fnq", skin.weights, 0.5 * _product(shift, turn))
    norm = np.linalg.norm(real, axis=-1, keepdims=True)
    real, dual = real / norm, dual / norm
    conjugate = real * np.array([1.0, -1.0, -1.0, -1.0])
    point = np.concatenate((np.zeros((len(skin.vertices), 1)), skin.vertices), -1)[None]
    moved = _product(_product(real, point), conjugate) + 2 * _product(dual, conjugate)
    return moved[..., 1:], real


def _product(a: Float[np.ndarray, "*k 4"], b: Float[np.ndarray, "*l 4"]) -> Float[np.ndarray, "*m 4"]:
    """Return the Hamilton product of quaternions (w, x, y, z)."""
    scalar = a[..., :1] * b[..., :1] - (a[..., 1:] * b[..., 1:]).sum(-1, keepdims=True)
    vector = a[..., :1] * b[..., 1:] + b[..., :1] * a[..., 1:] + np.cross(a[..., 1:], b[..., 1:])
    return np.concatenate((scalar, vector), -1)
