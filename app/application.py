"""The composition root: makes window and engine, connects them, and looks after files, views and the end.

Everything the mouse can do becomes one of the engine's commands (``orders``), and everything shown comes from its
events and frames (``display``).
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Slot
from PySide6.QtWidgets import QApplication, QFileDialog, QMessageBox

from app import theme
from app.actions import ActionId, help_text
from app.banner import Tone
from app.bridge import Bridge
from app.display import Display
from app.export_flow import ExportFlow
from app.late_engine import LateEngine
from app.orders import Orders
from app.panels.gallery_panel import read_gallery
from app.panels.network_choice import list_networks
from app.settings import Settings
from app.tools.pointer import ToolChoice
from app.window import MainWindow, short_name
from engine.geometry.load_report import UpAxis
from engine.runtime import messages
from engine.scenes.material import MATERIALS, Anchor

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.bridge import EnginePort
    from engine.clips.clip import Clip
    from engine.geometry.rest_shape import RestShape

ASSETS = Path(__file__).resolve().parent.parent / "assets"
NETWORK_FILTER = "Networks (*.safetensors);;All files (*)"
MESH_FILTER = "3D objects (*.glb *.gltf *.obj *.ply *.stl *.off);;All files (*)"
_TOOL_OF_ACTION = {
    ActionId.TOOL_DRAG: ToolChoice.DRAG,
    ActionId.TOOL_PIN: ToolChoice.PIN,
    ActionId.TOOL_CAMERA: ToolChoice.CAMERA,
}


def run_window(mesh: Path | None = None, *, checkpoint: Path | None = None) -> int:
    """Open the window, with an object and a network if they are named, and return the exit status when it closes."""
    application = QApplication.instance() or QApplication(sys.argv[:1])
    assert isinstance(application, QApplication)
    application.setApplicationName("neurok")
    theme.apply_theme(application)
    workbench = Workbench(_real_engine, Settings(), checkpoint=checkpoint)
    workbench.open_window(mesh)
    return application.exec()


def _real_engine(on_wake: Callable[[], None]) -> EnginePort:
    return LateEngine(_load_engine, on_wake)


def _load_engine(on_wake: Callable[[], None]) -> EnginePort:
    from engine.runtime.engine_thread import EngineThread

    return EngineThread(on_wake)


class Workbench(QObject):
    """One window with its engine."""

    def __init__(
        self,
        make_engine: Callable[[Callable[[], None]], EnginePort],
        settings: Settings,
        *,
        gallery_folder: Path = ASSETS / "objects",
        network_folder: Path = ASSETS / "models",
        checkpoint: Path | None = None,
    ) -> None:
        """Make window and engine; nothing runs before ``open_window``.

        Args:
            make_engine: makes the engine, given how to wake the window.
            settings: what is kept between runs.
            gallery_folder: objects to offer.
            network_folder: checkpoints to offer.
            checkpoint: the network to begin with; None takes the program's own.
        """
        super().__init__()
        self.settings = settings
        self.window = MainWindow(read_gallery(gallery_folder), MATERIALS, list_networks(network_folder))
        self.bridge = Bridge(make_engine, self)
        self.exports = ExportFlow(self.window, settings, self)
        self.orders = Orders(self.window, self.bridge, self)
        self.display = Display(self.window, self.orders, self)
        self._closed = False
        # The network and the object that were asked for last, loaded or not.
        self._checkpoint = checkpoint
        self._asked: Path | None = None
        self.window.gallery.networks.show_network(checkpoint)
        self._connect()
        self._restore()

    @property
    def rest(self) -> RestShape | None:
        """The object on the stage."""
        return self.display.rest

    @property
    def path(self) -> Path | None:
        """Its file."""
        return self.display.path

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
        item = next((tile.item for tile in self.window.gallery.tiles if tile.item.path == path), None)
        anchor = Anchor(item.anchor) if item and item.anchor in set(Anchor) else None
        material = item.material if item and item.material in MATERIALS else None
        self._asked = path
        self.bridge.post(messages.LoadMesh(path, up, anchor, material, checkpoint=self._checkpoint))

    def _connect(self) -> None:
        window, view, display = self.window, self.window.viewport, self.display
        self.bridge.event_arrived.connect(display.show_event)
        self.bridge.frame_arrived.connect(display.show_frame)
        display.loaded.connect(self._loaded)
        display.load_failed.connect(self._load_failed)
        display.recorded.connect(self._recorded)
        display.reset_wished.connect(self.orders.reset)
        display.export_wished.connect(self.exports.ask)
        view.file_dropped.connect(self._open_text)
        window.file_dropped.connect(self._open_text)
        window.gallery.chosen.connect(self._open_text)
        window.gallery.browse_wished.connect(self._browse)
        window.gallery.networks.chosen.connect(self._use_network)
        window.gallery.networks.browse_wished.connect(self._browse_networks)
        window.closing.connect(self._close)
        actions = window.actions_by_id
        for identity, slot in {
            ActionId.OPEN: self._browse,
            ActionId.EXPORT: self.exports.ask,
            ActionId.SCREENSHOT: self._save_picture,
            ActionId.SWAP_UP: self._swap_up,
            ActionId.QUIT: window.close,
            ActionId.FRAME: view.frame_object,
            ActionId.SHOW_HUD: self._show_hud,
            ActionId.SHOW_PANELS: self._show_panels,
            ActionId.FULL_SCREEN: self._full_screen,
            ActionId.HELP: self._help,
            **dict.fromkeys(_TOOL_OF_ACTION, self._tool_chosen),
        }.items():
            actions[identity].triggered.connect(slot)
        actions[ActionId.EXPORT].setEnabled(False)
        window.enable_simulation(False)

    # ---- files -----------------------------------------------------------------------------------------------------

    @Slot(str)
    def _open_text(self, path: str) -> None:
        self.load(Path(path))

    @Slot()
    def _browse(self) -> None:
        start = self.settings.folder("open")
        chosen, _ = QFileDialog.getOpenFileName(self.window, "Open a 3D object", str(start), MESH_FILTER)
        if chosen:
            self.settings.keep_folder("open", Path(chosen).parent)
            self.load(Path(chosen))

    @Slot()
    def _browse_networks(self) -> None:
        start = self.settings.folder("networks")
        chosen, _ = QFileDialog.getOpenFileName(self.window, "Open a network", str(start), NETWORK_FILTER)
        if chosen:
            self.settings.keep_folder("networks", Path(chosen).parent)
            self._use_network(chosen)

    @Slot(str)
    def _use_network(self, path: str) -> None:
        """Load the object again with another network; the present one stays until that is ready."""
        self._checkpoint = Path(path)
        if self._asked is not None:
            rest = self.rest if self._asked == self.path else None
            self.load(self._asked, up=None if rest is None else rest.report.up)

    @Slot()
    def _load_failed(self) -> None:
        """Go on with the network, and the object, that are on the stage."""
        if self.rest is not None:
            self._checkpoint, self._asked = self.display.checkpoint, self.path

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

    @Slot(str)
    def _loaded(self, path: str) -> None:
        self.window.gallery.networks.show_network(self.display.checkpoint)
        if all(tile.item.path != Path(path) for tile in self.window.gallery.tiles):
            self.window.gallery.show_recent(self.settings.keep_recent(Path(path)))

    @Slot(object)
    def _recorded(self, clip: Clip) -> None:
        self.exports.set_clip(clip, self.path)
        if self.exports.seconds > 0.0:
            self.display.show_recorded(self.exports.seconds)

    # ---- views -----------------------------------------------------------------------------------------------------

    @Slot()
    def _tool_chosen(self) -> None:
        for identity, choice in _TOOL_OF_ACTION.items():
            if self.window.actions_by_id[identity].isChecked():
                self.window.viewport.set_tool(choice)

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
        if wanted:
            self.window.showFullScreen()
        else:
            self.window.showNormal()

    @Slot()
    def _help(self) -> None:
        box = QMessageBox(QMessageBox.Icon.NoIcon, "Mouse and keys", help_text(), parent=self.window)
        box.finished.connect(box.deleteLater)
        box.open()

    # ---- beginning and end -----------------------------------------------------------------------------------------

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
