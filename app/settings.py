"""What is kept between runs, checked when it is read back.

A settings file may come from another version, another screen or another hand. Every value is read through a check; what
fails is replaced by its default, so that the window always opens, on a screen, at a usable size.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QByteArray, QRect, QSettings
from PySide6.QtGui import QGuiApplication

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget

_RECENT_KEPT = 12
_SMALLEST = (760, 520)
_USUAL = (1440, 900)


class Settings:
    """Reads and writes the kept values."""

    def __init__(self, file: Path | None = None) -> None:
        """Use a file, or the place usual on this system."""
        if file is None:
            self._store = QSettings(QSettings.Format.IniFormat, QSettings.Scope.UserScope, "neurok", "neurok")
        else:
            self._store = QSettings(str(file), QSettings.Format.IniFormat)

    def restore_window(self, window: QWidget) -> None:
        """Give a window its last place and size, if they are still sensible."""
        window.resize(*self._fitting(*_USUAL))
        kept = self._store.value("window/geometry")
        if isinstance(kept, QByteArray) and not kept.isEmpty():
            window.restoreGeometry(kept)
        window.setWindowState(window.windowState() & ~window.windowState().WindowFullScreen)
        frame = window.geometry()
        if frame.width() < _SMALLEST[0] or frame.height() < _SMALLEST[1]:
            window.resize(*self._fitting(*_USUAL))
        if not _on_some_screen(window.geometry()):
            screen = QGuiApplication.primaryScreen()
            if screen is not None:
                free = screen.availableGeometry()
                window.resize(*self._fitting(*_USUAL))
                window.move(free.center() - window.rect().center())

    def keep_window(self, window: QWidget) -> None:
        """Keep the window's place and size."""
        self._store.setValue("window/geometry", window.saveGeometry())

    def flag(self, name: str, default: bool) -> bool:
        """Return a kept switch."""
        kept = self._store.value(name, default)
        return kept if isinstance(kept, bool) else {"true": True, "false": False}.get(str(kept).lower(), default)

    def keep_flag(self, name: str, value: bool) -> None:
        """Keep a switch."""
        self._store.setValue(name, bool(value))

    def recent_files(self) -> list[Path]:
        """Return the files opened lately that still exist, newest first."""
        kept = self._store.value("files/recent", [])
        texts = [kept] if isinstance(kept, str) else kept if isinstance(kept, list) else []
        found: list[Path] = []
        for text in texts[:_RECENT_KEPT]:
            path = _existing_file(text)
            if path is not None and path not in found:
                found.append(path)
        return found

    def keep_recent(self, path: Path) -> list[Path]:
        """Put a file in front of the list and return the list."""
        files = [path, *(other for other in self.recent_files() if other != path)][:_RECENT_KEPT]
        self._store.setValue("files/recent", [str(file) for file in files])
        return files

    def folder(self, name: str) -> Path:
        """Return a kept folder, or the home folder."""
        kept = self._store.value(f"folders/{name}", "")
        try:
            path = Path(str(kept))
            return path if str(kept) and path.is_dir() else Path.home()
        except (OSError, ValueError):
            return Path.home()

    def keep_folder(self, name: str, folder: Path) -> None:
        """Keep a folder."""
        self._store.setValue(f"folders/{name}", str(folder))

    def write(self) -> None:
        """Write the file now."""
        self._store.sync()

    @staticmethod
    def _fitting(width: int, height: int) -> tuple[int, int]:
        screen = QGuiApplication.primaryScreen()
        if screen is None:
            return width, height
        free = screen.availableGeometry()
        return min(width, max(free.width() - 40, 400)), min(height, max(free.height() - 60, 300))


def _existing_file(text: object) -> Path | None:
    try:
        path = Path(str(text))
        return path if str(text) and path.is_file() else None
    except (OSError, ValueError):
        return None


def _on_some_screen(frame: QRect) -> bool:
    for screen in QGuiApplication.screens():
        seen = screen.availableGeometry().intersected(frame)
        if seen.width() >= 200 and seen.height() >= 150:
            return True
    return False
