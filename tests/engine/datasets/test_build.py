"""A build is the same however it was interrupted, counts what it leaves out, and never parts an object's shapes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from engine.datasets import build as building
from engine.datasets.build import BuildPlan, build_dataset, plan_jobs
from engine.datasets.inspection import faults_of, inspect_dataset
from engine.datasets.makers import Item, Maker
from engine.datasets.motion import Motion
from engine.datasets.pack import pack_dataset
from engine.datasets.sampling import sample_states
from engine.datasets.shards import SPLITS, DatasetError, read_split, shards_of, write_shard
from engine.datasets.splits import TEST_SHARE, VALIDATION_SHARE, split_of
from engine.datasets.twins import exclude_twins
from tests.engine.datasets.moving import hinge_motion, rigid_motion


def _hinges(item: Item, rng: np.random.Generator) -> Iterator[Motion]:
    if item.label.endswith("3"):
        raise ValueError("the third does not work out")
    motion = hinge_motion(tumbling=True)
    scale = rng.uniform(0.5, 2.0, 3).astype(np.float32)
    # A hinge of other proportions: about the X axis, it stays one if Y and Z grow alike.
    scale[2] = scale[1]
    yield replace(motion, positions=hinge_motion().positions * scale, rotations=hinge_motion().rotations, name="")


def _bodies(item: Item, rng: np.random.Generator) -> Iterator[Motion]:
    body = rigid_motion()
    yield replace(body, positions=body.positions * np.float32(rng.uniform(0.5, 2)), name=item.label)


@pytest.fixture
def makers(monkeypatch: pytest.MonkeyPatch) -> dict[str, Maker]:
    """Two quick makers in place of the real ones."""
    table = {"hinges": Maker(_hinges, 12, job_size=5), "bodies": Maker(_bodies, 3, job_size=2)}
    monkeypatch.setattr("engine.datasets.build.MAKERS", table)
    monkeypatch.setattr("engine.datasets.makers.MAKERS", table)
    return table


def _bytes(folder: Path) -> dict[str, bytes]:
    return {f"{s}/{p.name}": p.read_bytes() for s in SPLITS for p in sorted((folder / s).glob("*.tar"))}


@pytest.mark.usefixtures("makers")
def test_a_build_that_was_interrupted_ends_as_one_that_was_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stopped after its second job and started again, the build leaves the same bytes as one in a single run."""
    build_dataset(tmp_path / "whole", BuildPlan(seed=4), workers=1)
    run_job, calls = building._run_job, []

    def stops(arguments):
        if len(calls) == 2:
            raise KeyboardInterrupt
        calls.append(arguments)
        return run_job(arguments)

    monkeypatch.setattr(building, "_run_job", stops)
    with pytest.raises(KeyboardInterrupt):
        build_dataset(tmp_path / "halved", BuildPlan(seed=4), workers=1)
    monkeypatch.setattr(building, "_run_job", run_job)
    card = build_dataset(tmp_path / "halved", BuildPlan(seed=4), workers=1)
    assert _bytes(tmp_path / "halved") == _bytes(tmp_path / "whole")
    assert card["left_out"]["objects"] == {"hinges": {"did not work out": 1}}


@pytest.mark.usefixtures("makers")
def test_a_dataset_may_be_built_maker_by_maker(tmp_path: Path) -> None:
    """One maker after the other leaves the same shards as all at once."""
    build_dataset(tmp_path / "whole", BuildPlan(seed=4), workers=1)
    for name in ("bodies", "hinges"):
        build_dataset(tmp_path / "parts", BuildPlan(seed=4, makers=(name,)), workers=1)
    assert _bytes(tmp_path / "parts") == _bytes(tmp_path / "whole")


@pytest.mark.usefixtures("makers")
def test_another_plan_is_refused(tmp_path: Path) -> None:
    """A folder with a dataset of one seed is not mixed with another's."""
    build_dataset(tmp_path, BuildPlan(seed=4), workers=1)
    with pytest.raises(DatasetError, match="another plan"):
        build_dataset(tmp_path, BuildPlan(seed=5), workers=1)


@pytest.mark.usefixtures("makers")
def test_a_built_dataset_has_no_fault_and_a_card_that_adds_up(tmp_path: Path) -> None:
    """Inspection finds nothing, and the card counts what the shards hold."""
    card = build_dataset(tmp_path, BuildPlan(seed=1), workers=1)
    found = inspect_dataset(tmp_path)
    assert found.faults == []
    assert card["objects"] == found.objects.total() == sum(card["splits"][s]["objects"] for s in SPLITS)
    assert card["states"] == found.states.total()
    assert card["variants"] == found.variants
    assert card["kinds"]["articulated"]["objects"] == found.objects["articulated"]
    assert sum(s["objects"] for s in card["sources"]) == card["objects"]
    assert "did not work out" in (tmp_path / "README.md").read_text()


@pytest.mark.usefixtures("makers")
def test_twins_in_two_splits_leave_one(tmp_path: Path) -> None:
    """The boxes of the second maker are rescaled copies of one another: those on the training side are not read."""
    build_dataset(tmp_path, BuildPlan(seed=1, makers=("bodies",)), workers=1)
    report_path = next((tmp_path / "jobs").glob("*.json"))
    report = json.loads(report_path.read_text())
    for entry, split in zip(report["objects"], ("train", "test_seen"), strict=False):
        entry["split"] = split
    report_path.write_text(json.dumps(report))
    assert report["objects"][0]["key"] in exclude_twins(tmp_path)
    assert report["objects"][1]["key"] not in exclude_twins(tmp_path)


@pytest.mark.usefixtures("makers")
def test_jobs_of_all_makers_are_spread_over_the_build() -> None:
    """The plan names every item once, and no maker waits for the others to end."""
    jobs = plan_jobs(BuildPlan())
    items = [(job.maker, item.label) for job in jobs for item in job.items]
    assert len(items) == len(set(items)) == 15
    assert [job.maker for job in jobs] == ["hinges", "bodies", "hinges", "bodies", "hinges"]


def test_splits_are_stable_and_of_their_sizes() -> None:
    """Ten thousand names fall into the splits in the stated shares, always alike."""
    drawn = [split_of("elastic/blob", str(i)) for i in range(10_000)]
    assert drawn == [split_of("elastic/blob", str(i)) for i in range(10_000)]
    assert drawn.count("validation") / 1e4 == pytest.approx(VALIDATION_SHARE, abs=0.006)
    assert drawn.count("test_seen") / 1e4 == pytest.approx(TEST_SHARE, abs=0.007)
    assert "test_unseen" not in drawn


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (lambda m: replace(m, points=np.where(m.points > 0.9, np.float16(np.nan), m.points)), "points is not finite"),
        (lambda m: replace(m, faces=m.faces + 10_000), "outside"),
        (lambda m: replace(m, faces=m.faces[:, [0, 0, 1]]), "twice"),
        (lambda m: replace(m, rotations=m.rotations * np.float16(0.5)), "unit length"),
        (lambda m: replace(m, normals=(m.normals // 2).astype(np.int8)), "normals"),
        (lambda m: replace(m, points=m.points + np.float16(0.5)), "bounding box"),
    ],
)
def test_each_fault_of_an_object_is_named(fault, words: str) -> None:
    """An object that was tampered with is found out, in words."""
    good = sample_states(hinge_motion(), np.random.default_rng(0), key="a", name="a", split="train", count=100)
    assert faults_of(good) == []
    assert any(words in line for line in faults_of(fault(good)))


def test_arrays_of_different_lengths_are_a_fault() -> None:
    """An object with an origin too few, as a damaged shard may hold it, is named."""
    motion = sample_states(hinge_motion(), np.random.default_rng(0), key="a", name="a", split="train", count=100)
    object.__setattr__(motion, "origins", motion.origins[1:])
    assert faults_of(motion) == ["origins has shape (5, 3), not (6, 3)"]


def test_an_object_on_both_sides_is_a_fault(tmp_path: Path) -> None:
    """The same object in training and in a test is named by the inspection, as is a key that is there twice."""
    for split in ("train", "test_seen"):
        motion = sample_states(hinge_motion(), np.random.default_rng(0), key="a", name="one", split=split, count=50)
        write_shard([motion], tmp_path / split / "a.tar")
    faults = inspect_dataset(tmp_path).faults
    assert any("test_seen and train" in fault for fault in faults)
    assert any("2 times" in fault for fault in faults)


@pytest.mark.usefixtures("makers")
def test_a_pack_is_a_small_dataset_of_its_own(tmp_path: Path) -> None:
    """A pack of twelve states with 32 samples reads as a dataset; its objects keep their rest shape first."""
    build_dataset(tmp_path / "full", BuildPlan(seed=1), workers=1)
    count = pack_dataset(tmp_path / "full", tmp_path / "pack", states=12, samples=32)
    packed = list(read_split(tmp_path / "pack", "train"))
    assert sum(len(m.points) for m in packed) == count
    assert 6 <= count <= 16
    whole = {m.record.key: m for m in read_split(tmp_path / "full", "train")}
    for motion in packed:
        assert motion.points.shape[1:] == (32, 3)
        rest = {tuple(p) for p in whole[motion.record.key].points[0].tolist()}
        assert all(tuple(p) in rest for p in motion.points[0].tolist())
    assert len(shards_of(tmp_path / "pack", "train")) == 1
