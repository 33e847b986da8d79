"""One object, ready to move: the public face of the dynamics. It holds no state; a step takes one and returns one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import scipy.linalg
import torch
from jaxtyping import Bool, Float, Float32, Float64, Int
from torch import Tensor

from engine.dynamics.anchoring import Base, Reaction
from engine.dynamics.body import Body, Shape, describe_shape
from engine.dynamics.contact import MARGIN
from engine.dynamics.contact_watch import ContactWatch
from engine.dynamics.evaluation_point import (
    Evaluation,
    Pose,
    evaluate,
    handles_at,
    joined,
    moved,
    padded,
    surface_rows,
    world_positions,
)
from engine.dynamics.gauss_newton import Solution, solve
from engine.dynamics.grab import effective_mass, matched_spring, mobility_beside
from engine.dynamics.holding import with_constraints
from engine.dynamics.momentum import keep_momentum, slowed_spin
from engine.dynamics.restitution import approach_speeds, bounced
from engine.dynamics.scheme import Scheme, scheme_after
from engine.dynamics.state import Grab, Loads, State, StepReport, StepStatus, SurfacePoint, Trail
from engine.dynamics.step_energy import StepTerms, constraint_values, held_position, stuck_after
from engine.kinematics.object_kinematics import ObjectKinematics
from engine.scenes.colliders import FLOOR, Collider
from engine.scenes.material import Anchor, Material

CONTACT_ROUNDS = 3
ROLLING_RESISTANCE = 2.0  # rate at which what touches something loses its spin by rolling over it [1/s]
LAST_RESORT = 0.05  # RMS of the last correction, as a share of size, up to which a fallback step is taken


class Mechanics:
    """The laws of motion of one object with one material and one anchor.

    Attributes:
        kinematics: the object.
        body: its masses, stiffness and friction.
        anchor: how it is held.
    """

    def __init__(
        self,
        kinematics: ObjectKinematics,
        *,
        material: Material,
        anchor: Anchor,
        gravity: float = 9.81,
        floor: bool = True,
        colliders: Sequence[Collider] = (),
        metres_per_unit: float = 0.5,
        shape: Shape | None = None,
    ) -> None:
        """Prepare an object.

        Args:
            kinematics: the object.
            material: density, stiffness, damping and friction.
            anchor: free, standing on its base, fixed at it, or hung by its top.
            gravity: along -Z [m/s^2].
            floor: a floor at z = 0.
            colliders: what else there is to touch, world [m].
            metres_per_unit: size of the unit frame's unit [m].
            shape: what another `Mechanics` of the same object found, to save time.
        """
        self.kinematics, self.material, self.anchor = kinematics, material, anchor
        self.gravity, self.floor, self.metres_per_unit = gravity, floor, metres_per_unit
        self.colliders = tuple(colliders)
        self._size = kinematics.rest.size * metres_per_unit
        self._shape = describe_shape(kinematics) if shape is None else shape
        self._base = Base(kinematics, self._shape, anchor, metres_per_unit)
        self.body = Body(
            kinematics, self._shape, material, metres_per_unit, self._base.rows if self._base.held else None
        )
        self._weight = Reaction(np.zeros(self.body.k_q), np.zeros(6))
        self._watch = ContactWatch(self.body, self._base, (*((FLOOR,) if floor else ()), *self.colliders))
        if self._base.held:
            home = self.rest_state()
            at_home = evaluate(self.body, Pose(home.p, home.R, home.q), joined([], self.body))
            self._weight = self._base.weight_at_home(at_home, self.body.masses)
            if material.dry_friction:
                # Joints that dry friction holds need no force of their own.
                self._weight = replace(self._weight, inner=np.zeros(self.body.k_q))

    @property
    def mass(self) -> float:
        """Mass of the object [kg]."""
        return self.body.mass

    @property
    def size(self) -> float:
        """Bounding-box diagonal of the rest shape [m]."""
        return self._size

    def with_material(self, material: Material) -> Mechanics:
        """Return the same object with another material."""
        return self._changed(material=material)

    def with_anchor(self, anchor: Anchor) -> Mechanics:
        """Return the same object, held in another way."""
        return self._changed(anchor=anchor)

    def with_world(
        self, *, gravity: float | None = None, floor: bool | None = None, colliders: Sequence[Collider] | None = None
    ) -> Mechanics:
        """Return the same object under another gravity [m/s^2], with or without floor, among other colliders."""
        return self._changed(gravity=gravity, floor=floor, colliders=colliders)

    def _changed(
        self,
        *,
        material: Material | None = None,
        anchor: Anchor | None = None,
        gravity: float | None = None,
        floor: bool | None = None,
        colliders: Sequence[Collider] | None = None,
    ) -> Mechanics:
        return Mechanics(
            self.kinematics,
            material=self.material if material is None else material,
            anchor=self.anchor if anchor is None else anchor,
            gravity=self.gravity if gravity is None else gravity,
            floor=self.floor if floor is None else floor,
            colliders=self.colliders if colliders is None else colliders,
            metres_per_unit=self.metres_per_unit,
            shape=self._shape,
        )

    # -- states ------------------------------------------------------------------------------------------------

    def rest_state(self, *, height: float = 0.0) -> State:
        """Return the object at rest, its lowest point ``height`` [m] above the floor's contact margin."""
        k = 0 if self.material.name == "rigid" else self.kinematics.k_q
        p = np.array([0.0, 0.0, height + self._base.height])
        zero = np.zeros(3)
        return State(0.0, p, np.eye(3), np.zeros(k), zero, zero, np.zeros(k), np.zeros(k))

    def decode(self, state: State) -> Float32[np.ndarray, "n 3"]:
        """Return all welded vertices, world [m]."""
        local = self.kinematics.decode(padded(self.body, state.q))
        turn = (self.metres_per_unit * state.R.T).astype(np.float32)
        return local @ turn + state.p.astype(np.float32)

    def handles(self, state: State) -> Float32[np.ndarray, "t 8"]:
        """Return the handles' dual quaternions in the unit frame: what a clip keeps of the deformation."""
        return self.kinematics.handles(padded(self.body, state.q)).float().numpy()

    def point_position(self, state: State, point: SurfacePoint) -> Float64[np.ndarray, "3"]:
        """Return the place of a surface point, world [m]."""
        pose = Pose(state.p, state.R, state.q)
        corners = world_positions(self.body, pose, self._handles_now(state), surface_rows(self.body, [point]))
        return np.asarray(point.barycentric) @ corners

    def begin_grab(self, state: State, point: SurfacePoint, *, pins: Loads | None = None) -> Grab:
        """Take hold of a surface point: a spring matched to the mass that the hand feels there, without force yet.

        Args:
            state: now.
            point: what is taken.
            pins: loads whose pins are held meanwhile; they and the anchor take their part of the mass away.
        """
        loads = Loads() if pins is None else Loads(pins=pins.pins)
        held = Grab(point, np.zeros(3), 1.0, 0.0, 1.0)
        scheme = self._scheme(state, 1.0, restart=True)
        pose = Pose(state.p, state.R, state.q)
        nothing = np.zeros(0, dtype=np.int64)
        handles = handles_at(self.body, pose)
        terms, evaluation = self._terms(state, replace(loads, grab=held), 1.0, scheme, nothing, pose, handles)
        rows = np.einsum("k,jkd->dj", point.barycentric, evaluation.points_jacobian[:, :3])
        _, fixed = constraint_values(evaluation, terms) if terms.constraint is not None else (None, None)
        inverse = mobility_beside(np.linalg.inv(evaluation.mass_matrix), fixed)
        target = np.asarray(point.barycentric) @ evaluation.points_at[:3]
        felt = min(effective_mass(rows, inverse), self.mass)
        return matched_spring(point, target, felt, object_mass=self.mass, frequency=self.material.frequency)

    # -- the step ----------------------------------------------------------------------------------------------

    def step(self, state: State, loads: Loads, h: float) -> tuple[State, StepReport]:
        """Advance by ``h`` seconds. On failure the old state comes back, with the reason in the report."""
        trail = state.trail
        restart = trail is None or trail.bounced or abs(trail.h - h) > 1e-9 or len(trail.old_q) != len(state.q)
        solution, terms, watched = self._solve(state, loads, h, restart=restart)
        status = StepStatus.CONVERGED
        # An impact: a point closed that was open. The two-step scheme would carry the old velocity through it.
        closed = self._watch.closed(solution.evaluation, watched, terms.touch)
        impact = not restart and trail is not None and not (closed <= trail.contacts)
        if not restart and (impact or not solution.acceptable):
            status = StepStatus.CONVERGED if impact and solution.acceptable else StepStatus.FALLBACK
            restart = True
            solution, terms, watched = self._solve(state, loads, h, restart=True)
            closed = self._watch.closed(solution.evaluation, watched, terms.touch)
        if not solution.finite:
            return state, self._failed(StepStatus.NOT_FINITE, solution, "the state is not finite")
        # Every iterate has less energy than the one before, so a backward Euler step that is nearly there is stable.
        if not solution.finite or solution.residual > LAST_RESORT:
            text = (
                f"no equilibrium in {solution.iterations} iterations, last correction {solution.residual:.1e} of size"
            )
            return state, self._failed(StepStatus.NOT_CONVERGED, solution, text)
        return self._accept(state, loads, h, solution, terms, watched, closed, status)

    def _failed(self, status: StepStatus, solution: Solution, message: str) -> StepReport:
        return StepReport(status, solution.iterations, solution.residual, 0.0, 0.0, 0.0, message=message)

    def _solve(
        self, state: State, loads: Loads, h: float, *, restart: bool
    ) -> tuple[Solution, StepTerms, Int[np.ndarray, " c"]]:
        """Choose contact points for the predicted motion, solve, and add points that were missed."""
        scheme = self._scheme(state, h, restart=restart)
        start = Pose(state.p, state.R, state.q)
        predicted = moved(start, h * np.concatenate((state.v, state.w, state.qd)))
        handles = handles_at(self.body, predicted)
        reach = (MARGIN + 0.004) * self.size + 2.0 * self.gravity * h**2
        still = state.trail.contacts if state.trail is not None else frozenset[int]()
        watched = self._watch.near(predicted, handles[0], reach, still)
        terms, at_start = self._terms(state, loads, h, scheme, watched, predicted, handles)
        solution = solve(self.body, at_start, terms)
        for _ in range(CONTACT_ROUNDS if solution.finite else 0):
            missed = self._watch.missed(solution.evaluation, watched)
            if not len(missed):
                break
            watched = np.concatenate((watched, missed))
            terms, at_start = self._terms(state, loads, h, scheme, watched, predicted, handles)
            solution = solve(self.body, at_start, terms)
        return solution, terms, watched

    def _accept(
        self,
        state: State,
        loads: Loads,
        h: float,
        solution: Solution,
        terms: StepTerms,
        watched: Int[np.ndarray, " c"],
        closed: frozenset[int],
        status: StepStatus,
    ) -> tuple[State, StepReport]:
        """Turn a solution into the next state: velocities, momentum, friction's memory, the integrator's trail."""
        e, pose, masses = solution.evaluation, solution.evaluation.pose, self.body.masses
        velocity = (e.masses_at - terms.scheme.base) / terms.scheme.gamma
        momentum = e.masses_jacobian @ (masses[:, None] * velocity).ravel()
        momentum[6:] += self.body.idle_mass * (pose.q - terms.scheme.base_q) / terms.scheme.gamma
        u = scipy.linalg.solve(e.mass_matrix, momentum, assume_a="pos")
        free = not (closed or loads.grab or loads.pins or loads.forces or self._base.held)
        if free and not (state.trail is not None and state.trail.contacts):
            u = keep_momentum(masses, self._before(state), e, u, np.array([0.0, 0.0, -self.gravity * h]))
        elif closed:
            u = slowed_spin(masses, e, u, ROLLING_RESISTANCE * h)
        struck = closed - state.trail.contacts if state.trail is not None else closed
        rebound = self._bounced(state, u, e, terms, np.isin(watched, sorted(struck)), h)
        velocities = (e.masses_jacobian.T @ rebound).reshape(-1, 3)
        stuck = stuck_after(self.body, pose.q, terms)
        handles = e.handles[0].numpy()
        before = (*self._before(state), state.q, state.qd)
        trail = Trail(e.masses_at, velocities, *before, h, closed, handles, bounced=rebound is not u)
        u = rebound
        new = State(state.time + h, pose.p, pose.R, pose.q, u[:3], u[3:6], u[6:], stuck, trail)
        kinetic = 0.5 * float(np.einsum("m,md,md->", masses, velocities, velocities))
        if not np.isfinite(kinetic):
            return state, self._failed(StepStatus.NOT_FINITE, solution, "the velocity is not finite")
        held = force = None
        if loads.grab is not None and solution.assembly.hand is not None:
            held = held_position(e, terms)
            force = -solution.assembly.hand.gradient
        report = StepReport(
            status=status,
            iterations=solution.iterations,
            residual=solution.residual,
            kinetic=kinetic,
            elastic=solution.assembly.elastic,
            gravitational=float(self.gravity * masses @ e.masses_at[:, 2]),
            grab_point=held,
            grab_force=force,
            contacts=len(closed),
        )
        return new, report

    def _bounced(
        self,
        state: State,
        u: Float64[np.ndarray, " d"],
        end: Evaluation,
        terms: StepTerms,
        struck: Bool[np.ndarray, " c"],
        h: float,
    ) -> Float64[np.ndarray, " d"]:
        """Return the velocities after the contacts that ``struck`` in this step have thrown the object back."""
        share, c = self.material.restitution, terms.contact_count
        if share <= 0 or not struck.any():
            return u
        placed = terms.touch.at(end.points_at[:c])
        rows = placed.turned(end.points_jacobian[:, :c]).reshape(len(u), c, 3)[:, :, 2].T
        gap, normal = terms.touch.surfaces.gaps(terms.touch.before)
        closing = -rows @ np.concatenate((state.v, state.w, state.qd))
        speed = approach_speeds(closing, gap - terms.touch.margin, self.gravity * normal[:, 2])
        # What falls by less than in two steps rests: bounces below the length of a step would never end.
        struck = struck & (speed > 2.0 * self.gravity * h)
        if not struck.any():
            return u
        touching = struck | (placed.local[:, 2] < terms.touch.margin)
        return bounced(u, end.mass_matrix, rows[touching], np.where(struck, share * speed, 0.0)[touching])

    # -- parts of the step -------------------------------------------------------------------------------------

    def _before(self, state: State) -> tuple[Float64[np.ndarray, "m 3"], Float64[np.ndarray, "m 3"]]:
        """Return positions and velocities of the mass points at a state, world [m, m/s]."""
        if state.trail is not None and len(state.trail.old_q) == len(state.q):
            return state.trail.positions, state.trail.velocities
        e = evaluate(self.body, Pose(state.p, state.R, state.q), joined([], self.body))
        u = np.concatenate((state.v, state.w, state.qd))
        return e.masses_at, (e.masses_jacobian.T @ u).reshape(-1, 3)

    def _handles_now(self, state: State) -> Float[Tensor, "t 8"]:
        """Return the handles at a state, as the last step left them or computed."""
        if state.trail is not None:
            return torch.as_tensor(state.trail.handles, dtype=self.kinematics.dtype)
        return self.kinematics.handles(padded(self.body, state.q))

    def _scheme(self, state: State, h: float, *, restart: bool) -> Scheme:
        """Return BDF2, or backward Euler where there is no step before."""
        return scheme_after(self._before(state), (state.q, state.qd), None if restart else state.trail, h, self.gravity)

    def _terms(
        self,
        state: State,
        loads: Loads,
        h: float,
        scheme: Scheme,
        watched: Int[np.ndarray, " c"],
        predicted: Pose,
        handles: Float[Tensor, "r1 t 8"],
    ) -> tuple[StepTerms, Evaluation]:
        """Gather what acts in this step, with masses measured at the predicted pose, which is evaluated for it."""
        body = self.body
        held = [loads.grab.point] if loads.grab is not None else []
        pins, pushed = [p.point for p in loads.pins], [f.point for f in loads.forces]
        groups = [self._watch.rows(watched), *[surface_rows(body, g) for g in (held, pins, pushed) if g]]
        extra = joined(groups, body)
        start = evaluate(body, predicted, extra, handles=handles)
        before = world_positions(body, Pose(state.p, state.R, state.q), self._handles_now(state), extra)
        c = len(watched)
        r = body.k_q
        relative = np.zeros((r, r))
        damping = np.zeros((r, r))
        if r:
            relative = self._base.relative_mass(start)
            _, jacobian = start.elastic
            ratio = self.material.damping_ratio
            stiffness = body.stiffness * (
                jacobian @ jacobian.T
            ) + body.prior_stiffness * self.kinematics.reduction.unit**2 * np.eye(r)
            damping = ratio * body.omega * relative + ratio / body.omega * stiffness
        terms = StepTerms(
            scheme=scheme,
            h=h,
            extra=extra,
            touch=self._watch.touch(watched, before[:c], h),
            contact_load=np.full(c, self.mass * self.gravity / max(c, 1)),
            grab=loads.grab,
            grab_before=None,
            pin_barycentric=np.array([p.barycentric for p in pins]).reshape(-1, 3),
            forces=np.array([f.force for f in loads.forces]).reshape(-1, 3),
            force_barycentric=np.array([p.barycentric for p in pushed]).reshape(-1, 3),
            relative_mass=relative,
            damping=damping,
            stuck=state.stuck,
            prestress=self._weight.inner,
            constraint=None,
            sample_rows=np.zeros((0, 3 * len(body.rest_samples))),
            wanted=np.zeros(0),
            support=np.zeros(0),
        )
        if loads.grab is not None:
            held_before = np.asarray(loads.grab.point.barycentric) @ before[c : c + 3]
            terms = replace(terms, grab_before=held_before)
        return with_constraints(terms, loads, start, self._base, self._weight, anchor=self.anchor), start
