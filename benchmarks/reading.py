"""How fast a training reads its pairs: shards to batches, on one core."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import numpy as np
import torch

from benchmarks.figures import Figure
from engine.datasets.augmentation import Augmentation
from engine.datasets.build import BuildPlan, build_dataset
from engine.datasets.pairs import ObjectPool, Sampling, draw_batch

OBJECTS, BATCHES = 16, 60
# 500 pairs a second.
BAR = 2.0


def measure() -> list[Figure]:
    """Return the time of a pair from shards that are read for the first time, and from a pool that is full."""
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        build_dataset(folder, BuildPlan(share=0.06, makers=("articulated", "modal_solid")), workers=1)
        rng = np.random.default_rng(0)
        sampling = Sampling()
        began = time.perf_counter()
        # A pool of a few objects streams: every batch reads a quarter of its objects anew.
        pool = ObjectPool([folder], capacity=OBJECTS)
        for _ in range(BATCHES):
            draw_batch(pool.draw(OBJECTS), rng, sampling, identity_share=0.1, augmentation=Augmentation.turns())
        streamed = BATCHES * OBJECTS * sampling.frames / (time.perf_counter() - began)
        pool = ObjectPool([folder])
        began = time.perf_counter()
        for _ in range(BATCHES):
            draw_batch(pool.draw(OBJECTS), rng, sampling, identity_share=0.1, augmentation=Augmentation.turns())
        held = BATCHES * OBJECTS * sampling.frames / (time.perf_counter() - began)
    return [
        Figure("training pair from streamed shards, one core", 1000 / streamed, "ms", BAR, f"{streamed:.0f} a second"),
        Figure("training pair from a full pool, one core", 1000 / held, "ms", BAR, f"{held:.0f} a second"),
    ]
