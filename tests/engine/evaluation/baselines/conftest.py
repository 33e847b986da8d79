"""A hinge with the meshes of all its states, and a training batch, shared by the tests of the baselines."""

from __future__ import annotations

import numpy as np
import pytest
from jaxtyping import Float, Float64

from engine.datasets.augmentation import Augmentation
from engine.datasets.pairs import PairBatch, Sampling, draw_batch
from engine.datasets.sampling import SampledMotion, sample_states
from engine.evaluation.method import PreparedMethod
from engine.evaluation.objects import EvaluationObject, evaluation_object
from tests.engine.datasets.moving import hinge_motion


@pytest.fixture(scope="session")
def hinge() -> SampledMotion:
    """Two boxes on a hinge, six states, with the mesh of each."""
    return sample_states(
        hinge_motion(), np.random.default_rng(0), key="hinge", name="hinge", split="test_seen", all_meshes=True
    )


@pytest.fixture(scope="session")
def hinge_object(hinge: SampledMotion) -> EvaluationObject:
    """The hinge as it is measured."""
    return evaluation_object(hinge)


@pytest.fixture(scope="session")
def hinge_batch(hinge: SampledMotion) -> PairBatch:
    """Four rest shapes of the hinge, turned, with three states each, and eight farthest points."""
    sampling = Sampling(point_count=128, seed_count=8, frames=3)
    return draw_batch(
        [hinge] * 4, np.random.default_rng(1), sampling, identity_share=0.1, augmentation=Augmentation.turns()
    )


def numeric_tangents(prepared: PreparedMethod, q: Float64[np.ndarray, " r"]) -> Float[np.ndarray, "p r 3"]:
    """Return central differences of a method's points."""
    step = 1e-5
    columns = [
        (prepared.pose(q + step * axis)[0] - prepared.pose(q - step * axis)[0]) / (2 * step) for axis in np.eye(len(q))
    ]
    return np.stack(columns, 1)
