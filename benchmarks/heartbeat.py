"""How long the window's thread is ever busy while an object of 20,000 vertices is dragged by the mouse.

The real window runs in a process of its own, on the display or else on Xvfb. A timer beats every 5 ms; a gap is the
time between two beats. Software drawing alone may take longer than the bar, so the gaps are also given without the
time that VTK spent drawing between the two beats.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.figures import Figure
from benchmarks.meshes import bean_file

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtCore import QPoint
    from PySide6.QtWidgets import QApplication

    from app.viewport import Viewport

BAR = 100.0
SECONDS = 6.0
_BEAT_MS = 5


def measure() -> list[Figure]:
    """Run the window in a process of its own and return its gaps."""
    command = [sys.executable, "-m", "benchmarks.heartbeat"]
    if sys.platform.startswith("linux") and not os.environ.get("DISPLAY"):
        if shutil.which("xvfb-run") is None:
            return [Figure("heartbeat", float("nan"), "ms", BAR, "needs a display or Xvfb")]
        command = ["xvfb-run", "-a", "-s", "-screen 0 1600x1000x24", *command]
    with tempfile.TemporaryDirectory() as folder:
        path = bean_file(20_000, Path(folder))
        ended = subprocess.run([*command, str(path)], capture_output=True, text=True, timeout=240, check=False)
    lines = [line for line in ended.stdout.splitlines() if line.startswith("GAPS")]
    if not lines:
        raise RuntimeError(f"the window did not report: {ended.stderr.strip()[-500:]}")
    found = json.loads(lines[0].removeprefix("GAPS"))
    note = f"{found['shown']} frames shown, {found['renderer']}"
    return [
        Figure("heartbeat gap, raw", found["raw"], "ms", note=f"largest of {found['beats']} beats"),
        Figure("heartbeat gap, less drawing", found["less_drawing"], "ms", BAR, note),
        Figure("drawing one frame", found["draw_ms"], "ms", note="mean"),
    ]


def _in_window(path: Path) -> dict[str, object]:
    """Open the window, drag the object about, and return the gaps between beats."""
    from PySide6.QtCore import QPoint, Qt, QTimer
    from PySide6.QtTest import QTest
    from PySide6.QtWidgets import QApplication

    from app import theme
    from app.application import Workbench
    from app.settings import Settings
    from engine.runtime.engine_thread import EngineThread

    application = QApplication(sys.argv[:1])
    theme.apply_theme(application)
    with tempfile.TemporaryDirectory() as folder:
        bench = Workbench(EngineThread, Settings(Path(folder) / "settings.ini"))
        bench.window.resize(1200, 800)
        bench.open_window(path)
        view = bench.window.viewport
        _until(application, lambda: bench.display.rest is not None and view.frames_shown > 0)
        beats: list[tuple[float, float]] = []
        timer = QTimer()
        timer.setTimerType(Qt.TimerType.PreciseTimer)
        timer.setInterval(_BEAT_MS)
        timer.timeout.connect(lambda: beats.append((time.perf_counter(), view.render_seconds_total)))
        start = _touchable(view)
        shown, renders, drawing = view.frames_shown, view.renders, view.render_seconds_total
        timer.start()
        left, none = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
        QTest.mousePress(view, left, none, start)
        begun = time.perf_counter()
        while (spent := time.perf_counter() - begun) < SECONDS:
            reach = 90.0 * np.sin(2.0 * np.pi * 0.5 * spent)
            QTest.mouseMove(view, start + QPoint(round(reach), round(-0.4 * reach)))
            QTest.qWait(15)
        QTest.mouseRelease(view, left, none, start)
        timer.stop()
        renders = max(view.renders - renders, 1)
        found = {
            "raw": 1000.0 * max(b[0] - a[0] for a, b in pairwise(beats)),
            "less_drawing": 1000.0 * max(b[0] - a[0] - b[1] + a[1] for a, b in pairwise(beats)),
            "beats": len(beats),
            "shown": view.frames_shown - shown,
            "draw_ms": 1000.0 * (view.render_seconds_total - drawing) / renders,
            "renderer": view.gl_renderer,
        }
        bench.window.close()
    return found


def _until(application: QApplication, done: Callable[[], bool]) -> None:
    """Let the window live until something has come true, for a minute at most."""
    limit = time.perf_counter() + 60.0
    while not done():
        application.processEvents()
        time.sleep(0.001)
        if time.perf_counter() > limit:
            raise TimeoutError("the window waited in vain")


def _touchable(view: Viewport) -> QPoint:
    """Return a pixel on the upper part of the object."""
    from PySide6.QtCore import QPoint

    ratio = view.devicePixelRatioF()
    pixels = view.view().project(view.stage.vertices)
    for index in np.argsort(pixels[:, 1])[len(pixels) // 20 :]:
        x, y = pixels[index] + 0.2 * (pixels.mean(axis=0) - pixels[index])
        if view.hit(float(x), float(y)) is not None:
            return QPoint(round(x / ratio), round(y / ratio))
    raise RuntimeError("no point of the object is in sight")


if __name__ == "__main__":
    print("GAPS" + json.dumps(_in_window(Path(sys.argv[1]))))
