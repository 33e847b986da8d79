"""Shards give back what was written, as a stream, and never half of it."""

from __future__ import annotations

import json
import tarfile
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from engine.datasets.sampling import SampledMotion, sample_states
from engine.datasets.shards import DatasetError, read_shard, read_split, shards_of, write_shard
from tests.engine.datasets.moving import hinge_motion


def sampled(key: str = "a", *, split: str = "train", **options) -> SampledMotion:
    """Return the samples of a hinge."""
    motion = hinge_motion(tumbling=True)
    return sample_states(motion, np.random.default_rng(0), key=key, name=key, split=split, count=200, **options)


@pytest.mark.parametrize("name", ["one.tar", "one.tar.gz"])
def test_a_shard_gives_back_what_was_written(tmp_path: Path, name: str) -> None:
    """Every array and every fact of two objects comes back bit for bit, and the same objects give the same bytes."""
    there = [sampled("a", all_meshes=True), sampled("b")]
    assert write_shard(there, tmp_path / "train" / name) == 2
    back = list(read_shard(tmp_path / "train" / name))
    for old, new in zip(there, back, strict=True):
        for field in fields(SampledMotion):
            np.testing.assert_array_equal(getattr(new, field.name), getattr(old, field.name))
    first = (tmp_path / "train" / name).read_bytes()
    write_shard(there, tmp_path / "train" / name)
    assert (tmp_path / "train" / name).read_bytes() == first


def test_samples_follow_the_surface_within_a_thousandth_of_size() -> None:
    """Half floats keep a tumbling hinge's samples, and their rotations carry the rest samples' normals."""
    kept = sampled(all_meshes=True)
    motion = hinge_motion(tumbling=True)
    half = 0.5 * np.ptp(motion.positions[0], 0).max()
    for i in range(len(motion.positions)):
        world = (kept.points[i].astype(float) + kept.origins[i]) * half
        mesh = (kept.vertices[i].astype(float) + kept.origins[i]) * half
        assert np.abs(mesh - motion.positions[i]).max() < 1e-3 * kept.record.size
        # Each sample keeps its distances to three vertices of its own rigid part.
        for part in (0, 1):
            corners = motion.positions[:, motion.part == part][:, :3]
            own = kept.part == part
            before = np.linalg.norm(
                (kept.points[0, own].astype(float) + kept.origins[0])[:, None] * half - corners[0], axis=-1
            )
            now = np.linalg.norm(world[own][:, None] - corners[i], axis=-1)
            assert np.abs(now - before).max() < 1e-3 * kept.record.size


def test_an_interrupted_write_leaves_no_shard(tmp_path: Path) -> None:
    """When an object cannot be made, nothing stands where the shard would be, and a reader sees nothing."""

    def broken():
        yield sampled()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_shard(broken(), tmp_path / "train" / "one.tar")
    assert shards_of(tmp_path, "train") == []


def test_a_truncated_shard_says_so(tmp_path: Path) -> None:
    """A shard cut in half is refused with its name and what to do."""
    path = tmp_path / "train" / "one.tar"
    write_shard([sampled("a"), sampled("b")], path)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(DatasetError, match=r"one\.tar.*delete it"):
        list(read_shard(path))


def test_a_folder_without_shards_is_refused(tmp_path: Path) -> None:
    """A folder that is no dataset is refused with the command that makes one."""
    with pytest.raises(DatasetError, match="dataset build"):
        shards_of(tmp_path, "train")


def test_excluded_objects_are_not_read(tmp_path: Path) -> None:
    """An object named in excluded.json stays out of its split."""
    write_shard([sampled("a"), sampled("b")], tmp_path / "train" / "one.tar")
    (tmp_path / "excluded.json").write_text(json.dumps(["a"]))
    assert [m.record.key for m in read_split(tmp_path, "train")] == ["b"]


def test_the_layout_is_that_of_webdataset(tmp_path: Path) -> None:
    """Members of an object stand together and share its name up to the first dot."""
    write_shard([sampled("a"), sampled("b")], tmp_path / "train" / "one.tar")
    with tarfile.open(tmp_path / "train" / "one.tar") as tar:
        names = [name.split(".", 1) for name in tar.getnames()]
    assert [name for name, _ in names] == ["a"] * 9 + ["b"] * 9
    assert names[0][1] == "json"
    assert {extension for _, extension in names[1:9]} == {
        f"{field.name}.npy" for field in fields(SampledMotion) if field.name != "record"
    }
