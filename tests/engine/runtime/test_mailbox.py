"""What the mailbox keeps, replaces and wakes for."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from engine.runtime import messages as m
from engine.runtime.mailbox import Mailbox
from engine.scenes.material import MATERIALS

CORNER = (1.0, 0.0, 0.0)


def drained(box: Mailbox) -> list[m.Command]:
    """Return all commands in order."""
    commands = []
    while (command := box.next_command()) is not None:
        commands.append(command)
    return commands


def frame(sequence: int) -> m.Frame:
    """Return a frame with nothing in it but its number."""
    pins = m.FramePins(np.zeros((0, 3)), np.zeros(0, dtype=np.int64))
    vertices = np.zeros((1, 3), dtype=np.float32)
    return m.Frame(1, sequence, 0.0, vertices, pins, None, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, False, True, "")


def test_newest_drag_replaces_the_last_in_the_queue() -> None:
    """Of several drags in a row only the newest is left."""
    box = Mailbox(lambda: None)
    for x in range(5):
        box.post(m.DragTo((float(x), 0.0, 0.0)))
    assert drained(box) == [m.DragTo((4.0, 0.0, 0.0))]


@pytest.mark.parametrize("between", [m.GrabPoint(0, CORNER), m.Release(), m.Reset(), m.PinPoint(0, CORNER)])
def test_a_drag_never_jumps_over_another_command(between: m.Command) -> None:
    """A drag before and one after a grab, a release, a reset or a pin both stay, in order."""
    box = Mailbox(lambda: None)
    old, new = m.DragTo((0.0, 0.0, 0.0)), m.DragTo((1.0, 0.0, 0.0))
    for command in (old, between, new):
        box.post(command)
    assert drained(box) == [old, between, new]


def test_a_material_does_not_replace_a_drag() -> None:
    """Only a command of the same kind is replaced."""
    box = Mailbox(lambda: None)
    soft, hard = m.SetMaterial(MATERIALS["jelly"]), m.SetMaterial(MATERIALS["rubber"])
    drag = m.DragTo((0.0, 0.0, 0.0))
    for command in (soft, hard, drag, soft):
        box.post(command)
    assert drained(box) == [hard, drag, soft]


def test_discrete_commands_are_never_merged() -> None:
    """Two equal steps are two steps."""
    box = Mailbox(lambda: None)
    box.post(m.StepOnce())
    box.post(m.StepOnce())
    assert len(drained(box)) == 2


def test_events_stay_in_order_and_the_newest_frame_wins() -> None:
    """All events come out once, in order, with the newest frame only."""
    box = Mailbox(lambda: None)
    for number in range(100):
        box.publish([m.Failed(str(number))], frame(number))
    events, newest = box.take()
    assert [e.reason for e in events if isinstance(e, m.Failed)] == [str(n) for n in range(100)]
    assert newest is not None and newest.sequence == 99
    assert box.take() == ([], None)


def test_at_most_one_wake_up_is_on_its_way() -> None:
    """However much arrives, the receiver is woken once before it comes to look, and again afterwards."""
    woken: list[int] = []
    box = Mailbox(lambda: woken.append(1))
    for number in range(50):
        box.publish([], frame(number))
    box.publish([m.Failed("x")])
    assert len(woken) == 1
    box.take()
    box.publish([], frame(50))
    assert len(woken) == 2
    box.publish()
    assert len(woken) == 2


def test_closing_ends_waits_and_lets_nothing_through() -> None:
    """A waiting thread goes on at once when the box is closed, and nothing is delivered afterwards."""
    woken: list[int] = []
    box = Mailbox(lambda: woken.append(1))
    waiting = threading.Thread(target=box.wait, args=(None,))
    waiting.start()
    box.close()
    waiting.join(2.0)
    assert not waiting.is_alive()
    box.post(m.Play())
    box.publish([m.Failed("late")])
    assert drained(box) == [] and box.take() == ([], None) and not woken


def test_two_threads_lose_no_event() -> None:
    """While one thread publishes and the other takes, every event arrives once and in order."""
    wake = threading.Event()
    box = Mailbox(wake.set)
    got: list[str] = []

    def publish() -> None:
        for number in range(2000):
            box.publish([m.Failed(str(number))], frame(number))

    sender = threading.Thread(target=publish)
    sender.start()
    while len(got) < 2000 and wake.wait(5.0):
        wake.clear()
        got.extend(e.reason for e in box.take()[0] if isinstance(e, m.Failed))
    sender.join()
    assert got == [str(n) for n in range(2000)]
