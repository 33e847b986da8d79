"""The energy-faithful integrator: the discrete mechanics of the mass points, for runs without contact or damping.

    L_d(y0, y1) = ||x(y1) - x(y0)||_W^2 / (2h) - h U((q0 + q1)/2) + h f . (x(y0) + x(y1))/2,      y = (p, R, q)

``U`` is the energy of the deformation and ``f`` a constant force on every mass point, such as its weight. A motion
makes ``sum L_d`` stationary: ``D_2 L_d(y0, y1) + D_1 L_d(y1, y2) = 0``, the discrete Euler-Lagrange equations. They are
taken along displacements at ``y1`` (translation, rotation vector about p, change of q), so that no chart of SO(3) comes
in. Neither the chords nor ``U`` see a translation or a turn of both poses together: the momenta that belong to them are
kept as well as the arithmetic allows, and the energy oscillates but does not drift. The scheme is of second order.
Source: Marsden and West, "Discrete mechanics and variational integrators", Acta Numerica 2001; what a step takes and
gives, a pose and its momentum ``D_2 L_d``, is their position-momentum form.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import scipy.linalg
import torch
from jaxtyping import Float64

from engine.dynamics.body import Body, generalized_jacobian
from engine.dynamics.evaluation_point import Pose, handles_at, moved
from engine.kinematics.blending import DrivenPoints

STEPS_PER_PERIOD = 20
# Share of the vibration's energy above which a mode is excited, and the RMS motion, as a share of size, below which it
# is rounding.
EXCITED_SHARE = 1e-3
LEAST_MOTION = 1e-9
# RMS of the last correction at which a step is solved, as a share of size and of the distance from the world's origin;
# also solved is what has come within a hundred times of it and falls no further: there the decoder's rounding lies.
TOLERANCE = 1e-13
MOST_ITERATIONS = 20
# Share of the energy in motion that may seem to come from nowhere in one step. Near the largest step it is a few
# hundredths; a step that is too long for what the decoder bends finds another solution, with many times the energy.
ENERGY_LEAP = 0.2
# Change of q over which the slope of constant forces is differenced.
DIFFERENCE = 1e-5


class StepTooLong(ValueError):
    """The step is above a twentieth of the shortest excited period."""


class NotSolved(RuntimeError):
    """The equations of a step were not solved, or by another motion than the one so far; a shorter step may help."""


@runtime_checkable
class MovingPoints(Protocol):
    """What the integrator needs to know of an object, in double precision and SI units.

    Attributes:
        masses: of the points [kg]; ``forces`` on them, constant, world [N].
        idle_mass: what every coordinate of q weighs beside the points that it moves [kg m^2, in q's units].
        size: a length of the object [m].
        free_root: whether the root moves; otherwise q alone does.
    """

    masses: Float64[np.ndarray, " m"]
    forces: Float64[np.ndarray, "m 3"]
    idle_mass: float
    size: float
    free_root: bool

    def positions_and_jacobian(self, pose: Pose, /) -> tuple[Float64[np.ndarray, "m 3"], Float64[np.ndarray, "d m3"]]:
        """Return the points, world [m], and their Jacobian, transposed: rows translation, rotation vector about p, q.

        Where the root is held the rows are those of q alone.
        """
        ...

    def potential(
        self, q: Float64[np.ndarray, " r"], /
    ) -> tuple[float, Float64[np.ndarray, " r"], Float64[np.ndarray, "r r"]]:
        """Return the energy of the deformation [J], its gradient and its Hessian.

        The gradient must be exact. With an approximate Hessian, such as that of Gauss-Newton, a step takes more
        iterations and comes to the same.
        """
        ...


class ElasticBody:
    """A real object as the integrator sees it: elasticity, prior, range barrier and weight; no damping, no friction."""

    def __init__(self, body: Body, *, gravity: float = 9.81) -> None:
        """Wrap a body, under gravity along -Z [m/s^2].

        Raises:
            ValueError: the body's kinematics is in single precision, whose rounding would be a drift.
        """
        if body.kinematics.dtype != torch.float64:
            raise ValueError("the kinematics must be in double precision: ObjectKinematics(..., dtype=torch.float64)")
        self.body, self.masses, self.size, self.idle_mass = body, body.masses, body.size, float(body.idle_mass)
        self.free_root, self.forces = True, body.masses[:, None] * np.array([0.0, 0.0, -gravity])
        # A rigid body is decoded once.
        self._local = None if body.k_q else self._decode(np.zeros(0))

    def positions_and_jacobian(self, pose: Pose) -> tuple[Float64[np.ndarray, "m 3"], Float64[np.ndarray, "d m3"]]:
        """Return the mass points [m] and their Jacobian, transposed."""
        local, tangents = self._decode(pose.q) if self._local is None else self._local
        turn = self.body.scale * pose.R.T
        arms = local @ turn
        return pose.p + arms, generalized_jacobian(arms, tangents @ turn)

    def potential(
        self, q: Float64[np.ndarray, " r"]
    ) -> tuple[float, Float64[np.ndarray, " r"], Float64[np.ndarray, "r r"]]:
        """Return elastic, prior and barrier energy [J], the exact gradient and the Hessian (elastic: Gauss-Newton)."""
        body, r = self.body, len(q)
        if not r:
            return 0.0, np.zeros(0), np.zeros((0, 0))
        unit = body.kinematics.reduction.unit
        residual, tangents = body.elasticity.residuals(self._drive(q))
        prior = body.prior_stiffness * unit**2
        energy = 0.5 * body.stiffness * float(residual @ residual) + 0.5 * prior * float(q @ q)
        gradient = body.stiffness * (tangents @ residual) + prior * q
        hessian = body.stiffness * (tangents @ tangents.T) + prior * np.eye(r)
        centre = body.kinematics.prior_offset + unit * q
        radius = float(np.linalg.norm(centre))
        beyond = radius - body.range_radius
        if beyond > 0:
            along, share = centre / radius, beyond / radius
            energy += 0.5 * body.barrier_stiffness * beyond**2
            gradient = gradient + body.barrier_stiffness * unit * beyond * along
            curvature = (1.0 - share) * np.outer(along, along) + share * np.eye(r)
            hessian = hessian + body.barrier_stiffness * unit**2 * curvature
        return energy, gradient, hessian

    def _drive(self, q: Float64[np.ndarray, " r"]) -> DrivenPoints:
        """Return the samples at q, unit frame."""
        handles = handles_at(self.body, Pose(np.zeros(3), np.eye(3), q))
        return self.body.kinematics.points(handles, self.body.kinematics.sample_weights, self.body.rest_samples)

    def _decode(self, q: Float64[np.ndarray, " r"]) -> tuple[Float64[np.ndarray, "m 3"], Float64[np.ndarray, "r m 3"]]:
        """Return the mass points at q and their tangents, unit frame."""
        driven, mix = self._drive(q), self.body.combination
        return mix @ driven.positions.numpy(), np.matmul(mix, driven.position_tangents.transpose(0, 1).numpy())


@dataclass(frozen=True, slots=True)
class VariationalState:
    """A pose and its momentum, with what the last step found there.

    Attributes:
        time: simulated time [s].
        pose: where the object is.
        momentum: ``D_2 L_d``, along the displacements at the pose: linear [kg m/s], angular about p [kg m^2/s], of q.
        velocity: that carries it: of the origin [m/s], angular [rad/s], of q [1/s].
        positions: of the mass points, world [m].
        jacobian: of the positions, transposed.
        displacement: of the last step, from which the next is guessed; None at the start.
        iterations: of the last step.
        residual: RMS of its last correction [m].
        beside: what the potential's Hessian was found to lack, learned from its gradients; None if nothing is known.
    """

    time: float
    pose: Pose
    momentum: Float64[np.ndarray, " d"]
    velocity: Float64[np.ndarray, " d"]
    positions: Float64[np.ndarray, "m 3"]
    jacobian: Float64[np.ndarray, "d m3"]
    displacement: Float64[np.ndarray, " d"] | None = None
    iterations: int = 0
    residual: float = 0.0
    beside: Float64[np.ndarray, "r r"] | None = None


@dataclass(frozen=True, slots=True)
class RollOut:
    """A motion: one row per state that was kept, the first being the start.

    Attributes:
        times: of the rows [s].
        p: origin of the unit frame, world [m], and ``R`` its orientation.
        q: reduced coordinates.
        velocities: of the displacements (translation, rotation vector about p, q).
        kinetic: energy [J].
        potential: of deformation and weight [J]; the weight's is measured from the world's origin.
        last: state at the end, from which the motion may go on.
    """

    times: Float64[np.ndarray, " n"]
    p: Float64[np.ndarray, "n 3"]
    R: Float64[np.ndarray, "n 3 3"]
    q: Float64[np.ndarray, "n r"]
    velocities: Float64[np.ndarray, "n d"]
    kinetic: Float64[np.ndarray, " n"]
    potential: Float64[np.ndarray, " n"]
    last: VariationalState

    @property
    def energy(self) -> Float64[np.ndarray, " n"]:
        """Total energy [J]."""
        return self.kinetic + self.potential


def learned_beside(
    beside: Float64[np.ndarray, "r r"],
    step: Float64[np.ndarray, " r"],
    rise: Float64[np.ndarray, " r"],
    hessian: Float64[np.ndarray, "r r"],
) -> Float64[np.ndarray, "r r"]:
    """Return the matrix beside an approximate Hessian that explains a rise of the gradient along a step, too.

    The symmetric update of rank one: unlike that of `engine.dynamics.secant` it learns curvature of either sign, and
    motions, other than minima, go through both. Source: Nocedal and Wright, "Numerical Optimization", section 6.2.
    """
    gap = rise - (hessian + beside) @ step
    along, length = float(gap @ step), float(np.linalg.norm(gap))
    # What is explained but for a ten-thousandth is explained: of the rest much is rounding, which must not be learned.
    known = length <= 1e-4 * np.linalg.norm(rise) or abs(along) <= 1e-6 * length * np.linalg.norm(step)
    return beside if known else beside + np.outer(gap, gap) / along


class IntegratorVariational:
    """Steps of ``h`` seconds along the discrete motion of an object, ``points``, that nothing touches."""

    def __init__(self, points: MovingPoints, h: float) -> None:
        """Take an object and a step [s], which stays: only then an energy is kept.

        Raises:
            ValueError: the step is not a positive number.
        """
        if not (np.isfinite(h) and h > 0.0):
            raise ValueError(f"a step of {h} s")
        self.points, self.h = points, h
        self._mass3: Float64[np.ndarray, " m3"] = np.repeat(points.masses, 3)
        self._force: Float64[np.ndarray, " m3"] = points.forces.ravel()

    def start(self, pose: Pose, velocity: Float64[np.ndarray, " d"]) -> VariationalState:
        """Return the state of a pose that moves.

        Args:
            pose: where the object is.
            velocity: of the origin [m/s], angular [rad/s], of q [1/s]; where the root is held, of q alone.

        Raises:
            StepTooLong: the step is above a twentieth of the shortest period that is excited (`shortest_period`).
        """
        shortest = self.shortest_period(pose, velocity)
        if self.h * STEPS_PER_PERIOD > shortest * (1.0 + 1e-9):
            allowed = shortest / STEPS_PER_PERIOD
            raise StepTooLong(f"a step of {self.h:.3g} s, where the excited motion allows {allowed:.3g} s at most")
        x, jacobian = self.points.positions_and_jacobian(pose)
        return VariationalState(0.0, pose, self._mass_matrix(jacobian) @ velocity, velocity, x, jacobian)

    def step(self, state: VariationalState) -> VariationalState:
        """Return the state one step later.

        Newton's method on ``-D_1 L_d(y1, y2) = momentum``. The kinetic part of its matrix is exact; the potential's is
        the Hessian that the object gives and what was learned beside it.

        Raises:
            NotSolved: the corrections did not come down to rounding, or the energy leapt.
        """
        h, points, q, r = self.h, self.points, state.pose.q, slice(self._first, None)
        drag = points.idle_mass / h
        weighted = state.jacobian * (self._mass3 / h)
        aim = state.momentum + 0.5 * h * (state.jacobian @ self._force)
        # Constant acceleration, from the velocity here and the way that led here.
        way = h * state.velocity if state.displacement is None else 2.0 * h * state.velocity - state.displacement
        pose, previous = self._moved(state.pose, way), None
        beside = np.zeros((len(q), len(q))) if state.beside is None else state.beside
        bound = TOLERANCE * (points.size + float(np.linalg.norm(state.pose.p)))
        last = residual = np.inf
        for iteration in range(1, MOST_ITERATIONS + 1):
            x, jacobian = points.positions_and_jacobian(pose)
            _, slope, curvature = points.potential(0.5 * (q + pose.q))
            if previous is not None:
                beside = learned_beside(beside, pose.q - previous[0], 2.0 * (slope - previous[1]), curvature)
            previous = pose.q, slope
            chord = (x - state.positions).ravel()
            gap = weighted @ chord - aim
            gap[r] += drag * (pose.q - q) + 0.5 * h * slope
            matrix = weighted @ jacobian.T
            matrix[r, r] += drag * np.eye(len(q)) + 0.25 * h * (curvature + beside)
            try:
                correction = -np.linalg.solve(matrix, gap)
            except np.linalg.LinAlgError as error:
                raise NotSolved(f"the step from {state.time:.6g} s has no solution: {error}") from error
            shift = correction @ jacobian
            last, residual = residual, float(np.sqrt(shift @ (self._mass3 * shift) / points.masses.sum()))
            if not np.isfinite(residual):
                break
            if residual <= bound or 0.5 * last < residual <= 100.0 * bound:
                # D_2 L_d as the old momentum plus (D_1 + D_2) L_d. What the solution leaves of the equations is then
                # handed on to the next step, instead of being lost from the momentum for good.
                change = (jacobian - state.jacobian) @ (self._mass3 / h * chord)
                change += 0.5 * h * ((state.jacobian + jacobian) @ self._force)
                change[r] -= h * slope
                momentum = state.momentum + change
                velocity = np.linalg.solve(self._mass_matrix(jacobian), momentum)
                work = float(self._force @ chord - slope @ (pose.q - q))
                self._refuse_leap(state, 0.5 * float(momentum @ velocity), work)
                now = state.time + h
                return VariationalState(now, pose, momentum, velocity, x, jacobian, way, iteration, residual, beside)
            pose, way = self._moved(pose, correction), way + correction
        raise NotSolved(f"the step from {state.time:.6g} s was not solved: its last correction was {residual:.1e} m")

    def roll_out(self, state: VariationalState, n: int, *, every: int = 1) -> RollOut:
        """Take ``n`` steps and keep the start and the state after ``every`` so many, with their energies.

        Raises:
            NotSolved: the equations of a step were not solved.
        """
        kept = [state]
        for i in range(1, n + 1):
            state = self.step(state)
            if i % every == 0:
                kept.append(state)
        energies = np.array([self.energies(s) for s in kept])
        return RollOut(
            times=np.array([s.time for s in kept]),
            p=np.stack([s.pose.p for s in kept]),
            R=np.stack([s.pose.R for s in kept]),
            q=np.stack([s.pose.q for s in kept]),
            velocities=np.stack([s.velocity for s in kept]),
            kinetic=energies[:, 0],
            potential=energies[:, 1],
            last=state,
        )

    # -- what a state says -------------------------------------------------------------------------------------

    def energies(self, state: VariationalState) -> tuple[float, float]:
        """Return kinetic and potential energy [J]."""
        deformation, _, _ = self.points.potential(state.pose.q)
        potential = deformation - float(self._force @ state.positions.ravel())
        return 0.5 * float(state.momentum @ state.velocity), potential

    def shortest_period(self, pose: Pose, velocity: Float64[np.ndarray, " d"]) -> float:
        """Return the shortest period of the motion [s]: of the modes that are excited, and of one turn.

        The modes are those of the potential's Hessian at the pose against the mass of q beside the best rigid motion.
        One is excited if it holds more than a thousandth of the vibration's energy; a pose out of equilibrium excites
        as a velocity does. The forces count where the root is held; a free body falls with its weight.
        """
        _, jacobian = self.points.positions_and_jacobian(pose)
        first = self._first
        rates: list[float] = [float(np.linalg.norm(velocity[3:6]))] if first else []
        if len(pose.q):
            mass_matrix = self._mass_matrix(jacobian)
            inner, coupling = mass_matrix[first:, first:], mass_matrix[:first, first:]
            if first:
                inner = inner - coupling.T @ scipy.linalg.solve(mass_matrix[:first, :first], coupling, assume_a="pos")
            _, slope, stiffness = self.points.potential(pose.q)
            if not first:
                slope = slope - jacobian @ self._force
                stiffness = stiffness + self._stiffness_of_forces(pose)
            values, modes = scipy.linalg.eigh(stiffness, inner)
            # Where the energy falls away to both sides, the rate is that of the exponential.
            values = np.maximum(np.abs(values), 1e-300)
            energies = 0.5 * (modes.T @ inner @ velocity[first:]) ** 2 + 0.5 * (modes.T @ slope) ** 2 / values
            motion = np.sqrt(2.0 * energies / values / self.points.masses.sum())
            excited = (energies > EXCITED_SHARE * energies.sum()) & (motion > LEAST_MOTION * self.points.size)
            rates.extend(np.sqrt(values[excited]).tolist())
        return 2.0 * np.pi / max([*rates, 1e-300])

    # -- parts of the step -------------------------------------------------------------------------------------

    @property
    def _first(self) -> int:
        """Where q begins among the displacements."""
        return 6 if self.points.free_root else 0

    def _stiffness_of_forces(self, pose: Pose) -> Float64[np.ndarray, "r r"]:
        """Return the Hessian by q of the forces' energy, by central differences; the root is held."""
        steps = DIFFERENCE * np.eye(len(pose.q))
        ahead, behind = (
            np.stack([self.points.positions_and_jacobian(self._moved(pose, s))[1] @ self._force for s in signed])
            for signed in (steps, -steps)
        )
        matrix = (behind - ahead) / (2.0 * DIFFERENCE)
        return 0.5 * (matrix + matrix.T)

    def _refuse_leap(self, state: VariationalState, kinetic: float, work: float) -> None:
        """Raise where the kinetic energy changes by much more than the work that was done on it."""
        before = 0.5 * float(state.momentum @ state.velocity)
        # What rounding moves has no energy to speak of.
        idle = float(self.points.masses.sum()) * (LEAST_MOTION * self.points.size / self.h) ** 2
        leap = abs(kinetic - before - work)
        if leap > ENERGY_LEAP * (kinetic + before + abs(work) + idle):
            raise NotSolved(f"the step from {state.time:.6g} s leaps by {leap:.1e} J: it is too long for this motion")

    def _moved(self, pose: Pose, step: Float64[np.ndarray, " d"]) -> Pose:
        """Return the pose after a displacement."""
        return moved(pose, step) if self.points.free_root else Pose(pose.p, pose.R, pose.q + step)

    def _mass_matrix(self, jacobian: Float64[np.ndarray, "d m3"]) -> Float64[np.ndarray, "d d"]:
        """Return M at a pose."""
        matrix = (jacobian * self._mass3) @ jacobian.T
        index = np.arange(self._first, len(matrix))
        matrix[index, index] += self.points.idle_mass
        return np.asarray(matrix)
