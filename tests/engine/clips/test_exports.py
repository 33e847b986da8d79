"""Exports: arrays in the file's frame; videos of the asked size, rate and count; old files survive failures."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest

from engine.clips.clip import Clip, ClipError
from engine.clips.npz import write_npz
from engine.clips.replacing import ExportCancelled
from engine.clips.video import even_size, write_video

ORANGE = (200, 90, 30)


def pictures(count: int, size: tuple[int, int], *, fail_at: int | None = None) -> Iterator[np.ndarray]:
    """Yield orange pictures with a white bar that moves; break at one of them if asked to."""
    for index in range(count):
        if index == fail_at:
            raise RuntimeError("the renderer lost its surface")
        picture = np.full((size[1], size[0], 3), ORANGE, np.uint8)
        picture[:, (7 * index) % size[0] :][:, :6] = 255
        yield picture


def test_arrays_are_in_the_files_frame(clip: Clip, tmp_path: Path) -> None:
    """The object at rest has the file's own vertices, and all frames are there with their times and facts."""
    path = tmp_path / "motion.npz"
    assert write_npz(clip, path) == 61
    with np.load(path) as arrays:
        own = np.array(clip.rest_vertices) * 10.0 + (5.0, 0.0, 0.0)
        assert arrays["vertices"].shape == (61, len(clip.rest_vertices), 3)
        assert np.abs(arrays["vertices"][0] - own).max() < 1e-4
        assert np.allclose(arrays["times"], clip.times)
        assert np.array_equal(arrays["faces"], clip.rest_faces)
        assert json.loads(str(arrays["facts"]))["material"]["name"] == "elastic"


def test_arrays_at_a_rate(clip: Clip, tmp_path: Path) -> None:
    """At 24 frames per second one second has 24 frames."""
    assert write_npz(clip, tmp_path / "slow.npz", fps=24.0) == 24
    with np.load(tmp_path / "slow.npz") as arrays:
        assert arrays["vertices"].shape[0] == arrays["q"].shape[0] == 24


def test_cancelled_arrays_leave_nothing(clip: Clip, tmp_path: Path) -> None:
    """Giving up in the middle leaves no file."""
    with pytest.raises(ExportCancelled):
        write_npz(clip, tmp_path / "gone.npz", cancelled=iter([False] * 5 + [True] * 99).__next__)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("size", "fps"), [((641, 481), 30), ((320, 240), 24), ((64, 36), 60), ((160, 121), Fraction(25))]
)
def test_video_reads_back_as_asked(tmp_path: Path, size: tuple[int, int], fps: float) -> None:
    """Even size, exact rate and count, 4:2:0, and the colours of the pictures."""
    path = tmp_path / "film.mp4"
    report = write_video(pictures(50, size), path, fps=fps, size=size)
    with av.open(str(path)) as film:
        stream = film.streams.video[0]
        decoded = list(film.decode(stream))
        assert stream.codec_context.name == "h264"
        assert stream.codec_context.pix_fmt == "yuv420p"
        assert stream.average_rate == fps
        assert (stream.width, stream.height) == even_size(size) == report.size
    assert len(decoded) == report.frames == 50
    seconds = [float(frame.pts * frame.time_base) for frame in decoded]
    assert np.allclose(seconds, np.arange(50) / float(fps), atol=1e-4)
    picture = decoded[0].to_ndarray(format="rgb24")
    assert np.abs(picture[size[1] // 2, size[0] // 2].astype(int) - ORANGE).max() <= 4
    assert picture[size[1] // 2, 2].min() > 230
    assert [p.name for p in tmp_path.iterdir()] == ["film.mp4"]


def test_even_size_rounds_up() -> None:
    """641 x 481 becomes 642 x 482; even sizes stay."""
    assert even_size((641, 481)) == (642, 482)
    assert even_size((640, 480)) == (640, 480)


def test_pictures_are_taken_one_at_a_time(tmp_path: Path) -> None:
    """A long film is never in memory: no picture is asked for before the one before it was taken in."""
    alive: list[int] = []

    def counted() -> Iterator[np.ndarray]:
        for index, picture in enumerate(pictures(60, (64, 48))):
            alive.append(index)
            yield picture

    taken: list[int] = []

    def progress(done: int) -> None:
        taken.append(done)
        assert len(alive) == done

    write_video(counted(), tmp_path / "film.mp4", fps=30, size=(64, 48), progress=progress)
    assert taken == list(range(1, 61))


@pytest.mark.parametrize("kind", ["renderer fails", "wrong size", "no picture", "cancelled"])
def test_failure_leaves_the_old_file(tmp_path: Path, kind: str) -> None:
    """Whatever goes wrong, the film that was there is still there, and no half-written one is beside it."""
    path = tmp_path / "film.mp4"
    path.write_bytes(b"the old film")
    size = (64, 48)
    attempt: Callable[[], object]
    match kind:
        case "renderer fails":
            error: type[Exception] = RuntimeError
            attempt = lambda: write_video(pictures(20, size, fail_at=9), path, fps=30, size=size)  # noqa: E731
        case "wrong size":
            error = ClipError
            attempt = lambda: write_video(pictures(20, (70, 48)), path, fps=30, size=size)  # noqa: E731
        case "no picture":
            error = ClipError
            attempt = lambda: write_video(pictures(0, size), path, fps=30, size=size)  # noqa: E731
        case _:
            error = ExportCancelled
            stop = iter([False] * 5 + [True] * 99)
            attempt = lambda: write_video(pictures(20, size), path, fps=30, size=size, cancelled=stop.__next__)  # noqa: E731
    with pytest.raises(error):
        attempt()
    assert path.read_bytes() == b"the old film"
    assert [p.name for p in tmp_path.iterdir()] == ["film.mp4"]


def test_renderer_is_closed_when_cancelled(tmp_path: Path) -> None:
    """The generator behind the pictures gets to close its window."""
    closed: list[bool] = []

    def rendering() -> Iterator[np.ndarray]:
        try:
            yield from pictures(20, (64, 48))
        finally:
            closed.append(True)

    stop = iter([False] * 3 + [True] * 99)
    with pytest.raises(ExportCancelled):
        write_video(rendering(), tmp_path / "film.mp4", fps=30, size=(64, 48), cancelled=stop.__next__)
    assert closed == [True]
