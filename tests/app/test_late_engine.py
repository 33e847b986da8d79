"""Tests of the engine that comes after the window."""

from __future__ import annotations

import threading
from collections.abc import Callable

from app.late_engine import LateEngine
from engine.runtime.messages import Failed, Pause, Play
from tests.app.conftest import ListeningEngine


def test_commands_wait_for_the_engine_in_their_order() -> None:
    """What was sent before the engine was there reaches it first, and in order."""
    may_go, made = threading.Event(), []

    def make(on_wake: Callable[[], None]) -> ListeningEngine:
        may_go.wait(5.0)
        made.append(ListeningEngine(on_wake))
        return made[0]

    late = LateEngine(make, lambda: None)
    late.start()
    late.post(Play())
    late.post(Pause())
    assert late.take() == ([], None)
    may_go.set()
    late._thread.join(5.0)
    late.post(Play())
    assert [type(command) for command in made[0].commands] == [Play, Pause, Play]
    late.stop(2.0)
    assert made[0].stopped


def test_an_engine_that_cannot_be_made_is_told() -> None:
    """The reason arrives as an event."""
    woken = threading.Event()

    def make(on_wake: Callable[[], None]) -> ListeningEngine:
        raise OSError("no such library")

    late = LateEngine(make, woken.set)
    late.start()
    assert woken.wait(5.0)
    events, frame = late.take()
    assert isinstance(events[0], Failed)
    assert "no such library" in events[0].reason
    assert frame is None
    late.stop(2.0)


def test_stop_before_the_engine_is_there() -> None:
    """A window that closes at once leaves no engine behind."""
    may_go, made = threading.Event(), []

    def make(on_wake: Callable[[], None]) -> ListeningEngine:
        may_go.wait(5.0)
        made.append(ListeningEngine(on_wake))
        return made[0]

    late = LateEngine(make, lambda: None)
    late.start()
    late.stop(0.05)
    may_go.set()
    late._thread.join(5.0)
    late.post(Play())
    assert made[0].commands == []
