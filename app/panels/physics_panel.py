"""The physics panel: what the object is made of, how it is held, and what acts on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QSignalBlocker, Qt, Signal, Slot
from PySide6.QtWidgets import QCheckBox, QComboBox, QFrame, QLabel, QPushButton, QScrollArea, QVBoxLayout, QWidget

from app.controls import ChoiceRow, ValueSlider, heading
from engine.scenes.material import Anchor

if TYPE_CHECKING:
    from collections.abc import Mapping

    from engine.scenes.material import Material

_ANCHORS = (
    (Anchor.FREE.value, "Free", "Nothing holds it: it falls, slides and turns over."),
    (Anchor.STANDING.value, "Standing", "It stands on the floor and can be tipped over."),
    (Anchor.FIXED.value, "Fixed", "Its foot is fixed in space."),
    (Anchor.HANGING.value, "Hanging", "It hangs by its top, as a cloth on a rail."),
)
_CUSTOM = "custom"


class PhysicsPanel(QWidget):
    """The right side of the window.

    Signals:
        material_changed: a changed material.
        anchor_changed: how the object is held (value of Anchor).
        gravity_changed: gravity [m/s^2].
        floor_changed: whether there is a floor.
        time_scale_changed: simulated seconds per second.
        pins_cleared: all pins shall be freed.
    """

    material_changed = Signal(object)
    anchor_changed = Signal(str)
    gravity_changed = Signal(float)
    floor_changed = Signal(bool)
    time_scale_changed = Signal(float)
    pins_cleared = Signal()

    def __init__(self, presets: Mapping[str, Material], parent: QWidget | None = None) -> None:
        """Offer the given materials by name."""
        super().__init__(parent)
        self.setObjectName("panelRight")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setFixedWidth(268)
        self._presets = dict(presets)
        self._material: Material | None = None
        self._preset = QComboBox()
        self._preset.setAccessibleName("Material")
        self._preset.wheelEvent = lambda event: event.ignore()
        for key in self._presets:
            self._preset.addItem(key.replace("_", " ").capitalize(), key)
        self._reason = QLabel(wordWrap=True)
        self._reason.setObjectName("muted")
        self._reason.hide()
        self.stiffness = ValueSlider(
            "Stiffness",
            low=0.2,
            high=30.0,
            unit="Hz",
            logarithmic=True,
            help_text="Frequency of the slowest vibration.",
        )
        self.damping = ValueSlider(
            "Damping", low=0.0, high=1.5, help_text="Share of critical damping: at 1 it comes to rest without swinging."
        )
        self.joint_friction = ValueSlider(
            "Inner friction",
            low=0.0,
            high=20.0,
            unit="m/s²",
            decimals=1,
            help_text="Resists bending and joint motion, as a stiff hinge does.",
        )
        self.friction = ValueSlider("Floor friction", low=0.0, high=1.5, help_text="Grip on the floor.")
        self.bounce = ValueSlider(
            "Bounce", low=0.0, high=0.95, help_text="Share of the speed kept when it hits the floor."
        )
        self.gravity = ValueSlider(
            "Gravity", low=0.0, high=20.0, unit="m/s²", help_text="9.81 on Earth, 1.62 on the Moon."
        )
        self.time_scale = ValueSlider(
            "Time",
            low=0.01,
            high=1.0,
            unit="\N{MULTIPLICATION SIGN}",
            logarithmic=True,
            help_text="1 is real time; smaller is slow motion.",
        )
        self.anchor = ChoiceRow(_ANCHORS)
        self.floor = QCheckBox("Floor")
        self.floor.setChecked(True)
        self._pins = QLabel("No pins")
        self._pins.setObjectName("muted")
        self._clear = QPushButton("Remove all pins")
        self._clear.setEnabled(False)
        self.gravity.set_value(9.81)
        self.time_scale.set_value(1.0)
        self._lay_out()
        self._connect()
        self.setEnabled(False)

    def show_material(self, material: Material, reason: str = "") -> None:
        """Show a material, and why the object has it if that is known, without telling anyone."""
        self._reason.setText(reason)
        self._reason.setVisible(bool(reason))
        self._material = material
        self.stiffness.set_value(material.frequency)
        self.damping.set_value(material.damping_ratio)
        self.joint_friction.set_value(material.dry_friction)
        self.friction.set_value(material.floor_friction)
        self.bounce.set_value(material.restitution)
        self._show_preset()

    def show_anchor(self, anchor: Anchor) -> None:
        """Show how the object is held."""
        self.anchor.set_choice(anchor.value)

    def show_pins(self, count: int) -> None:
        """Show how many pins there are."""
        self._pins.setText("No pins" if count == 0 else "1 pin" if count == 1 else f"{count} pins")
        self._clear.setEnabled(count > 0)

    def _lay_out(self) -> None:
        inner = QWidget()
        column = QVBoxLayout(inner)
        column.setContentsMargins(16, 14, 14, 14)
        column.setSpacing(11)
        column.addWidget(heading("Material"))
        column.addWidget(self._preset)
        column.addWidget(self._reason)
        for control in (self.stiffness, self.damping, self.joint_friction):
            column.addWidget(control)
        column.addWidget(_divider())
        column.addWidget(heading("Held"))
        column.addWidget(self.anchor)
        column.addWidget(self._pins)
        column.addWidget(self._clear)
        column.addWidget(_divider())
        column.addWidget(heading("World"))
        for control in (self.gravity, self.time_scale, self.friction, self.bounce, self.floor):
            column.addWidget(control)
        column.addStretch(1)
        scroll = QScrollArea(widgetResizable=True)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scroll.setWidget(inner)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(1, 0, 0, 0)
        layout.addWidget(scroll)

    def _connect(self) -> None:
        self._preset.activated.connect(self._preset_chosen)
        for control in (self.stiffness, self.damping, self.joint_friction, self.friction, self.bounce):
            control.value_changed.connect(self._slider_moved)
        self.anchor.chosen.connect(self.anchor_changed)
        self.gravity.value_changed.connect(self.gravity_changed)
        self.time_scale.value_changed.connect(self.time_scale_changed)
        self.floor.toggled.connect(self.floor_changed)
        self._clear.clicked.connect(self.pins_cleared)

    @Slot()
    def _preset_chosen(self) -> None:
        material = self._presets.get(str(self._preset.currentData()))
        if material is not None:
            self.show_material(material)
            self.material_changed.emit(material)

    @Slot()
    def _slider_moved(self) -> None:
        if self._material is None:
            return
        self._material = self._material.model_copy(
            update={
                "frequency": self.stiffness.value,
                "damping_ratio": self.damping.value,
                "dry_friction": self.joint_friction.value,
                "floor_friction": self.friction.value,
                "restitution": self.bounce.value,
            }
        )
        self._show_preset()
        self.material_changed.emit(self._material)

    def _show_preset(self) -> None:
        """Select the preset that equals the material, or an extra entry when it was changed by hand."""
        key = next((key for key, preset in self._presets.items() if self._equals(preset)), _CUSTOM)
        with QSignalBlocker(self._preset):
            extra = self._preset.findData(_CUSTOM)
            if key == _CUSTOM and extra < 0:
                self._preset.addItem("Custom", _CUSTOM)
            elif key != _CUSTOM and extra >= 0:
                self._preset.removeItem(extra)
            self._preset.setCurrentIndex(self._preset.findData(key))

    def _equals(self, preset: Material) -> bool:
        """Compare but for the density, which the engine fits to solids and shells."""
        return self._material is not None and preset == self._material.model_copy(update={"density": preset.density})


def _divider() -> QFrame:
    line = QFrame()
    line.setObjectName("divider")
    line.setFixedHeight(1)
    return line
