"""Which network moves the objects: those that come with the program, and any other file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QComboBox, QVBoxLayout, QWidget

from app.controls import heading

if TYPE_CHECKING:
    from collections.abc import Sequence

SUFFIX = ".safetensors"


def list_networks(folder: Path) -> list[Path]:
    """Return the checkpoints of a folder, by name; none where there is no such folder."""
    return sorted(folder.glob(f"*{SUFFIX}"))


class NetworkChoice(QWidget):
    """A list of checkpoints of which one is chosen; its last entry asks for a file.

    Signals:
        chosen: another network was chosen by hand (path as text).
        browse_wished: the file dialog is wanted.
    """

    chosen = Signal(str)
    browse_wished = Signal()

    def __init__(self, paths: Sequence[Path], parent: QWidget | None = None) -> None:
        """Offer some checkpoints."""
        super().__init__(parent)
        self._shown: Path | None = None
        self.combo = QComboBox()
        self.combo.setAccessibleName("Network")
        self.combo.setToolTip("The network that says how objects can move. The object is loaded again with it.")
        self.combo.setPlaceholderText("Standard")
        # Long names shall not widen the panel.
        self.combo.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.combo.wheelEvent = lambda event: event.ignore()
        for path in paths:
            self._insert(path)
        self.combo.addItem("Open…", "")
        self.combo.setCurrentIndex(-1)
        self.combo.activated.connect(self._activated)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(6)
        column.addWidget(heading("Network"))
        column.addWidget(self.combo)

    @property
    def shown(self) -> Path | None:
        """The network shown; None for the program's own."""
        return self._shown

    def show_network(self, path: Path | None) -> None:
        """Show a network without telling anyone; one that is not in the list is added to it."""
        self._shown = path
        index = -1 if path is None else self.combo.findData(str(path))
        if path is not None and index < 0:
            index = self._insert(path)
        self.combo.setCurrentIndex(index)

    def _insert(self, path: Path) -> int:
        """Put a network before the entry that opens others, and return its place."""
        last = self.combo.findData("")
        place = self.combo.count() if last < 0 else last
        self.combo.insertItem(place, path.stem, str(path))
        self.combo.setItemData(place, str(path), Qt.ItemDataRole.ToolTipRole)
        return place

    @Slot(int)
    def _activated(self, index: int) -> None:
        path = str(self.combo.itemData(index))
        # The one before is shown until the other has been loaded.
        self.show_network(self._shown)
        if not path:
            self.browse_wished.emit()
        elif self._shown is None or Path(path) != self._shown:
            self.chosen.emit(path)
