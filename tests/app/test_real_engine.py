"""The window with the real engine: a hand pulls, and the object answers."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest

from engine.scenes.material import Anchor
from tests.app.conftest import needs_display

engine_thread = pytest.importorskip("engine.runtime.engine_thread")

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytestqt.qtbot import QtBot

    from app.application import Workbench

OBJECTS = Path(__file__).resolve().parents[2] / "assets" / "objects"
LEFT, NONE = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier

pytestmark = [needs_display, pytest.mark.skipif(not (OBJECTS / "gallery.json").is_file(), reason="needs the gallery")]


def gallery_files() -> list[str]:
    """Return the mesh files of the gallery."""
    if not (OBJECTS / "gallery.json").is_file():
        return []
    from app.panels.gallery_panel import read_gallery

    return [item.path.name for item in read_gallery(OBJECTS)]


@pytest.fixture
def bench(qtbot: QtBot, tmp_path: Path) -> Iterator[Workbench]:
    """A window with the real engine and the real gallery."""
    from app.application import Workbench
    from app.settings import Settings

    made = Workbench(engine_thread.EngineThread, Settings(tmp_path / "kept.ini"), gallery_folder=OBJECTS)
    made.window.resize(1000, 700)
    yield made
    made.window.close()
    made.window.deleteLater()


def open_object(bench: Workbench, qtbot: QtBot, path: Path) -> None:
    """Open an object and wait until it is on the stage and has been drawn."""
    bench.open_window(path)
    qtbot.waitUntil(lambda: bench.rest is not None and bench.window.viewport.frames_shown > 0, timeout=60_000)


def touchable(bench: Workbench) -> QPoint:
    """Return a logical pixel on the part of the object that nothing holds: its upper part, or a hanging one's lower."""
    view = bench.window.viewport
    ratio = view.devicePixelRatioF()
    pixels = view.view().project(view.stage.vertices)
    downward = np.argsort(pixels[:, 1])
    from_free_end = downward[::-1] if bench.window.physics.anchor.choice == Anchor.HANGING else downward
    for index in from_free_end[len(pixels) // 20 :]:
        for toward in (0.08, 0.2, 0.4):
            x, y = pixels[index] + toward * (pixels.mean(axis=0) - pixels[index])
            if view.hit(float(x), float(y)) is not None:
                return QPoint(round(x / ratio), round(y / ratio))
    raise AssertionError("no point of the object is in sight")


@pytest.mark.parametrize("name", gallery_files())
def test_grabbed_point_moves_toward_the_pointer(bench: Workbench, qtbot: QtBot, name: str) -> None:
    """Whatever the object, the held point comes nearer to the pointer, and no camera moves."""
    open_object(bench, qtbot, OBJECTS / name)
    view = bench.window.viewport
    start = touchable(bench)
    camera = (view.camera.azimuth, view.camera.elevation, view.camera.distance)
    ratio = view.devicePixelRatioF()
    hit = view.hit(start.x() * ratio, start.y() * ratio)
    assert hit is not None
    weights, corners = np.array(hit.barycentric), bench.rest.faces[hit.face]

    def pixel() -> np.ndarray:
        return view.view().project(weights @ view.stage.vertices[corners]) / ratio

    QTest.mousePress(view, LEFT, NONE, start)
    goal = start + QPoint(60, -50)
    for share in np.linspace(0.1, 1.0, 10):
        QTest.mouseMove(view, start + QPoint(round(60 * share), round(-50 * share)))
        qtbot.wait(30)
    aim = np.array((goal.x(), goal.y()), float)
    before = float(np.linalg.norm(np.array((start.x(), start.y())) - aim))
    qtbot.waitUntil(lambda: float(np.linalg.norm(pixel() - aim)) < 0.8 * before, timeout=10_000)
    QTest.mouseRelease(view, LEFT, NONE, goal)
    assert np.isfinite(view.stage.vertices).all()
    assert camera == (view.camera.azimuth, view.camera.elevation, view.camera.distance)


def test_window_stays_alive_while_an_object_loads_and_moves(bench: Workbench, qtbot: QtBot) -> None:
    """While an object loads the window goes on beating: how long it waits between two beats, `make bench` measures."""
    from PySide6.QtCore import QTimer

    bench.open_window(OBJECTS / gallery_files()[0])
    beats: list[bool] = []
    timer = QTimer()
    timer.setInterval(10)
    timer.timeout.connect(lambda: beats.append(bench.path is not None and bench.path.name == gallery_files()[1]))
    timer.start()
    bench.load(OBJECTS / gallery_files()[1])
    qtbot.waitUntil(lambda: bench.path is not None and bench.path.name == gallery_files()[1], timeout=60_000)
    qtbot.wait(1000)
    timer.stop()
    # A window that waited for the load, or for the moving object, would not have beaten meanwhile.
    assert beats.count(False) >= 5
    assert beats.count(True) >= 5


def test_bad_file_is_refused_in_words(bench: Workbench, qtbot: QtBot, tmp_path: Path) -> None:
    """A file that is no mesh leaves the object and says what is wrong."""
    open_object(bench, qtbot, OBJECTS / gallery_files()[0])
    rest = bench.rest
    (tmp_path / "bad.glb").write_bytes(b"glTF this is none")
    bench.load(tmp_path / "bad.glb")
    qtbot.waitUntil(lambda: "bad.glb" in bench.window.banner.words, timeout=20_000)
    assert bench.rest is rest


def test_record_and_export(bench: Workbench, qtbot: QtBot, tmp_path: Path) -> None:
    """One second is recorded, written as a video in another process, and can be read back at the asked size."""
    import av

    from app.actions import ActionId

    open_object(bench, qtbot, OBJECTS / gallery_files()[0])
    times: list[float] = []
    bench.bridge.frame_arrived.connect(lambda frame: times.append(frame.time) if frame.recording else None)
    bench.window.actions_by_id[ActionId.RECORD].trigger()
    qtbot.waitUntil(lambda: bool(times) and times[-1] - times[0] > 0.7, timeout=30_000)
    bench.window.actions_by_id[ActionId.RECORD].trigger()
    qtbot.waitUntil(lambda: bench.exports.seconds > 0.5, timeout=10_000)
    bench.exports.ask()
    dialog = bench.exports.dialog
    assert dialog is not None
    dialog.target.setText(str(tmp_path / "film.mp4"))
    dialog.size_choice.setCurrentIndex(dialog.size_choice.count() - 1)
    dialog.picture_width.setValue(321)
    dialog.picture_height.setValue(241)
    dialog.rate.setCurrentIndex(dialog.rate.findData(24))
    dialog.start_button.click()
    assert dialog.job is not None
    with qtbot.waitSignal(dialog.job.finished, timeout=120_000):
        pass
    with av.open(str(tmp_path / "film.mp4")) as film:
        stream = film.streams.video[0]
        assert (stream.width, stream.height) == (322, 242)
        count = sum(1 for _ in film.decode(stream))
    assert count == pytest.approx(24 * bench.exports.seconds, abs=2)
    dialog.reject()


def test_closing_ends_the_engine_thread(bench: Workbench, qtbot: QtBot) -> None:
    """After closing, also in the middle of a load, only the main thread is left."""
    open_object(bench, qtbot, OBJECTS / gallery_files()[0])
    bench.load(OBJECTS / gallery_files()[1])
    started = time.monotonic()
    bench.window.close()
    assert time.monotonic() - started < 4.0
    names = [thread.name for thread in threading.enumerate() if not thread.daemon]
    assert names == ["MainThread"]


def test_gallery_is_large_enough() -> None:
    """At least eight objects come with the program, each with a picture."""
    content = json.loads((OBJECTS / "gallery.json").read_text(encoding="utf-8"))
    assert content
    from app.panels.gallery_panel import read_gallery

    items = read_gallery(OBJECTS)
    assert len(items) >= 8
    assert all(item.thumbnail is not None for item in items)
