"""One-sided contact with Coulomb friction, between points of the object and planes or spheres of the world.

Contact is a stiff spring that starts a little before the surface, implicit in the step, so that a fall is caught within
one step without going through. Friction is lagged: the normal force of the last iterate bounds the tangential one. All
forces are written in the frame of each contact: two directions along the surface, then its outward normal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64, Int

from engine.scenes.colliders import Collider, Plane

# Angular frequency of the whole mass on one contact point [rad/s]: a fall at 4 m/s sinks by 0.2 % of size.
CONTACT_FREQUENCY = 260.0
# Contact starts this share of size above the surface, so what is drawn never goes through it.
MARGIN = 0.002
# Slip speed below which friction is viscous [m/s].
STICK_SPEED = 0.004
MOST_POINTS = 24


@dataclass(frozen=True, slots=True)
class Surfaces:
    """Surfaces to touch, one a row: all of the world's, or that of each contact point.

    Attributes:
        origin: a point of a plane, the centre of a sphere, world [m].
        normal: unit normal of a plane; (0, 0, 1) for a sphere, where a point lies at its very centre.
        radius: of a sphere [m]; 0 marks a plane.
        friction: Coulomb coefficient.
    """

    origin: Float64[np.ndarray, "k 3"]
    normal: Float64[np.ndarray, "k 3"]
    radius: Float64[np.ndarray, " k"]
    friction: Float64[np.ndarray, " k"]

    @staticmethod
    def of(colliders: Sequence[Collider], *, friction: float) -> Surfaces:
        """Return the surfaces of a world; ``friction`` where a collider leaves it to the object."""
        rows: list[tuple[Sequence[float], Sequence[float], float, float]] = []
        for thing in colliders:
            grip = friction if thing.friction is None else thing.friction
            if isinstance(thing, Plane):
                normal = np.array(thing.normal) / np.linalg.norm(thing.normal)
                rows.append((thing.point, normal.tolist(), 0.0, grip))
            else:
                rows.append((thing.centre, (0.0, 0.0, 1.0), thing.radius, grip))
        flat = np.array([[*o, *n, r, f] for o, n, r, f in rows], dtype=np.float64).reshape(-1, 8)
        return Surfaces(flat[:, :3], flat[:, 3:6], flat[:, 6], flat[:, 7])

    def __len__(self) -> int:
        """Return the number of surfaces."""
        return len(self.radius)

    def chosen(self, index: Int[np.ndarray, " c"]) -> Surfaces:
        """Return the surface of each contact."""
        return Surfaces(self.origin[index], self.normal[index], self.radius[index], self.friction[index])

    def gaps(self, places: Float64[np.ndarray, "c 3"]) -> tuple[Float64[np.ndarray, " c"], Float64[np.ndarray, "c 3"]]:
        """Return how far each place is outside its own surface [m], negative inside, and the normal there."""
        arms = places - self.origin
        distance = np.linalg.norm(arms, axis=-1)
        out = arms / np.maximum(distance, 1e-300)[:, None]
        round_one = (self.radius > 0) & (distance > 0)
        normal = np.where(round_one[:, None], out, self.normal)
        return np.where(round_one, distance, (arms * normal).sum(-1)) - self.radius, normal


def frames_of(normal: Float64[np.ndarray, "c 3"]) -> Float64[np.ndarray, "c 3 3"]:
    """Return for each unit normal the rows (along, across, normal); those of (0, 0, 1) are the world's axes."""
    z = normal[:, 2]
    # Duff et al., "Building an Orthonormal Basis, Revisited", 2017: no branch but the sign.
    sign = np.where(z >= 0, 1.0, -1.0)
    a = -1.0 / (sign + z)
    b = normal[:, 0] * normal[:, 1] * a
    along = np.stack((1.0 + sign * normal[:, 0] ** 2 * a, sign * b, -sign * normal[:, 0]), -1)
    across = np.stack((b, sign + normal[:, 1] ** 2 * a, -normal[:, 1]), -1)
    return np.stack((along, across, normal), 1)


def choose_points(
    positions: Float64[np.ndarray, "n 3"],
    gap: Float64[np.ndarray, " n"],
    normal: Float64[np.ndarray, "n 3"],
    reach: float,
    size: float,
) -> Int[np.ndarray, " c"]:
    """Return the candidates to watch on one surface in a step: the nearest, and others spread over a grid.

    Args:
        positions: predicted world positions of all candidates [m].
        gap: how far each is from the surface [m].
        normal: of the surface there.
        reach: gap below which a point is watched [m].
        size: of the object [m]; cells of the grid are an eighth of it.
    """
    near = np.flatnonzero(gap < reach)
    if len(near) <= MOST_POINTS:
        return near
    order = near[np.argsort(gap[near], kind="stable")]
    on_surface = positions[order] - gap[order, None] * normal[order]
    # A hair aside, so that rounding does not part the points of a plane that is a side of the cells.
    cell = np.floor(on_surface / (0.125 * size) + 1e-6).astype(np.int64)
    _, first = np.unique(cell, axis=0, return_index=True)
    spread = order[np.sort(first)][: MOST_POINTS - 4]
    rest = order[~np.isin(order, spread)][: MOST_POINTS - len(spread)]
    return np.concatenate((spread, rest))


@dataclass(frozen=True, slots=True)
class Touch:
    """The contact points of a step.

    Attributes:
        surfaces: the surface of each.
        before: where each was at the start of the step, world [m].
        stiffness: of the contact spring [N/m]; ``margin``: gap at which it starts [m].
        threshold: slip up to which friction is viscous [m].
    """

    surfaces: Surfaces
    before: Float64[np.ndarray, "c 3"]
    stiffness: float
    margin: float
    threshold: float

    @staticmethod
    def between(surfaces: Surfaces, before: Float64[np.ndarray, "c 3"], *, mass: float, size: float, h: float) -> Touch:
        """Return the contacts of an object of a mass [kg] and size [m] in a step of ``h`` [s]."""
        return Touch(surfaces, before, mass * CONTACT_FREQUENCY**2, MARGIN * size, STICK_SPEED * h)

    def __len__(self) -> int:
        """Return the number of contact points."""
        return len(self.before)

    def at(self, places: Float64[np.ndarray, "c 3"]) -> Placed:
        """Return gap, slip and frame of each point at given places, world [m]."""
        gap, normal = self.surfaces.gaps(places)
        frame = frames_of(normal)
        slip = np.einsum("cij,cj->ci", frame[:, :2], places - self.before)
        return Placed(np.concatenate((slip, gap[:, None]), -1), frame)

    def forces(self, local: Float64[np.ndarray, "c 3"], normal_force: Float64[np.ndarray, " c"]) -> ContactForces:
        """Return energy, gradient and Hessian of contact.

        Args:
            local: slip and gap of each point [m].
            normal_force: lagged normal force that bounds friction [N].
        """
        depth = np.maximum(self.margin - local[:, 2], 0.0)
        touching = depth > 0
        slip = local[:, :2]
        distance = np.linalg.norm(slip, axis=-1)
        threshold = self.threshold
        limit = self.surfaces.friction * normal_force * touching
        sliding = distance > threshold
        secant = limit / np.where(sliding, distance, threshold)
        friction = np.where(sliding, distance - 0.5 * threshold, 0.5 * distance**2 / threshold) * limit
        gradient = np.concatenate((secant[:, None] * slip, (-self.stiffness * depth)[:, None]), -1)
        hessian = np.stack((secant, secant, self.stiffness * touching), -1)
        return ContactForces(float(0.5 * self.stiffness * (depth**2).sum() + friction.sum()), gradient, hessian)


@dataclass(frozen=True, slots=True)
class Placed:
    """Contact points at one iterate: ``local`` slip and gap [m] (c, 3), and the rows of each contact's frame."""

    local: Float64[np.ndarray, "c 3"]
    frame: Float64[np.ndarray, "c 3 3"]

    def turned(self, tangents: Float64[np.ndarray, "d c 3"]) -> Float64[np.ndarray, "d c3"]:
        """Return derivatives of the points, world, as those of slip and gap."""
        d = len(tangents)
        return np.einsum("cij,dcj->dci", self.frame, tangents).reshape(d, -1)


@dataclass(frozen=True, slots=True)
class ContactForces:
    """Energy of contact at one iterate, by slip and gap of every contact point.

    Attributes:
        energy: of penetration and of friction [J].
        gradient: negative force on each point in the contact's frame, shape (c, 3) [N].
        hessian: diagonal of the second derivative at each point, shape (c, 3) [N/m].
    """

    energy: float
    gradient: Float64[np.ndarray, "c 3"]
    hessian: Float64[np.ndarray, "c 3"]
