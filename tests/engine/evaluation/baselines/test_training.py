"""The trained baselines learn, are written and read, and become methods."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from engine.datasets.pairs import PairBatch
from engine.datasets.sampling import SampledMotion
from engine.datasets.shards import write_shard
from engine.evaluation.baselines.blobs import RigidBlobs
from engine.evaluation.baselines.keypoint_deformer import KeypointDeformer, StateKeypoints
from engine.evaluation.baselines.network import BaselineNetwork
from engine.evaluation.baselines.trained import baseline_methods, load_trained
from engine.evaluation.baselines.training import BaselineTraining, load_baseline, train_baseline, training_step
from engine.evaluation.objects import EvaluationObject
from engine.model.checkpoint import CheckpointError
from tests.engine.evaluation.baselines.conftest import numeric_tangents


def _networks() -> list[BaselineNetwork]:
    torch.manual_seed(0)
    keypoints = [KeypointDeformer(width=32, states=states) for states in StateKeypoints]
    return [*keypoints, RigidBlobs(blobs=8, width=32, depth=1)]


def test_a_step_lowers_the_loss(hinge_batch: PairBatch) -> None:
    """Each network's loss on one batch falls from its first step to the next."""
    for network in _networks():
        optimizer = torch.optim.SGD(network.parameters(), lr=0.01)
        first = training_step(network, hinge_batch, optimizer)
        assert training_step(network, hinge_batch, optimizer) < first


def test_a_trained_baseline_is_written_and_becomes_a_method(
    hinge: SampledMotion, hinge_object: EvaluationObject, tmp_path: Path
) -> None:
    """A run writes its time and its gate; what is read is at rest at zero, with tangents and samples of its own."""
    write_shard([hinge], tmp_path / "data" / "train" / "a.tar")
    for name, freedoms in (("keypoint_deformer", 24), ("blobs_4", 24), ("blobs", 144)):
        path = tmp_path / f"{name}.safetensors"
        config = BaselineTraining(items=8, objects=2, exam=4, most_seconds=0.0)
        facts = train_baseline(name, [tmp_path / "data"], path, config=config)
        assert facts["seconds"] > 0 and facts["passes"] == (facts["error/all"] <= 0.7)
        method = load_trained(path)
        assert method.name == name and method.facts == facts
        prepared = method.prepare(hinge_object)
        assert prepared.freedoms == freedoms
        np.testing.assert_allclose(prepared.vertices(np.zeros(freedoms)), hinge_object.vertices, atol=1e-6)
        q = np.random.default_rng(0).normal(0, 2, freedoms)
        np.testing.assert_allclose(prepared.pose(q)[1], numeric_tangents(prepared, q), atol=1e-7)
        samples = hinge_object.at(hinge_object.samples, prepared.vertices(q))
        # Weights of a sample and those of its triangle's corners differ a little where they change within it.
        assert np.abs(samples - prepared.pose(q)[0]).mean() < 0.05
    names = [method.name for method in baseline_methods(tmp_path)]
    assert names == ["rest", "eigenmodes", "pca_of_truth", "keypoint_deformer", "blobs", "blobs_4"]


def test_a_file_that_is_no_baseline_is_refused(tmp_path: Path) -> None:
    """A missing or foreign file says what was wanted and what to do."""
    with pytest.raises(CheckpointError, match="evaluate baseline"):
        load_baseline(tmp_path / "missing.safetensors")
    (tmp_path / "text.safetensors").write_text("no tensors")
    with pytest.raises(CheckpointError, match="not a readable"):
        load_baseline(tmp_path / "text.safetensors")
