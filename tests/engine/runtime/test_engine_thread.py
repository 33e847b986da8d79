"""The thread: it obeys, tells, survives errors, and ends in time whatever it is doing."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from engine.runtime import messages as m
from engine.runtime.engine_thread import EngineThread
from engine.runtime.loading import LoadCancelled, LoadedObject
from tests.engine.runtime.point_mass import Faults, loaded_point_mass

LOAD = m.LoadMesh(Path("tetrahedron.obj"))
Start = Callable[..., EngineThread]


class Window:
    """Takes what the engine sends, as the window does."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.wake = threading.Event()
        self.events: list[m.Event] = []
        self.frames: list[m.Frame] = []

    def until(self, engine: EngineThread, done: Callable[[], bool], timeout: float = 10.0) -> None:
        """Take until something has come."""
        end = time.monotonic() + timeout
        while not done():
            assert time.monotonic() < end, f"waited in vain; came so far: {self.events}"
            if self.wake.wait(0.05):
                self.wake.clear()
                events, frame = engine.take()
                self.events += events
                if frame is not None:
                    self.frames.append(frame)


@pytest.fixture
def window() -> Window:
    """Somebody who listens."""
    return Window()


@pytest.fixture
def start(window: Window) -> Iterator[Start]:
    """Start engines that end with the test."""
    made: list[EngineThread] = []

    def begin(load: Callable[[m.LoadMesh, Callable[[], bool]], LoadedObject]) -> EngineThread:
        engine = EngineThread(window.wake.set, load=load)
        made.append(engine)
        engine.start()
        return engine

    yield begin
    for engine in made:
        assert engine.stop(2.0)


def test_grab_to_frame(start: Start, window: Window) -> None:
    """A grab that is posted while the object loads pulls as soon as it is there, and frames show it."""
    engine = start(lambda command, cancelled: loaded_point_mass())
    for command in (LOAD, m.GrabPoint(3, (1.0, 0.0, 0.0)), m.DragTo((2.0, 0.0, 0.5))):
        engine.post(command)
    window.until(engine, lambda: bool(window.frames) and window.frames[-1].vertices[0, 0] > 0.1)
    assert isinstance(window.events[0], m.Loaded)
    assert [f.sequence for f in window.frames] == sorted({f.sequence for f in window.frames})


def test_stops_while_running_and_while_idle(start: Start, window: Window) -> None:
    """An engine that runs an object, and one that waits for a command, end at once."""
    idle, running = (start(lambda command, cancelled: loaded_point_mass()) for _ in range(2))
    running.post(LOAD)
    window.until(running, lambda: bool(window.frames))
    for engine in (idle, running):
        begun = time.monotonic()
        assert engine.stop(2.0) and time.monotonic() - begun < 1.0
        engine.post(m.Play())
        assert engine.take()[0] == []


def test_stops_while_loading(start: Start) -> None:
    """A load that is asked to give up does so; one that cannot be interrupted is not waited for longer than allowed."""
    loading, go_on = threading.Event(), threading.Event()

    def patient(command: m.LoadMesh, cancelled: Callable[[], bool]) -> LoadedObject:
        loading.set()
        while not cancelled():
            time.sleep(0.005)
        raise LoadCancelled

    def deaf(command: m.LoadMesh, cancelled: Callable[[], bool]) -> LoadedObject:
        loading.set()
        go_on.wait(10.0)
        return loaded_point_mass()

    for load, ends in ((patient, True), (deaf, False)):
        loading.clear()
        engine = start(load)
        engine.post(LOAD)
        assert loading.wait(5.0)
        begun = time.monotonic()
        assert engine.stop(0.3 if load is deaf else 2.0) is ends
        assert time.monotonic() - begun < 2.0
    go_on.set()


def test_a_newer_choice_ends_the_load_before_it(start: Start, window: Window) -> None:
    """When another object is chosen while one loads, only the newest comes onto the stage."""
    loading = threading.Event()

    def patient(command: m.LoadMesh, cancelled: Callable[[], bool]) -> LoadedObject:
        loading.set()
        while command.path.stem == "slow" and not cancelled():
            time.sleep(0.005)
        if cancelled():
            raise LoadCancelled
        return loaded_point_mass(path=command.path)

    engine = start(patient)
    engine.post(m.LoadMesh(Path("slow.obj")))
    assert loading.wait(5.0)
    engine.post(m.LoadMesh(Path("next.obj")))
    window.until(engine, lambda: any(isinstance(event, m.Loaded) for event in window.events))
    assert [event.path.stem for event in window.events if isinstance(event, m.Loaded)] == ["next"]
    assert not any(isinstance(event, m.LoadFailed) for event in window.events)


def test_errors_become_events_and_the_thread_lives_on(start: Start, window: Window) -> None:
    """An unforeseen error in a step or in a load is told once, time is held, and the next command is obeyed."""
    faults = Faults(bad_from=0.05, raising=True)

    def load(command: m.LoadMesh, cancelled: Callable[[], bool]) -> LoadedObject:
        if command.path.name == "odd.obj":
            raise KeyError("odd")
        return loaded_point_mass(faults)

    engine = start(load)
    engine.post(LOAD)
    window.until(engine, lambda: any(isinstance(e, m.Failed) for e in window.events))
    assert [type(e) for e in window.events] == [m.Loaded, m.StateChanged, m.StateChanged, m.Failed]
    assert window.events[-1] == m.Failed("RuntimeError: the stand-in broke")
    engine.post(m.LoadMesh(Path("odd.obj")))
    window.until(engine, lambda: isinstance(window.events[-1], m.Failed) and "odd" in window.events[-1].reason)
    faults.bad_from = 1e9
    engine.post(m.Play())
    window.until(engine, lambda: bool(window.frames) and window.frames[-1].time > 0.2)


def test_shutdown_ends_the_thread(start: Start) -> None:
    """The command ends it as the call does."""
    engine = start(lambda command, cancelled: loaded_point_mass())
    engine.post(m.Shutdown())
    engine.join(2.0)
    assert not engine.is_alive()


def test_an_engine_that_never_ran_can_be_stopped() -> None:
    """Closing a window before its engine starts is no error."""
    assert EngineThread(lambda: None).stop(0.1)
