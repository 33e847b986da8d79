"""A clip shows what was recorded, at any time, and its file gives it back."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
import torch

from engine.clips.blend import blend_handles
from engine.clips.clip import Clip, ClipError, ClipInputs
from engine.clips.clip_file import read_clip, write_clip
from engine.clips.resample import frame_times, resampled
from engine.kinematics.blending import drive


def test_blend_agrees_with_the_live_decode() -> None:
    """The blend of the clip is that of the kinematics, for random handles and weights."""
    rng = np.random.default_rng(0)
    weights = rng.random((40, 5)).astype(np.float32)
    weights /= weights.sum(1, keepdims=True)
    handles = (rng.standard_normal((5, 8)) + 2.0 * np.eye(8)[0]).astype(np.float32)
    points = rng.standard_normal((40, 3))
    live = drive(torch.as_tensor(weights), torch.as_tensor(handles), torch.as_tensor(points, dtype=torch.float32))
    assert np.abs(blend_handles(weights, handles, points) - live.numpy()).max() < 1e-5


@pytest.mark.parametrize("time", [0.0, 0.25, 0.5041, 0.99, 1.0])
def test_vertices_at_any_time(clip: Clip, exact: Callable[[Clip, float], np.ndarray], time: float) -> None:
    """Recorded times are exact; between two steps the motion is interpolated, turning included."""
    assert np.abs(clip.at(time) - exact(clip, time)).max() < 1e-5


def test_time_outside_stands_still(clip: Clip) -> None:
    """Before the first state and after the last the object stands still."""
    assert np.array_equal(clip.at(-3.0), clip.vertices(0))
    assert np.array_equal(clip.at(9.0), clip.vertices(60))


def test_arrays_are_read_only(clip: Clip) -> None:
    """Nobody can change a recording in place."""
    with pytest.raises(ValueError, match="read-only"):
        clip.p[0] = 0.0


def test_times_have_to_increase(clip: Clip) -> None:
    """A clip whose times stand still is refused in words."""
    content = {f.name: getattr(clip, f.name) for f in fields(Clip)}
    with pytest.raises(ClipError, match="must increase"):
        Clip(**content | {"times": np.zeros(61)})


@pytest.mark.parametrize(("fps", "count"), [(30.0, 30), (60.0, 60), (24.0, 24), (120.0, 120), (25.0, 25), (0.1, 1)])
def test_frame_count_is_seconds_times_rate(clip: Clip, fps: float, count: int) -> None:
    """One second at any rate gives as many pictures as the rate says, all distinct, and at least one."""
    frames = list(resampled(clip, fps=fps))
    assert len(frames) == count
    assert len({frame.tobytes() for frame in frames}) == count
    assert np.allclose(np.diff(frame_times(clip, fps=fps)), 1.0 / fps)


def test_rate_has_to_be_positive(clip: Clip) -> None:
    """A rate of zero is refused."""
    with pytest.raises(ClipError, match="rate"):
        frame_times(clip, fps=0.0)


def test_file_round_trip(clip: Clip, tmp_path: Path) -> None:
    """What is written is read, to the last bit, also under a name with spaces and accents."""
    path = tmp_path / "été 中.neurok"
    write_clip(clip, path)
    again = read_clip(path)
    for field in fields(Clip):
        if field.name in ("inputs", "facts", "metres_per_unit", "version"):
            continue
        assert np.array_equal(getattr(again, field.name), getattr(clip, field.name)), field.name
    for field in fields(ClipInputs):
        assert np.array_equal(getattr(again.inputs, field.name), getattr(clip.inputs, field.name), equal_nan=True)
    assert again.facts == clip.facts
    assert again.metres_per_unit == clip.metres_per_unit
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9, 0.999])
def test_truncated_file_is_refused_in_words(clip: Clip, tmp_path: Path, share: float) -> None:
    """A file that was cut off anywhere is refused with its name, not with a traceback of the zip reader."""
    path = tmp_path / "cut.neurok"
    write_clip(clip, path)
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(ClipError, match=r"cut\.neurok"):
        read_clip(path)


def test_damaged_file_is_refused(clip: Clip, tmp_path: Path) -> None:
    """Wherever a byte changed, the file is refused in words, or else it reads as it was written."""
    path = tmp_path / "bent.neurok"
    write_clip(clip, path)
    content = path.read_bytes()
    refusals: list[str] = []
    for place in range(0, len(content), 7):
        bent = bytearray(content)
        bent[place] ^= 0xFF
        path.write_bytes(bent)
        try:
            again = read_clip(path)
        except ClipError as problem:
            refusals.append(str(problem))
        else:
            assert np.array_equal(again.handles, clip.handles)
    assert all("bent.neurok" in refusal for refusal in refusals)
    assert len(refusals) > len(content) / 7 / 2


def test_newer_version_asks_for_a_newer_program(clip: Clip, tmp_path: Path) -> None:
    """A file of a later version says so."""
    path = tmp_path / "later.neurok"
    write_clip(clip, path)
    with zipfile.ZipFile(path) as archive:
        header, arrays = json.loads(archive.read("clip.json")), archive.read("arrays.npz")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("clip.json", json.dumps(header | {"version": 99}))
        archive.writestr("arrays.npz", arrays)
    with pytest.raises(ClipError, match="version 99"):
        read_clip(path)


def test_missing_file_and_folder(clip: Clip, tmp_path: Path) -> None:
    """Both are named in the refusal."""
    with pytest.raises(ClipError, match="no file"):
        read_clip(tmp_path / "none.neurok")
    with pytest.raises(ClipError, match="does not exist"):
        write_clip(clip, tmp_path / "nowhere" / "a.neurok")
