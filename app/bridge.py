"""The one place where the engine's thread and the window's thread meet.

The engine calls ``on_wake`` from its own thread when it has something new. That becomes one queued signal; the slot
runs in the window's thread and takes the ordered events and the newest frame. A signal for each frame would pile up
behind a slow picture; a wake-up does not, because the engine keeps one frame only and sends no second wake-up before
the first was answered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from PySide6.QtCore import QObject, Qt, Signal, Slot

if TYPE_CHECKING:
    from collections.abc import Callable

    from engine.runtime.messages import Command, Event, Frame


class EnginePort(Protocol):
    """What the window needs of an engine."""

    def start(self) -> None:
        """Begin to run."""
        ...

    def post(self, command: Command) -> None:
        """Send a command; never blocks."""
        ...

    def take(self) -> tuple[list[Event], Frame | None]:
        """Return the events since the last call, in order, and the newest frame if there is a new one."""
        ...

    def stop(self, timeout: float) -> object:
        """End the thread and wait for it at most ``timeout`` seconds."""
        ...


class Bridge(QObject):
    """Carries commands to the engine, and events and frames to the window.

    Signals:
        event_arrived: one event of the engine.
        frame_arrived: the newest frame.
    """

    event_arrived = Signal(object)
    frame_arrived = Signal(object)
    _woken = Signal()

    def __init__(self, make_engine: Callable[[Callable[[], None]], EnginePort], parent: QObject | None = None) -> None:
        """Make the engine, which does not run before ``start``."""
        super().__init__(parent)
        self.frames_taken = 0
        self._generation = 0
        self._closed = False
        self._woken.connect(self._drain, Qt.ConnectionType.QueuedConnection)
        self._engine = make_engine(self._wake)

    def start(self) -> None:
        """Let the engine run."""
        self._engine.start()

    def post(self, command: Command) -> None:
        """Send a command to the engine."""
        if not self._closed:
            self._engine.post(command)

    def stop(self, timeout: float = 2.0) -> None:
        """End the engine; nothing arrives afterwards."""
        if not self._closed:
            self._closed = True
            self._engine.stop(timeout)

    def _wake(self) -> None:
        """Called from the engine's thread: ask the window's thread to come and look."""
        if not self._closed:
            self._woken.emit()

    @Slot()
    def _drain(self) -> None:
        if self._closed:
            return
        events, frame = self._engine.take()
        for event in events:
            self._generation = max(self._generation, getattr(event, "generation", 0))
            self.event_arrived.emit(event)
        # A frame of an object or a run that has been replaced in the meantime is not shown.
        if frame is not None and frame.generation >= self._generation:
            self.frames_taken += 1
            self.frame_arrived.emit(frame)
