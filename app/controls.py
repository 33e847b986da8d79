"""Small controls shared by the panels: a slider with its value and unit, and a row of choices."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from PySide6.QtCore import QSignalBlocker, Qt, Signal, Slot
from PySide6.QtWidgets import (
    QButtonGroup,
    QDoubleSpinBox,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QSlider,
    QVBoxLayout,
    QWidget,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

_TICKS = 1000


class ValueSlider(QWidget):
    """A named slider with a number field.

    Signals:
        value_changed: the value was changed by hand.
    """

    value_changed = Signal(float)

    def __init__(
        self,
        name: str,
        *,
        low: float,
        high: float,
        unit: str = "",
        decimals: int = 2,
        logarithmic: bool = False,
        help_text: str = "",
        parent: QWidget | None = None,
    ) -> None:
        """Make a slider from ``low`` to ``high``; a logarithmic one needs a positive ``low``."""
        super().__init__(parent)
        self._low, self._high, self._logarithmic = low, high, logarithmic
        self._field = QDoubleSpinBox(minimum=low, maximum=high, decimals=decimals, suffix=f" {unit}" if unit else "")
        self._field.setKeyboardTracking(False)
        self._field.setAlignment(Qt.AlignmentFlag.AlignRight)
        self._field.setFixedWidth(86)
        self._field.setAccessibleName(name)
        self._slider = QSlider(Qt.Orientation.Horizontal)
        self._slider.setRange(0, _TICKS)
        self._slider.setAccessibleName(name)
        # A wheel over a scrolling panel must scroll it, not change values by accident.
        for control in (self._slider, self._field):
            control.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
            control.wheelEvent = lambda event: event.ignore()
        label = QLabel(name)
        if help_text:
            self.setToolTip(help_text)
        top = QHBoxLayout()
        top.setContentsMargins(0, 0, 0, 0)
        top.addWidget(label)
        top.addStretch(1)
        top.addWidget(self._field)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(3)
        layout.addLayout(top)
        layout.addWidget(self._slider)
        self._slider.valueChanged.connect(self._slid)
        self._field.valueChanged.connect(self._typed)

    @property
    def value(self) -> float:
        """The value shown."""
        return self._field.value()

    def set_value(self, value: float) -> None:
        """Show a value without telling anyone."""
        with QSignalBlocker(self._field), QSignalBlocker(self._slider):
            self._field.setValue(value)
            self._slider.setValue(self._tick(value))

    @Slot(int)
    def _slid(self, tick: int) -> None:
        fraction = tick / _TICKS
        if self._logarithmic:
            value = self._low * (self._high / self._low) ** fraction
        else:
            value = self._low + (self._high - self._low) * fraction
        with QSignalBlocker(self._field):
            self._field.setValue(value)
        self.value_changed.emit(self._field.value())

    @Slot(float)
    def _typed(self, value: float) -> None:
        with QSignalBlocker(self._slider):
            self._slider.setValue(self._tick(value))
        self.value_changed.emit(value)

    def _tick(self, value: float) -> int:
        value = min(max(value, self._low), self._high)
        if self._logarithmic:
            return round(_TICKS * math.log(value / self._low) / math.log(self._high / self._low))
        return round(_TICKS * (value - self._low) / (self._high - self._low))


class ChoiceRow(QWidget):
    """A row of joined buttons of which one is down.

    Signals:
        chosen: key of the choice made by hand.
    """

    chosen = Signal(str)

    def __init__(self, choices: Sequence[tuple[str, str, str]], parent: QWidget | None = None) -> None:
        """Make the row from (key, words, help) triples."""
        super().__init__(parent)
        self._group = QButtonGroup(self)
        self._group.setExclusive(True)
        self._buttons: dict[str, QPushButton] = {}
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        for position, (key, words, help_text) in enumerate(choices):
            button = QPushButton(words)
            button.setCheckable(True)
            button.setToolTip(help_text)
            button.setObjectName("segment")
            place = "first" if position == 0 else "last" if position == len(choices) - 1 else "middle"
            button.setProperty("place", place)
            button.setProperty("key", key)
            self._group.addButton(button)
            self._buttons[key] = button
            layout.addWidget(button, 1)
        self._group.buttonClicked.connect(self._clicked)

    @property
    def choice(self) -> str:
        """Key of the button that is down, or an empty text."""
        button = self._group.checkedButton()
        return "" if button is None else str(button.property("key"))

    def set_choice(self, key: str) -> None:
        """Press a button without telling anyone; an unknown key lifts them all."""
        if key in self._buttons:
            self._buttons[key].setChecked(True)
            return
        self._group.setExclusive(False)
        for button in self._buttons.values():
            button.setChecked(False)
        self._group.setExclusive(True)

    @Slot()
    def _clicked(self) -> None:
        self.chosen.emit(self.choice)


def heading(words: str) -> QLabel:
    """Return a small heading for a group of controls."""
    label = QLabel(words.upper())
    label.setObjectName("heading")
    return label
