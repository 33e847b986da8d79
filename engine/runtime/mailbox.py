"""The one file with locks: commands to the engine's thread, events and the newest frame from it.

Commands stay in order. A newer setting of the same kind takes the place of an older one only if that is the last in the
queue, so that it never jumps over a grab, a release or a reset. Events stay in order and none is lost. Of the frames
the newest wins. The receiver is woken at most once before it comes to look, however much arrives in the meantime.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence

from engine.runtime.messages import Command, DragTo, Event, Frame, SetGravity, SetMaterial, SetTimeScale

REPLACEABLE = (DragTo, SetMaterial, SetGravity, SetTimeScale)
"""Commands of which only the newest of a run matters."""


class Mailbox:
    """Where the two threads leave things for each other. Any method may be called from any thread."""

    def __init__(self, on_wake: Callable[[], None]) -> None:
        """Begin empty; ``on_wake`` is called from the engine's thread, and has to return at once."""
        self._on_wake = on_wake
        self._arrived = threading.Condition()
        self._commands: deque[Command] = deque()
        self._events: list[Event] = []
        self._frame: Frame | None = None
        self._woken = False
        self._closed = False

    @property
    def closed(self) -> bool:
        """Whether the engine is to end."""
        return self._closed

    def post(self, command: Command) -> None:
        """Leave a command for the engine; after `close` it is dropped."""
        with self._arrived:
            if self._closed:
                return
            last = self._commands[-1] if self._commands else None
            if isinstance(command, REPLACEABLE) and type(last) is type(command):
                self._commands[-1] = command
            else:
                self._commands.append(command)
            self._arrived.notify_all()

    def next_command(self) -> Command | None:
        """Return the oldest command, or None."""
        with self._arrived:
            return self._commands.popleft() if self._commands and not self._closed else None

    def holds(self, kind: type[Command]) -> bool:
        """Return whether a command of a kind is waiting."""
        with self._arrived:
            return any(isinstance(command, kind) for command in self._commands)

    def wait(self, timeout: float | None) -> None:
        """Wait for a command or the end, at most ``timeout`` seconds; None waits for as long as it takes."""
        with self._arrived:
            self._arrived.wait_for(lambda: bool(self._commands) or self._closed, timeout)

    def publish(self, events: Sequence[Event] = (), frame: Frame | None = None) -> None:
        """Leave events and a frame for the window, and wake it unless it is on its way already."""
        if not events and frame is None:
            return
        with self._arrived:
            if self._closed:
                return
            self._events.extend(events)
            self._frame = frame if frame is not None else self._frame
            wake, self._woken = not self._woken, True
        if wake:
            self._on_wake()

    def take(self) -> tuple[list[Event], Frame | None]:
        """Return the events since the last call, in order, and the newest frame if there is a new one."""
        with self._arrived:
            events, self._events = self._events, []
            frame, self._frame = self._frame, None
            self._woken = False
            return events, frame

    def close(self) -> None:
        """Let nothing in or out any more, and end every wait."""
        with self._arrived:
            self._closed = True
            self._commands.clear()
            self._arrived.notify_all()
