"""Tests of the export: its process, progress, cancel, and what it leaves behind."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import pytest

from app.export_dialog import ExportDialog, duration_text
from app.export_worker import VideoRequest
from app.jobs import ExportJob

if TYPE_CHECKING:
    from pathlib import Path

    from pytestqt.qtbot import QtBot

# A stand-in for the worker: it behaves as its first argument says.
WORKER = """
import json, pathlib, sys, threading, time
mood, request = sys.argv[1], json.loads(sys.argv[2])
target = pathlib.Path(request["target"])
part = target.with_name(target.name + ".part")
def say(what, **more):
    print(json.dumps({"what": what, **more}), flush=True)
stopped = threading.Event()
if mood != "deaf":
    threading.Thread(target=lambda: (sys.stdin.read(), stopped.set()), daemon=True).start()
part.write_bytes(b"half")
if mood == "crash":
    raise RuntimeError("the encoder fell over")
if mood == "refuse":
    say("failed", reason="The disk is full.")
    sys.exit(1)
for done in range(1, 31):
    say("progress", done=done, of=30)
    time.sleep(0.01 if mood == "well" else 0.2)
    if stopped.is_set():
        part.unlink()
        sys.exit(3)
part.replace(target)
"""


@pytest.fixture
def job_of(tmp_path: Path, qtbot: QtBot):
    """Make jobs whose worker behaves in a given way."""
    script = tmp_path / "worker.py"
    script.write_text(WORKER)
    made: list[ExportJob] = []

    def make(mood: str) -> ExportJob:
        request = VideoRequest("clip", "mesh", str(tmp_path / "ein Film.mp4"), 640, 480, 30)
        job = ExportJob(request, worker=(str(script), mood))
        made.append(job)
        return job

    yield make
    for job in made:
        job.stop()


def test_progress_and_end(job_of, qtbot: QtBot, tmp_path: Path) -> None:
    """Progress comes with an estimate, and the end names the file."""
    job, news = job_of("well"), []
    job.progressed.connect(lambda done, total, left: news.append((done, total, left)))
    with qtbot.waitSignal(job.finished, timeout=20_000) as end:
        job.start()
    assert end.args == [str(tmp_path / "ein Film.mp4")]
    assert news[-1][:2] == (30, 30)
    assert news[-1][2] == pytest.approx(0.0)
    assert 0.0 < news[10][2] < 30.0


@pytest.mark.parametrize(("mood", "words"), [("crash", "fell over"), ("refuse", "disk is full")])
def test_failure_says_why_and_leaves_nothing(job_of, qtbot: QtBot, tmp_path: Path, mood: str, words: str) -> None:
    """A worker that gives up or falls over is reported in words; no half-written file stays."""
    job = job_of(mood)
    with qtbot.waitSignal(job.failed, timeout=20_000) as end:
        job.start()
    assert words in end.args[0]
    assert not list(tmp_path.glob("*.part"))
    assert not list(tmp_path.glob("*.mp4"))


@pytest.mark.parametrize("mood", ["slow", "deaf"])
def test_cancel_leaves_nothing(job_of, qtbot: QtBot, tmp_path: Path, mood: str) -> None:
    """Cancel ends a worker that listens, and one that does not, and no file stays."""
    job = job_of(mood)
    with qtbot.waitSignal(job.progressed, timeout=20_000):
        job.start()
    started = time.monotonic()
    with qtbot.waitSignal(job.cancelled, timeout=20_000):
        job.cancel()
    assert time.monotonic() - started < 8.0
    assert not job.running
    assert not list(tmp_path.glob("*.part"))
    assert not list(tmp_path.glob("*.mp4"))


def test_an_old_file_survives_a_failed_export(job_of, qtbot: QtBot, tmp_path: Path) -> None:
    """What stood at the target before is still there."""
    (tmp_path / "ein Film.mp4").write_bytes(b"old")
    job = job_of("refuse")
    with qtbot.waitSignal(job.failed, timeout=20_000):
        job.start()
    assert (tmp_path / "ein Film.mp4").read_bytes() == b"old"


def test_dialog_rounds_odd_sizes_up(qtbot: QtBot, tmp_path: Path) -> None:
    """The encoding needs even sizes; 641 x 481 becomes 642 x 482, and the suffix is added."""
    dialog = ExportDialog(3.0, tmp_path / "film.mp4")
    qtbot.addWidget(dialog)
    dialog.size_choice.setCurrentIndex(dialog.size_choice.count() - 1)
    dialog.picture_width.setValue(641)
    dialog.picture_height.setValue(481)
    dialog.target.setText(str(tmp_path / "other"))
    choice = dialog.choice
    assert (choice.width, choice.height, choice.fps) == (642, 482, 60)
    assert choice.target.name == "other.mp4"


def test_dialog_shows_progress_and_cancels(job_of, qtbot: QtBot, tmp_path: Path) -> None:
    """The bar moves, and Cancel returns to the question."""
    dialog = ExportDialog(3.0, tmp_path / "film.mp4")
    qtbot.addWidget(dialog)
    dialog.show()
    job = job_of("slow")
    dialog.run(job)
    qtbot.waitUntil(lambda: dialog.progress.value() >= 2, timeout=20_000)
    assert "left" in dialog.news.text()
    with qtbot.waitSignal(job.cancelled, timeout=20_000):
        dialog.cancel_button.click()
    assert dialog._pages.currentIndex() == 0


def test_request_survives_the_way() -> None:
    """A request is the same after it was written and read."""
    request = VideoRequest("a", "b", "c.mp4", 640, 480, 30, (0.0, 1.0, 2.0, 3.0, 4.0, 5.0), False)
    assert VideoRequest.from_json(request.to_json()) == request
    assert json.loads(request.to_json())["target"] == "c.mp4"


def test_durations_read_well() -> None:
    """Short times are seconds, long ones minutes."""
    assert duration_text(7.4) == "7 s"
    assert duration_text(125.0) == "2 min 05 s"
