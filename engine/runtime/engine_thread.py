"""The engine's thread: a thin shell that brings commands and time to the session, and what it makes to the mailbox."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from engine.runtime.cores import use_spare_cores
from engine.runtime.loading import LoadedObject, load_object
from engine.runtime.mailbox import Mailbox
from engine.runtime.messages import Command, Event, Failed, Frame, LoadMesh, Shutdown
from engine.runtime.session import Session

log = logging.getLogger(__name__)

Load = Callable[[LoadMesh, Callable[[], bool]], LoadedObject]
"""Makes an object from a file; is given a question to ask between its stages: does nobody want it any more?"""


class EngineThread(threading.Thread):
    """Owns the session and every tensor. Its public methods may be called from any thread, and none of them waits long.

    The thread is a daemon: if a stage of loading cannot be interrupted in time, the program ends without it.
    """

    def __init__(
        self,
        on_wake: Callable[[], None],
        *,
        load: Load = lambda command, cancelled: load_object(command, cancelled=cancelled),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Make a thread that does not run yet.

        Args:
            on_wake: called from this thread when there is something to `take`; has to return at once.
            load: makes objects.
            clock: wall time [s].
        """
        super().__init__(name="engine", daemon=True)
        self._mailbox = Mailbox(on_wake)
        self._clock = clock
        self._session = Session(lambda command: load(command, self._unwanted))

    def post(self, command: Command) -> None:
        """Send a command; returns at once."""
        self._mailbox.post(command)

    def take(self) -> tuple[list[Event], Frame | None]:
        """Return the events since the last call, in order, and the newest frame if there is a new one."""
        return self._mailbox.take()

    def stop(self, timeout: float = 2.0) -> bool:
        """End the thread, wait for it at most ``timeout`` seconds, and return whether it has ended."""
        self._mailbox.close()
        if self.ident is not None and threading.current_thread() is not self:
            self.join(timeout)
        return not self.is_alive()

    def run(self) -> None:
        """Obey commands and let time pass until the end."""
        # One core is left to the window.
        use_spare_cores()
        while not self._mailbox.closed:
            self._guarded(self._obey)
            self._guarded(self._advance)
            self._mailbox.wait(self._session.patience(self._clock()))

    def _unwanted(self) -> bool:
        """Return whether nobody waits for the object that is being loaded: the end has come, or another was chosen."""
        return self._mailbox.closed or self._mailbox.holds(LoadMesh)

    def _obey(self) -> None:
        while (command := self._mailbox.next_command()) is not None:
            try:
                self._mailbox.publish(self._session.handle(command))
            finally:
                if isinstance(command, Shutdown):
                    self._mailbox.close()

    def _advance(self) -> None:
        frame = self._session.advance(self._clock())
        self._mailbox.publish(self._session.take_events(), frame)

    def _guarded(self, work: Callable[[], None]) -> None:
        """Do something; an error that nobody foresaw holds time and is told, and the thread lives on."""
        try:
            work()
        except Exception as problem:
            log.exception("the engine met an unexpected error")
            self._session.hold()
            reason = f"{type(problem).__name__}: {problem}" if str(problem) else type(problem).__name__
            self._mailbox.publish([*self._session.take_events(), Failed(reason)])
