"""The last minute of an object's states, for looking back and for beginning again from there."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from dataclasses import replace
from operator import attrgetter

from engine.dynamics.state import State

MINUTE_OF_STEPS = 60 * 60
"""States in 60 s at 60 steps per second."""

# Times are sums of many steps; a time that was computed in another way means the same state.
_ROUNDING = 1e-7


class History:
    """A ring of states, in the order of their times.

    The integrator's memory is left out: it is ten times as large as the state, and a state that time returns to begins
    afresh anyway.
    """

    def __init__(self, *, capacity: int = MINUTE_OF_STEPS + 1) -> None:
        """Begin empty; beyond ``capacity`` the oldest state is dropped."""
        self._states: deque[State] = deque(maxlen=capacity)

    def __len__(self) -> int:
        """Return the number of states."""
        return len(self._states)

    @property
    def span(self) -> tuple[float, float]:
        """Return the times of the oldest and the newest state [s]; zeros when empty."""
        return (self._states[0].time, self._states[-1].time) if self._states else (0.0, 0.0)

    def append(self, state: State) -> None:
        """Keep a state, which is not older than the newest kept one."""
        if self._states and state.time < self._states[-1].time:
            raise ValueError(f"states come in order of time; after {self._states[-1].time} s came {state.time} s")
        self._states.append(replace(state, trail=None))

    def at(self, time: float) -> State:
        """Return the newest state that is not newer than ``time`` [s]; the oldest kept one if all are."""
        if not self._states:
            raise LookupError("the history is empty")
        return self._states[max(0, bisect_right(self._states, time + _ROUNDING, key=attrgetter("time")) - 1)]

    def cut_after(self, time: float) -> None:
        """Drop what is newer than ``time`` [s]: the future that a new branch replaces."""
        while self._states and self._states[-1].time > time:
            self._states.pop()

    def clear(self) -> None:
        """Drop everything."""
        self._states.clear()
