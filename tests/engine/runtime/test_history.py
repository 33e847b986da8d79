"""The last minute of states."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from engine.dynamics.state import State
from engine.runtime.history import History

Z, K = np.zeros(3), np.zeros(2)
FIRST = State(0.0, Z, np.eye(3), K, Z, Z, K, K)


def filled(count: int) -> History:
    """Return a history of states a sixtieth of a second apart."""
    history = History()
    for number in range(count):
        history.append(replace(FIRST, time=number / 60.0))
    return history


def test_a_minute_is_kept_and_no_more() -> None:
    """After 100 seconds exactly the last 60 can be reached."""
    history = filled(6001)
    assert history.at(0.0).time == pytest.approx(40.0)
    assert history.at(1e9).time == pytest.approx(100.0)
    assert len(history) == 3601


def test_state_at_a_time_is_the_last_before_it() -> None:
    """A time between two states gives the earlier one."""
    history = filled(100)
    assert history.at(0.51).time == pytest.approx(30 / 60)


def test_a_branch_replaces_the_future() -> None:
    """After a cut, states follow on the cut, and states of the past are refused."""
    history = filled(100)
    history.cut_after(0.5)
    assert history.at(9.0).time == pytest.approx(0.5)
    with pytest.raises(ValueError, match="order of time"):
        history.append(FIRST)
    history.clear()
    with pytest.raises(LookupError):
        history.at(0.0)
