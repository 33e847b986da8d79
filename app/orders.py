"""From the hand to the engine: every gesture, control and transport button becomes one command."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QObject, Slot

from app.actions import ActionId
from engine.runtime import messages
from engine.scenes.material import Anchor, Material

if TYPE_CHECKING:
    from collections.abc import Iterable

    from app.bridge import Bridge
    from app.window import MainWindow


class Orders(QObject):
    """Sends what a window's user wants to its engine."""

    def __init__(self, window: MainWindow, bridge: Bridge, parent: QObject) -> None:
        """Listen to the view, the physics panel and the actions of time."""
        super().__init__(parent)
        self._window = window
        self._bridge = bridge
        self._running = False
        self._pin_numbers: tuple[int, ...] = ()
        view, physics = window.viewport, window.physics
        view.grabbed.connect(self._grab)
        view.dragged.connect(self._drag)
        view.released.connect(self._release)
        view.pin_wished.connect(self._pin)
        view.unpin_wished.connect(self._unpin)
        view.cancelled.connect(self._release)
        physics.material_changed.connect(self._set_material)
        physics.anchor_changed.connect(self._set_anchor)
        physics.gravity_changed.connect(self._set_gravity)
        physics.floor_changed.connect(self._set_floor)
        physics.time_scale_changed.connect(self._set_time_scale)
        physics.pins_cleared.connect(self._clear_pins)
        for identity, slot in {
            ActionId.PLAY: self._play_or_pause,
            ActionId.STEP: self._step,
            ActionId.RESET: self.reset,
            ActionId.RECORD: self._record,
            ActionId.RELEASE: self._let_go,
            ActionId.CLEAR_PINS: self._clear_pins,
        }.items():
            window.actions_by_id[identity].triggered.connect(slot)

    def note_running(self, running: bool) -> None:
        """Learn whether time runs, so that one button serves for both."""
        self._running = running

    def note_pins(self, numbers: Iterable[int]) -> None:
        """Learn the engine's numbers of the pins that the view shows."""
        self._pin_numbers = tuple(int(number) for number in numbers)

    @Slot(int, object)
    def _grab(self, face: int, barycentric: tuple[float, float, float]) -> None:
        self._bridge.post(messages.GrabPoint(face, barycentric))

    @Slot(object)
    def _drag(self, target: np.ndarray) -> None:
        self._bridge.post(messages.DragTo(_vector(target)))

    @Slot()
    def _release(self) -> None:
        self._bridge.post(messages.Release())

    @Slot(int, object, object)
    def _pin(self, face: int, barycentric: tuple[float, float, float], target: np.ndarray | None) -> None:
        self._bridge.post(messages.PinPoint(face, barycentric, None if target is None else _vector(target)))

    @Slot(int)
    def _unpin(self, index: int) -> None:
        # The view counts the pins it shows; the engine numbers them for their lifetime.
        if 0 <= index < len(self._pin_numbers):
            self._bridge.post(messages.Unpin(self._pin_numbers[index]))

    @Slot()
    def _let_go(self) -> None:
        self._window.viewport.gestures.cancel()
        self._release()

    @Slot()
    def _clear_pins(self) -> None:
        self._bridge.post(messages.ClearPins())

    @Slot(object)
    def _set_material(self, material: Material) -> None:
        self._bridge.post(messages.SetMaterial(material))

    @Slot(str)
    def _set_anchor(self, anchor: str) -> None:
        self._bridge.post(messages.SetAnchor(Anchor(anchor)))

    @Slot(float)
    def _set_gravity(self, gravity: float) -> None:
        self._bridge.post(messages.SetGravity(gravity))

    @Slot(bool)
    def _set_floor(self, floor: bool) -> None:
        self._window.viewport.set_floor_shown(floor)
        self._bridge.post(messages.SetFloor(floor))

    @Slot(float)
    def _set_time_scale(self, scale: float) -> None:
        self._bridge.post(messages.SetTimeScale(scale))

    @Slot()
    def _play_or_pause(self) -> None:
        self._bridge.post(messages.Pause() if self._running else messages.Play())

    @Slot()
    def _step(self) -> None:
        self._bridge.post(messages.StepOnce())

    @Slot()
    def reset(self) -> None:
        """Put the object back as it was loaded."""
        self._window.viewport.gestures.cancel()
        self._bridge.post(messages.Reset())

    @Slot(bool)
    def _record(self, wanted: bool) -> None:
        self._bridge.post(messages.StartRecording() if wanted else messages.StopRecording())


def _vector(values: np.ndarray) -> messages.Vector:
    x, y, z = (float(value) for value in values)
    return x, y, z
