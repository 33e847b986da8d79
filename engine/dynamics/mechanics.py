"""One object, ready to move: the public face of the dynamics. It holds no state; a step takes one and returns one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.linalg
import torch
from jaxtyping import Float, Float32, Float64, Int
from torch import Tensor

from engine.dynamics.body import Body, Shape, describe_shape
from engine.dynamics.constraints import ConstraintSpring, frame_rows, hold
from engine.dynamics.contact import MARGIN, choose_points
from engine.dynamics.evaluation_point import (
    Evaluation,
    Pose,
    candidate_rows,
    evaluate,
    handles_at,
    joined,
    moved,
    surface_rows,
    world_positions,
)
from engine.dynamics.grab import FORCE_CAP, GRAB_FREQUENCY, effective_mass
from engine.dynamics.integrator import Scheme, Solution, StepTerms, constraint_values, friction_reach, held_position, solve
from engine.dynamics.state import Grab, Loads, State, StepReport, StepStatus, SurfacePoint, Trail
from engine.kinematics.object_kinematics import ObjectKinematics
from engine.scenes.material import Anchor, Material

# The base of a standing object gives way a little under a hard knock; a fixed one does not.
STANDING_FREQUENCY = 400.0
CONTACT_ROUNDS = 3
# What hangs from its top does not touch the floor, by this share of size.
HANGING_CLEARANCE = 0.15
STANDARD_GRAVITY = 9.81  # m/s^2, under which an anchored object took the shape it has in its file


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
        metres_per_unit: float = 0.5,
        shape: Shape | None = None,
    ) -> None:
        """Prepare an object.

        Args:
            kinematics: the object.
            material: density, stiffness, damping and friction.
            anchor: free, standing on its base, or fixed at it.
            gravity: along -Z [m/s^2].
            floor: a floor at z = 0.
            metres_per_unit: size of the unit frame's unit [m].
            shape: what another `Mechanics` of the same object found, to save time.
        """
        self.kinematics, self.material, self.anchor = kinematics, material, anchor
        self.gravity, self.floor, self.metres_per_unit = gravity, floor, metres_per_unit
        self._shape = describe_shape(kinematics) if shape is None else shape
        self._hanging, base = self._choose_base()
        self._base = base if anchor is not Anchor.FREE else np.zeros(0, dtype=np.int64)
        held = self._base_rows() if self._base.size else None
        self.body = Body(kinematics, self._shape, material, metres_per_unit, held)
        self._prestress, self._support = np.zeros(self.body.k_q), np.zeros(6)
        self._touchable = self._touchable_candidates()
        self._touchable_rows = candidate_rows(self.body, self._touchable)
        if self._base.size:
            self._prestress, self._support = self._weight_at_home()

    @property
    def mass(self) -> float:
        """Mass of the object [kg]."""
        return self.body.mass

    @property
    def size(self) -> float:
        """Bounding-box diagonal of the rest shape [m]."""
        return self.kinematics.rest.size * self.metres_per_unit

    def with_material(self, material: Material) -> Mechanics:
        """Return the same object with another material."""
        return self._changed(material=material)

    def with_anchor(self, anchor: Anchor) -> Mechanics:
        """Return the same object, held in another way."""
        return self._changed(anchor=anchor)

    def with_world(self, *, gravity: float, floor: bool) -> Mechanics:
        """Return the same object under another gravity [m/s^2], with or without the floor."""
        return self._changed(gravity=gravity, floor=floor)

    def _changed(
        self, *, material: Material | None = None, anchor: Anchor | None = None, gravity: float | None = None, floor: bool | None = None
    ) -> Mechanics:
        return Mechanics(
            self.kinematics,
            material=material or self.material,
            anchor=anchor or self.anchor,
            gravity=self.gravity if gravity is None else gravity,
            floor=self.floor if floor is None else floor,
            metres_per_unit=self.metres_per_unit,
            shape=self._shape,
        )

    # -- states ------------------------------------------------------------------------------------------------

    def rest_state(self, *, height: float = 0.0) -> State:
        """Return the object at rest, its lowest point ``height`` [m] above the floor's contact margin."""
        k = 0 if self.material.name == "rigid" else self.kinematics.k_q
        low = float(np.asarray(self.kinematics.rest.vertices)[:, 2].min()) * self.metres_per_unit
        if self._hanging and self._base.size:
            height += HANGING_CLEARANCE * self.size
        p = np.array([0.0, 0.0, height + MARGIN * self.size - low])
        zero = np.zeros(3)
        return State(0.0, p, np.eye(3), np.zeros(k), zero, zero, np.zeros(k), np.zeros(k))

    def decode(self, state: State) -> Float32[np.ndarray, "n 3"]:
        """Return all welded vertices, world [m]."""
        local = self.kinematics.decode(self._padded(state.q))
        turn = (self.metres_per_unit * state.R.T).astype(np.float32)
        return local @ turn + state.p.astype(np.float32)

    def handles(self, state: State) -> Float32[np.ndarray, "t 8"]:
        """Return the handles' dual quaternions in the unit frame: what a clip keeps of the deformation."""
        return self.kinematics.handles(self._padded(state.q)).float().numpy()

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
        inverse = np.linalg.inv(evaluation.mass_matrix)
        if terms.constraint is not None:
            _, fixed = constraint_values(evaluation, terms)
            inner = np.linalg.pinv(fixed @ inverse @ fixed.T, rcond=1e-9, hermitian=True)
            inverse = inverse - inverse @ fixed.T @ inner @ fixed @ inverse
        mass = min(effective_mass(rows, inverse), self.mass)
        # The hand is stiffer than the object: its frequency grows with the material's.
        omega = 2.0 * np.pi * max(GRAB_FREQUENCY, 3.0 * self.material.frequency)
        target = np.asarray(point.barycentric) @ evaluation.points_at[:3]
        cap = FORCE_CAP * 9.81 * self.mass
        return Grab(point, target, mass * omega**2, 2.0 * mass * omega, cap)

    # -- the step ----------------------------------------------------------------------------------------------

    def step(self, state: State, loads: Loads, h: float) -> tuple[State, StepReport]:
        """Advance by ``h`` seconds. On failure the old state comes back, with the reason in the report."""
        trail = state.trail
        restart = trail is None or abs(trail.h - h) > 1e-9 or len(trail.old_q) != len(state.q)
        solution, terms, watched = self._solve(state, loads, h, restart=restart)
        status = StepStatus.CONVERGED
        # An impact: a point closed that was open. The two-step scheme would carry the old velocity through it.
        closed = self._touching(solution, watched)
        impact = not restart and trail is not None and not (closed <= trail.contacts)
        if not restart and (impact or not solution.converged):
            status = StepStatus.CONVERGED if impact and solution.converged else StepStatus.FALLBACK
            restart = True
            solution, terms, watched = self._solve(state, loads, h, restart=True)
            closed = self._touching(solution, watched)
        if not solution.finite:
            return state, self._failed(StepStatus.NOT_FINITE, solution, "the state is not finite")
        if not solution.converged and solution.residual > 1e-3:
            text = f"no equilibrium in {solution.iterations} iterations, last correction {solution.residual:.1e} of size"
            return state, self._failed(StepStatus.NOT_CONVERGED, solution, text)
        return self._accept(state, loads, h, solution, terms, closed, status)

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
        watched = self._watch(predicted, handles[0], h)
        terms, at_start = self._terms(state, loads, h, scheme, watched, predicted, handles)
        solution = solve(self.body, at_start, terms)
        for _ in range(CONTACT_ROUNDS if self.floor and solution.finite else 0):
            end = solution.evaluation
            heights = world_positions(self.body, end.pose, end.handles[0], self._touchable_rows)[:, 2]
            missed = np.flatnonzero((heights < -0.001 * self.size) & ~np.isin(self._touchable, watched))
            if not len(missed):
                break
            deepest = missed[np.argsort(heights[missed], kind="stable")[:8]]
            watched = np.concatenate((watched, self._touchable[deepest]))
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
        closed: frozenset[int],
        status: StepStatus,
    ) -> tuple[State, StepReport]:
        """Turn a solution into the next state: velocities, momentum, friction's memory, the integrator's trail."""
        e, pose, masses = solution.evaluation, solution.evaluation.pose, self.body.masses
        velocity = (e.masses_at - terms.scheme.base) / terms.scheme.gamma
        momentum = e.masses_jacobian @ (masses[:, None] * velocity).ravel()
        u = scipy.linalg.solve(e.mass_matrix, momentum, assume_a="pos")
        free = not (closed or loads.grab or loads.pins or loads.forces or self._base.size)
        old = state.trail
        if free and not (old is not None and old.contacts):
            u = self._keep_momentum(state, e, u, h)
        velocities = (e.masses_jacobian.T @ u).reshape(-1, 3)
        before_positions, before_velocities = self._before(state)
        stuck = self._dragged_along(pose.q, terms)
        handles = e.handles[0].numpy()
        trail = Trail(
            e.masses_at, velocities, before_positions, before_velocities, state.q, h, closed, handles
        )
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
        return self.kinematics.handles(self._padded(state.q))

    def _scheme(self, state: State, h: float, *, restart: bool) -> Scheme:
        """Return BDF2, or backward Euler where there is no step before."""
        x, v = self._before(state)
        fall = np.array([0.0, 0.0, -self.gravity])
        trail = state.trail
        if restart or trail is None:
            return Scheme(h, x, x + h * v + h**2 * fall, state.q)
        gamma = 2.0 * h / 3.0
        base = (4.0 * x - trail.old_positions) / 3.0
        aim = base + gamma * (4.0 * v - trail.old_velocities) / 3.0 + gamma**2 * fall
        return Scheme(gamma, base, aim, (4.0 * state.q - trail.old_q) / 3.0)

    def _watch(self, predicted: Pose, handles: Float[Tensor, "t 8"], h: float) -> Int[np.ndarray, " c"]:
        """Choose the candidates that may touch the floor in this step."""
        if not self.floor or not np.isfinite(predicted.p).all():
            return np.zeros(0, dtype=np.int64)
        positions = world_positions(self.body, predicted, handles, self._touchable_rows)
        reach = (MARGIN + 0.004) * self.size + 2.0 * self.gravity * h**2
        return self._touchable[choose_points(positions, reach, self.size)]

    def _touching(self, solution: Solution, watched: Int[np.ndarray, " c"]) -> frozenset[int]:
        heights = solution.evaluation.points_at[: len(watched), 2]
        return frozenset(int(i) for i in watched[heights < MARGIN * self.size])

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
        groups = [candidate_rows(body, watched), *[surface_rows(body, g) for g in (held, pins, pushed) if g]]
        extra = joined(groups, body)
        start = evaluate(body, predicted, extra, handles=handles)
        before = world_positions(body, Pose(state.p, state.R, state.q), self._handles_now(state), extra)
        c = len(watched)
        r = body.k_q
        relative = np.zeros((r, r))
        damping = np.zeros((r, r))
        if r:
            relative = self._relative_mass(start)
            _, jacobian = start.elastic
            ratio = self.material.damping_ratio
            stiffness = body.stiffness * (jacobian @ jacobian.T) + body.prior_stiffness * np.eye(r)
            damping = ratio * body.omega * relative + ratio / body.omega * stiffness
        terms = StepTerms(
            scheme=scheme,
            h=h,
            extra=extra,
            contact_count=c,
            contact_before=before[:c],
            contact_load=np.full(c, self.mass * self.gravity / max(c, 1)),
            grab=loads.grab,
            grab_before=None,
            pin_barycentric=np.array([p.barycentric for p in pins]).reshape(-1, 3),
            forces=np.array([f.force for f in loads.forces]).reshape(-1, 3),
            force_barycentric=np.array([p.barycentric for p in pushed]).reshape(-1, 3),
            relative_mass=relative,
            damping=damping,
            stuck=state.stuck,
            prestress=self._prestress,
            constraint=None,
            sample_rows=np.zeros((0, 3 * len(body.rest_samples))),
            wanted=np.zeros(0),
            support=np.zeros(0),
        )
        if loads.grab is not None:
            held_before = np.asarray(loads.grab.point.barycentric) @ before[c : c + 3]
            terms = replace(terms, grab_before=held_before)
        return self._with_constraints(terms, loads, start), start

    def _relative_mass(self, start: Evaluation) -> Float64[np.ndarray, "r r"]:
        """Return the mass matrix of q alone: beside the best rigid motion, or beside the base if that is held."""
        mass = start.mass_matrix
        if self._base.size:
            rows = self._base_rows() @ start.samples_jacobian.reshape(len(mass), -1).T
            follows = -np.linalg.lstsq(rows[:, :6], rows[:, 6:], rcond=1e-9)[0]
        else:
            follows = -np.linalg.solve(mass[:6, :6], mass[:6, 6:])
        motion = np.concatenate((follows, np.eye(len(mass) - 6)))
        return motion.T @ mass @ motion

    def _with_constraints(self, terms: StepTerms, loads: Loads, start: Evaluation) -> StepTerms:
        """Add the springs of the anchor and of the pins."""
        if not self._base.size and not loads.pins:
            return terms
        rows = np.zeros((0, terms.sample_rows.shape[1]))
        wanted: list[np.ndarray] = []
        if self._base.size:
            rows = self._base_rows()
            wanted.append(rows @ self._home_samples().ravel())
        wanted.extend(np.asarray(pin.target) for pin in loads.pins)
        terms = replace(terms, sample_rows=rows, wanted=np.concatenate(wanted))
        _, derivative = constraint_values(start, terms)
        inverse = np.linalg.inv(start.mass_matrix)
        most = 6 + self.body.k_q // 2
        if self._base.size and self.anchor is Anchor.STANDING:
            soft = hold(derivative[:6], inverse, most=6, hard=STANDING_FREQUENCY).stiffness
            stiffness = np.zeros((len(derivative), len(derivative)))
            stiffness[:6, :6] = soft
            spring = ConstraintSpring(stiffness, 6, over=False)
            if loads.pins:
                pinned = hold(derivative[6:], inverse, most=most)
                stiffness[6:, 6:] = pinned.stiffness
                spring = ConstraintSpring(stiffness, 6 + pinned.kept, pinned.over)
        else:
            spring = hold(derivative, inverse, most=most)
        support = np.concatenate((self._support if self._base.size else np.zeros(0), np.zeros(3 * len(loads.pins))))
        return replace(terms, constraint=spring, support=support)

    def _weight_at_home(self) -> tuple[Float64[np.ndarray, " r"], Float64[np.ndarray, "6"]]:
        """Return the forces on q and on the base by which an anchored object carries its weight in the file's pose.

        A cloth on a rail and a toy on a shelf were modelled as they hang and stand: gravity is in their shape already.
        Joints that dry friction holds need no force of their own.
        """
        home = self.rest_state()
        pose = Pose(home.p, home.R, home.q)
        e = evaluate(self.body, pose, joined([], self.body))
        weight = e.masses_jacobian.reshape(len(e.mass_matrix), -1, 3)[:, :, 2] @ self.body.masses * STANDARD_GRAVITY
        rows = self._base_rows() @ e.samples_jacobian.reshape(len(e.mass_matrix), -1).T
        reaction = np.linalg.lstsq(rows[:, :6].T, weight[:6], rcond=1e-9)[0]
        inner = weight[6:] - rows[:, 6:].T @ reaction
        return (inner if not self.material.dry_friction else np.zeros_like(inner)), reaction

    def _base_rows(self) -> Float64[np.ndarray, "6 p3"]:
        """Return the six functionals of the samples that the anchor holds: place and turn of the base."""
        home = self._home_samples()[self._base]
        rows = np.zeros((6, len(self.kinematics.sample_points), 3))
        rows[:, self._base] = frame_rows(home - home.mean(0)).reshape(6, -1, 3)
        return rows.reshape(6, -1)

    def _home_samples(self) -> Float64[np.ndarray, "p 3"]:
        """Return where the samples stand when the object rests in its place, world [m]."""
        home = self.rest_state()
        return home.p + self.metres_per_unit * self.kinematics.sample_points

    def _keep_momentum(
        self, state: State, e: Evaluation, u: Float64[np.ndarray, " d"], h: float
    ) -> Float64[np.ndarray, " d"]:
        """Correct the velocity by a rigid motion such that free flight keeps its momenta, up to gravity's impulse."""
        masses = self.body.masses
        x0, v0 = self._before(state)
        v = (e.masses_jacobian.T @ u).reshape(-1, 3)
        drift = masses @ (v0 - v) / masses.sum() + np.array([0.0, 0.0, -self.gravity * h])
        gap = _angular_momentum(masses, x0, v0) - _angular_momentum(masses, e.masses_at, v)
        centre = masses @ e.masses_at / masses.sum()
        arms = e.masses_at - centre
        inertia = np.einsum("m,md,md->", masses, arms, arms) * np.eye(3) - np.einsum("m,mi,mj->ij", masses, arms, arms)
        spin = np.linalg.lstsq(inertia, gap, rcond=1e-9)[0]
        u = u.copy()
        # A spin about the centre of mass, written at the root.
        u[:3] += drift + np.cross(spin, e.pose.p - centre)
        u[3:6] += spin
        return u

    def _dragged_along(self, q: Float64[np.ndarray, " r"], terms: StepTerms) -> Float64[np.ndarray, " r"]:
        """Move the point where dry friction holds, when the slide went beyond its reach."""
        if self.material.dry_friction <= 0 or not len(q):
            return q
        slide = q - terms.stuck
        distance = float(np.sqrt(max(slide @ terms.relative_mass @ slide, 0.0) / self.mass))
        reach = friction_reach(self.body)
        return q - slide * min(1.0, reach / max(distance, 1e-12))

    def _choose_base(self) -> tuple[bool, Int[np.ndarray, " b"]]:
        """Choose the region that an anchored object is held by: its lowest band, or the highest for hanging sheets."""
        (bottom, bottom_motion), (top, top_motion) = self._shape.bands
        hanging = not self.kinematics.rest.solid and top_motion < 0.7 * bottom_motion
        return hanging, top if hanging else bottom

    def _touchable_candidates(self) -> Int[np.ndarray, " c"]:
        """Leave out the base of an anchored object: its anchor stands for the floor there."""
        everything = np.arange(len(self._shape.candidates))
        if not self._base.size:
            return everything
        z = self.body.candidate_rest[:, 2].double().numpy()
        base = self.kinematics.sample_points[self._base, 2]
        return everything[(z > base.max() + 1e-3) | (z < base.min() - 0.02)]

    def _padded(self, q: Float64[np.ndarray, " r"]) -> Float64[np.ndarray, " k"]:
        return q if len(q) == self.kinematics.k_q else np.zeros(self.kinematics.k_q)


def _angular_momentum(
    masses: Float64[np.ndarray, " m"], x: Float64[np.ndarray, "m 3"], v: Float64[np.ndarray, "m 3"]
) -> Float64[np.ndarray, "3"]:
    """Return the angular momentum about the centre of mass [kg m^2/s]."""
    total = masses.sum()
    x, v = x - masses @ x / total, v - masses @ v / total
    return np.cross(x, masses[:, None] * v).sum(0)
