"""Where the parts of an object are joined, and the union of their distance fields that is cut open everywhere else."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from engine.datasets.articulated.assembly import Assembly
from engine.datasets.articulated.mesh_field import BAND, Grid, Surface

Axis = tuple[Float[np.ndarray, "3"], Float[np.ndarray, "3"]]


@dataclass(frozen=True, slots=True)
class Contact:
    """Two parts that a skin may run across, near the axes of their joint.

    Attributes:
        one, other: numbers of the parts.
        axes: origin and direction of each axis, in the pose of the skin.
        reach: how far from an axis the parts grow together; infinite for flesh.
        bridges: pairs of points, one on each part, that a short rod joins where a gap is left, shape (b, 2, 3).
        thickness: radius of the rods.
    """

    one: int
    other: int
    axes: list[Axis]
    reach: float
    bridges: Float[np.ndarray, "b 2 3"]
    thickness: float

    def off_axis(self, points: Float[np.ndarray, "n 3"]) -> Float[np.ndarray, " n"]:
        """Return the distance of points from the nearest of the axes."""
        return _off_axis(points, self.axes)

    def connects(self, points: Float[np.ndarray, "n 3"], *, margin: float = 0.0) -> Bool[np.ndarray, " n"]:
        """Return which points lie where the parts may grow together, or no more than ``margin`` from there."""
        return (self.off_axis(points) < self.reach + margin) | (self.rods(points) < self.thickness + margin)

    def rods(self, points: Float[np.ndarray, "n 3"]) -> Float[np.ndarray, " n"]:
        """Return the signed distance of points from the bridges."""
        result = np.full(len(points), np.inf)
        for a, b in self.bridges:
            step = b - a
            share = np.clip((points - a) @ step / max(float(step @ step), 1e-12), 0, 1)
            result = np.minimum(result, np.linalg.norm(points - a - share[:, None] * step, axis=1) - self.thickness)
        return result


def contacts_of(
    assembly: Assembly,
    poses: Float[np.ndarray, "p 4 4"],
    surfaces: list[Surface],
    fields: Float[np.ndarray, "p x y z"],
    grid: Grid,
) -> list[Contact]:
    """Return the contacts of parts with their parents, and of parts that turn about one axis with each other."""
    result, pitch = [], grid.pitch
    axes = [
        [(pose[:3, :3] @ j.origin + pose[:3, 3], pose[:3, :3] @ j.axis) for j in joints]
        for joints, pose in zip(assembly.joints, poses, strict=True)
    ]
    reach = [np.inf if assembly.fleshy else max(2.0 * pitch, 1.4 * surface.radius) for surface in surfaces]
    none = np.zeros((0, 2, 3))
    for part, parent in enumerate(assembly.parents):
        if parent < 0:
            continue
        depth = np.maximum(fields[part], fields[parent])
        spread = _off_axis(grid.points(np.argwhere(depth < 0)), axes[part])
        # What lies in each other near the axis, such as a rod in its knuckle, grows together as a whole.
        near = max([*spread[spread < 1.8 * reach[part]], 0.0]) + pitch
        buried = _off_axis(grid.points(np.argwhere(depth < -0.3 * pitch)), axes[part]) < reach[part]
        siblings = [other for other in range(len(axes)) if other != part and assembly.parents[other] == parent]
        siblings = [s for s in siblings if _share_pin(axes[part][-1], axes[s][-1], surfaces[part], surfaces[s], pitch)]
        # Parts on one pin cut into each other's joint, so that each keeps its bridges.
        alone = buried.sum() >= 6 and not siblings
        bridges = none if alone else _bridges(surfaces[part], surfaces[parent], axes[part], pitch)
        result.append(Contact(part, parent, axes[part], max(reach[part], near), bridges, 0.9 * pitch))
        result += [Contact(part, other, axes[part], 3.0 * pitch, none, pitch) for other in siblings if other < part]
    return result


def union_of_parts(
    fields: Float[np.ndarray, "p x y z"], contacts: list[Contact], grid: Grid
) -> Float[np.ndarray, "x y z"]:
    """Return the union of the parts, with gaps where they touch unjoined, and with bridges where a joint has a gap."""
    far, gap = BAND * grid.pitch, 1.3 * grid.pitch
    result = fields.min(0)
    crowded = np.argwhere((result < far) & ((fields < result + gap).sum(0) > 1))
    points = grid.points(crowded)
    values = fields[:, *crowded.T]
    owner, own = values.argmin(0), values.min(0)
    connected = np.zeros((len(fields), len(points)), dtype=bool)
    for contact in contacts:
        zone = contact.connects(points)
        connected[contact.one] |= (owner == contact.other) & zone
        connected[contact.other] |= (owner == contact.one) & zone
    connected[owner, np.arange(len(points))] = True
    rival = np.where(connected, np.inf, values).min(0)
    result[tuple(crowded.T)] = np.where(np.isfinite(rival), np.maximum(own, gap - (rival - own)), own)
    for contact in contacts:
        for a, b in contact.bridges:
            _add_bridge(result, fields, contact, grid, a, b)
    return result


def _off_axis(points: Float[np.ndarray, "n 3"], axes: list[Axis]) -> Float[np.ndarray, " n"]:
    if not len(points):
        return np.zeros(0)
    return np.min([np.linalg.norm(np.cross(points - origin, axis), axis=1) for origin, axis in axes], axis=0)


def _share_pin(one: Axis, other: Axis, first: Surface, second: Surface, pitch: float) -> bool:
    """Return whether two parts turn about the same axis, within two cells, and sit on the same stretch of it."""
    origin, axis = one
    if abs(float(axis @ other[1])) < 0.99 or _off_axis(other[0][None], [one])[0] > 2.0 * pitch:
        return False
    spans = []
    for surface in (first, second):
        near = surface.points[_off_axis(surface.points, [one]) < 3.0 * pitch]
        if not len(near):
            return False
        spans.append(np.sort((near - origin) @ axis)[[0, -1]])
    return bool(min(spans[0][1], spans[1][1]) - max(spans[0][0], spans[1][0]) > 0.5 * pitch)


def _bridges(part: Surface, parent: Surface, axes: list[Axis], pitch: float) -> Float[np.ndarray, "b 2 3"]:
    """Return pairs of near points of a part and its parent, close to the axis: at both ends and in the middle of it."""
    gap, nearest = parent.tree.query(part.points)
    score = gap + 0.5 * _off_axis(part.points, axes)
    origin, axis = axes[-1]
    good = np.flatnonzero(score < score.min() + 1.5 * pitch)
    place = (part.points[good] - origin) @ axis
    ends = np.unique(good[[place.argmin(), place.argmax(), np.abs(place - place.mean()).argmin()]])
    return np.stack((part.points[ends], parent.points[nearest[ends]]), 1)


def _add_bridge(
    field: Float[np.ndarray, "x y z"],
    fields: Float[np.ndarray, "p x y z"],
    contact: Contact,
    grid: Grid,
    a: Float[np.ndarray, "3"],
    b: Float[np.ndarray, "3"],
) -> None:
    """Join a bridge to the field, in place, keeping clear of all parts but the two that it connects."""
    first = np.maximum(np.floor((np.minimum(a, b) - grid.low) / grid.pitch).astype(int) - 3, 0)
    last = np.ceil((np.maximum(a, b) - grid.low) / grid.pitch).astype(int) + 4
    box = tuple(slice(int(i), int(j)) for i, j in zip(first, last, strict=True))
    block = field[box]
    cells = np.argwhere(np.ones(block.shape, dtype=bool)) + first
    rod = contact.rods(grid.points(cells)).reshape(block.shape)
    others = [f[box] for part, f in enumerate(fields) if part not in (contact.one, contact.other)]
    if others:
        rod = np.maximum(rod, 0.8 * grid.pitch - np.min(others, axis=0))
    field[box] = np.minimum(block, rod)
