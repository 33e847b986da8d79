"""Long work in processes of their own, with progress, an estimate of the time left, and cancel."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QProcess, QProcessEnvironment, QTimer, Signal, Slot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.export_worker import VideoRequest

_PATIENCE_MS = 4000
_ROOT = Path(__file__).resolve().parent.parent


class ExportJob(QObject):
    """Writes one video in a child process.

    Signals:
        progressed: pictures written, pictures in all, seconds left (negative while unknown).
        finished: the file was written (path as text).
        failed: it could not be written (reason).
        cancelled: it was given up; nothing is left.
    """

    progressed = Signal(int, int, float)
    finished = Signal(str)
    failed = Signal(str)
    cancelled = Signal()

    def __init__(
        self,
        request: VideoRequest,
        parent: QObject | None = None,
        *,
        worker: Sequence[str] = ("-m", "app.export_worker"),
    ) -> None:
        """Prepare the job; ``start`` begins it.

        Args:
            request: what to write.
            parent: owner.
            worker: what Python is asked to run; it gets the request as its last argument.
        """
        super().__init__(parent)
        self._request = request
        self._target = Path(request.target)
        self._cancelling = False
        self._reason = ""
        self._begun = 0.0
        self._process = QProcess(self)
        self._process.setProgram(sys.executable)
        self._process.setArguments([*worker, request.to_json()])
        self._process.setWorkingDirectory(str(_ROOT))
        environment = QProcessEnvironment.systemEnvironment()
        environment.insert("PYTHONUNBUFFERED", "1")
        self._process.setProcessEnvironment(environment)
        self._process.readyReadStandardOutput.connect(self._read)
        self._process.finished.connect(self._ended)
        self._process.errorOccurred.connect(self._not_started)
        self._kill = QTimer(self, singleShot=True, interval=_PATIENCE_MS)
        self._kill.timeout.connect(self._process.kill)

    @property
    def running(self) -> bool:
        """Whether the process lives."""
        return self._process.state() != QProcess.ProcessState.NotRunning

    def start(self) -> None:
        """Begin."""
        self._begun = time.monotonic()
        self._process.start()

    def cancel(self) -> None:
        """Give it up: ask first, end the process when it does not answer."""
        if self.running and not self._cancelling:
            self._cancelling = True
            self._process.closeWriteChannel()
            self._kill.start()

    def stop(self) -> None:
        """Give it up and wait, for the end of the program."""
        self.cancel()
        if self.running and not self._process.waitForFinished(2000):
            self._process.kill()
            self._process.waitForFinished(2000)

    @Slot()
    def _read(self) -> None:
        while self._process.canReadLine():
            try:
                news = json.loads(bytes(self._process.readLine().data()))
            except ValueError:
                continue
            if news["what"] == "progress":
                done, total = int(news["done"]), int(news["of"])
                if done <= 1:
                    self._begun = time.monotonic()
                spent = time.monotonic() - self._begun
                left = spent / (done - 1) * (total - done) if done > 1 else -1.0
                self.progressed.emit(done, total, left)
            elif news["what"] == "failed":
                self._reason = str(news["reason"])

    @Slot(int, QProcess.ExitStatus)
    def _ended(self, code: int, status: QProcess.ExitStatus) -> None:
        self._read()
        self._kill.stop()
        if self._cancelling:
            self._remove_remains()
            self.cancelled.emit()
        elif code == 0 and status == QProcess.ExitStatus.NormalExit and self._target.is_file():
            self.finished.emit(str(self._target))
        else:
            self._remove_remains()
            errors = bytes(self._process.readAllStandardError().data()).decode(errors="replace").strip()
            last = errors.splitlines()[-1] if errors else f"the export process ended with status {code}"
            self.failed.emit(self._reason or last)

    @Slot(QProcess.ProcessError)
    def _not_started(self, error: QProcess.ProcessError) -> None:
        if error == QProcess.ProcessError.FailedToStart:
            self.failed.emit("the export process could not be started")

    def _remove_remains(self) -> None:
        """Remove the unfinished file of a process that had no chance to do so."""
        for remains in (self._target.with_name(self._target.name + ".part"), self._target.with_suffix(".part")):
            remains.unlink(missing_ok=True)
