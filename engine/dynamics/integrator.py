"""One implicit step in the generalized coordinates, by Gauss-Newton on the incremental potential.

    minimise  1/(2 gamma^2) ||x(y) - x~||_W^2 + V(x(y)) + dissipation,      y = (p, R, q)

With BDF2, ``gamma = 2h/3``, ``x^ = (4 x_n - x_{n-1})/3``, ``x~ = x^ + gamma (4 v_n - v_{n-1})/3 + gamma^2 g``; the
new velocity is ``(x - x^)/gamma``. Backward Euler (``gamma = h``, ``x^ = x_n``) starts a motion, follows an impact, and
replaces a step that did not converge. Gravity is part of ``x~``. The Hessian is that of Gauss-Newton, so it is never
indefinite; a line search on the true energy guards the step. Source: Gast et al., "Optimization Integrator for
Large Time Steps", 2015.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg
from jaxtyping import Float64

from engine.dynamics.body import Body
from engine.dynamics.constraints import ConstraintSpring
from engine.dynamics.contact import ContactForces, floor_forces
from engine.dynamics.evaluation_point import Evaluation, PointRows, evaluate, moved
from engine.dynamics.grab import SpringForce, spring_force
from engine.dynamics.secant import completed, learned
from engine.dynamics.state import Grab, Trail

MOST_ITERATIONS = 20
LINE_SEARCH = 4
# RMS of the last correction, as a share of size, at which a step has converged.
TOLERANCE = 1e-5
ACCEPTABLE = 1e-4
# Largest turn [rad] of one iteration.
TURN_CAP = 0.8
# Iterations in which friction's bound follows the normal force; then it stays, so that the energy is one function.
LAGGED_ITERATIONS = 2
MOST_INNER = 40
# RMS slide at which dry friction gives way, as a share of size.
FRICTION_REACH = 0.002
INNER_HALVINGS = 16


@dataclass(frozen=True, slots=True)
class Scheme:
    """The multistep scheme of a step (see the module): ``gamma``; ``x^``, ``x~`` of the mass points, ``q^``, ``q~``."""

    gamma: float
    base: Float64[np.ndarray, "m 3"]
    aim: Float64[np.ndarray, "m 3"]
    base_q: Float64[np.ndarray, " r"]
    aim_q: Float64[np.ndarray, " r"]


def scheme_after(
    now: tuple[Float64[np.ndarray, "m 3"], Float64[np.ndarray, "m 3"]],
    reduced: tuple[Float64[np.ndarray, " r"], Float64[np.ndarray, " r"]],
    trail: Trail | None,
    h: float,
    gravity: float,
) -> Scheme:
    """Return BDF2, or backward Euler where there is no step before.

    Args:
        now: positions and velocities of the mass points [m, m/s].
        reduced: coordinates q now and their rates [1/s].
        trail: the step before; None restarts.
        h: step [s].
        gravity: along -Z [m/s^2].
    """
    (x, v), (q, qd), fall = now, reduced, np.array([0.0, 0.0, -gravity])
    if trail is None:
        return Scheme(h, x, x + h * v + h**2 * fall, q, q + h * qd)
    gamma = 2.0 * h / 3.0
    base = (4.0 * x - trail.old_positions) / 3.0
    aim = base + gamma * (4.0 * v - trail.old_velocities) / 3.0 + gamma**2 * fall
    base_q = (4.0 * q - trail.old_q) / 3.0
    return Scheme(gamma, base, aim, base_q, base_q + gamma * (4.0 * qd - trail.old_qd) / 3.0)


@dataclass(frozen=True, slots=True)
class StepTerms:
    """What acts in one step, fixed while it is solved.

    Attributes:
        scheme: the time discretisation; ``h`` the step [s].
        extra: rows of the extra points: contacts, held point (3 rows), pins (3 rows each), forces (3 rows each).
        contact_count: number of contact points; ``contact_before`` (c, 3) their places at the start [m].
        contact_load: lagged normal forces [N].
        grab: the hand, with ``grab_before`` the held point at the start [m].
        forces: constant forces (f, 3) [N] with their barycentric weights (f, 3).
        relative_mass: M_rel at the start; ``damping`` the Rayleigh matrix of q [kg/s, in q's units].
        prestress: force on q by which an anchored object carries its weight at rest.
        stuck: where dry friction holds.
        constraint: spring on constraint values, its rows by sample (r, p3) and by pin points, the wanted values and
            the constant ``support`` (r,) [N] by which the anchor carries the weight.
    """

    scheme: Scheme
    h: float
    extra: PointRows
    contact_count: int
    contact_before: Float64[np.ndarray, "c 3"]
    contact_load: Float64[np.ndarray, " c"]
    grab: Grab | None
    grab_before: Float64[np.ndarray, "3"] | None
    pin_barycentric: Float64[np.ndarray, "n 3"]
    forces: Float64[np.ndarray, "f 3"]
    force_barycentric: Float64[np.ndarray, "f 3"]
    relative_mass: Float64[np.ndarray, "r r"]
    damping: Float64[np.ndarray, "r r"]
    stuck: Float64[np.ndarray, " r"]
    prestress: Float64[np.ndarray, " r"]
    constraint: ConstraintSpring | None
    sample_rows: Float64[np.ndarray, "a p3"]
    wanted: Float64[np.ndarray, " w"]
    support: Float64[np.ndarray, " s"]


@dataclass(frozen=True, slots=True)
class Assembly:
    """Energy of a step at one iterate, gradient and Hessian of all but the floor, and parts that a report wants."""

    energy: float
    gradient: Float64[np.ndarray, " d"]
    hessian: Float64[np.ndarray, "d d"]
    hand: SpringForce | None
    elastic: float


@dataclass(frozen=True, slots=True)
class Solution:
    """The end of a Gauss-Newton solve."""

    evaluation: Evaluation
    assembly: Assembly
    iterations: int
    residual: float
    converged: bool
    finite: bool

    @property
    def acceptable(self) -> bool:
        """Converged, or as near to it as single precision allows when the object is strained far."""
        return self.finite and (self.converged or self.residual < ACCEPTABLE)


def held_position(evaluation: Evaluation, terms: StepTerms) -> Float64[np.ndarray, "3"]:
    """Return the place of the held point [m]."""
    assert terms.grab is not None
    c = terms.contact_count
    return np.asarray(terms.grab.point.barycentric) @ evaluation.points_at[c : c + 3]


def constraint_values(
    evaluation: Evaluation, terms: StepTerms
) -> tuple[Float64[np.ndarray, " c"], Float64[np.ndarray, "c d"]]:
    """Return the values of anchor and pin functionals, minus what is wanted, and their derivatives."""
    d = len(evaluation.mass_matrix)
    values = [terms.sample_rows @ evaluation.samples_at.ravel()]
    rows = [terms.sample_rows @ evaluation.samples_jacobian.reshape(d, -1).T]
    first = terms.contact_count + (3 if terms.grab is not None else 0)
    n = len(terms.pin_barycentric)
    if n:
        places = evaluation.points_at[first : first + 3 * n].reshape(n, 3, 3)
        tangents = evaluation.points_jacobian[:, first : first + 3 * n].reshape(d, n, 3, 3)
        values.append(np.einsum("nk,nkd->nd", terms.pin_barycentric, places).ravel())
        rows.append(np.einsum("nk,jnkd->ndj", terms.pin_barycentric, tangents).reshape(3 * n, d))
    return np.concatenate(values) - terms.wanted, np.concatenate(rows)


def assemble(body: Body, evaluation: Evaluation, terms: StepTerms, contact_load: Float64[np.ndarray, " c"]) -> Assembly:
    """Sum every energy of the step at one iterate; gradient and Gauss-Newton Hessian of all but the floor."""
    gamma = terms.scheme.gamma
    d, r = len(evaluation.mass_matrix), body.k_q
    offset = evaluation.masses_at - terms.scheme.aim
    weighted = (body.masses[:, None] * offset).ravel()
    energy = 0.5 * float(weighted @ offset.ravel()) / gamma**2
    gradient = evaluation.masses_jacobian @ weighted / gamma**2
    hessian = evaluation.mass_matrix / gamma**2
    elastic = 0.0
    if r:
        # What q weighs beside the points that it moves.
        ahead = body.idle_mass * (evaluation.pose.q - terms.scheme.aim_q) / gamma**2
        energy += 0.5 * float(ahead @ (evaluation.pose.q - terms.scheme.aim_q))
        gradient[6:] += ahead
        elastic, value, slope, curvature = internal(body, evaluation, terms)
        energy += value
        gradient[6:] += slope
        hessian[6:, 6:] += curvature
    if terms.contact_count:
        energy += floor_at(body, evaluation.points_at[: terms.contact_count], terms, contact_load).energy
    hand = None
    if terms.grab is not None and terms.grab_before is not None:
        c, g = terms.contact_count, terms.grab
        hand = spring_force(
            held_position(evaluation, terms),
            terms.grab_before,
            g.target,
            stiffness=g.stiffness,
            damping=g.damping,
            force_cap=g.force_cap,
            age=g.age,
            h=terms.h,
        )
        tangents = np.einsum("k,jkd->jd", g.point.barycentric, evaluation.points_jacobian[:, c : c + 3])
        energy += hand.energy
        gradient += tangents @ hand.gradient
        hessian += tangents @ hand.hessian @ tangents.T
    if len(terms.forces):
        places = evaluation.points_at[-3 * len(terms.forces) :].reshape(-1, 3, 3)
        tangents = evaluation.points_jacobian[:, -3 * len(terms.forces) :].reshape(d, -1, 3, 3)
        energy -= float(np.einsum("fk,fkd,fd->", terms.force_barycentric, places, terms.forces))
        gradient -= np.einsum("fk,jfkd,fd->j", terms.force_barycentric, tangents, terms.forces)
    if terms.constraint is not None:
        values, rows = constraint_values(evaluation, terms)
        pull = terms.constraint.stiffness @ values
        energy += float(values @ (0.5 * pull - terms.support))
        gradient += rows.T @ (pull - terms.support)
        hessian += rows.T @ terms.constraint.stiffness @ rows
    return Assembly(energy, gradient, hessian, hand, elastic)


def floor_at(
    body: Body, places: Float64[np.ndarray, "c 3"], terms: StepTerms, load: Float64[np.ndarray, " c"]
) -> ContactForces:
    """Return the floor's energy and forces with the contact points at given places."""
    return floor_forces(
        places,
        terms.contact_before,
        load,
        mass=body.mass,
        size=body.size,
        friction=body.material.floor_friction,
        h=terms.h,
    )


def newton_step(
    body: Body,
    evaluation: Evaluation,
    assembly: Assembly,
    terms: StepTerms,
    load: Float64[np.ndarray, " c"],
    *,
    follow: bool,
) -> tuple[Float64[np.ndarray, " d"], Float64[np.ndarray, " c"]]:
    """Minimise the step's quadratic model plus the exact energy of the floor; return the step and the normal forces.

    Which points touch is found here, by a semismooth Newton method on small matrices, and not by decoding the object
    again and again: a fall on twenty points needs about as many changes of the active set, and no decode. With
    ``follow`` the bound of friction follows the normal forces found.
    """
    c = terms.contact_count
    if not c:
        return -scipy.linalg.solve(assembly.hessian, assembly.gradient, assume_a="pos", check_finite=False), load
    d = len(assembly.gradient)
    tangents = evaluation.points_jacobian[:, :c].reshape(d, -1)
    step, places = np.zeros(d), evaluation.points_at[:c]
    floor = floor_at(body, places, terms, load)
    energy = floor.energy
    for inner in range(MOST_INNER):
        gradient = assembly.gradient + assembly.hessian @ step + tangents @ floor.gradient.ravel()
        hessian = assembly.hessian + (tangents * floor.hessian.ravel()) @ tangents.T
        change = -scipy.linalg.solve(hessian, gradient, assume_a="pos", check_finite=False)
        decrease = -float(gradient @ change)
        if decrease < 1e-14 * body.mass * body.size**2 / terms.scheme.gamma**2:
            break
        share, found = 1.0, False
        for _ in range(INNER_HALVINGS):
            trial = step + share * change
            places = evaluation.points_at[:c] + (trial @ tangents).reshape(c, 3)
            trial_floor = floor_at(body, places, terms, load)
            value = trial_floor.energy + float(trial @ (assembly.gradient + 0.5 * assembly.hessian @ trial))
            found = value <= energy - 1e-4 * share * decrease
            if found:
                step, floor, energy = trial, trial_floor, value
                break
            share *= 0.5
        if not found:
            break
        if follow and inner < LAGGED_ITERATIONS:
            load = -floor.gradient[:, 2]
            floor = floor_at(body, places, terms, load)
            energy = floor.energy + float(step @ (assembly.gradient + 0.5 * assembly.hessian @ step))
    return step, load


def slope_along(
    body: Body,
    evaluation: Evaluation,
    assembly: Assembly,
    terms: StepTerms,
    load: Float64[np.ndarray, " c"],
    step: Float64[np.ndarray, " d"],
) -> float:
    """Return the derivative of the step's energy along a step."""
    slope = float(assembly.gradient @ step)
    c = terms.contact_count
    if c:
        moves = np.tensordot(step, evaluation.points_jacobian[:, :c], 1)
        slope += float((floor_at(body, evaluation.points_at[:c], terms, load).gradient * moves).sum())
    return slope


def internal(
    body: Body, evaluation: Evaluation, terms: StepTerms
) -> tuple[float, float, Float64[np.ndarray, " r"], Float64[np.ndarray, "r r"]]:
    """Return the elastic energy, and energy, gradient and Hessian in q of all internal terms.

    They are object-space elasticity, the prior, the range barrier, viscous damping and dry friction.
    """
    q = evaluation.pose.q
    residual, tangents = evaluation.elastic
    unit = body.kinematics.reduction.unit
    prior = body.prior_stiffness * unit**2
    energy = 0.5 * body.stiffness * float(residual @ residual) + 0.5 * prior * float(q @ q)
    gradient = body.stiffness * (tangents @ residual) + prior * q
    hessian = body.stiffness * (tangents @ tangents.T) + prior * np.eye(len(q))
    centre = body.kinematics.prior_offset + unit * q
    radius = float(np.linalg.norm(centre))
    beyond = radius - body.range_radius
    if beyond > 0:
        energy += 0.5 * body.barrier_stiffness * beyond**2
        gradient = gradient + body.barrier_stiffness * unit * beyond / radius * centre
        direction = centre / radius
        hessian = hessian + body.barrier_stiffness * unit**2 * (
            np.outer(direction, direction) + beyond / radius * np.eye(len(q))
        )
    elastic = energy
    # The total gradient at rest is gravity's, so the prestress that balances it has the opposite sign.
    energy -= float(terms.prestress @ q)
    gradient = gradient - terms.prestress
    rate = q - terms.scheme.base_q
    drag = terms.damping @ rate / terms.scheme.gamma
    energy += 0.5 * float(rate @ drag)
    gradient = gradient + drag
    hessian = hessian + terms.damping / terms.scheme.gamma
    limit = body.material.dry_friction * body.mass
    if limit > 0:
        slide = q - terms.stuck
        push = terms.relative_mass @ slide
        distance = float(np.sqrt(max(slide @ push, 0.0) / body.mass))
        reach = FRICTION_REACH * body.size
        # A spring up to the reach, a constant force beyond it: at rest a joint holds without creeping.
        secant = limit / max(distance, reach)
        energy += limit * (distance - 0.5 * reach) if distance > reach else 0.5 * limit * distance**2 / reach
        gradient = gradient + secant * push / body.mass
        hessian = hessian + secant * terms.relative_mass / body.mass
    return elastic, energy, gradient, hessian


def stuck_after(body: Body, q: Float64[np.ndarray, " r"], terms: StepTerms) -> Float64[np.ndarray, " r"]:
    """Return where dry friction holds after a step: it is dragged along when the slide went beyond its reach."""
    if body.material.dry_friction <= 0 or not len(q):
        return q
    slide = q - terms.stuck
    distance = float(np.sqrt(max(slide @ terms.relative_mass @ slide, 0.0) / body.mass))
    return q - slide * min(1.0, FRICTION_REACH * body.size / max(distance, 1e-12))


def solve(body: Body, start: Evaluation, terms: StepTerms) -> Solution:
    """Minimise the step's energy from a pose that is evaluated already."""
    evaluation, load = start, terms.contact_load
    assembly = assemble(body, evaluation, terms, load)
    residual, converged = np.inf, False
    iteration, beside = 0, np.zeros_like(assembly.hessian)
    for iteration in range(1, MOST_ITERATIONS + 1):
        if not (np.isfinite(assembly.energy) and np.isfinite(assembly.gradient).all()):
            return Solution(evaluation, assembly, iteration, np.inf, False, False)
        try:
            follow = iteration <= LAGGED_ITERATIONS
            whole = replace(assembly, hessian=completed(assembly.hessian, beside)) if beside.any() else assembly
            step, new_load = newton_step(body, evaluation, whole, terms, load, follow=follow)
        except np.linalg.LinAlgError:
            return Solution(evaluation, assembly, iteration, np.inf, False, True)
        if terms.contact_count and follow:
            load = new_load
            assembly = assemble(body, evaluation, terms, load)
        step = step * min(1.0, TURN_CAP / max(float(np.linalg.norm(step[3:6])), 1e-12))
        residual = float(np.sqrt(max(step @ evaluation.mass_matrix @ step, 0.0) / body.mass)) / body.size
        if residual < TOLERANCE:
            converged = True
            break
        slope = slope_along(body, evaluation, assembly, terms, load, step)
        share, taken, trial, trial_assembly = 1.0, 1.0, evaluation, assembly
        for _ in range(LINE_SEARCH):
            taken = share
            trial = evaluate(body, moved(evaluation.pose, step, share), terms.extra)
            trial_assembly = assemble(body, trial, terms, load)
            if trial_assembly.energy <= assembly.energy + 1e-12 * (abs(assembly.energy) + body.mass):
                break
            # The lowest point of the parabola through the energy, its slope and the trial.
            rise = trial_assembly.energy - assembly.energy - share * slope
            share *= float(np.clip(-0.5 * share * slope / max(rise, 1e-300), 0.1, 0.6))
        if iteration >= LAGGED_ITERATIONS or not terms.contact_count:
            beside = learned(beside, taken * step, trial_assembly.gradient - assembly.gradient, trial_assembly.hessian)
        evaluation, assembly = trial, trial_assembly
    return Solution(evaluation, assembly, iteration, residual, converged, True)
