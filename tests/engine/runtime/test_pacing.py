"""When steps are due."""

from __future__ import annotations

import numpy as np
import pytest

from engine.runtime.pacing import MOST_LAG, Pacing, RateMeter

H = 1.0 / 60.0


def steps_until(pacing: Pacing, times: np.ndarray, *, cost: float = 0.0) -> int:
    """Return how many steps are taken when asked at these times, each step taking ``cost`` seconds."""
    count, now = 0, float(times[0])
    for time in times:
        now = max(now, float(time))
        while now <= times[-1] and pacing.due(now):
            pacing.stepped()
            count += 1
            now += cost
    return count


@pytest.mark.parametrize(("scale", "wanted"), [(1.0, 600), (0.5, 300), (0.1, 60), (2.0, 1200)])
def test_simulated_time_follows_wall_time(scale: float, wanted: int) -> None:
    """In ten seconds as many steps are taken as the time scale says, and the first one at once."""
    times = 123.0 + np.arange(0.0, 10.0, 0.004)
    assert steps_until(Pacing(scale=scale), times) == pytest.approx(wanted, abs=1)


def test_no_debt_piles_up() -> None:
    """After a second's silence at most the allowed lag is caught up with, not the second."""
    pacing = Pacing()
    steps_until(pacing, np.arange(0.0, 1.0, H))
    assert steps_until(pacing, np.array([2.0])) <= MOST_LAG / H + 2


def test_a_short_hiccup_is_caught_up_with() -> None:
    """A silence within the allowed lag costs no simulated time."""
    pacing = Pacing()
    taken = steps_until(pacing, np.concatenate((np.arange(0.0, 1.0, H), [1.08], np.arange(1.1, 2.0, H))))
    assert taken == pytest.approx(120, abs=2)


def test_a_slow_machine_steps_all_the_time() -> None:
    """With steps of twice their length in wall time, motion is half as fast and no time is idle."""
    pacing = Pacing()
    assert steps_until(pacing, np.arange(0.0, 5.0, 0.001), cost=2 * H) == pytest.approx(150, abs=3)


def test_held_time_is_not_caught_up_with() -> None:
    """After a hold one step is due at once, and not the time that was held."""
    pacing = Pacing()
    steps_until(pacing, np.arange(0.0, 1.0, H))
    pacing.hold()
    assert steps_until(pacing, np.array([1.05])) == 1


def test_wait_ends_when_a_step_is_due() -> None:
    """After the told wait a step is due, and shortly before it is not."""
    pacing = Pacing()
    steps_until(pacing, np.array([5.0]))
    wait = pacing.wait(5.003)
    assert wait == pytest.approx(H - 0.003)
    assert not pacing.due(5.003 + wait - 1e-4)
    assert pacing.due(5.003 + wait)


def test_slow_motion_is_looked_at_between_steps() -> None:
    """At a tenth of the speed pictures come at the display's rate, evenly between two steps."""
    pacing = Pacing(scale=0.1)
    steps_until(pacing, np.array([0.0]))
    assert pacing.wait(0.0) == pytest.approx(H)
    assert [pacing.fraction(k * H) for k in range(5)] == pytest.approx([0.0, 0.1, 0.2, 0.3, 0.4])


def test_rate_is_measured_over_the_last_second() -> None:
    """The meter tells the present rate, not the mean since the beginning."""
    meter = RateMeter()
    assert meter.rate == 0.0
    for tick in range(100):
        meter.count(tick * 0.02, 1)
    assert meter.rate == pytest.approx(50.0)
    for tick in range(100):
        meter.count(2.0 + tick * 0.05, 1)
    assert meter.rate == pytest.approx(20.0)
