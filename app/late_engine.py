"""An engine that is still on its way while the window is already there.

Loading the tensor library takes seconds. It happens in a thread of its own, so that the window opens at once and stays
alive; what is sent to the engine meanwhile waits its turn.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from engine.runtime.messages import Failed

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.bridge import EnginePort
    from engine.runtime.messages import Command, Event, Frame


class LateEngine:
    """Stands for an engine from the first moment on. Any method may be called from any thread."""

    def __init__(self, make_engine: Callable[[Callable[[], None]], EnginePort], on_wake: Callable[[], None]) -> None:
        """Prepare; ``start`` begins to make the engine."""
        self._make_engine = make_engine
        self._on_wake = on_wake
        self._lock = threading.Lock()
        self._waiting: list[Command] = []
        self._engine: EnginePort | None = None
        self._failure: Failed | None = None
        self._stopped = False
        self._thread = threading.Thread(target=self._bring, name="engine-start", daemon=True)

    def start(self) -> None:
        """Make the engine and let it run."""
        self._thread.start()

    def post(self, command: Command) -> None:
        """Send a command, or keep it until the engine is there."""
        with self._lock:
            if self._engine is None:
                self._waiting.append(command)
            else:
                self._engine.post(command)

    def take(self) -> tuple[list[Event], Frame | None]:
        """Return what the engine has; nothing before it is there."""
        with self._lock:
            failure, self._failure = self._failure, None
            engine = self._engine
        if failure is not None:
            return [failure], None
        return ([], None) if engine is None else engine.take()

    def stop(self, timeout: float) -> None:
        """End the engine, or what is under way to it; waits at most ``timeout`` seconds."""
        with self._lock:
            self._stopped = True
            engine = self._engine
        if engine is not None:
            engine.stop(timeout)
        elif self._thread.is_alive():
            self._thread.join(timeout)

    def _bring(self) -> None:
        try:
            engine = self._make_engine(self._on_wake)
        except Exception as problem:
            with self._lock:
                self._failure = Failed(f"The engine could not be started: {problem}")
            self._on_wake()
            return
        with self._lock:
            if self._stopped:
                return
            self._engine = engine
            for command in self._waiting:
                engine.post(command)
            self._waiting.clear()
            engine.start()
