"""Training pairs are aligned, exact for rigid parts, and come from pools that stream."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from engine.datasets.augmentation import Augmentation
from engine.datasets.pairs import ObjectPool, Sampling, draw_batch
from engine.datasets.sampling import sample_states
from engine.datasets.shards import DatasetError, write_shard
from engine.datasets.state_table import StateTable
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


def test_a_part_of_a_motion_is_smaller_and_keeps_rigid_parts_rigid() -> None:
    """With a share of every motion, hinge pairs move less than whole ones, and parts turn as their rotations say."""
    hinge = sample_states(hinge_motion(tumbling=True), np.random.default_rng(0), key="a", name="a", split="train")
    whole, part = (
        draw_batch(
            [hinge] * 4,
            np.random.default_rng(2),
            SAMPLING,
            augmentation=replace(Augmentation.plain(), partial=share, least_part=0.3),
        )
        for share in (0.0, 1.0)
    )
    far, near = (
        (b.deformed - b.points.repeat_interleave(b.frames, 0)).square().sum(-1).mean(1).sqrt() for b in (whole, part)
    )
    moving = far > 0.02
    assert bool(moving.any())
    assert bool((near[moving] < 0.7 * far[moving]).all())
    assert bool((near[moving] > 0.2 * far[moving]).all())
    for row in range(len(part.deformed)):
        rest, label = part.points[row // part.frames], part.part[row // part.frames]
        for name in (0, 1):
            own = label == name
            offset = rest[own] - rest[own][:1]
            moved = part.deformed[row][own] - part.deformed[row][own][:1]
            torch.testing.assert_close(quaternion_rotate(part.rotation[row][own], offset), moved, atol=6e-3, rtol=0)


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


def test_a_table_gives_the_batches_of_the_objects_themselves() -> None:
    """Batches gathered from a table of all states are those gathered from the objects, to the last bit."""
    rng = np.random.default_rng(0)
    objects = [
        sample_states(motion, rng, key=str(i), name=str(i), split="train", count=count)
        for i, (motion, count) in enumerate([(hinge_motion(), 90), (rigid_motion(), 90)])
    ]
    table = StateTable(objects, "cpu")
    drawn = [objects[i] for i in (1, 0, 0, 1, 1)]
    varied = Augmentation(dropped=0.5, stretched=0.5)
    one, two = (
        draw_batch(drawn, np.random.default_rng(3), SAMPLING, identity_share=0.1, augmentation=varied, table=given)
        for given in (None, table)
    )
    for name in ("points", "normals", "component", "seeds", "deformed", "rotation", "seen_points"):
        assert torch.equal(getattr(one, name), getattr(two, name)), name


def test_objects_of_different_sample_counts_share_a_batch() -> None:
    """An object with few samples brings the others to its number."""
    rng = np.random.default_rng(0)
    objects = [
        sample_states(hinge_motion(), rng, key=str(count), name="a", split="train", count=count) for count in (200, 50)
    ]
    assert draw_batch(objects, rng, SAMPLING).points.shape == (2, 50, 3)


@pytest.mark.parametrize("capacity", [100, 4])
def test_a_pool_is_restored_to_where_it_stood(tmp_path: Path, capacity: int) -> None:
    """What a pool draws after a while, a fresh one draws once it is given its state."""
    _dataset(tmp_path, 12)
    shares = {"articulated": 0.5, "rigid": 0.5}
    pool, fresh = (ObjectPool([tmp_path], capacity=capacity, seed=[1, 0]) for _ in range(2))
    for _ in range(13):
        pool.draw(4, shares=shares)
    fresh.restore(json.loads(json.dumps(pool.state())))
    for _ in range(20):
        keys = [[m.record.key for m in one.draw(4, shares=shares)] for one in (pool, fresh)]
        assert keys[0] == keys[1]


def test_copies_may_be_left_out(tmp_path: Path) -> None:
    """Without copies, a pool holds the original objects alone."""
    _dataset(tmp_path, 4)
    copy = sample_states(
        hinge_motion(), np.random.default_rng(0), key="c", name="0", split="train", variant="decimated", count=40
    )
    write_shard([copy], tmp_path / "train" / "copies.tar")
    assert len(ObjectPool([tmp_path]).motions) == 5
    assert {m.record.variant for m in ObjectPool([tmp_path], copies=False).motions} == {"original"}
