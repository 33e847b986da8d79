"""Inverse kinematics: the coordinates at which an object best matches points of known correspondence, or a surface.

``min over (p, R, q)  sum_i w_i |R x_i(q) + p - y_i|^2 + ridge |q|^2`` by Gauss-Newton with Levenberg's damping on all
``6 + r`` unknowns, from rest and from seeded restarts. The rotation is multiplied by ``exp([w])`` on the right, so the
linear system is in the body's frame. Whatever says where its points are, and how they move along its coordinates, can
be posed: the network's reduced coordinates, eigenmodes, the handles of a baseline (`Posable`).

Symbols: ``q`` coordinates, ``x`` points in the body's frame, ``y`` targets, ``J`` tangents. Source: NeuROK
(arXiv:2605.30347), Table 1, which poses an object to a target shape; optimiser and restarts are ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Float64
from scipy.spatial import KDTree
from scipy.spatial.transform import Rotation

from engine.geometry.rigid_fit import rigid_fit

# A ridge this small leaves well determined coordinates alone (size 1, |q| to 10) and stills those nothing determines.
RIDGE = 1e-7
_DAMPING, _MOST_DAMPING = 1e-3, 1e6
# Relative fall of the objective below which a descent has ended.
_ENOUGH = 1e-5


@runtime_checkable
class Posable(Protocol):
    """Points of an object as functions of its coordinates."""

    @property
    def freedoms(self) -> int:
        """Number r of coordinates."""
        ...

    def pose(self, q: Float64[np.ndarray, " r"]) -> tuple[Float64[np.ndarray, "p 3"], Float64[np.ndarray, "p r 3"]]:
        """Return the points at ``q``, unit frame, and their derivatives along each coordinate."""
        ...


@dataclass(frozen=True, slots=True)
class Fit:
    """Coordinates found by inverse kinematics.

    Attributes:
        q: coordinates, shape (r,).
        rotation: of the whole object, shape (3, 3).
        translation: of the whole object, unit frame, shape (3,).
        error: root of the weighted mean squared distance to the targets, unit frame.
        iterations: Gauss-Newton steps of all restarts.
    """

    q: Float64[np.ndarray, " r"]
    rotation: Float64[np.ndarray, "3 3"]
    translation: Float64[np.ndarray, "3"]
    error: float
    iterations: int

    def place(self, points: Float[np.ndarray, "p 3"]) -> Float64[np.ndarray, "p 3"]:
        """Carry points from the body's frame to that of the targets."""
        return np.asarray(points, np.float64) @ self.rotation.T + self.translation


def fit_points(
    posable: Posable,
    targets: Float[np.ndarray, "p 3"],
    *,
    weights: Float[np.ndarray, " p"] | None = None,
    start: Float[np.ndarray, " r"] | None = None,
    restarts: int = 2,
    spread: float = 3.0,
    seed: int = 0,
    iterations: int = 40,
    ridge: float = RIDGE,
) -> Fit:
    """Find the coordinates that bring an object's points to targets of known correspondence.

    Args:
        posable: the object.
        targets: where each of its points should be, in the unit of its points, anywhere in space.
        weights: of the points; by default all alike. They are normalised to sum one.
        start: coordinates to begin with; rest by default.
        restarts: further descents from random coordinates; the best is kept.
        spread: standard deviation of a restart's coordinates.
        seed: of the restarts.
        iterations: most steps of one descent.
        ridge: weight of ``|q|^2`` beside the mean squared distance.

    Raises:
        ValueError: the targets are not finite, or not as many as the points.
    """
    targets = np.asarray(targets, np.float64)
    if not np.isfinite(targets).all():
        raise ValueError("the targets of inverse kinematics have to be finite numbers")
    share = np.full(len(targets), 1.0) if weights is None else np.asarray(weights, np.float64)
    share = share / share.sum()
    rng = np.random.default_rng(seed)
    origin = np.zeros(posable.freedoms) if start is None else np.asarray(start, np.float64)
    starts = [origin, *(origin + spread * rng.standard_normal(posable.freedoms) for _ in range(restarts))]
    best: Fit | None = None
    spent = 0
    for q in starts if posable.freedoms else starts[:1]:
        found = _descend(posable, q, targets, share, iterations=iterations, ridge=ridge)
        spent += found.iterations
        if best is None or found.error < best.error:
            best = found
    assert best is not None
    return Fit(best.q, best.rotation, best.translation, best.error, spent)


def fit_surface(
    posable: Posable,
    cloud: Float[np.ndarray, "m 3"],
    *,
    start: Float[np.ndarray, " r"] | None = None,
    rounds: int = 30,
    ridge: float = RIDGE,
) -> Fit:
    """Find the coordinates that bring an object's points onto a cloud or the samples of a surface.

    Nothing is known of which point is which: every point is drawn to the cloud's nearest, and every point of the cloud
    draws the nearest of the object (both halves of the Chamfer distance), found anew in each round.
    """
    cloud = np.asarray(cloud, np.float64)
    q = np.zeros(posable.freedoms) if start is None else np.asarray(start, np.float64)
    fit = Fit(q, np.eye(3), np.zeros(3), np.inf, 0)
    tree = KDTree(cloud)
    for _ in range(rounds):
        placed = fit.place(posable.pose(fit.q)[0])
        nearest = cloud[tree.query(placed)[1]]
        owner = KDTree(placed).query(cloud)[1]
        # A point stands for itself and for those of the cloud that chose it.
        count = np.bincount(owner, minlength=len(placed)) * (len(placed) / len(cloud))
        drawn = np.stack([np.bincount(owner, cloud[:, i], minlength=len(placed)) for i in range(3)], -1)
        drawn *= len(placed) / len(cloud)
        goal = (nearest + drawn) / (1.0 + count)[:, None]
        share = (1.0 + count) / (1.0 + count).sum()
        found = _descend(posable, fit.q, goal, share, iterations=3, ridge=ridge, frame=fit)
        settled = abs(fit.error - found.error) < 1e-4 * found.error
        fit = Fit(found.q, found.rotation, found.translation, found.error, fit.iterations + found.iterations)
        if settled:
            break
    return fit


def _descend(
    posable: Posable,
    q: Float64[np.ndarray, " r"],
    targets: Float64[np.ndarray, "p 3"],
    share: Float64[np.ndarray, " p"],
    *,
    iterations: int,
    ridge: float,
    frame: Fit | None = None,
) -> Fit:
    """Run one damped Gauss-Newton descent."""
    x, tangents = posable.pose(q)
    if len(x) != len(targets):
        raise ValueError(f"the object has {len(x)} points, and {len(targets)} targets were given")
    rotation, translation = (frame.rotation, frame.translation) if frame else rigid_fit(x, targets, share)
    damping, root = _DAMPING, np.sqrt(share)
    value = _objective(x, q, rotation, translation, targets, share, ridge)
    done = 0
    for _ in range(iterations):
        done += 1
        # In the body's frame: x + w x x + p + J dq = R^T (y - t).
        residual = (targets - translation) @ rotation - x
        columns = np.concatenate((_rigid_tangents(x), tangents.transpose(1, 0, 2)))
        # One matrix product, which takes a fraction of the time of the sum over two axes.
        weighted = (columns * root[:, None]).reshape(len(columns), -1)
        normal = weighted @ weighted.T
        force = weighted @ (residual * root[:, None]).ravel()
        normal[np.arange(6, len(normal)), np.arange(6, len(normal))] += ridge
        force[6:] -= ridge * q
        better: tuple[Any, ...] | None = None
        while better is None and damping < _MOST_DAMPING:
            scaled = normal + damping * np.diag(np.diag(normal) + 1e-12)
            step = np.linalg.solve(scaled, force)
            turn = rotation @ Rotation.from_rotvec(step[3:6]).as_matrix()
            shift, moved = translation + rotation @ step[:3], q + step[6:]
            new_x, new_tangents = posable.pose(moved)
            new_value = _objective(new_x, moved, turn, shift, targets, share, ridge)
            if np.isfinite(new_value) and new_value < value:
                better = (moved, turn, shift, new_x, new_tangents, new_value)
            else:
                damping *= 8.0
        if better is None:
            break
        fall = value - better[-1]
        q, rotation, translation, x, tangents, value = better
        damping = max(damping / 8.0, 1e-9)
        if fall < _ENOUGH * value:
            break
    return Fit(q, rotation, translation, float(np.sqrt(max(value - ridge * q @ q, 0.0))), done)


def _objective(
    x: Float64[np.ndarray, "p 3"],
    q: Float64[np.ndarray, " r"],
    rotation: Float64[np.ndarray, "3 3"],
    translation: Float64[np.ndarray, "3"],
    targets: Float64[np.ndarray, "p 3"],
    share: Float64[np.ndarray, " p"],
    ridge: float,
) -> float:
    """Return the weighted mean squared distance and the ridge's part."""
    gap = x @ rotation.T + translation - targets
    return float(share @ np.einsum("pd,pd->p", gap, gap) + ridge * q @ q)


def _rigid_tangents(x: Float64[np.ndarray, "p 3"]) -> Float64[np.ndarray, "6 p 3"]:
    """Return the velocity fields of three translations and three turns about the origin of the body's frame."""
    eye = np.eye(3)
    shifts = np.broadcast_to(eye[:, None], (3, len(x), 3))
    return np.concatenate((shifts, np.cross(eye[:, None], x[None])))
