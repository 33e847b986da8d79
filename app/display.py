"""From the engine to the window: its events and frames, shown."""

from __future__ import annotations

import logging
import time
from collections import deque
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QObject, Signal, Slot

from app.banner import Tone
from app.hud import HudFigures
from engine.runtime import messages

if TYPE_CHECKING:
    from pathlib import Path

    from app.orders import Orders
    from app.window import MainWindow
    from engine.geometry.rest_shape import RestShape

log = logging.getLogger(__name__)

_RATE_WINDOW = 1.0


class Display(QObject):
    """Shows what an engine sends, in a window.

    Signals:
        loaded: another object is on the stage (path as text).
        load_failed: an object could not be loaded; the one before is still on the stage.
        recorded: a recording has ended (clip).
        reset_wished: the user wants to begin anew after a failure.
        export_wished: the user wants the recording as a video.
    """

    loaded = Signal(str)
    load_failed = Signal()
    recorded = Signal(object)
    reset_wished = Signal()
    export_wished = Signal()

    def __init__(self, window: MainWindow, orders: Orders, parent: QObject) -> None:
        """Show in a window, and tell its orders what they must know."""
        super().__init__(parent)
        self.rest: RestShape | None = None
        self.path: Path | None = None
        self.checkpoint: Path | None = None
        self._window = window
        self._orders = orders
        self._generation = -1
        self._coordinates = 0
        self._trust = ""
        self._banner_exports = False
        self._recording = False
        self._shown_times: deque[tuple[float, int]] = deque()
        window.banner.action_wished.connect(self._banner_action)

    def show_recorded(self, seconds: float) -> None:
        """Say that a recording of a length [s] is ready."""
        self._banner_exports = True
        words = f"{seconds:.1f} seconds are ready to be written as a video."
        self._window.banner.show_message(Tone.GOOD, "Recorded", words, action="Export…", seconds=12.0)

    @Slot()
    def _banner_action(self) -> None:
        (self.export_wished if self._banner_exports else self.reset_wished).emit()

    @Slot(object)
    def show_event(self, event: object) -> None:
        """Show an event."""
        match event:
            case messages.Loaded():
                self._loaded(event)
            case messages.LoadFailed():
                self._window.busy.show_work("")
                self._window.banner.show_message(Tone.ERROR, f"{event.path.name} could not be opened", event.reason)
                self.load_failed.emit()
            case messages.Diverged():
                self._banner_exports = False
                words = f"{event.reason} Time is held at the last good moment."
                self._window.banner.show_message(
                    Tone.WARNING, "The motion could not be computed", words, action="Reset"
                )
            case messages.Failed():
                self._window.busy.show_work("")
                self._window.banner.show_message(Tone.ERROR, "Something went wrong", event.reason)
            case messages.WasReset():
                self._generation = event.generation
                self._window.physics.show_pins(0)
                self._window.banner.hide()
            case messages.PinsChanged():
                self._window.physics.show_pins(event.count)
            case messages.StateChanged():
                self._orders.note_running(event.running)
                self._window.timeline.show_running(event.running)
                self._window.timeline.show_state("Playing" if event.running else "Paused")
            case messages.Recorded():
                self._window.timeline.show_recording(False)
                self.recorded.emit(event.clip)
            case _:
                log.info("event without a display: %s", type(event).__name__)

    def _loaded(self, event: messages.Loaded) -> None:
        window = self._window
        window.busy.show_work("")
        window.banner.hide()
        self.rest = event.rest
        self._generation = event.generation
        self._coordinates, self._trust = event.k_q, event.trust
        self.path, self.checkpoint = event.path, event.checkpoint
        rest_vertices = event.metres_per_unit * np.asarray(event.rest.vertices)
        rest_vertices[:, 2] -= rest_vertices[:, 2].min()
        window.viewport.set_object(event.rest, rest_vertices)
        window.physics.show_material(event.material, event.material_reason)
        window.physics.show_anchor(event.anchor)
        window.physics.show_pins(0)
        window.physics.setEnabled(True)
        window.show_object_name(event.rest.name)
        window.gallery.show_loaded(self.path)
        window.enable_simulation(True)
        self._shown_times.clear()
        self.loaded.emit(str(event.path))

    @Slot(object)
    def show_frame(self, frame: messages.Frame) -> None:
        """Show a frame."""
        if frame.generation < self._generation or self.rest is None:
            return
        if len(frame.vertices) != len(self.rest.vertices):
            return
        window = self._window
        grab = frame.grab
        pull = None if grab is None else (np.asarray(grab.point), np.asarray(grab.target))
        self._orders.note_pins(frame.pins.indices)
        window.viewport.show_frame(frame.vertices, np.asarray(frame.pins.points).reshape(-1, 3), pull)
        window.timeline.show_time(frame.time)
        if frame.recording != self._recording:
            # Only a change is shown: a frame made before the button was pressed must not lift it again.
            self._recording = frame.recording
            window.timeline.show_recording(frame.recording)
        if grab is None:
            window.force.hide()
        else:
            ratio = window.viewport.devicePixelRatioF()
            x, y = window.viewport.view().project(np.asarray(grab.target)) / ratio
            window.force.show_force(float(np.linalg.norm(grab.force_newtons)), float(x), float(y))
        if window.hud.isVisible() and window.hud.due:
            self._show_figures(frame)

    def _show_figures(self, frame: messages.Frame) -> None:
        assert self.rest is not None
        view = self._window.viewport
        now = time.monotonic()
        self._shown_times.append((now, view.frames_shown))
        while len(self._shown_times) > 2 and now - self._shown_times[0][0] > _RATE_WINDOW:
            self._shown_times.popleft()
        (begun, count), spent = self._shown_times[0], max(now - self._shown_times[0][0], 1e-6)
        self._window.hud.show_figures(
            HudFigures(
                step_rate=frame.sim_rate,
                frame_rate=(view.frames_shown - count) / spent if now > begun else 0.0,
                real_time_factor=frame.real_time_factor,
                step_ms=frame.step_ms,
                render_ms=1000.0 * view.render_seconds_total / max(view.renders, 1),
                shown=(view.frames_shown, frame.sequence, view.renders),
                kinetic=frame.kinetic,
                potential=frame.potential,
                force=None if frame.grab is None else float(np.linalg.norm(frame.grab.force_newtons)),
                vertices=len(self.rest.vertices),
                triangles=len(self.rest.faces),
                coordinates=self._coordinates,
                trust=self._trust,
                status=frame.status,
            )
        )
