"""From a recording to a video file: keeps the last clip, asks, and runs the export."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Slot

from app.actions import ActionId
from app.banner import Tone
from app.export_dialog import ExportDialog
from app.export_worker import VideoRequest
from app.jobs import ExportJob

if TYPE_CHECKING:
    from app.export_dialog import ExportChoice
    from app.settings import Settings
    from app.window import MainWindow
    from engine.clips.clip import Clip


class ExportFlow(QObject):
    """Owns the last recording and its export."""

    def __init__(self, window: MainWindow, settings: Settings, parent: QObject) -> None:
        """Serve a window."""
        super().__init__(parent)
        self._window = window
        self._settings = settings
        self._clip: Clip | None = None
        self._mesh: Path | None = None
        self._job: ExportJob | None = None
        self._dialog: ExportDialog | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    @property
    def seconds(self) -> float:
        """Length of the last recording [s]."""
        return 0.0 if self._clip is None else float(self._clip.times[-1] - self._clip.times[0])

    @property
    def dialog(self) -> ExportDialog | None:
        """The dialog, while it is open."""
        return self._dialog

    def set_clip(self, clip: Clip, mesh: Path | None) -> None:
        """Take a new recording, made with the object of a mesh file."""
        self._clip = clip if len(clip.times) else None
        self._mesh = mesh
        self._window.actions_by_id[ActionId.EXPORT].setEnabled(self._clip is not None)

    @Slot()
    def ask(self) -> None:
        """Open the dialog."""
        if self._clip is None or self._dialog is not None:
            return
        name = self._mesh.stem if self._mesh else "neurok"
        self._dialog = ExportDialog(self.seconds, self._settings.folder("videos") / f"{name}.mp4", self._window)
        self._dialog.start_wished.connect(self._start)
        self._dialog.finished.connect(self._dialog_closed)
        self._dialog.open()

    def stop(self) -> None:
        """Give up a running export, at the end of the program."""
        if self._job is not None:
            self._job.stop()
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    @Slot(object)
    def _start(self, choice: ExportChoice) -> None:
        from engine.clips.clip_file import write_clip

        assert self._clip is not None
        assert self._dialog is not None
        if not choice.target.parent.is_dir():
            words = f"The folder {choice.target.parent} does not exist."
            self._window.banner.show_message(Tone.ERROR, "The video was not written", words)
            return
        self._settings.keep_folder("videos", choice.target.parent)
        self._folder = self._folder or tempfile.TemporaryDirectory(prefix="neurok-")
        clip_file = Path(self._folder.name) / "recording.neurok"
        write_clip(self._clip, clip_file)
        stage = self._window.viewport.stage
        camera = stage.camera
        x, y, z = (float(value) for value in camera.focus)
        request = VideoRequest(
            clip=str(clip_file),
            mesh="" if self._mesh is None else str(self._mesh),
            target=str(choice.target),
            width=choice.width,
            height=choice.height,
            fps=choice.fps,
            camera=(x, y, z, camera.distance, camera.azimuth, camera.elevation),
            floor=self._window.physics.floor.isChecked(),
        )
        self._job = ExportJob(request, self)
        self._dialog.run(self._job)

    @Slot()
    def _dialog_closed(self) -> None:
        if self._dialog is not None:
            self._dialog.deleteLater()
        self._dialog = None
