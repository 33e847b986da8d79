"""What holds an object in a step: springs on the functionals of its anchor and on its pins."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from engine.dynamics.anchoring import Base, Reaction
from engine.dynamics.constraints import ConstraintSpring, hold
from engine.dynamics.evaluation_point import Evaluation
from engine.dynamics.state import Loads
from engine.dynamics.step_energy import StepTerms, constraint_values
from engine.scenes.material import Anchor

# The base of a standing object gives way a little under a hard knock; a fixed one does not.
STANDING_FREQUENCY = 400.0


def with_constraints(
    terms: StepTerms, loads: Loads, start: Evaluation, base: Base, weight: Reaction, *, anchor: Anchor
) -> StepTerms:
    """Add to a step's terms the springs of the anchor and of the pins.

    Args:
        terms: of the step, without them.
        loads: whose pins are held.
        start: the pose at which the object's mobility is measured.
        base: what the anchor holds.
        weight: how it carries the object at home.
        anchor: how.
    """
    if not base.held and not loads.pins:
        return terms
    rows = base.rows if base.held else np.zeros((0, terms.sample_rows.shape[1]))
    wanted = [rows @ base.home.ravel()] if base.held else []
    wanted.extend(np.asarray(pin.target) for pin in loads.pins)
    terms = replace(terms, sample_rows=rows, wanted=np.concatenate(wanted))
    _, derivative = constraint_values(start, terms)
    inverse = np.linalg.inv(start.mass_matrix)
    most = 6 + (len(start.mass_matrix) - 6) // 2
    if base.held and anchor is Anchor.STANDING:
        soft = hold(derivative[:6], inverse, most=6, hard=STANDING_FREQUENCY, least_share=0.0).stiffness
        stiffness = np.zeros((len(derivative), len(derivative)))
        stiffness[:6, :6] = soft
        spring = ConstraintSpring(stiffness, 6, over=False)
        if loads.pins:
            pinned = hold(derivative[6:], inverse, most=most)
            stiffness[6:, 6:] = pinned.stiffness
            spring = ConstraintSpring(stiffness, 6 + pinned.kept, pinned.over)
    else:
        spring = hold(derivative, inverse, most=most)
    support = np.concatenate((weight.support if base.held else np.zeros(0), np.zeros(3 * len(loads.pins))))
    return replace(terms, constraint=spring, support=support)
