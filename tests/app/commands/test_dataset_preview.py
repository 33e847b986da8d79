"""Tests of the preview of a dataset: which objects, which states, what is between them, and the files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import trimesh
from PIL import Image
from scipy.spatial.transform import Rotation

from app.commands.dataset_preview import Entry, choose_entries, preview_dataset, save_gif
from app.commands.preview_figures import moving
from app.commands.preview_motion import aligned_states, in_between, is_rigid, spread_states, walk_between, walk_states
from app.commands.refusal import Refused
from engine.datasets.motion import Motion
from engine.datasets.sampling import SampledMotion, sample_states
from engine.datasets.shards import write_shard
from tests.app.commands.conftest import Run

TURNS = (0.0, 1.2, 0.6, 0.3)
# Positions are kept in half precision.
ROUNDING = 2e-3


def lid_box(*, fixed: bool) -> Motion:
    """Return a box whose lid opens about its rear edge."""
    body = trimesh.creation.box((1.0, 1.0, 0.6)).subdivide()
    lid = trimesh.creation.box((1.0, 1.0, 0.1)).subdivide()
    lid.apply_translation((0.0, 0.0, 0.36))
    hinge = np.array((0.0, 0.5, 0.31))
    states = [
        np.concatenate((body.vertices, (lid.vertices - hinge) @ turned(-a).T + hinge)).astype(np.float32) for a in TURNS
    ]
    part = np.repeat((0, 1), (len(body.vertices), len(lid.vertices)))
    faces = np.concatenate((body.faces, lid.faces + len(body.vertices))).astype(np.int32)
    return Motion("articulated/lid_box", faces, part, np.array(states), still(states), fixed=fixed, part=part)


def bar() -> Motion:
    """Return a bar that bends, and is carried about and turned as a whole."""
    mesh = trimesh.creation.box((2.0, 0.4, 0.4)).subdivide().subdivide()
    states = []
    for i, bend in enumerate((0.0, 0.4, -0.3, 0.2, 0.1)):
        vertices = np.array(mesh.vertices)
        vertices[:, 2] += bend * (vertices[:, 0] ** 2 - 1.0 / 3.0)
        states.append((vertices @ turned(0.5 * i).T + (0.0, i, 0.0)).astype(np.float32))
    component = np.zeros(len(mesh.vertices), np.int64)
    return Motion("elastic/bar", mesh.faces.astype(np.int32), component, np.array(states), still(states))


def turned(angle: float) -> np.ndarray:
    """Return the rotation about X by an angle [rad]."""
    return Rotation.from_rotvec((angle, 0.0, 0.0)).as_matrix()


def still(states: list[np.ndarray]) -> np.ndarray:
    """Return rotations that no test here looks at."""
    return np.tile(np.array((1, 0, 0, 0), np.float32), (len(states), len(states[0]), 1))


def sampled(motion: Motion, *, number: int = 0, split: str = "test_seen") -> SampledMotion:
    """Return a motion as a dataset keeps it in a split."""
    key = f"{motion.family.split('/')[1]}-{split}-{number}"
    rng = np.random.default_rng(number)
    return sample_states(motion, rng, key=key, name=key, split=split, count=400, all_meshes=split != "train")


def test_lid_turns_on_its_hinge_between_two_states() -> None:
    """Halfway between shut and open the lid is open half as far, and both ends are met exactly."""
    motion = lid_box(fixed=True)
    shut, wide, half = motion.positions[:3]
    assert motion.part is not None
    found = in_between(shut, wide, motion.part, np.array((0.0, 0.5, 1.0)))
    np.testing.assert_allclose(found, (shut, half, wide), atol=1e-5)


def test_bend_is_followed_linearly_between_two_states() -> None:
    """What no rigid motion explains moves along straight lines, relative to the motion of the whole."""
    straight = bar().positions[0]
    longer = straight * np.array((1.5, 1.0, 1.0), np.float32)
    group = np.zeros(len(straight), np.int64)
    found = in_between(straight, longer, group, np.array((0.25,)))[0]
    np.testing.assert_allclose(found, straight * np.array((1.125, 1.0, 1.0)), atol=1e-5)


def test_states_are_walked_through_by_nearness() -> None:
    """From the rest state the walk goes to the nearest state that is left, and ends on the way home."""
    states = np.zeros((4, 5, 3), np.float32)
    states[:, :, 0] = np.array((0.0, 3.0, 1.0, 2.0))[:, None]
    assert walk_states(states) == [0, 2, 3, 1]
    assert spread_states(states, 3) == [0, 1, 2]
    walk = walk_between(states[[0, 2, 3, 1]], np.zeros(5, np.int64), pictures=40)
    np.testing.assert_allclose(walk[[0, 10, 20, 30], 0, 0], (0.0, 1.0, 2.0, 3.0), atol=1e-6)
    assert np.abs(np.diff(walk[..., 0], axis=0)).max() < 0.5


def test_states_are_laid_onto_the_rest_shape() -> None:
    """The carriage and the turns of the whole are taken away, and the bend stays."""
    motion = sampled(bar())
    found = aligned_states(motion, motion.vertices)
    rest = bar().positions[0]
    for state, bend in zip(found, (0.0, 0.4, -0.3, 0.2, 0.1), strict=True):
        expected = rest.copy()
        expected[:, 2] += bend * (rest[:, 0] ** 2 - 1.0 / 3.0)
        # The best fit of a bent bar is not its maker's: it may be lifted a little.
        lift = (expected - state).mean(0)
        assert np.abs(lift).max() < 0.15
        np.testing.assert_allclose(state + lift, expected, atol=0.02)


def test_held_object_keeps_its_place() -> None:
    """The held body of a box stays where it is although the box around all of it grows when the lid opens."""
    motion = sampled(lid_box(fixed=True))
    found = aligned_states(motion, motion.vertices)
    body = lid_box(fixed=True).part == 0
    half = 0.5 * np.ptp(lid_box(fixed=True).positions[0], axis=0).max()
    np.testing.assert_allclose(found[:, body] * half, np.tile(found[0, body] * half, (4, 1, 1)), atol=ROUNDING)


def test_rigid_body_keeps_its_turns() -> None:
    """A motion that is rigid as a whole is told from a bend, and its turns are left to be seen."""
    motion = bar()
    tumbling = np.array([motion.positions[0] @ turned(0.4 * i).T for i in range(3)], np.float32)
    rigid = sampled(replace(motion, family="rigid/bar", positions=tumbling, rotations=still(list(tumbling))))
    assert is_rigid(rigid)
    assert not is_rigid(sampled(motion))
    assert np.abs(np.diff(aligned_states(rigid, rigid.vertices), axis=0)).max() > 0.05


@pytest.mark.parametrize("split", ["test_seen", "train"])
def test_true_parts_have_colours_of_their_own(split: str) -> None:
    """Each part of a box is of one colour, whether its meshes or its samples alone are kept."""
    motion = sampled(lid_box(fixed=True), split=split)
    drawn = moving(motion)
    assert drawn.as_samples == (split == "train")
    truth = motion.part if drawn.as_samples else lid_box(fixed=True).part
    assert drawn.tint is not None and truth is not None
    colors = [np.unique(drawn.tint[truth == part], axis=0) for part in (0, 1)]
    assert [len(found) for found in colors] == [1, 1]
    assert (colors[0] != colors[1]).any()


def test_objects_of_all_families_are_chosen_first() -> None:
    """Families take turns, and objects without the meshes of their states come last."""
    entries = [Entry(f"a{i}", "cloth/a", "test_seen", 9, True) for i in range(6)]
    entries += [Entry("b", "cloth/b", "validation", 9, True), Entry("c", "cloth/c", "train", 9, False)]
    chosen = choose_entries(entries, 3, np.random.default_rng(0))
    assert {entry.family for entry in chosen[:2]} == {"cloth/a", "cloth/b"}
    assert all(entry.meshes for entry in chosen)
    everything = choose_entries(entries, 24, np.random.default_rng(0))
    assert sorted(entry.key for entry in everything) == sorted(entry.key for entry in entries)
    assert everything[-1].key == "c"
    assert chosen == choose_entries(entries, 3, np.random.default_rng(0))


def test_gif_is_made_small_enough(tmp_path: Path) -> None:
    """Noise that does not fit into the allowed size is written with fewer pixels, at the same rate and count."""
    rng = np.random.default_rng(0)
    pages = [Image.fromarray(rng.integers(0, 256, (80, 100, 3)).astype(np.uint8)) for _ in range(6)]
    with Image.open(save_gif(pages, tmp_path / "large.gif")) as large:
        assert (large.size, getattr(large, "n_frames", 1), large.info["duration"]) == ((100, 80), 6, 50)
    limit = (tmp_path / "large.gif").stat().st_size // 2
    with Image.open(save_gif(pages, tmp_path / "small.gif", largest=limit)) as small:
        assert small.size[0] < 100 and getattr(small, "n_frames", 1) == 6
    assert (tmp_path / "small.gif").stat().st_size <= limit
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["large.gif", "small.gif"]


def test_preview_without_a_display(without_display: Run, tmp_path: Path) -> None:
    """A dataset of two kinds gives an overview, and for each kind a sheet and a moving picture of 4 s."""
    folder, output = tmp_path / "data", tmp_path / "out" / "pictures"
    boxes = [sampled(lid_box(fixed=False)), sampled(lid_box(fixed=True), number=1)]
    write_shard(boxes, folder / "test_seen" / "boxes.tar")
    write_shard([sampled(bar(), split="train")], folder / "train" / "bars.tar")
    done = without_display("dataset", "preview", folder, "-o", output, "--objects", 2)
    assert done.returncode == 0, done.stderr
    names = ["overview.png"]
    names += [f"{what}" for kind in ("articulated", "elastic") for what in (f"sheet_{kind}.png", f"motion_{kind}.gif")]
    assert done.stdout.split() == [str(output / name) for name in names]
    assert sorted(path.name for path in output.iterdir()) == sorted(names)
    sizes = {}
    for name in names:
        with Image.open(output / name) as picture:
            sizes[name] = picture.size
            if name.endswith(".gif"):
                assert getattr(picture, "n_frames", 1) == 80
            colors = np.asarray(picture.convert("RGB")).reshape(-1, 3).astype(int)
            assert (np.ptp(colors, axis=1) > 40).mean() > 0.01, f"{name} shows no colours"
        assert (output / name).stat().st_size < 3_000_000
    assert sizes["sheet_articulated.png"] == sizes["sheet_elastic.png"]


def test_folder_without_objects_is_refused(without_display: Run, tmp_path: Path) -> None:
    """A folder that is no dataset, and a dataset without objects, are refused in words and leave no folder behind."""
    empty = tmp_path / "empty"
    empty.mkdir()
    done = without_display("dataset", "preview", empty, "-o", tmp_path / "out")
    assert done.returncode == 1
    assert "holds no dataset" in done.stderr and "Traceback" not in done.stderr
    with pytest.raises(Refused, match="holds no dataset"):
        preview_dataset(empty, tmp_path / "out")
    (empty / "train").mkdir()
    with pytest.raises(Refused, match="holds no object to draw"):
        preview_dataset(empty, tmp_path / "out")
    assert not (tmp_path / "out").exists()
