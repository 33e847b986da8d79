"""Tests of beginning and end, each in a process of its own: the exit status is part of the result."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.app.conftest import needs_display

pytestmark = needs_display

ROOT = Path(__file__).resolve().parents[2]

CYCLES = """
import sys, threading
from pathlib import Path
from PySide6.QtCore import QEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from tests.app.conftest import ListeningEngine, ball, make_frame, make_loaded, standing
application = QApplication([])
from app.application import Workbench
from app.settings import Settings
for cycle in range(int(sys.argv[1])):
    workbench = Workbench(ListeningEngine, Settings(Path(sys.argv[2])), gallery_folder=Path(sys.argv[2]).parent)
    rest = ball()
    workbench.open_window()
    workbench.bridge._engine.push(make_loaded(rest), frame=make_frame(standing(rest)))
    for _ in range(100):
        QTest.qWait(10)
        if workbench.window.viewport.frames_shown:
            break
    assert workbench.window.viewport.frames_shown, "nothing was shown"
    workbench.window.close()
    workbench.window.deleteLater()
    workbench.deleteLater()
    del workbench
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    QApplication.processEvents()
left = [thread.name for thread in threading.enumerate() if thread is not threading.main_thread()]
assert not left, left
assert not [widget for widget in QApplication.topLevelWidgets() if widget.isVisible()]
print("closed")
"""

SCALED = """
import numpy as np
from pathlib import Path
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from tests.app.conftest import ListeningEngine, ball, make_frame, make_loaded, standing
application = QApplication([])
from app.application import Workbench
from app.settings import Settings
import sys
workbench = Workbench(ListeningEngine, Settings(Path(sys.argv[2])), gallery_folder=Path(sys.argv[2]).parent)
rest = ball()
workbench.window.resize(900, 620)
workbench.open_window()
engine = workbench.bridge._engine
engine.push(make_loaded(rest), frame=make_frame(standing(rest)))
view = workbench.window.viewport
while not view.frames_shown:
    QTest.qWait(10)
ratio = view.devicePixelRatioF()
assert ratio == float(sys.argv[1]), ratio
picture = view.picture()
assert picture.width() == round(view.width() * ratio)
# The object is drawn where the camera says: its silhouette's middle is the projected middle.
plain = picture.convertToFormat(picture.Format.Format_RGB888)
pixels = np.frombuffer(plain.constBits(), np.uint8)
pixels = pixels.reshape(picture.height(), -1)[:, : picture.width() * 3].reshape(picture.height(), picture.width(), 3)
bright = pixels.max(axis=2) > 95
rows, columns = np.nonzero(bright)
seen = view.view().project(view.stage.vertices)
assert abs((columns.min() + columns.max()) / 2 - (seen[:, 0].min() + seen[:, 0].max()) / 2) < 6
place = QPoint(round((seen[:, 0].mean()) / ratio) + 20, round(seen[:, 1].mean() / ratio) - 12)
QTest.mousePress(view, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, place)
from engine.runtime.messages import GrabPoint
grab = engine.of(GrabPoint)[0]
point = np.array(grab.barycentric) @ view.stage.vertices[rest.faces[grab.face]]
np.testing.assert_allclose(view.view().project(point), (place.x() * ratio, place.y() * ratio), atol=1.0)
workbench.window.close()
print("picked")
"""


def run(program: str, *arguments: str, timeout: float, **environment: str) -> str:
    """Run a program in a process of its own and return what it printed; anything on its error stream is a failure."""
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", program, *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stderr.splitlines() if line and "gallery list" not in line]
    assert not lines, done.stderr
    return done.stdout


def test_five_windows_open_and_close(tmp_path: Path) -> None:
    """Five windows in a row leave no thread, no warning, and exit status 0."""
    assert "closed" in run(CYCLES, "5", str(tmp_path / "kept.ini"), timeout=90)


@pytest.mark.slow
def test_twenty_windows_open_and_close(tmp_path: Path) -> None:
    """Twenty windows in a row leave no thread, no warning, and exit status 0."""
    assert "closed" in run(CYCLES, "20", str(tmp_path / "kept.ini"), timeout=240)


@pytest.mark.parametrize("factor", ["1", "1.5", "2"])
def test_picking_on_scaled_screens(tmp_path: Path, factor: str) -> None:
    """The point under the pointer is the one that is drawn there, at any scale of the screen."""
    assert "picked" in run(SCALED, factor, str(tmp_path / "kept.ini"), timeout=90, QT_SCALE_FACTOR=factor)
