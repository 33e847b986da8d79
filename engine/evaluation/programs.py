"""The evaluations over a split: each takes objects and returns the figures of every one of them.

A program tells its progress after each object through a callable and keeps nothing but plain figures, so memory does
not grow with the split. Objects on which a method fails are named, not dropped in silence.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from engine.datasets.sampling import SampledMotion
from engine.evaluation.inverse import InverseSettings, chamfer_floor, pose_to_states
from engine.evaluation.method import Method
from engine.evaluation.objects import evaluation_object
from engine.evaluation.prior import sample_prior
from engine.evaluation.reconstruction import reconstruct
from engine.evaluation.selection import Selection
from engine.evaluation.statistics import ObjectFigures, merged, summarise
from engine.kinematics.reduction import ReductionKind
from engine.model.checkpoint import Checkpoint

Progress = Callable[[int, int], None]
FLOORS = 12


@dataclass(slots=True)
class Result:
    """What one method gave in one evaluation.

    Attributes:
        evaluation: "reconstruction", "ik" or "samples".
        method: name in the tables.
        sees_states: whether it has looked at the true states.
        objects: figures of every object.
        failed: what went wrong, by object.
        extra: figures of the evaluation as a whole.
    """

    evaluation: str
    method: str
    sees_states: bool = False
    objects: list[ObjectFigures] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    extra: dict[str, Any] = field(default_factory=dict)

    def as_dict(self, *, seed: int) -> dict[str, Any]:
        """Return plain values with the summaries, as kept in JSON."""
        plain: dict[str, Any] = {
            "evaluation": self.evaluation,
            "method": self.method,
            "sees_states": self.sees_states,
            "failed": self.failed,
            "extra": self.extra,
        }
        for name, by_family in (("kinds", False), ("families", True)):
            groups = summarise(self.objects, seed=seed, by_family=by_family)
            plain[name] = {
                group: {
                    figure: {"value": x.value, "low": x.low, "high": x.high, "objects": x.objects}
                    for figure, x in figures.items()
                    if np.isfinite(x.value)
                }
                for group, figures in groups.items()
            }
        plain["objects"] = [each.as_dict() for each in self.objects]
        return plain

    @staticmethod
    def from_dict(plain: dict[str, Any]) -> Result:
        """Return the result that ``as_dict`` gave."""
        objects = [ObjectFigures.from_dict(each) for each in plain["objects"]]
        return Result(
            plain["evaluation"], plain["method"], plain["sees_states"], objects, plain["failed"], plain["extra"]
        )


def evaluate_reconstruction(
    checkpoint: Checkpoint,
    motions: Sequence[SampledMotion],
    selection: Selection,
    *,
    label: str = "neurok",
    progress: Progress | None = None,
) -> Result:
    """Reconstruct the chosen states of each object through the posterior, from its rest shape and another state."""
    result = Result("reconstruction", label)
    for done, motion in enumerate(motions, 1):
        rests = (0, selection.second_rest(motion))
        rows = [
            reconstruct(checkpoint, motion, rest, selection.states_of(motion, rest), seed=selection.seed)
            for rest in rests
        ]
        result.objects.append(merged(rows))
        if progress:
            progress(done, len(motions))
    return result


def evaluate_inverse(
    methods: Sequence[Method],
    motions: Sequence[SampledMotion],
    selection: Selection,
    settings: InverseSettings,
    *,
    progress: Progress | None = None,
) -> list[Result]:
    """Pose each object to its chosen true states with every method; all methods get the same samples and targets."""
    results = [Result("ik", method.name, method.sees_states) for method in methods]
    floors: list[float] = []
    for done, motion in enumerate(motions, 1):
        item = evaluation_object(motion, seed=selection.seed)
        states = selection.states_of(motion)
        for method, result in zip(methods, results, strict=True):
            try:
                result.objects.append(pose_to_states(method, item, states, settings))
            except (ValueError, ArithmeticError, np.linalg.LinAlgError) as problem:
                result.failed[motion.record.key] = str(problem)
        if settings.surfaces and len(floors) < FLOORS:
            floors.append(chamfer_floor(item, states[0], seed=selection.seed))
        if progress:
            progress(done, len(motions))
    for result in results:
        result.extra |= {"restarts": settings.restarts}
        if floors:
            result.extra["chamfer_floor"] = float(np.mean(floors))
    return results


def evaluate_samples(
    checkpoint: Checkpoint,
    motions: Sequence[SampledMotion],
    selection: Selection,
    *,
    reduction: ReductionKind = ReductionKind.VECTOR,
    label: str = "neurok",
    progress: Progress | None = None,
) -> Result:
    """Measure the prior of each object against its chosen true states."""
    result = Result("samples", label)
    for done, motion in enumerate(motions, 1):
        item = evaluation_object(motion, seed=selection.seed)
        result.objects.append(sample_prior(checkpoint, item, selection.states_of(motion), reduction=reduction))
        if progress:
            progress(done, len(motions))
    return result
