"""The composition root: makes window and engine, and connects what the hand does with what the engine is told.

Everything the mouse can do becomes one of the engine's commands, and everything shown comes from its events and frames.
"""

from __future__ import annotations

import logging
import sys
import time
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QObject, Slot
from PySide6.QtWidgets import QApplication, QFileDialog, QMessageBox

from app import theme
from app.actions import ACTIONS, MOUSE_HELP, ActionId
from app.banner import Tone
from app.bridge import Bridge
from app.export_flow import ExportFlow
from app.hud import HudFigures
from app.panels.gallery_panel import read_gallery
from app.settings import Settings
from app.tools.pointer import ToolChoice
from app.window import MainWindow, short_name
from engine.geometry.load_report import UpAxis
from engine.runtime import messages
from engine.scenes.material import MATERIALS, Anchor, Material

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.bridge import EnginePort
    from engine.geometry.rest_shape import RestShape

log = logging.getLogger(__name__)

ASSETS = Path(__file__).resolve().parent.parent / "assets"
MESH_FILTER = "3D objects (*.glb *.gltf *.obj *.ply *.stl *.off);;All files (*)"
_TOOL_OF_ACTION = {
    ActionId.TOOL_DRAG: ToolChoice.DRAG,
    ActionId.TOOL_PIN: ToolChoice.PIN,
    ActionId.TOOL_CAMERA: ToolChoice.CAMERA,
}
_RATE_WINDOW = 1.0


def run_window(mesh: Path | None = None) -> int:
    """Open the window, with an object if one is named, and return the exit status when it closes."""
    application = QApplication.instance() or QApplication(sys.argv[:1])
    assert isinstance(application, QApplication)
    application.setApplicationName("neurok")
    theme.apply_theme(application)
    workbench = Workbench(_real_engine, Settings())
    workbench.open_window(mesh)
    return application.exec()


def _real_engine(on_wake: Callable[[], None]) -> EnginePort:
    from engine.runtime.engine_thread import EngineThread  # noqa: PLC0415  (loads torch; the theme comes first)

    return EngineThread(on_wake)


class Workbench(QObject):
    """One window with its engine."""

    def __init__(
        self,
        make_engine: Callable[[Callable[[], None]], EnginePort],
        settings: Settings,
        *,
        gallery_folder: Path = ASSETS / "objects",
    ) -> None:
        """Make window and engine; nothing runs before ``open_window``."""
        super().__init__()
        self.settings = settings
        self.window = MainWindow(read_gallery(gallery_folder), MATERIALS)
        self.bridge = Bridge(make_engine, self)
        self.exports = ExportFlow(self.window, settings, self)
        self.rest: RestShape | None = None
        self.path: Path | None = None
        self._generation = -1
        self._running = False
        self._pin_numbers: tuple[int, ...] = ()
        self._coordinates = 0
        self._trust = ""
        self._shown_times: deque[tuple[float, int]] = deque()
        self._closed = False
        self._connect_hand()
        self._connect_actions()
        self._restore()

    def open_window(self, mesh: Path | None = None) -> None:
        """Show the window, start the engine, and load a mesh or the first object of the gallery."""
        self.window.show()
        self.bridge.start()
        tiles = self.window.gallery.tiles
        if mesh is not None:
            self.load(mesh)
        elif tiles:
            self.load(tiles[0].item.path)

    def load(self, path: Path, up: UpAxis | None = None) -> None:
        """Ask the engine for another object; the present one stays until the other is ready."""
        self.window.busy.show_work(f"Preparing {short_name(path)}…")
        self.bridge.post(messages.LoadMesh(path, up))

    # ---- from the hand to the engine -------------------------------------------------------------------------------

    def _connect_hand(self) -> None:
        window, view, physics = self.window, self.window.viewport, self.window.physics
        view.grabbed.connect(self._grab)
        view.dragged.connect(self._drag)
        view.released.connect(self._release)
        view.pin_wished.connect(self._pin)
        view.unpin_wished.connect(self._unpin)
        view.cancelled.connect(self._release)
        view.file_dropped.connect(self._open_text)
        window.file_dropped.connect(self._open_text)
        window.gallery.chosen.connect(self._open_text)
        window.gallery.browse_wished.connect(self._browse)
        physics.material_changed.connect(self._set_material)
        physics.anchor_changed.connect(self._set_anchor)
        physics.gravity_changed.connect(self._set_gravity)
        physics.floor_changed.connect(self._set_floor)
        physics.time_scale_changed.connect(self._set_time_scale)
        physics.pins_cleared.connect(self._clear_pins)
        window.banner.action_wished.connect(self._banner_action)
        window.closing.connect(self._close)
        self.bridge.event_arrived.connect(self._event)
        self.bridge.frame_arrived.connect(self._frame)

    @Slot(int, object)
    def _grab(self, face: int, barycentric: tuple[float, float, float]) -> None:
        self.bridge.post(messages.GrabPoint(face, barycentric))

    @Slot(object)
    def _drag(self, target: np.ndarray) -> None:
        self.bridge.post(messages.DragTo(_vector(target)))

    @Slot()
    def _release(self) -> None:
        self.bridge.post(messages.Release())

    @Slot(int, object, object)
    def _pin(self, face: int, barycentric: tuple[float, float, float], target: np.ndarray | None) -> None:
        self.bridge.post(messages.PinPoint(face, barycentric, None if target is None else _vector(target)))

    @Slot(int)
    def _unpin(self, index: int) -> None:
        # The view counts the pins it shows; the engine numbers them for their lifetime.
        if 0 <= index < len(self._pin_numbers):
            self.bridge.post(messages.Unpin(self._pin_numbers[index]))

    @Slot()
    def _let_go(self) -> None:
        self.window.viewport.gestures.cancel()
        self._release()

    @Slot()
    def _clear_pins(self) -> None:
        self.bridge.post(messages.ClearPins())

    @Slot(object)
    def _set_material(self, material: Material) -> None:
        self.bridge.post(messages.SetMaterial(material))

    @Slot(str)
    def _set_anchor(self, anchor: str) -> None:
        self.bridge.post(messages.SetAnchor(Anchor(anchor)))

    @Slot(float)
    def _set_gravity(self, gravity: float) -> None:
        self.bridge.post(messages.SetGravity(gravity))

    @Slot(bool)
    def _set_floor(self, floor: bool) -> None:
        self.window.viewport.set_floor_shown(floor)
        self.bridge.post(messages.SetFloor(floor))

    @Slot(float)
    def _set_time_scale(self, scale: float) -> None:
        self.bridge.post(messages.SetTimeScale(scale))

    # ---- actions ---------------------------------------------------------------------------------------------------

    def _connect_actions(self) -> None:
        actions = self.window.actions_by_id
        for identity, slot in {
            ActionId.OPEN: self._browse,
            ActionId.EXPORT: self.exports.ask,
            ActionId.SCREENSHOT: self._save_picture,
            ActionId.QUIT: self.window.close,
            ActionId.PLAY: self._play_or_pause,
            ActionId.STEP: self._step,
            ActionId.RESET: self._reset,
            ActionId.RECORD: self._record,
            ActionId.RELEASE: self._let_go,
            ActionId.SWAP_UP: self._swap_up,
            ActionId.CLEAR_PINS: self._clear_pins,
            ActionId.FRAME: self.window.viewport.frame_object,
            ActionId.SHOW_HUD: self._show_hud,
            ActionId.SHOW_PANELS: self._show_panels,
            ActionId.FULL_SCREEN: self._full_screen,
            ActionId.HELP: self._help,
        }.items():
            actions[identity].triggered.connect(slot)
        for identity in _TOOL_OF_ACTION:
            actions[identity].triggered.connect(self._tool_chosen)
        actions[ActionId.EXPORT].setEnabled(False)
        self._enable_simulation(False)

    @Slot()
    def _tool_chosen(self) -> None:
        for identity, choice in _TOOL_OF_ACTION.items():
            if self.window.actions_by_id[identity].isChecked():
                self.window.viewport.set_tool(choice)

    @Slot()
    def _play_or_pause(self) -> None:
        self.bridge.post(messages.Pause() if self._running else messages.Play())

    @Slot()
    def _step(self) -> None:
        self.bridge.post(messages.StepOnce())

    @Slot()
    def _reset(self) -> None:
        self.window.viewport.gestures.cancel()
        self.bridge.post(messages.Reset())

    @Slot(bool)
    def _record(self, wanted: bool) -> None:
        self.bridge.post(messages.StartRecording() if wanted else messages.StopRecording())

    @Slot()
    def _browse(self) -> None:
        start = self.settings.folder("open")
        chosen, _ = QFileDialog.getOpenFileName(self.window, "Open a 3D object", str(start), MESH_FILTER)
        if chosen:
            self.settings.keep_folder("open", Path(chosen).parent)
            self.load(Path(chosen))

    @Slot(str)
    def _open_text(self, path: str) -> None:
        self.load(Path(path))

    @Slot()
    def _swap_up(self) -> None:
        if self.rest is not None and self.path is not None:
            self.load(self.path, up=UpAxis.Z if self.rest.report.up is UpAxis.Y else UpAxis.Y)

    @Slot()
    def _save_picture(self) -> None:
        name = f"{short_name(self.path) if self.path else 'neurok'}.png"
        start = self.settings.folder("pictures") / name
        chosen, _ = QFileDialog.getSaveFileName(self.window, "Save picture", str(start), "PNG image (*.png)")
        if chosen:
            self.settings.keep_folder("pictures", Path(chosen).parent)
            if not self.window.viewport.picture().save(chosen):
                self.window.banner.show_message(Tone.ERROR, "The picture was not saved", f"Is {chosen} writable?")

    @Slot(bool)
    def _show_hud(self, shown: bool) -> None:
        self.window.hud.setVisible(shown)
        self.settings.keep_flag("view/hud", shown)

    @Slot(bool)
    def _show_panels(self, shown: bool) -> None:
        self.window.gallery.setVisible(shown)
        self.window.physics.setVisible(shown)
        self.settings.keep_flag("view/panels", shown)

    @Slot(bool)
    def _full_screen(self, wanted: bool) -> None:
        self.window.showFullScreen() if wanted else self.window.showNormal()

    @Slot()
    def _help(self) -> None:
        QMessageBox(QMessageBox.Icon.NoIcon, "Mouse and keys", help_text(), parent=self.window).open()

    @Slot()
    def _banner_action(self) -> None:
        self.exports.ask() if self._banner_exports else self._reset()

    # ---- from the engine to the window -----------------------------------------------------------------------------

    _banner_exports = False

    @Slot(object)
    def _event(self, event: object) -> None:
        match event:
            case messages.Loaded():
                self._loaded(event)
            case messages.LoadFailed():
                self.window.busy.show_work("")
                self.window.banner.show_message(Tone.ERROR, f"{event.path.name} could not be opened", event.reason)
            case messages.Diverged():
                self._banner_exports = False
                words = f"{event.reason} Time is held at the last good moment."
                self.window.banner.show_message(Tone.WARNING, "The motion could not be computed", words, action="Reset")
            case messages.Failed():
                self.window.busy.show_work("")
                self.window.banner.show_message(Tone.ERROR, "Something went wrong", event.reason)
            case messages.WasReset():
                self._generation = event.generation
                self.window.physics.show_pins(0)
                self.window.banner.hide()
            case messages.PinsChanged():
                self.window.physics.show_pins(event.count)
            case messages.StateChanged():
                self._running = event.running
                self.window.timeline.show_running(event.running)
                self.window.timeline.show_state("Playing" if event.running else "Paused")
            case messages.Recorded():
                self._recorded(event)
            case _:
                log.info("event without a display: %s", type(event).__name__)

    def _loaded(self, event: messages.Loaded) -> None:
        window = self.window
        window.busy.show_work("")
        window.banner.hide()
        self.rest = event.rest
        self._generation = event.generation
        self._coordinates, self._trust = event.k_q, event.trust
        self.path = event.path
        rest_vertices = event.metres_per_unit * np.asarray(event.rest.vertices)
        rest_vertices[:, 2] -= rest_vertices[:, 2].min()
        window.viewport.set_object(event.rest, rest_vertices)
        window.physics.show_material(event.material)
        window.physics.show_anchor(event.anchor)
        window.physics.show_pins(0)
        window.physics.setEnabled(True)
        window.show_object_name(event.rest.name)
        window.gallery.show_loaded(self.path)
        if all(tile.item.path != self.path for tile in window.gallery.tiles):
            window.gallery.show_recent(self.settings.keep_recent(self.path))
        self._enable_simulation(True)
        self._shown_times.clear()

    def _recorded(self, event: messages.Recorded) -> None:
        self.window.timeline.show_recording(False)
        self.exports.set_clip(event.clip, self.path)
        if self.exports.seconds > 0.0:
            self._banner_exports = True
            words = f"{self.exports.seconds:.1f} seconds are ready to be written as a video."
            self.window.banner.show_message(Tone.GOOD, "Recorded", words, action="Export…", seconds=12.0)

    @Slot(object)
    def _frame(self, frame: messages.Frame) -> None:
        if frame.generation < self._generation or self.rest is None:
            return
        if len(frame.vertices) != len(self.rest.vertices):
            return
        window = self.window
        grab = frame.grab
        pull = None if grab is None else (np.asarray(grab.point), np.asarray(grab.target))
        self._pin_numbers = tuple(int(number) for number in frame.pins.indices)
        window.viewport.show_frame(frame.vertices, np.asarray(frame.pins.points).reshape(-1, 3), pull)
        window.timeline.show_time(frame.time)
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
        view = self.window.viewport
        now = time.monotonic()
        self._shown_times.append((now, view.frames_shown))
        while len(self._shown_times) > 2 and now - self._shown_times[0][0] > _RATE_WINDOW:
            self._shown_times.popleft()
        (begun, count), spent = self._shown_times[0], max(now - self._shown_times[0][0], 1e-6)
        self.window.hud.show_figures(
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

    # ---- beginning and end -----------------------------------------------------------------------------------------

    def _enable_simulation(self, enabled: bool) -> None:
        for identity in (ActionId.PLAY, ActionId.STEP, ActionId.RESET, ActionId.RECORD, ActionId.FRAME, ActionId.SWAP_UP):
            self.window.actions_by_id[identity].setEnabled(enabled)

    def _restore(self) -> None:
        self.settings.restore_window(self.window)
        self.window.gallery.show_recent(self.settings.recent_files())
        for identity, name, slot in (
            (ActionId.SHOW_HUD, "view/hud", self._show_hud),
            (ActionId.SHOW_PANELS, "view/panels", self._show_panels),
        ):
            shown = self.settings.flag(name, default=True)
            self.window.actions_by_id[identity].setChecked(shown)
            slot(shown)

    @Slot()
    def _close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self.settings.keep_window(self.window)
        self.settings.write()
        self.exports.stop()
        self.bridge.stop(2.0)


def _vector(values: np.ndarray) -> messages.Vector:
    x, y, z = (float(value) for value in values)
    return x, y, z


def help_text() -> str:
    """Return what mouse and keys do, as rich text made from the tables."""
    mouse = "".join(f"<tr><td><b>{gesture}</b>&nbsp;&nbsp;</td><td>{meaning}</td></tr>" for gesture, meaning in MOUSE_HELP)
    keys = "".join(f"<tr><td><b>{spec.shortcut}</b></td><td>{spec.help}</td></tr>" for spec in ACTIONS if spec.shortcut)
    return f"<table cellspacing='4'>{mouse}<tr><td>&nbsp;</td></tr>{keys}</table>"
