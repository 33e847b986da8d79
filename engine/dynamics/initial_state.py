"""The state of an object from the places and velocities of named particles.

Source: NeuROK (arXiv:2605.30347), which starts an object from observed particles by
``min |x0 - x(y)|^2 + |xd0 - J u|^2`` over its coordinates ``y = (p, R, q)`` and their rates ``u = (v, w, qd)``. Here
the pose is found first, from the places alone, and then the velocity at it, by linear least squares. Where a few
particles leave a choice, ours is: the pose near home and near rest, and the velocity of least kinetic energy.

Symbols: ``x = p + s R F(q)``, ``s`` metres per unit, ``J`` Jacobian of the particles, ``M`` mass matrix, ``B`` the
particles' Jacobian in coordinates whose kinetic energy is half their square, ``N`` a basis of what the anchor allows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg
from jaxtyping import Float, Float64

from engine.dynamics.anchoring import Base
from engine.dynamics.body import Body, generalized_jacobian
from engine.dynamics.evaluation_point import Evaluation, PointRows, Pose, evaluate, handles_at, joined, surface_rows
from engine.dynamics.mechanics import Mechanics
from engine.dynamics.state import State, SurfacePoint
from engine.geometry.rigid_fit import rigid_fit
from engine.kinematics.inverse_kinematics import Fit, Posable, fit_points

# How well places are taken to be known, as a share of size. It weighs them against the prior of q: a handful of
# particles bends the object no farther than this is worth, and hundreds leave their own answer unchanged.
ACCURACY = 1e-3
# The prior's pull begins this much stronger, and weakens by a factor per fit, whose root is taken whenever q leaves the
# learned range. With the final pull from the beginning, descents of a laptop's lid or a held cloth ran out of the range
# and ended there, in local minima.
PULL_AT_FIRST, PULL_FACTOR, PULL_ROUNDS = 4.0**8, 4.0, 14
# A motion counts as seen if, for the same kinetic energy, the particles move at least at this share of the speed of
# the motion that they see best of all, the anchor not counted. Other motions would need ten thousand times the energy
# for the same speed: 1 m/s asked of a particle that a hung laptop hardly lets move swung the rest at 130 m/s.
RANK = 1e-2
# The same for the rows of the anchor, against the strongest of them.
ANCHOR_RANK = 1e-6
# Particles whose spread across a line is below this share of size do not tell the turn about it.
COLLINEAR = 1e-5
# Weight, beside all particles together, by which the frame of a held object stays where its base puts it.
FRAME_WEIGHT = 1e4
# Weight of all samples beside those of the base when the base is placed: it decides what a straight base leaves open.
BESIDE_BASE = 1e-9


@dataclass(frozen=True, slots=True)
class Fitted:
    """A state found from particles.

    Attributes:
        state: at time zero, without the memory of an integrator.
        position_error: root of the weighted mean squared distance to the places asked for [m]; 0 where none were.
        velocity_error: the same of the velocities [m/s]; 0 where none were asked for.
    """

    state: State
    position_error: float
    velocity_error: float


def state_from_particles(
    mechanics: Mechanics,
    points: Sequence[SurfacePoint],
    # The shapes are checked below, with a sentence for whoever wrote the numbers down.
    positions: Float[np.ndarray, "..."] | None,
    velocities: Float[np.ndarray, "..."] | None,
    *,
    weights: Float[np.ndarray, "..."] | None = None,
) -> Fitted:
    """Find the pose and the velocity that some particles of an object best agree with (NeuROK, arXiv:2605.30347).

    The pose minimises the weighted mean squared distance with a weak pull of q toward rest, and q stays inside the
    learned range. The velocity is, among those of least squared error, that of least kinetic energy: one particle of a
    free object moves as if it had been struck there. The base of an anchored object stays at home, and its velocity is
    zero. A free object's particles tell how it is turned if at least three are not on one line; of the turns that fewer
    leave open, the smallest from the home pose is taken.

    Args:
        mechanics: the object, with its material and anchor.
        points: the particles: n points of the rest surface.
        positions: where they are, world [m], shape (n, 3); None for the home pose.
        velocities: how they move, world [m/s], shape (n, 3); None for an object at rest.
        weights: of the particles, not negative, shape (n,); by default all alike.

    Raises:
        ValueError: there are no particles, one is not on the object, or shapes or numbers are unusable; the message
            says what to do.
    """
    points = list(points)
    _check_points(mechanics.body, points)
    share = _checked_weights(weights, len(points))
    state, position_error, velocity_error = mechanics.rest_state(), 0.0, 0.0
    base = Base(mechanics.kinematics, mechanics.body.shape, mechanics.anchor, mechanics.metres_per_unit)
    if positions is not None:
        targets = _checked_vectors(positions, len(points), "positions")
        state = _posed(mechanics, base, points, targets, share)
    pose = Pose(state.p, state.R, state.q)
    at_pose = evaluate(mechanics.body, pose, joined([surface_rows(mechanics.body, points)], mechanics.body))
    barycentric = np.array([point.barycentric for point in points])
    if positions is not None:
        places = np.einsum("nk,nkd->nd", barycentric, at_pose.points_at.reshape(-1, 3, 3))
        position_error = _rms(places - np.asarray(positions, np.float64), share)
    if velocities is not None:
        wanted = _checked_vectors(velocities, len(points), "velocities")
        d = len(at_pose.mass_matrix)
        jacobian = np.einsum("nk,dnkc->dnc", barycentric, at_pose.points_jacobian.reshape(d, -1, 3, 3))
        u = _least_energy_velocity(at_pose, base, jacobian, wanted, share)
        state = replace(state, v=u[:3], w=u[3:6], qd=u[6:])
        velocity_error = _rms(np.tensordot(u, jacobian, 1) - wanted, share)
    return Fitted(state, position_error, velocity_error)


# -- what was asked for ----------------------------------------------------------------------------------------------


def _check_points(body: Body, points: list[SurfacePoint]) -> None:
    """Refuse an empty list and points that are not on the surface."""
    if not points:
        raise ValueError("no particles were given: name at least one point of the surface")
    faces = len(body.kinematics.rest.faces)
    for number, point in enumerate(points):
        if not 0 <= point.face < faces:
            raise ValueError(f"particle {number} is on face {point.face}: give a face from 0 to {faces - 1}")
        if not np.isfinite(point.barycentric).all() or abs(sum(point.barycentric) - 1.0) > 1e-4:
            raise ValueError(
                f"particle {number} has barycentric weights {point.barycentric}: give three finite numbers of sum one"
            )


def _checked_vectors(values: Float[np.ndarray, "..."], count: int, what: str) -> Float64[np.ndarray, "n 3"]:
    """Return one finite vector per particle."""
    array = np.asarray(values, np.float64)
    if array.shape != (count, 3):
        raise ValueError(
            f"the {what} have shape {array.shape}, and there are {count} particles: give an array of shape ({count}, 3)"
        )
    if not np.isfinite(array).all():
        row = int(np.flatnonzero(~np.isfinite(array).all(1))[0])
        raise ValueError(f"the {what} of particle {row} are not finite: leave the particle out, or give it numbers")
    return array


def _checked_weights(values: Float[np.ndarray, "..."] | None, count: int) -> Float64[np.ndarray, " n"]:
    """Return the particles' shares, of sum one."""
    array = np.ones(count) if values is None else np.asarray(values, np.float64)
    if array.shape != (count,):
        raise ValueError(f"the weights have shape {array.shape}: give one number for each of the {count} particles")
    if not np.isfinite(array).all() or array.min() < 0.0 or array.max() <= 0.0:
        raise ValueError("the weights have to be finite and not negative: give at least one particle a weight above 0")
    # Divided by the greatest first, or the sum of huge ones would overflow.
    array = array / array.max()
    return array / array.sum()


def _rms(gap: Float64[np.ndarray, "n 3"], share: Float64[np.ndarray, " n"]) -> float:
    """Return the root of the weighted mean squared length."""
    return float(np.sqrt(share @ np.einsum("nd,nd->n", gap, gap)))


# -- pose ------------------------------------------------------------------------------------------------------------


class _Particles:
    """Particles, each on the triangle of its moved corners, and the samples, in the unit frame: a `Posable`."""

    def __init__(self, body: Body, points: list[SurfacePoint]) -> None:
        self._body = body
        self._barycentric = np.array([point.barycentric for point in points])
        samples = PointRows(body.kinematics.sample_weights, body.rest_samples)
        self._rows = joined([surface_rows(body, points), samples], body)

    @property
    def freedoms(self) -> int:
        """Number of reduced coordinates that the material leaves."""
        return self._body.k_q

    def pose(self, q: Float64[np.ndarray, " r"]) -> tuple[Float64[np.ndarray, "n 3"], Float64[np.ndarray, "n r 3"]]:
        """Return the particles and their derivatives by q."""
        return self.with_samples(q)[:2]

    def with_samples(
        self, q: Float64[np.ndarray, " r"]
    ) -> tuple[
        Float64[np.ndarray, "n 3"],
        Float64[np.ndarray, "n r 3"],
        Float64[np.ndarray, "p 3"],
        Float64[np.ndarray, "p r 3"],
    ]:
        """Return the particles and the samples, each with their derivatives by q."""
        handles = handles_at(self._body, Pose(np.zeros(3), np.eye(3), q))
        driven = self._body.kinematics.points(handles, self._rows.weights, self._rows.rest)
        x, tangents = driven.positions.double().numpy(), driven.position_tangents.double().numpy()
        corners, n = 3 * len(self._barycentric), len(self._barycentric)
        particles = np.einsum("nk,nkd->nd", self._barycentric, x[:corners].reshape(n, 3, 3))
        slopes = np.einsum("nk,nkrd->nrd", self._barycentric, tangents[:corners].reshape(n, 3, len(q), 3))
        return particles, slopes, x[corners:], tangents[corners:]


class _HeldParticles:
    """Particles of an anchored object in the frame of its home: the base is at home at every q. A `Posable`.

    The last four points are fixed to the frame. Heavily weighted, they keep the fit from moving the object as a whole.
    """

    def __init__(self, particles: _Particles, base: Base, home: Float64[np.ndarray, "p 3"], size: float) -> None:
        self._particles, self._rows, self._home = particles, base.rows, home
        self._weights = np.full(len(home), BESIDE_BASE)
        self._weights[base.samples] = 1.0
        self.frame: Float64[np.ndarray, "4 3"] = np.concatenate((np.zeros((1, 3)), size * np.eye(3)))

    @property
    def freedoms(self) -> int:
        """Number of reduced coordinates that the material leaves."""
        return self._particles.freedoms

    def root(self, samples: Float64[np.ndarray, "p 3"]) -> tuple[Float64[np.ndarray, "3 3"], Float64[np.ndarray, "3"]]:
        """Return the turn and the shift that bring the base home.

        At the closest rigid fit the mean displacement and the mean moment of the displacements are zero, and these are
        the six rows of the anchor.
        """
        return rigid_fit(samples, self._home, self._weights)

    def root_at(self, q: Float64[np.ndarray, " r"]) -> tuple[Float64[np.ndarray, "3 3"], Float64[np.ndarray, "3"]]:
        """Return the turn and the shift that bring the base home at ``q``."""
        return self.root(self._particles.with_samples(q)[2])

    def pose(self, q: Float64[np.ndarray, " r"]) -> tuple[Float64[np.ndarray, "e 3"], Float64[np.ndarray, "e r 3"]]:
        """Return the particles and the frame's points, with their derivatives by q while the base stays home."""
        x, tangents, samples, sample_tangents = self._particles.with_samples(q)
        turn, shift = self.root(samples)
        x, samples = x @ turn.T + shift, samples @ turn.T + shift
        moves = generalized_jacobian(samples, (sample_tangents @ turn.T).transpose(1, 0, 2))
        rows = self._rows @ moves.T
        follows = -np.linalg.lstsq(rows[:, :6], rows[:, 6:], rcond=ANCHOR_RANK)[0]
        moves = generalized_jacobian(x, (tangents @ turn.T).transpose(1, 0, 2))
        slopes = (moves[6:] + follows.T @ moves[:6]).reshape(len(q), len(x), 3).transpose(1, 0, 2)
        return np.concatenate((x, self.frame)), np.concatenate((slopes, np.zeros((4, len(q), 3))))


def _posed(
    mechanics: Mechanics,
    base: Base,
    points: list[SurfacePoint],
    positions: Float64[np.ndarray, "n 3"],
    share: Float64[np.ndarray, " n"],
) -> State:
    """Return the still state whose particles are closest to their places."""
    body, scale, home = mechanics.body, mechanics.metres_per_unit, mechanics.rest_state()
    size = mechanics.kinematics.rest.size
    # The unit frame at home: the numbers stay near one, and an object that does not move is not turned.
    targets = (positions - home.p) / scale
    particles = _Particles(body, points)
    # Most likely q where each place is known to the accuracy and |unit q| is normal, per particle that counts.
    ridge = (ACCURACY * size * mechanics.kinematics.reduction.unit) ** 2 * float(share @ share)
    if base.held:
        at_home = (base.home - home.p) / scale
        held = _HeldParticles(particles, base, at_home, size)
        weights = np.concatenate((share, np.full(4, FRAME_WEIGHT / 4)))
        fit = _fit_within_range(body, held, np.concatenate((targets, held.frame)), weights, ridge)
        # From the base alone: the fit's own small motion of the whole would carry the base along.
        rotation, translation = held.root_at(fit.q)
    else:
        fit = _fit_within_range(body, particles, targets, share, ridge)
        placed = fit.place(particles.pose(fit.q)[0])
        rotation, translation = _least_turn(fit, placed, share, COLLINEAR * size)
    # Dry friction holds the joints where they are found.
    return replace(home, p=home.p + scale * translation, R=rotation, q=fit.q, stuck=fit.q)


def _fit_within_range(
    body: Body,
    posable: Posable,
    targets: Float64[np.ndarray, "e 3"],
    weights: Float64[np.ndarray, " e"],
    ridge: float,
) -> Fit:
    """Fit under ever weaker pulls toward rest, each from where the last one in range ended."""
    total = float(weights.sum())
    # At rest, which is in range.
    best = fit_points(posable, targets, weights=weights, restarts=0, iterations=0)
    pull, factor = PULL_AT_FIRST, PULL_FACTOR
    for _ in range(PULL_ROUNDS if posable.freedoms else 0):
        weaker = max(pull / factor, 1.0)
        found = fit_points(posable, targets, weights=weights, start=best.q, restarts=0, ridge=weaker * ridge / total)
        if _within_range(body, found.q):
            best, pull = found, weaker
        else:
            factor = np.sqrt(factor)
        if pull == 1.0:
            break
    return best


def _within_range(body: Body, q: Float64[np.ndarray, " r"]) -> bool:
    """Return whether ``q`` is where the barrier of the learned range is zero."""
    if not len(q):
        return True
    centre = body.kinematics.prior_offset + body.kinematics.reduction.unit * q
    return float(np.linalg.norm(centre)) <= body.range_radius


def _least_turn(
    fit: Fit, placed: Float64[np.ndarray, "n 3"], share: Float64[np.ndarray, " n"], tolerance: float
) -> tuple[Float64[np.ndarray, "3 3"], Float64[np.ndarray, "3"]]:
    """Return the fit's rotation and translation, with the least turn from home of those that the particles allow."""
    centre = share @ placed
    _, spread, axes = np.linalg.svd(np.sqrt(share)[:, None] * (placed - centre), full_matrices=True)
    spread = np.concatenate((spread, np.zeros(2)))
    if spread[1] > tolerance:
        return fit.rotation, fit.translation
    turn = fit.rotation.T
    if spread[0] > tolerance:
        # Of exp(t [a]) R about the line's direction a, the trace is greatest where its derivative by t is zero.
        a = axes[0]
        cross = np.cross(np.eye(3), a)
        along = float(a @ fit.rotation @ a)
        angle = np.arctan2(np.trace(cross @ fit.rotation), np.trace(fit.rotation) - along)
        turn = np.cos(angle) * np.eye(3) + np.sin(angle) * cross + (1.0 - np.cos(angle)) * np.outer(a, a)
    return turn @ fit.rotation, centre + turn @ (fit.translation - centre)


# -- velocity --------------------------------------------------------------------------------------------------------


def _least_energy_velocity(
    at_pose: Evaluation,
    base: Base,
    jacobian: Float64[np.ndarray, "d n 3"],
    wanted: Float64[np.ndarray, "n 3"],
    share: Float64[np.ndarray, " n"],
) -> Float64[np.ndarray, " d"]:
    """Return ``argmin u^T M u`` among the least-squares solutions that leave the base alone.

    With ``u = M^-1/2 N y`` the energy is ``|y|^2 / 2``, and the pseudo-inverse of ``B N`` gives the shortest ``y``.
    """
    d = len(at_pose.mass_matrix)
    values, vectors = np.linalg.eigh(at_pose.mass_matrix)
    inverse_root = (vectors / np.sqrt(np.maximum(values, 1e-14 * values[-1]))) @ vectors.T
    root_share = np.sqrt(share)
    seen = (jacobian * root_share[:, None]).reshape(d, -1).T @ inverse_root
    greatest = float(np.linalg.norm(seen, 2))
    allowed = np.eye(d)
    if base.held:
        rows = base.rows @ at_pose.samples_jacobian.reshape(d, -1).T
        allowed = np.asarray(scipy.linalg.null_space(rows @ inverse_root, rcond=ANCHOR_RANK))
    left, strength, right = np.linalg.svd(seen @ allowed, full_matrices=False)
    kept = strength > RANK * greatest
    shortest = right[kept].T @ (left[:, kept].T @ (wanted * root_share[:, None]).ravel() / strength[kept])
    return inverse_root @ allowed @ shortest
