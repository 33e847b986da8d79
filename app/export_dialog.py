"""The export dialog: size, rate and file of the video, then its progress."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QFileDialog,
    QFormLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QProgressBar,
    QPushButton,
    QSpinBox,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from app.jobs import ExportJob

_SIZES = (
    ("1280 \N{MULTIPLICATION SIGN} 720", 1280, 720),
    ("1920 \N{MULTIPLICATION SIGN} 1080", 1920, 1080),
    ("1080 \N{MULTIPLICATION SIGN} 1080", 1080, 1080),
    ("3840 \N{MULTIPLICATION SIGN} 2160", 3840, 2160),
)
_RATES = (24, 25, 30, 50, 60)
_CUSTOM = "Other size…"


@dataclass(frozen=True, slots=True)
class ExportChoice:
    """What was chosen: file, picture size [pixels] and rate [1/s]."""

    target: Path
    width: int
    height: int
    fps: int


class ExportDialog(QDialog):
    """Asks, starts, shows progress, cancels.

    Signals:
        start_wished: the choice; the owner answers with ``run``.
    """

    start_wished = Signal(object)

    def __init__(self, seconds: float, target: Path, parent: QWidget | None = None) -> None:
        """Ask about a recording of a length [s], with a first idea of the file."""
        super().__init__(parent)
        self.setWindowTitle("Export video")
        self.setMinimumWidth(460)
        self._job: ExportJob | None = None
        self.target = QLineEdit(str(target))
        self.size_choice = QComboBox()
        for words, width, height in _SIZES:
            self.size_choice.addItem(words, (width, height))
        self.size_choice.addItem(_CUSTOM)
        self.picture_width = QSpinBox(minimum=16, maximum=7680, value=1280, suffix=" px")
        self.picture_height = QSpinBox(minimum=16, maximum=4320, value=720, suffix=" px")
        self.rate = QComboBox()
        for rate in _RATES:
            self.rate.addItem(f"{rate} per second", rate)
        self.rate.setCurrentIndex(_RATES.index(60))
        self.start_button = QPushButton("Export", default=True)
        self.start_button.setObjectName("primary")
        self.progress = QProgressBar(textVisible=False)
        self.news = QLabel("Preparing…")
        self.news.setObjectName("muted")
        self.news.setWordWrap(True)
        self.cancel_button = QPushButton("Cancel")
        self._pages = QStackedWidget()
        self._pages.addWidget(self._question(seconds))
        self._pages.addWidget(self._progress_page())
        layout = QVBoxLayout(self)
        layout.setContentsMargins(18, 16, 18, 16)
        layout.addWidget(self._pages)
        self.size_choice.currentIndexChanged.connect(self._size_chosen)
        self.start_button.clicked.connect(self._start)
        self.cancel_button.clicked.connect(self._cancel)
        self._size_chosen()

    @property
    def job(self) -> ExportJob | None:
        """The job that was started, if any."""
        return self._job

    @property
    def choice(self) -> ExportChoice:
        """What is chosen now."""
        width, height = self.picture_width.value(), self.picture_height.value()
        # The encoding halves the colour planes, so odd sizes are not possible.
        return ExportChoice(
            _with_suffix(Path(self.target.text())), width + width % 2, height + height % 2, int(self.rate.currentData())
        )

    def run(self, job: ExportJob) -> None:
        """Show the progress of a job and start it."""
        self._job = job
        job.progressed.connect(self._progressed)
        job.finished.connect(self._finished)
        job.failed.connect(self._failed)
        job.cancelled.connect(self._cancelled)
        self.progress.setRange(0, 0)
        self.news.setText("Preparing…")
        self.cancel_button.setText("Cancel")
        self.cancel_button.setEnabled(True)
        self._pages.setCurrentIndex(1)
        job.start()

    def reject(self) -> None:
        """Closing the dialog cancels a running job."""
        if self._job is not None and self._job.running:
            self._job.cancel()
        super().reject()

    def _question(self, seconds: float) -> QWidget:
        page = QWidget()
        form = QFormLayout(page)
        form.setContentsMargins(0, 0, 0, 0)
        form.setSpacing(10)
        form.setLabelAlignment(Qt.AlignmentFlag.AlignLeft)
        length = QLabel(f"{seconds:.1f} seconds recorded")
        length.setObjectName("muted")
        form.addRow(length)
        browse = QPushButton("Choose…")
        browse.clicked.connect(self._browse)
        place = QHBoxLayout()
        place.addWidget(self.target, 1)
        place.addWidget(browse)
        form.addRow("File", place)
        form.addRow("Size", self.size_choice)
        own = QHBoxLayout()
        own.addWidget(self.picture_width)
        own.addWidget(self.picture_height)
        form.addRow("", own)
        form.addRow("Rate", self.rate)
        foot = QHBoxLayout()
        foot.addStretch(1)
        close = QPushButton("Close")
        close.clicked.connect(self.reject)
        foot.addWidget(close)
        foot.addWidget(self.start_button)
        form.addRow(foot)
        return page

    def _progress_page(self) -> QWidget:
        page = QWidget()
        column = QVBoxLayout(page)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(12)
        column.addStretch(1)
        column.addWidget(self.news)
        column.addWidget(self.progress)
        column.addStretch(1)
        foot = QHBoxLayout()
        foot.addStretch(1)
        foot.addWidget(self.cancel_button)
        column.addLayout(foot)
        return page

    @Slot()
    def _size_chosen(self) -> None:
        size = self.size_choice.currentData()
        for field in (self.picture_width, self.picture_height):
            field.setEnabled(size is None)
        if size is not None:
            self.picture_width.setValue(size[0])
            self.picture_height.setValue(size[1])

    @Slot()
    def _browse(self) -> None:
        chosen, _ = QFileDialog.getSaveFileName(self, "Export video", self.target.text(), "MP4 video (*.mp4)")
        if chosen:
            self.target.setText(chosen)

    @Slot()
    def _start(self) -> None:
        self.start_wished.emit(self.choice)

    @Slot()
    def _cancel(self) -> None:
        if self._job is not None and self._job.running:
            self.news.setText("Cancelling…")
            self.cancel_button.setEnabled(False)
            self._job.cancel()
        else:
            self.accept()

    @Slot(int, int, float)
    def _progressed(self, done: int, total: int, left: float) -> None:
        self.progress.setRange(0, total)
        self.progress.setValue(done)
        ending = "" if left < 0.0 else f" · {duration_text(left)} left"
        self.news.setText(f"Picture {done} of {total}{ending}")

    @Slot(str)
    def _finished(self, path: str) -> None:
        self.progress.setRange(0, 1)
        self.progress.setValue(1)
        self._end(f"Written: {path}")

    @Slot(str)
    def _failed(self, reason: str) -> None:
        self.progress.setRange(0, 1)
        self.progress.setValue(0)
        self._end(f"The video was not written: {reason}")

    @Slot()
    def _cancelled(self) -> None:
        self._pages.setCurrentIndex(0)

    def _end(self, words: str) -> None:
        self.news.setText(words)
        self.cancel_button.setText("Close")
        self.cancel_button.setEnabled(True)


def duration_text(seconds: float) -> str:
    """Return a length of time in words."""
    whole = max(round(seconds), 0)
    return f"{whole} s" if whole < 90 else f"{whole // 60} min {whole % 60:02d} s"


def _with_suffix(path: Path) -> Path:
    return path if path.suffix.lower() == ".mp4" else path.with_name(path.name + ".mp4")
