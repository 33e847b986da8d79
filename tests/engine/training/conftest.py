"""A dataset small enough to train on in a test."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from engine.datasets.sampling import sample_states
from engine.datasets.shards import write_shard
from tests.engine.datasets.moving import hinge_motion, rigid_motion


@pytest.fixture(scope="package")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset of a hinge and a box, in the validation split as well."""
    folder = tmp_path_factory.mktemp("data")
    for split in ("train", "validation"):
        motions = [
            sample_states(motion, np.random.default_rng(0), key=f"{split}-{i}", name=f"{split}-{i}", split=split)
            for i, motion in enumerate([hinge_motion(tumbling=True), rigid_motion()])
        ]
        write_shard(motions, folder / split / "a.tar")
    return folder
