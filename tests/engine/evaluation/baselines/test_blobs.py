"""Rigid blobs move what they weigh as rigid bodies do."""

from __future__ import annotations

import numpy as np
import torch
from scipy.spatial.transform import Rotation

from engine.datasets.pairs import PairBatch
from engine.evaluation.baselines.blobs import RigidBlobs, best_motions
from engine.evaluation.baselines.posables import STRIDE, BlobPosable
from tests.engine.evaluation.baselines.conftest import numeric_tangents


def _posable(blobs: int = 5) -> BlobPosable:
    rng = np.random.default_rng(0)
    weights = [rng.dirichlet(np.ones(blobs), size=count) for count in (30, 12)]
    points, rest = rng.uniform(-1, 1, (30, 3)), rng.uniform(-1, 1, (12, 3))
    return BlobPosable(rng.uniform(-1, 1, (blobs, 3)), points, weights[0], rest, weights[1])


def test_blobs_with_one_rigid_motion_move_everything_rigidly() -> None:
    """If every blob takes part in one rigid motion, samples and vertices take part in it, whatever their weights."""
    posable = _posable()
    turn, shift = Rotation.from_rotvec([0.7, -0.4, 1.1]), np.array([0.2, -0.5, 0.9])
    # A blob turns about its own centre: its translation is what the motion does to the centre.
    own = turn.apply(posable.centres) + shift - posable.centres
    q = np.concatenate((own, np.tile(turn.as_rotvec(), (5, 1))), 1).ravel() / STRIDE
    rest, _ = posable.pose(np.zeros(30))
    np.testing.assert_allclose(posable.pose(q)[0], turn.apply(rest) + shift, atol=1e-12)
    np.testing.assert_allclose(posable.vertices(q), turn.apply(posable.vertices(np.zeros(30))) + shift, atol=1e-12)


def test_tangents_of_blobs() -> None:
    """Tangents agree with differences, at rest and far from it."""
    posable = _posable()
    for q in (np.zeros(30), np.random.default_rng(1).normal(0, 15, 30)):
        np.testing.assert_allclose(posable.pose(q)[1], numeric_tangents(posable, q), atol=1e-8)


def test_best_motions_find_the_motions_of_parts() -> None:
    """Two groups of points that move rigidly give back their motions, and a blob of no points stands still."""
    rng = np.random.default_rng(2)
    points = rng.uniform(-1, 1, (1, 40, 3))
    turns = Rotation.from_rotvec([[0.3, 0.2, -0.9], [2.5, 0.4, 0.1]])
    shifts = np.array([[0.1, 0.2, 0.3], [-0.5, 0.0, 0.8]])
    group = np.arange(40) % 2
    deformed = np.einsum("pij,pj->pi", turns.as_matrix()[group], points[0]) + shifts[group]
    weights = np.zeros((1, 40, 3))
    weights[0, np.arange(40), group] = 1.0
    turn, shift = best_motions(torch.tensor(weights), torch.tensor(points), torch.tensor(deformed)[None, None])
    np.testing.assert_allclose(turn[0, 0, :2].numpy(), turns.as_matrix(), atol=1e-3)
    np.testing.assert_allclose(shift[0, 0, :2].numpy(), shifts, atol=1e-3)
    np.testing.assert_allclose(turn[0, 0, 2].numpy(), np.eye(3), atol=1e-12)


def test_a_rigid_pair_is_reproduced_before_any_training(hinge_batch: PairBatch) -> None:
    """Where the state is a rigid motion of the rest shape, blobs of whatever layout carry it there."""
    turn = torch.tensor(Rotation.from_rotvec([0.5, 0.2, -0.3]).as_matrix(), dtype=torch.float32)
    moved = (hinge_batch.points @ turn.T + 0.4).repeat_interleave(hinge_batch.frames, 0)
    batch = PairBatch(
        hinge_batch.points,
        hinge_batch.normals,
        hinge_batch.component,
        hinge_batch.part,
        hinge_batch.seeds,
        moved,
        hinge_batch.rotation,
    )
    torch.manual_seed(0)
    torch.testing.assert_close(RigidBlobs(blobs=8).reconstruct(batch)[0], moved, atol=2e-3, rtol=0)
