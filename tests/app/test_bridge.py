"""Tests of the meeting of the two threads."""

from __future__ import annotations

import threading
import time
from types import SimpleNamespace
from typing import TYPE_CHECKING

from app.bridge import Bridge
from tests.app.conftest import ListeningEngine

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot


def test_events_keep_their_order_and_arrive_in_the_window_thread(qtbot: QtBot) -> None:
    """What another thread sends is delivered in order, in the main thread."""
    bridge = Bridge(ListeningEngine)
    got: list[tuple[int, bool]] = []
    bridge.event_arrived.connect(lambda event: got.append((event.number, on_main_thread())))
    thread = threading.Thread(target=lambda: [bridge._engine.push(SimpleNamespace(number=i)) for i in range(50)])
    thread.start()
    thread.join()
    qtbot.waitUntil(lambda: len(got) == 50)
    assert got == [(number, True) for number in range(50)]


def on_main_thread() -> bool:
    """Return whether this is the main thread."""
    return threading.current_thread() is threading.main_thread()


def test_only_the_newest_frame_arrives(qtbot: QtBot) -> None:
    """Frames made while the window was busy are skipped."""
    bridge = Bridge(ListeningEngine)
    got: list[int] = []
    bridge.frame_arrived.connect(lambda frame: got.append(frame.sequence))
    for sequence in range(20):
        bridge._engine.push(frame=SimpleNamespace(generation=0, sequence=sequence))
    qtbot.waitUntil(lambda: bool(got))
    qtbot.wait(20)
    assert got == [19]


def test_frames_of_the_past_are_dropped(qtbot: QtBot) -> None:
    """A frame older than the newest event's generation is not shown."""
    bridge = Bridge(ListeningEngine)
    got: list[int] = []
    bridge.frame_arrived.connect(lambda frame: got.append(frame.generation))
    bridge._engine.push(SimpleNamespace(generation=3), frame=SimpleNamespace(generation=2))
    qtbot.wait(20)
    bridge._engine.push(frame=SimpleNamespace(generation=3))
    qtbot.waitUntil(lambda: bool(got))
    assert got == [3]


def test_nothing_arrives_after_stop(qtbot: QtBot) -> None:
    """A wake-up that is still queued at the end finds nobody."""
    bridge = Bridge(ListeningEngine)
    got: list[object] = []
    bridge.event_arrived.connect(got.append)
    bridge._engine.push(SimpleNamespace(number=1))
    bridge.stop()
    qtbot.wait(20)
    assert got == []
    assert bridge._engine.stopped


def test_latency_of_a_frame(qtbot: QtBot) -> None:
    """A frame from another thread is in the window within a few milliseconds when the window is idle."""
    bridge = Bridge(ListeningEngine)
    late: list[float] = []
    bridge.frame_arrived.connect(lambda frame: late.append(time.perf_counter() - frame.made))

    def send() -> None:
        for sequence in range(30):
            bridge._engine.push(frame=SimpleNamespace(generation=0, sequence=sequence, made=time.perf_counter()))
            time.sleep(0.01)

    thread = threading.Thread(target=send)
    thread.start()
    qtbot.waitUntil(lambda: len(late) >= 25, timeout=5000)
    thread.join()
    assert sorted(late)[len(late) // 2] < 0.02
