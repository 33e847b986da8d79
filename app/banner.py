"""A message over the view that leaves the window usable: what went wrong, and what can be done about it."""

from __future__ import annotations

from enum import StrEnum

from PySide6.QtCore import Qt, QTimer, Signal, Slot
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QToolButton, QVBoxLayout, QWidget

from app.icons import icon

_WIDEST = 540
# Room left free at either side for the tools and the figures [logical pixels].
_SIDE = 226


class Tone(StrEnum):
    """How serious a message is."""

    INFO = "info"
    GOOD = "good"
    WARNING = "warning"
    ERROR = "error"


class Banner(QFrame):
    """A card at the upper edge of the view.

    Signals:
        action_wished: its button was pressed.
    """

    action_wished = Signal()

    def __init__(self, parent: QWidget) -> None:
        """Lie over a view, hidden."""
        super().__init__(parent)
        self._view = parent
        self.setObjectName("banner")
        self._title = QLabel()
        self._title.setObjectName("title")
        self._text = QLabel(wordWrap=True, textFormat=Qt.TextFormat.PlainText)
        self._text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._button = QPushButton()
        self._button.clicked.connect(self._pressed)
        close = QToolButton()
        close.setToolTip("Close this message")
        close.setIcon(icon("clear"))
        close.clicked.connect(self.hide)
        words = QVBoxLayout()
        words.setSpacing(3)
        words.addWidget(self._title)
        words.addWidget(self._text)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(14, 10, 8, 10)
        layout.addLayout(words, 1)
        layout.addWidget(self._button)
        layout.addWidget(close, 0, Qt.AlignmentFlag.AlignTop)
        self._timer = QTimer(self, singleShot=True)
        self._timer.timeout.connect(self.hide)
        self.hide()

    @property
    def words(self) -> str:
        """Title and text shown, empty when hidden."""
        return "" if self.isHidden() else f"{self._title.text()} {self._text.text()}"

    def show_message(self, tone: Tone, title: str, text: str, *, action: str = "", seconds: float = 0.0) -> None:
        """Show a message, for a time or, with zero seconds, until it is closed."""
        self.setProperty("tone", tone.value)
        self.style().unpolish(self)
        self.style().polish(self)
        self._title.setText(title)
        self._text.setText(text)
        self._text.setVisible(bool(text))
        self._button.setText(action)
        self._button.setVisible(bool(action))
        self._timer.stop()
        if seconds > 0.0:
            self._timer.start(round(1000 * seconds))
        self.show()
        self.place()
        self.raise_()

    def place(self) -> None:
        """Stay in the middle of the upper edge of the view."""
        across = self._view.width()
        room = across - 2 * _SIDE
        width = min(_WIDEST, max(room if room >= 320 else across - 24, 160))
        self.ensurePolished()
        layout = self.layout()
        # The wrapped text is as high as its width asks for, which only the layout knows.
        height = layout.totalHeightForWidth(width) if layout is not None else self.sizeHint().height()
        self.setGeometry((across - width) // 2, 14, width, height)

    @Slot()
    def _pressed(self) -> None:
        self.hide()
        self.action_wished.emit()
