"""Tests of kept values, also of files that someone has poisoned."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import QByteArray, QSettings
from PySide6.QtWidgets import QWidget

from app.settings import Settings
from tests.app.conftest import ListeningEngine, needs_display

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot


def test_recent_files_are_newest_first_and_exist(tmp_path: Path) -> None:
    """Files that have gone are forgotten, repeated ones move to the front."""
    settings = Settings(tmp_path / "kept.ini")
    files = [tmp_path / f"{name}.ply" for name in "abc"]
    for file in files:
        file.write_text("x")
        settings.keep_recent(file)
    settings.keep_recent(files[0])
    files[1].unlink()
    settings.write()
    assert Settings(tmp_path / "kept.ini").recent_files() == [files[0], files[2]]


def test_window_place_comes_back(qtbot: QtBot, tmp_path: Path) -> None:
    """A sensible size is restored."""
    first, second = QWidget(), QWidget()
    qtbot.addWidget(first)
    qtbot.addWidget(second)
    first.resize(1000, 640)
    settings = Settings(tmp_path / "kept.ini")
    settings.keep_window(first)
    settings.restore_window(second)
    assert (second.width(), second.height()) == (1000, 640)


POISONS = {
    "garbage": b"\x00\xff[[[=\n%%%",
    "wrong types": b"[window]\ngeometry=banana\n"
    b"[view]\nhud=@Variant(\\0\\0)\npanels=maybe\n[files]\nrecent=@Invalid()\n",
    "strange paths": b"[files]\nrecent=/nowhere/\\x0\\x1, , ../../../../, 17\n[folders]\nopen=/nowhere\n",
}


@needs_display
@pytest.mark.parametrize("content", POISONS.values(), ids=POISONS.keys())
def test_poisoned_file_still_opens_a_usable_window(qtbot: QtBot, tmp_path: Path, content: bytes) -> None:
    """Whatever the settings file holds, the window is on the screen and large enough to work in."""
    (tmp_path / "kept.ini").write_bytes(content)
    open_and_check(qtbot, Settings(tmp_path / "kept.ini"), tmp_path)


@needs_display
def test_window_kept_off_screen_comes_back_onto_it(qtbot: QtBot, tmp_path: Path) -> None:
    """A window last seen on a monitor that is gone, or one pixel wide, opens in sight."""
    gone = QWidget()
    qtbot.addWidget(gone)
    gone.setGeometry(90_000, 90_000, 1, 1)
    store = QSettings(str(tmp_path / "kept.ini"), QSettings.Format.IniFormat)
    store.setValue("window/geometry", QByteArray(gone.saveGeometry()))
    store.sync()
    open_and_check(qtbot, Settings(tmp_path / "kept.ini"), tmp_path)


def open_and_check(qtbot: QtBot, settings: Settings, folder: Path) -> None:
    """Open a window with these settings and look at it."""
    from app.application import Workbench

    workbench = Workbench(ListeningEngine, settings, gallery_folder=folder)
    window = workbench.window
    workbench.open_window()
    with qtbot.waitExposed(window):
        pass
    assert window.isVisible()
    assert window.width() >= 400
    assert window.height() >= 300
    assert window.screen().availableGeometry().intersects(window.geometry())
    window.close()
    window.deleteLater()
