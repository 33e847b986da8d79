"""Mass of an object on a fixed set of points, each an affine combination of surface samples.

A surface sample carries no mass of its own; a solid has interior points, a sheet has its samples. Their masses are
corrected so that total mass, centre and inertia are those of the mesh itself, so ``W`` is constant and exact at rest.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from engine.geometry.modes import build_cage
from engine.geometry.surface import face_normals_and_areas


@dataclass(frozen=True, slots=True)
class MassPoints:
    """Points that carry mass, as combinations of the surface samples.

    Attributes:
        combination: rows sum to one; maps sample positions to mass points, shape (m, p).
        mass: share of the total mass of each point, shape (m,), sum 1.
        measure: volume of a solid, or area of an open surface, unit frame.
    """

    combination: Float[np.ndarray, "m p"]
    mass: Float[np.ndarray, " m"]
    measure: float


def volume_moments(
    vertices: Float[np.ndarray, "n 3"], faces: Int[np.ndarray, "m 3"]
) -> tuple[float, Float[np.ndarray, "3"], Float[np.ndarray, "3 3"]]:
    """Return volume, first and second moments (integrals of 1, x, x x^T) of the inside of a closed surface."""
    a, b, c = vertices[faces[:, 0]], vertices[faces[:, 1]], vertices[faces[:, 2]]
    volume = np.einsum("md,md->m", a, np.cross(b, c)) / 6
    total = a + b + c
    first = np.einsum("m,md->d", volume, total) / 4
    second = sum(np.einsum("m,mi,mj->ij", volume, x, x) for x in (a, b, c, total)) / 20
    return float(volume.sum()), first, np.asarray(second)


def area_moments(
    vertices: Float[np.ndarray, "n 3"], faces: Int[np.ndarray, "m 3"]
) -> tuple[float, Float[np.ndarray, "3"], Float[np.ndarray, "3 3"]]:
    """Return area, first and second moments (integrals of 1, x, x x^T) of a surface."""
    _, area = face_normals_and_areas(vertices, faces)
    corners = [vertices[faces[:, i]] for i in range(3)]
    total = corners[0] + corners[1] + corners[2]
    first = np.einsum("m,md->d", area, total) / 3
    second = sum(np.einsum("m,mi,mj->ij", area, x, x) for x in (*corners, total)) / 12
    return float(area.sum()), first, np.asarray(second)


def _moment_rows(points: Float[np.ndarray, "m 3"]) -> Float[np.ndarray, "10 m"]:
    i, j = np.triu_indices(3)
    return np.concatenate((np.ones((1, len(points))), points.T, (points[:, i] * points[:, j]).T))


def _match(
    points: Float[np.ndarray, "m 3"], measure: float, first: np.ndarray, second: np.ndarray
) -> Float[np.ndarray, " m"]:
    """Return masses near uniform whose moments are the given ones."""
    rows = _moment_rows(points)
    wanted = np.concatenate(([1.0], first / measure, (second / measure)[np.triu_indices(3)]))
    mass = np.full(len(points), 1.0 / len(points))
    # Multiplicative correction keeps masses positive; a few Newton rounds reach the moments to rounding.
    for _ in range(12):
        gap = wanted - rows @ mass
        share = np.linalg.lstsq((rows * mass) @ rows.T, gap, rcond=1e-12)[0]
        mass = mass * np.maximum(1.0 + share @ rows, 0.2)
    return mass


def _interior(
    vertices: Float[np.ndarray, "n 3"], faces: Int[np.ndarray, "m 3"], count: int
) -> Float[np.ndarray, "i 3"]:
    """Return points spread through the inside: centres of filled cubes, thinned evenly."""
    cage = build_cage(vertices, faces, resolution=16)
    centres = cage.nodes[cage.elements].mean(1)
    if len(centres) <= count:
        return centres
    return centres[np.linspace(0, len(centres) - 1, count).round().astype(int)]


def build_mass_points(
    vertices: Float[np.ndarray, "n 3"],
    faces: Int[np.ndarray, "m 3"],
    samples: Float[np.ndarray, "p 3"],
    sample_component: Int[np.ndarray, " p"],
    face_component: Int[np.ndarray, " m"],
    *,
    solid: bool,
    interior_count: int = 96,
) -> MassPoints:
    """Place the mass of an object.

    Args:
        vertices: rest surface, unit frame.
        faces: its triangles.
        samples: surface samples, unit frame.
        sample_component: component of each sample; an interior point is tied to samples of one component only.
        face_component: component of each face.
        solid: the surface is closed and its inside has mass.
        interior_count: about how many interior points in all.
    """
    if not solid:
        measure, first, second = area_moments(vertices, faces)
        return MassPoints(np.eye(len(samples)), _match(samples, measure, first, second), measure)
    rows: list[np.ndarray] = []
    masses: list[np.ndarray] = []
    total = 0.0
    components = [c for c in np.unique(sample_component) if (sample_component == c).sum() >= 5]
    measures = {c: abs(volume_moments(vertices, faces[face_component == c])[0]) for c in components}
    for c in components:
        own = faces[face_component == c]
        mine = np.flatnonzero(sample_component == c)
        volume, first, second = volume_moments(vertices, own)
        if volume < 0:
            volume, first, second = -volume, -first, -second
        share = measures[c] / max(sum(measures.values()), 1e-30)
        points = _interior(vertices, own, max(12, round(interior_count * share)))
        mass = _match(points, max(volume, 1e-12), first, second)
        masses.append(mass * volume)
        total += volume
        rows.append(_affine(points, samples, mine, len(samples)))
    mass = np.concatenate(masses)
    return MassPoints(np.concatenate(rows), mass / mass.sum(), total)


def _affine(
    points: Float[np.ndarray, "m 3"], samples: Float[np.ndarray, "p 3"], allowed: Int[np.ndarray, " a"], width: int
) -> Float[np.ndarray, "m p"]:
    """Write each point as a combination of its nearest allowed samples, near inverse distance, exact at rest."""
    rows = np.zeros((len(points), width))
    nearest = min(24, len(allowed))
    for row, point in zip(rows, points, strict=True):
        distance = np.linalg.norm(samples[allowed] - point, axis=-1)
        pick = allowed[np.argsort(distance, kind="stable")[:nearest]]
        prior = 1.0 / (np.sort(distance, kind="stable")[:nearest] + 0.05) ** 2
        prior /= prior.sum()
        constraint = np.concatenate((np.ones((1, nearest)), samples[pick].T))
        gap = np.concatenate(([1.0], point)) - constraint @ prior
        row[pick] = prior + np.linalg.lstsq(constraint, gap, rcond=1e-9)[0]
    return rows
