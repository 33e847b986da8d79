"""One implicit step in the generalized coordinates, by Gauss-Newton on the incremental potential.

A line search on the true energy guards every iteration. Which contact points touch is found on the step's own small
quadratic model. Source: Gast et al., "Optimization Integrator for Large Time Steps", 2015.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg
from jaxtyping import Float64

from engine.dynamics.body import Body
from engine.dynamics.evaluation_point import Evaluation, evaluate, moved
from engine.dynamics.secant import completed, learned
from engine.dynamics.step_energy import Assembly, StepTerms, assemble

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
INNER_HALVINGS = 16


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


def newton_step(
    body: Body,
    evaluation: Evaluation,
    assembly: Assembly,
    terms: StepTerms,
    load: Float64[np.ndarray, " c"],
    *,
    follow: bool,
) -> tuple[Float64[np.ndarray, " d"], Float64[np.ndarray, " c"]]:
    """Minimise the step's quadratic model plus the exact energy of contact; return the step and the normal forces.

    Which points touch is found here, by a semismooth Newton method on small matrices, and not by decoding the object
    again and again: a fall on twenty points needs about as many changes of the active set, and no decode. A round
    surface is its tangent plane meanwhile. With ``follow`` the bound of friction follows the normal forces found.
    """
    c = terms.contact_count
    if not c:
        return -scipy.linalg.solve(assembly.hessian, assembly.gradient, assume_a="pos", check_finite=False), load
    placed = terms.touch.at(evaluation.points_at[:c])
    tangents = placed.turned(evaluation.points_jacobian[:, :c])
    step = np.zeros(len(assembly.gradient))
    contact = terms.touch.forces(placed.local, load)
    energy = contact.energy
    for inner in range(MOST_INNER):
        gradient = assembly.gradient + assembly.hessian @ step + tangents @ contact.gradient.ravel()
        hessian = assembly.hessian + (tangents * contact.hessian.ravel()) @ tangents.T
        change = -scipy.linalg.solve(hessian, gradient, assume_a="pos", check_finite=False)
        decrease = -float(gradient @ change)
        if decrease < 1e-14 * body.mass * body.size**2 / terms.scheme.gamma**2:
            break
        share, found = 1.0, False
        for _ in range(INNER_HALVINGS):
            trial = step + share * change
            local = placed.local + (trial @ tangents).reshape(c, 3)
            trial_contact = terms.touch.forces(local, load)
            value = trial_contact.energy + float(trial @ (assembly.gradient + 0.5 * assembly.hessian @ trial))
            found = value <= energy - 1e-4 * share * decrease
            if found:
                step, contact, energy = trial, trial_contact, value
                break
            share *= 0.5
        if not found:
            break
        if follow and inner < LAGGED_ITERATIONS:
            load = -contact.gradient[:, 2]
            contact = terms.touch.forces(placed.local + (step @ tangents).reshape(c, 3), load)
            energy = contact.energy + float(step @ (assembly.gradient + 0.5 * assembly.hessian @ step))
    return step, load


def slope_along(
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
        placed = terms.touch.at(evaluation.points_at[:c])
        moves = step @ placed.turned(evaluation.points_jacobian[:, :c])
        slope += float(terms.touch.forces(placed.local, load).gradient.ravel() @ moves)
    return slope


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
        slope = slope_along(evaluation, assembly, terms, load, step)
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
