"""The main window: where everything is, and nothing about what it does."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, QSize, Qt, Signal
from PySide6.QtGui import QActionGroup, QIcon
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QMainWindow, QProgressBar, QToolButton, QVBoxLayout, QWidget

from app import theme
from app.actions import ACTIONS, ActionId, make_actions
from app.banner import Banner
from app.dropped_file import dropped_file
from app.hud import ForceLabel, Hud
from app.icons import pixmap
from app.panels.gallery_panel import GalleryPanel
from app.panels.physics_panel import PhysicsPanel
from app.timeline import Timeline
from app.viewport import Viewport

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from PySide6.QtGui import QCloseEvent, QDragEnterEvent, QDropEvent

    from app.panels.gallery_panel import GalleryItem
    from engine.scenes.material import Material

_MARGIN = 12
_NEED_OBJECT = (
    ActionId.PLAY,
    ActionId.STEP,
    ActionId.RESET,
    ActionId.RECORD,
    ActionId.FRAME,
    ActionId.SWAP_UP,
)
_TOOLS = (ActionId.TOOL_DRAG, ActionId.TOOL_PIN, ActionId.TOOL_CAMERA)


class MainWindow(QMainWindow):
    """Gallery, view, physics and transport bar.

    Signals:
        closing: the window is about to close; whoever listens ends what must end first.
        file_dropped: a file was dropped beside the view (path as text).
    """

    closing = Signal()
    file_dropped = Signal(str)

    def __init__(
        self, gallery: Sequence[GalleryItem], materials: Mapping[str, Material], networks: Sequence[Path] = ()
    ) -> None:
        """Build the window, not shown yet."""
        super().__init__()
        self.setWindowTitle("neurok")
        self.setWindowIcon(QIcon(pixmap("mark", theme.ACCENT, 64)))
        self.setMinimumSize(640, 420)
        self.setAcceptDrops(True)
        self.actions_by_id = make_actions(self)
        self.gallery = GalleryPanel(gallery, networks)
        self.physics = PhysicsPanel(materials)
        self.viewport = Viewport()
        self.timeline = Timeline(self.actions_by_id)
        self.hud = Hud(self.viewport)
        self.force = ForceLabel(self.viewport)
        self.banner = Banner(self.viewport)
        self.busy = BusyCard(self.viewport)
        self.tools = self._tool_strip()
        self._lay_out()
        self._fill_menus()
        self.viewport.installEventFilter(self)

    def show_object_name(self, name: str) -> None:
        """Put the object's name in the title."""
        self.setWindowTitle(f"{name} - neurok" if name else "neurok")

    def enable_simulation(self, enabled: bool) -> None:
        """Allow the actions that need an object."""
        for identity in _NEED_OBJECT:
            self.actions_by_id[identity].setEnabled(enabled)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Keep the cards over the view in their places when it changes its size."""
        if watched is self.viewport and event.type() == QEvent.Type.Resize:
            self._place_cards()
        return super().eventFilter(watched, event)

    def closeEvent(self, event: QCloseEvent) -> None:
        """Let the owner end its threads, then close the view before the window."""
        self.closing.emit()
        self.viewport.removeEventFilter(self)
        self.viewport.close()
        event.accept()

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Welcome files anywhere."""
        if dropped_file(event) is not None:
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        """Pass on a dropped file."""
        path = dropped_file(event)
        if path is not None:
            event.acceptProposedAction()
            self.file_dropped.emit(str(path))

    def _lay_out(self) -> None:
        middle = QVBoxLayout()
        middle.setContentsMargins(0, 0, 0, 0)
        middle.setSpacing(0)
        middle.addWidget(self.viewport, 1)
        middle.addWidget(self.timeline)
        body = QWidget()
        row = QHBoxLayout(body)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        row.addWidget(self.gallery)
        row.addLayout(middle, 1)
        row.addWidget(self.physics)
        self.setCentralWidget(body)
        self._place_cards()

    def _tool_strip(self) -> QFrame:
        strip = QFrame(self.viewport)
        strip.setObjectName("toolStrip")
        column = QVBoxLayout(strip)
        column.setContentsMargins(4, 4, 4, 4)
        column.setSpacing(3)
        group = QActionGroup(self)
        for identity in (*_TOOLS, ActionId.FRAME):
            action = self.actions_by_id[identity]
            if identity in _TOOLS:
                group.addAction(action)
            button = QToolButton()
            button.setIconSize(QSize(20, 20))
            button.setFocusPolicy(Qt.FocusPolicy.NoFocus)
            button.setDefaultAction(action)
            button.setFixedSize(34, 34)
            column.addWidget(button)
        self.actions_by_id[ActionId.TOOL_DRAG].setChecked(True)
        return strip

    def _fill_menus(self) -> None:
        menus = {}
        for spec in ACTIONS:
            if spec.menu not in menus:
                menus[spec.menu] = self.menuBar().addMenu(spec.menu)
            if spec.identity is ActionId.QUIT:
                menus[spec.menu].addSeparator()
            menus[spec.menu].addAction(self.actions_by_id[spec.identity])

    def _place_cards(self) -> None:
        self.tools.adjustSize()
        self.tools.move(_MARGIN, _MARGIN)
        self.hud.move(self.viewport.width() - self.hud.width() - _MARGIN, _MARGIN)
        self.banner.place()
        self.busy.place()


class BusyCard(QFrame):
    """Says that something takes a while, without stopping anything."""

    def __init__(self, parent: QWidget) -> None:
        """Lie over a view, hidden."""
        super().__init__(parent)
        self._view = parent
        self.setObjectName("toolStrip")
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._words = QLabel(alignment=Qt.AlignmentFlag.AlignCenter)
        bar = QProgressBar(textVisible=False)
        bar.setRange(0, 0)
        bar.setFixedHeight(4)
        column = QVBoxLayout(self)
        column.setContentsMargins(18, 14, 18, 16)
        column.setSpacing(10)
        column.addWidget(self._words)
        column.addWidget(bar)
        self.setFixedWidth(280)
        self.hide()

    def show_work(self, words: str) -> None:
        """Show what is being done; an empty text hides the card."""
        self._words.setText(words)
        self.setVisible(bool(words))
        self.place()
        if words:
            self.raise_()

    def place(self) -> None:
        """Stay in the middle of the view, below the object's usual place."""
        self.adjustSize()
        view = self._view
        self.move((view.width() - self.width()) // 2, round(view.height() * 0.72))


def short_name(path: Path) -> str:
    """Return a file's name for titles."""
    return path.stem.replace("_", " ")
