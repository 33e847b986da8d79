"""Reconstruction through the posterior: encode a true state, decode its mean, and compare."""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Float, Int
from scipy.spatial.transform import Rotation

from engine.datasets.pairs import COMPONENT_SLOTS, PairBatch
from engine.datasets.sampling import SampledMotion
from engine.evaluation.metrics import mean_square, rigid_departure
from engine.evaluation.statistics import ObjectFigures
from engine.geometry.rigid_fit import rigid_fit
from engine.geometry.surface import farthest_points
from engine.kinematics.object_kinematics import ENCODER_POINTS
from engine.kinematics.reading_frame import reading_frame
from engine.model.checkpoint import Checkpoint
from engine.model.variational_autoencoder import ModelConfig
from engine.training.losses import run_model


@torch.no_grad()
def reconstruct(
    checkpoint: Checkpoint, motion: SampledMotion, rest_state: int, states: list[int], *, seed: int = 0
) -> ObjectFigures:
    """Encode and decode some states of an object against one rest shape.

    Returns:
        The error over motion and as a share of size, the KL [nats], the departure of true rigid parts from rigid, and
        how far the rest shape is displaced by the decode of its own posterior mean, which the program takes off by
        anchoring; shares of size.
    """
    config = checkpoint.model.config
    batch = state_batch(motion, rest_state, [*states, rest_state], np.random.default_rng(seed), config)
    found = run_model(checkpoint.model, batch, sample=False)
    decoded, true = found.positions.double().numpy(), batch.deformed.double().numpy()
    rest, part = batch.points[0].double().numpy(), batch.part[0].numpy()
    size = float(np.linalg.norm(np.ptp(rest, axis=0)))
    figures = ObjectFigures(motion.record.key, motion.record.family)
    error = mean_square(decoded[:-1], true[:-1])
    figures.ratios["error"] = (error, mean_square(np.broadcast_to(rest, true[:-1].shape), true[:-1]))
    figures.means["error_of_size"] = float(np.sqrt(error)) / size
    figures.means["kl"] = float(found.kl[:-1].mean())
    figures.means["rest_displacement"] = float(np.sqrt(mean_square(decoded[-1], rest))) / size
    departures = [rigid_departure(rest, each, part) for each in decoded[:-1]]
    if departures[0][1]:
        squared = sum(total for total, _ in departures) / sum(count for _, count in departures)
        figures.means["rigid_departure"] = float(np.sqrt(squared)) / size
    return figures


def state_batch(
    motion: SampledMotion, rest_state: int, states: list[int], rng: np.random.Generator, config: ModelConfig
) -> PairBatch:
    """Return one rest shape with the given states as the network reads it.

    The states are fitted to the rest shape by one rigid motion each, as in training; nothing is turned or noisy.
    """
    whole = motion.points[rest_state].astype(np.float64)
    mesh = motion.vertices[rest_state].astype(np.float64)
    low, high = mesh.min(0), mesh.max(0)
    centre, unit = 0.5 * (low + high), 2.0 / float((high - low).max())
    whole = (whole - centre) * unit
    frame = reading_frame((mesh - centre) * unit, motion.faces, canonical=config.canonical)
    chosen = rng.permutation(len(whole))[:ENCODER_POINTS]
    even = np.ones(len(whole))
    back = _rotations(motion, rest_state, chosen).inv()
    deformed, rotation = [], []
    for state in states:
        moved = motion.points[state].astype(np.float64) * unit
        turn, shift = rigid_fit(moved, whole, even)
        deformed.append(frame.enter(moved[chosen] @ turn.T + shift))
        local = Rotation.from_matrix(turn) * _rotations(motion, state, chosen) * back
        # The same turn, about axes that are turned with the object.
        turned = Rotation.from_rotvec(frame.turn(local.as_rotvec()))
        rotation.append(turned.as_quat(canonical=True, scalar_first=True))
    points = frame.enter(whole[chosen])
    component = motion.component[chosen].astype(np.int64) % COMPONENT_SLOTS
    seeds = farthest_points(points, component, config.handles)
    return PairBatch(
        _tensor(points)[None],
        _tensor(frame.turn(motion.normals[rest_state][chosen] / 127.0))[None],
        torch.from_numpy(component)[None],
        torch.from_numpy(motion.part[chosen].astype(np.int64))[None],
        torch.from_numpy(seeds)[None],
        _tensor(np.stack(deformed)),
        _tensor(np.stack(rotation)),
    )


def _rotations(motion: SampledMotion, state: int, chosen: Int[np.ndarray, " p"]) -> Rotation:
    return Rotation.from_quat(motion.rotations[state][chosen].astype(np.float64), scalar_first=True)


def _tensor(values: Float[np.ndarray, "*n"]) -> torch.Tensor:
    return torch.from_numpy(np.ascontiguousarray(values, np.float32))
