"""The energy that one implicit step minimises: inertia, elasticity, friction, the hand, forces, anchor and pins.

Its Hessian is that of Gauss-Newton, so it is never indefinite. What touches the object is added in `contact`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from engine.dynamics.body import Body
from engine.dynamics.constraints import ConstraintSpring
from engine.dynamics.contact import Touch
from engine.dynamics.evaluation_point import Evaluation, PointRows
from engine.dynamics.grab import SpringForce, spring_force
from engine.dynamics.scheme import Scheme
from engine.dynamics.state import Grab

# RMS slide at which dry friction gives way, as a share of size.
FRICTION_REACH = 0.002


@dataclass(frozen=True, slots=True)
class StepTerms:
    """What acts in one step, fixed while it is solved.

    Attributes:
        scheme: the time discretisation; ``h`` the step [s].
        extra: rows of the extra points: contacts, held point (3 rows), pins (3 rows each), forces (3 rows each).
        touch: the contact points; ``contact_load`` the normal forces on them that friction starts from (c,) [N].
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
    touch: Touch
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

    @property
    def contact_count(self) -> int:
        """Number of contact points, which come first among the extra points."""
        return len(self.touch)


@dataclass(frozen=True, slots=True)
class Assembly:
    """Energy of a step at one iterate, gradient and Hessian of all but contact, and parts that a report wants."""

    energy: float
    gradient: Float64[np.ndarray, " d"]
    hessian: Float64[np.ndarray, "d d"]
    hand: SpringForce | None
    elastic: float


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
    """Sum every energy of the step at one iterate; gradient and Gauss-Newton Hessian of all but contact."""
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
        placed = terms.touch.at(evaluation.points_at[: terms.contact_count])
        energy += terms.touch.forces(placed.local, contact_load).energy
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
