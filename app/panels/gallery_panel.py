"""The gallery: objects that come with the program, files opened lately, the way to any other file, and the network."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QRectF, QSize, Qt, Signal, Slot
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPen, QPixmap
from PySide6.QtWidgets import (
    QAbstractButton,
    QGridLayout,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from app import theme
from app.controls import heading
from app.icons import icon, pixmap
from app.panels.network_choice import NetworkChoice

if TYPE_CHECKING:
    from collections.abc import Sequence

    from PySide6.QtGui import QEnterEvent, QPaintEvent

log = logging.getLogger(__name__)

_COLUMNS = 2
_TILE = QSize(98, 108)
_RECENT_SHOWN = 6


@dataclass(frozen=True, slots=True)
class GalleryItem:
    """One object of the gallery.

    Attributes:
        title: words under its picture.
        path: mesh file.
        thumbnail: picture file, or None.
        words: description, source and licence, for the tool tip.
        anchor: how it is held, or empty.
        material: name of what it is made of, or empty.
    """

    title: str
    path: Path
    thumbnail: Path | None
    words: str
    anchor: str = ""
    material: str = ""


def read_gallery(folder: Path) -> tuple[GalleryItem, ...]:
    """Read ``gallery.json`` of a folder; entries whose mesh is missing are left out, and a missing list is empty."""
    try:
        content: Any = json.loads((folder / "gallery.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as problem:
        log.warning("the gallery list could not be read: %s", problem)
        return ()
    entries = content if isinstance(content, list) else content.get("objects", content.get("items", []))
    items: list[GalleryItem] = []
    for entry in entries:
        path = folder / str(entry.get("file") or entry.get("mesh") or entry.get("path") or "")
        if not path.is_file():
            log.warning("the gallery names %s, which is not there", path.name)
            continue
        picture = entry.get("thumbnail") or entry.get("picture")
        thumbnail = folder / str(picture) if picture else folder / "thumbnails" / f"{path.stem}.png"
        title = str(entry.get("title") or entry.get("name") or path.stem.replace("_", " ").title())
        words = " ".join(str(entry[key]) for key in ("description", "licence") if entry.get(key))
        picture = thumbnail if thumbnail.is_file() else None
        items.append(
            GalleryItem(title, path, picture, words, str(entry.get("anchor", "")), str(entry.get("material", "")))
        )
    return tuple(items)


class GalleryTile(QAbstractButton):
    """A picture of an object with its name; a click opens it."""

    def __init__(self, item: GalleryItem, parent: QWidget | None = None) -> None:
        """Make the tile of an item."""
        super().__init__(parent)
        self.item = item
        self._picture = QPixmap(str(item.thumbnail)) if item.thumbnail else QPixmap()
        self._loaded = False
        self._hovered = False
        self.setText(item.title)
        self.setToolTip(f"{item.title}\n{item.words}".strip())
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setMinimumSize(_TILE)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        """Return the size of a tile."""
        return _TILE

    def set_loaded(self, loaded: bool) -> None:
        """Mark the tile as the object on the stage."""
        if loaded != self._loaded:
            self._loaded = loaded
            self.update()

    def enterEvent(self, event: QEnterEvent) -> None:
        """Brighten."""
        self._hovered = True
        self.update()
        super().enterEvent(event)

    def leaveEvent(self, event: object) -> None:
        """Calm down."""
        self._hovered = False
        self.update()
        super().leaveEvent(event)  # type: ignore[arg-type]

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw card, picture and name."""
        painter = QPainter(self)
        painter.setRenderHints(QPainter.RenderHint.Antialiasing | QPainter.RenderHint.SmoothPixmapTransform)
        card = QRectF(self.rect()).adjusted(1, 1, -1, -1)
        path = QPainterPath()
        path.addRoundedRect(card, 9, 9)
        lit = self._hovered or self.hasFocus()
        painter.fillPath(path, QColor(theme.RAISED if lit or self.isDown() else theme.CARD))
        picture_box = QRectF(card.left(), card.top(), card.width(), card.height() - 24)
        painter.save()
        painter.setClipPath(path)
        picture = self._picture if not self._picture.isNull() else pixmap("box", theme.FAINT, 40)
        limit = picture_box.size() if not self._picture.isNull() else QSize(40, 40).toSizeF()
        # A thumbnail fills its box; the stand-in icon does not.
        fit = (
            Qt.AspectRatioMode.KeepAspectRatio
            if self._picture.isNull()
            else Qt.AspectRatioMode.KeepAspectRatioByExpanding
        )
        scaled = picture.size().toSizeF().scaled(limit, fit)
        target = QRectF(0, 0, scaled.width(), scaled.height())
        target.moveCenter(picture_box.center())
        painter.setClipRect(picture_box, Qt.ClipOperation.IntersectClip)
        painter.drawPixmap(target, picture, QRectF(picture.rect()))
        painter.restore()
        if self._loaded or lit:
            painter.setPen(QPen(QColor(theme.ACCENT if self._loaded else "#3a424e"), 1.4 if self._loaded else 1.0))
            painter.drawPath(path)
        painter.setPen(QColor(theme.TEXT if self._loaded or lit else theme.MUTED))
        painter.setFont(theme.interface_font(8.5))
        words = painter.fontMetrics().elidedText(self.text(), Qt.TextElideMode.ElideRight, int(card.width()) - 10)
        label = QRectF(card.left(), card.bottom() - 24, card.width(), 22)
        painter.drawText(label, Qt.AlignmentFlag.AlignCenter, words)


class GalleryPanel(QWidget):
    """The left side of the window.

    Signals:
        chosen: an object was chosen (path as text).
        browse_wished: the file dialog is wanted.
    """

    chosen = Signal(str)
    browse_wished = Signal()

    def __init__(
        self, items: Sequence[GalleryItem], networks: Sequence[Path] = (), parent: QWidget | None = None
    ) -> None:
        """Show the items, and offer checkpoints."""
        super().__init__(parent)
        self.setObjectName("panelLeft")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setFixedWidth(236)
        self.networks = NetworkChoice(networks)
        self.tiles = [GalleryTile(item) for item in items]
        grid = QGridLayout()
        grid.setSpacing(8)
        for position, tile in enumerate(self.tiles):
            tile.clicked.connect(self._tile_clicked)
            grid.addWidget(tile, position // _COLUMNS, position % _COLUMNS)
        self._recent = QVBoxLayout()
        self._recent.setSpacing(0)
        self._recent_heading = heading("Recent")
        self._recent_heading.hide()
        inner = QWidget()
        column = QVBoxLayout(inner)
        column.setContentsMargins(12, 12, 8, 12)
        column.setSpacing(10)
        column.addWidget(heading("Objects"))
        column.addLayout(grid)
        column.addSpacing(6)
        column.addWidget(self._recent_heading)
        column.addLayout(self._recent)
        column.addStretch(1)
        scroll = QScrollArea(widgetResizable=True)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scroll.setWidget(inner)
        browse = QPushButton("Open a file…")
        browse.setIcon(icon("open"))
        browse.setToolTip("Open any GLB, glTF, OBJ, PLY, STL or OFF file, or drop one anywhere on the window.")
        browse.clicked.connect(self.browse_wished)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 1, 0)
        layout.setSpacing(0)
        layout.addWidget(scroll, 1)
        foot = QVBoxLayout()
        foot.setContentsMargins(12, 8, 12, 12)
        foot.setSpacing(10)
        foot.addWidget(browse)
        foot.addWidget(self.networks)
        layout.addLayout(foot)

    def show_loaded(self, path: Path | None) -> None:
        """Mark the tile of the object on the stage."""
        for tile in self.tiles:
            tile.set_loaded(path is not None and tile.item.path == path)

    def show_recent(self, paths: Sequence[Path]) -> None:
        """List files opened lately."""
        while (entry := self._recent.takeAt(0)) is not None:
            widget = entry.widget()
            if widget is not None:
                widget.deleteLater()
        for path in paths[:_RECENT_SHOWN]:
            button = QPushButton(path.name)
            button.setObjectName("quiet")
            button.setToolTip(str(path))
            button.setProperty("path", str(path))
            button.clicked.connect(self._recent_clicked)
            self._recent.addWidget(button)
        self._recent_heading.setVisible(bool(paths))

    @Slot()
    def _tile_clicked(self) -> None:
        tile = self.sender()
        if isinstance(tile, GalleryTile):
            self.chosen.emit(str(tile.item.path))

    @Slot()
    def _recent_clicked(self) -> None:
        button = self.sender()
        if button is not None:
            self.chosen.emit(str(button.property("path")))
