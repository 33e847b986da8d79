"""A compact copy of a dataset, small enough to be carried to another machine: fewer samples, fewer states."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from engine.datasets.sampling import SampledMotion
from engine.datasets.shards import DatasetError, read_split, write_shard

# Validation objects that go along, as a share of the states.
VALIDATION_SHARE = 0.05


def pack_dataset(folder: Path, output: Path, *, states: int = 6000, samples: int = 256, seed: int = 0) -> int:
    """Write one training shard, ``output/train/pack.tar.gz``, of about ``states`` states drawn over all objects.

    Every object keeps its rest shape and as many of its other states as its even share allows; objects are drawn at
    random where there are more than states can be had for. The meshes are left out but for one triangle. A validation
    shard goes along, where the dataset has one, of a twentieth of the states.

    Returns:
        The number of states to train on.

    Raises:
        DatasetError: the dataset has no object to train on.
    """
    count = _pack_split(folder, output, "train", states=states, samples=samples, seed=seed)
    if not count:
        raise DatasetError(f"{folder} has nothing to train on")
    _pack_split(folder, output, "validation", states=int(states * VALIDATION_SHARE), samples=samples, seed=seed)
    return count


def _pack_split(folder: Path, output: Path, split: str, *, states: int, samples: int, seed: int) -> int:
    """Write the shard of one split, if there is anything to write, and return its number of states."""
    counts = {m.record.key: len(m.points) for m in read_split(folder, split) if m.record.variant == "original"}
    if not counts:
        return 0
    rng = np.random.default_rng(seed)
    keys = list(counts)
    # At least four states of an object, so that a batch finds different ones.
    chosen = [keys[i] for i in rng.permutation(len(keys))[: max(1, states // 4)]]
    each = states / len(chosen)
    wanted = {key: min(counts[key], max(1, int(each) + int(rng.random() < each % 1))) for key in chosen}
    packed = list(_packed(folder, split, wanted, samples, rng))
    write_shard(packed, output / split / "pack.tar.gz")
    return sum(len(m.points) for m in packed)


def _packed(
    folder: Path, split: str, wanted: dict[str, int], samples: int, rng: np.random.Generator
) -> Iterator[SampledMotion]:
    for motion in read_split(folder, split):
        count = wanted.get(motion.record.key, 0)
        if not count:
            continue
        states = np.concatenate(([0], 1 + rng.permutation(len(motion.points) - 1)[: count - 1])).astype(int)
        spread = rng.permutation(motion.points.shape[1])[:samples]
        yield replace(
            motion,
            points=motion.points[states][:, spread],
            origins=motion.origins[states],
            normals=motion.normals[states][:, spread],
            rotations=motion.rotations[states][:, spread],
            component=motion.component[spread],
            part=motion.part[spread],
            faces=np.array([[0, 1, 2]], dtype=np.int32),
            vertices=motion.points[:1, spread[:3]],
        )
