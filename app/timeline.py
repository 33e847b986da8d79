"""The transport bar below the view: reset, step, play, record, the clock, and export."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QHBoxLayout, QLabel, QToolButton, QWidget

from app import theme
from app.actions import ActionId
from app.icons import icon

if TYPE_CHECKING:
    from collections.abc import Mapping

    from PySide6.QtGui import QAction


class Timeline(QWidget):
    """Buttons for the actions of time."""

    def __init__(self, actions: Mapping[ActionId, QAction], parent: QWidget | None = None) -> None:
        """Make the bar from the window's actions."""
        super().__init__(parent)
        self.setObjectName("transport")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setFixedHeight(58)
        self._play_action = actions[ActionId.PLAY]
        self._record_action = actions[ActionId.RECORD]
        self._clock = QLabel("0.00 s")
        self._clock.setObjectName("clock")
        self._clock.setMinimumWidth(84)
        digits = theme.interface_font(11)
        self._clock.setFont(digits)
        self._state = QLabel("No object")
        self._state.setObjectName("muted")
        self._play = _button(actions[ActionId.PLAY], 38)
        self._play.setObjectName("play")
        self._record = _button(actions[ActionId.RECORD], 34)
        self._record.setObjectName("record")
        self._export = _button(actions[ActionId.EXPORT], 34)
        self._export.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self._export.setText("Export")
        left = QHBoxLayout()
        left.setSpacing(12)
        left.addWidget(self._clock)
        left.addWidget(self._state)
        left.addStretch(1)
        middle = QHBoxLayout()
        middle.setSpacing(8)
        middle.addWidget(_button(actions[ActionId.RESET], 34))
        middle.addWidget(self._play)
        middle.addWidget(_button(actions[ActionId.STEP], 34))
        right = QHBoxLayout()
        right.setSpacing(8)
        right.addStretch(1)
        right.addWidget(self._record)
        right.addWidget(self._export)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(16, 6, 14, 6)
        layout.addLayout(left, 1)
        layout.addLayout(middle, 0)
        layout.addLayout(right, 1)

    def show_time(self, seconds: float) -> None:
        """Show the simulated time [s]."""
        self._clock.setText(f"{seconds:.2f} s")

    def show_running(self, running: bool) -> None:
        """Show whether time runs."""
        self._play_action.setIcon(icon("pause" if running else "play", theme.TEXT))
        self._play_action.setText("Pause" if running else "Play")
        # A text change also replaces the tool tip that was made from it.
        self._play_action.setToolTip("Hold time.  (Space)" if running else "Let time run.  (Space)")

    def show_state(self, words: str) -> None:
        """Show what goes on, in a word or two."""
        if self._state.text() != words:
            self._state.setText(words)

    def show_recording(self, recording: bool) -> None:
        """Show whether a recording runs."""
        self._record_action.setChecked(recording)
        self._record_action.setIcon(icon("stop" if recording else "record", theme.DANGER, theme.DANGER))
        self._record_action.setToolTip("Stop the recording.  (Ctrl+R)" if recording else "Start a recording.  (Ctrl+R)")


def _button(action: QAction, size: int) -> QToolButton:
    button = QToolButton()
    button.setDefaultAction(action)
    button.setFixedHeight(size)
    button.setMinimumWidth(size)
    button.setIconSize(QSize(20, 20))
    button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonIconOnly)
    button.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    return button
