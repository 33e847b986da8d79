"""What the prior gives: whether its samples are states of the object, and how few directions carry them."""

from __future__ import annotations

import time

import numpy as np

from engine.evaluation.metrics import mean_square, nearest_of, weight_spikes
from engine.evaluation.objects import EvaluationObject
from engine.evaluation.statistics import ObjectFigures
from engine.geometry.welding import edges_of
from engine.kinematics.object_kinematics import ObjectKinematics
from engine.kinematics.reduction import ReductionKind
from engine.model.checkpoint import Checkpoint

SHARE = 0.99


def sample_prior(
    checkpoint: Checkpoint,
    item: EvaluationObject,
    states: list[int],
    *,
    reduction: ReductionKind = ReductionKind.VECTOR,
) -> ObjectFigures:
    """Return the figures of one object's prior.

    Returns:
        best_of_prior: error over motion of the nearest of the 256 prior states that the program draws when it opens an
            object, at its 128 mass samples.
        prior_motion: RMS distance of prior states from rest over the RMS motion of the true states; near one is good.
        directions: of the latent for 99 % of the trace of the averaged metric, and ``coordinates``: those kept.
        joints: true rigid parts less one; ``directions_over``: directions less joints.
        spikes: see `engine.evaluation.metrics`.
        prepare_seconds: time to make the object ready, on this machine, with whatever else ran on it.
    """
    began = time.perf_counter()
    kinematics = ObjectKinematics(item.shape, checkpoint, reduction=reduction)
    spent = time.perf_counter() - began
    figures = ObjectFigures(item.record.key, item.record.family)
    candidates = kinematics.prior.positions.double().numpy()
    rest = item.at(kinematics.samples, item.vertices)
    true = np.stack([item.at(kinematics.samples, item.states[s]) for s in states])
    motion = mean_square(np.broadcast_to(rest, true.shape), true)
    figures.ratios["best_of_prior"] = (float(nearest_of(candidates, true).mean()), motion)
    away = float(np.mean(nearest_of(rest[None], candidates)))
    figures.ratios["prior_motion"] = (away, motion)
    directions = kinematics.reduction.directions_for(SHARE) if kinematics.k_q else 0
    figures.means["directions"] = float(directions)
    figures.means["coordinates"] = float(kinematics.k_q)
    if item.parts:
        figures.means["joints"] = float(item.parts - 1)
        figures.means["directions_over"] = float(directions - (item.parts - 1))
    part = item.vertex_part if item.parts else item.component
    figures.means["spikes"] = weight_spikes(kinematics.vertex_weights.double().numpy(), edges_of(item.faces), part)
    figures.means["prepare_seconds"] = spent
    return figures
