"""The network alone: encoding an object, decoding it, and the state and tangents of what the dynamics sees."""

from __future__ import annotations

import numpy as np
import torch

from app.commands.bench import _keep_directions
from benchmarks.figures import Figure, median_ms
from benchmarks.meshes import bean_shape
from engine.kinematics.object_kinematics import MASS_SAMPLES, ObjectKinematics, prepare_object
from engine.kinematics.reduction import ReductionKind
from engine.model.checkpoint import load_checkpoint

# Milliseconds. The step's own bar is that of state and tangents together.
ENCODE_BAR, DECODE_BAR, TANGENTS_BAR = 500.0, 1.5, 2.5
DIRECTIONS = 12


def measure() -> list[Figure]:
    """Return the times of encoding 20,000 vertices, decoding 10,000, and 128 points with 12 tangents each."""
    large, checkpoint = bean_shape(20_000), load_checkpoint()
    encode = median_ms(lambda: prepare_object(large, checkpoint=checkpoint), repeats=5, warm_up=1)
    kinematics = ObjectKinematics(bean_shape(10_000), checkpoint, reduction=ReductionKind.NONE)
    _keep_directions(kinematics, DIRECTIONS)
    q = 0.2 * np.random.default_rng(0).standard_normal(DIRECTIONS)
    samples = kinematics.posable()
    decode = median_ms(lambda: kinematics.decode(q), repeats=200, warm_up=20)
    tangents = median_ms(lambda: samples.pose(q), repeats=200, warm_up=20)
    threads = f"{torch.get_num_threads()} thread(s)"
    return [
        Figure("encode, 20,000 vertices", encode, "ms", ENCODE_BAR, f"until it can be pulled, {threads}"),
        Figure("decode, 10,000 vertices", decode, "ms", DECODE_BAR, threads),
        Figure(f"{MASS_SAMPLES} points by {DIRECTIONS} tangents", tangents, "ms", TANGENTS_BAR, threads),
    ]
