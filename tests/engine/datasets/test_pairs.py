"""Training pairs are aligned, exact for rigid parts, and come from pools that stream."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from engine.datasets.augmentation import Augmentation
from engine.datasets.pairs import ObjectPool, Sampling, draw_batch
from engine.datasets.sampling import sample_states
from engine.datasets.shards import DatasetError, write_shard
from engine.geometry.dual_quaternion import quaternion_rotate
from tests.engine.datasets.moving import hinge_motion, rigid_motion

SAMPLING = Sampling(point_count=64, seed_count=6, frames=3)


def test_a_rigid_body_stands_still_in_every_pair() -> None:
    """After the rigid fit, a body that tumbles has no displacement and no rotation left."""
    body = sample_states(rigid_motion(), np.random.default_rng(0), key="a", name="a", split="train")
    for share in (0.0, 0.1):
        batch = draw_batch(
            [body, body], np.random.default_rng(1), SAMPLING, identity_share=share, augmentation=Augmentation.turns()
        )
        still = batch.points.repeat_interleave(batch.frames, 0)
        torch.testing.assert_close(batch.deformed, still, atol=2e-3, rtol=0)
        torch.testing.assert_close(batch.rotation[..., 0], torch.ones(6, 64), atol=1e-3, rtol=0)
        assert float(batch.points.abs().max()) == pytest.approx(1.0, abs=0.02)


def test_each_part_moves_by_its_own_rotation() -> None:
    """In a hinge's pair the differences between samples of one part are turned by the rotation that is given."""
    hinge = sample_states(hinge_motion(tumbling=True), np.random.default_rng(0), key="a", name="a", split="train")
    batch = draw_batch(
        [hinge] * 4, np.random.default_rng(2), SAMPLING, identity_share=0.1, augmentation=Augmentation.turns()
    )
    for row in range(len(batch.deformed)):
        rest, component = batch.points[row // batch.frames], batch.component[row // batch.frames]
        for part in (0, 1):
            own = component == part
            offset = rest[own] - rest[own][:1]
            turned = quaternion_rotate(batch.rotation[row][own], offset)
            moved = batch.deformed[row][own] - batch.deformed[row][own][:1]
            torch.testing.assert_close(turned, moved, atol=6e-3, rtol=0)


def test_the_same_seed_gives_the_same_batch() -> None:
    """Batches depend on nothing but the generator."""
    hinge = sample_states(hinge_motion(), np.random.default_rng(0), key="a", name="a", split="train")
    one, two = (
        draw_batch([hinge], np.random.default_rng(3), SAMPLING, identity_share=0.1, augmentation=Augmentation.turns())
        for _ in range(2)
    )
    torch.testing.assert_close(one.deformed, two.deformed, atol=0, rtol=0)
    torch.testing.assert_close(one.points, two.points, atol=0, rtol=0)


def _dataset(folder: Path, count: int) -> None:
    for shard in range(2):
        motions = [
            sample_states(
                hinge_motion() if i % 2 else rigid_motion(),
                np.random.default_rng(i),
                key=f"{shard}-{i}",
                name=f"{i}",
                split="train",
                count=40,
            )
            for i in range(count // 2)
        ]
        write_shard(motions, folder / "train" / f"{shard}.tar")


def test_a_pool_holds_every_object_once(tmp_path: Path) -> None:
    """A dataset that fits is read once; kinds are drawn in the shares that are asked for."""
    _dataset(tmp_path, 12)
    pool = ObjectPool([tmp_path])
    assert sorted(m.record.key for m in pool.motions) == sorted(f"{s}-{i}" for s in range(2) for i in range(6))
    assert not pool.streams
    drawn = pool.draw(400, shares={"articulated": 0.75, "rigid": 0.25})
    assert np.mean([m.record.kind == "rigid" for m in drawn]) == pytest.approx(0.25, abs=0.07)


def test_a_larger_dataset_streams_through_the_pool(tmp_path: Path) -> None:
    """A pool of four objects sees all twelve in time."""
    _dataset(tmp_path, 12)
    pool = ObjectPool([tmp_path], capacity=4)
    assert pool.streams
    seen = {m.record.key for _ in range(40) for m in pool.draw(4)}
    assert len(seen) == 12


def test_a_dataset_without_training_objects_is_refused(tmp_path: Path) -> None:
    """A dataset whose training split is empty says so instead of waiting for ever."""
    _dataset(tmp_path, 4)
    with pytest.raises(DatasetError, match="no object of this split"):
        ObjectPool([tmp_path], split="validation")
