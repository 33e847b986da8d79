"""When to step: simulated time follows wall time. Pure; the time is an argument of every method.

One display period is shared by stepping and by everything else, so stepping takes at most a share of it. A machine that
is too slow does not pile up a debt: beyond a limit the debt is forgotten, and motion is slower than real time.
"""

from __future__ import annotations

from collections import deque

STEP = 1.0 / 60.0
"""Length of a step [s]; fixed, since numerical damping depends on it."""
DISPLAY_PERIOD = 1.0 / 60.0
"""Time between two pictures [s]."""
STEPPING_BUDGET = 0.7 * DISPLAY_PERIOD
"""Longest stretch of stepping between two frames [s], but for a single longer step."""
MOST_LAG = 0.1
"""Debt of wall time beyond which it is forgotten [s]."""

# Sums of many small times miss the sharp value by a rounding error.
_EPSILON = 1e-9


class Pacing:
    """Tells when the next step is due.

    Attributes:
        scale: simulated seconds per second of wall time.
    """

    def __init__(self, *, step: float = STEP, scale: float = 1.0) -> None:
        """Begin held: the first question starts the clock."""
        self.scale = scale
        self._step = step
        self._origin: float | None = None
        self._done = 0.0

    def hold(self) -> None:
        """Forget the time that passes until the next question; a step is due then at once."""
        self._origin = None

    def set_scale(self, scale: float) -> None:
        """Change the speed of simulated time, without a jump."""
        self.scale = scale
        self.hold()

    def lag(self, now: float) -> float:
        """Return how far simulated time is behind [s, simulated]; starts or resynchronises the clock where needed."""
        if self._origin is None:
            self._begin(now)
        lag = self._lag(now)
        if lag > MOST_LAG * self.scale + self._step:
            self._begin(now)
            return self._step
        return lag

    def due(self, now: float) -> bool:
        """Return whether a step is due."""
        return self.lag(now) >= self._step - _EPSILON

    def stepped(self) -> None:
        """Take note of a step."""
        self._done += self._step

    def wait(self, now: float) -> float:
        """Return how long nothing is due [s, wall], but for pictures between two steps of slow motion."""
        wait = max(0.0, (self._step - self.lag(now)) / self.scale)
        return wait if self.scale >= 1.0 else min(wait, DISPLAY_PERIOD)

    def fraction(self, now: float) -> float:
        """Return how far the wall is between the last step and the next, 0 to 1."""
        return min(max(self.lag(now) / self._step, 0.0), 1.0)

    def _begin(self, now: float) -> None:
        self._origin, self._done = now, -self._step

    def _lag(self, now: float) -> float:
        assert self._origin is not None
        return (now - self._origin) * self.scale - self._done


class RateMeter:
    """Steps per second of wall time, over the last second."""

    def __init__(self, *, window: float = 1.0) -> None:
        """Begin empty."""
        self._window = window
        self._counts: deque[tuple[float, int]] = deque()
        self._total = 0

    def clear(self) -> None:
        """Forget what was measured, for example because time was held."""
        self._counts.clear()

    def count(self, now: float, steps: int) -> None:
        """Take note of steps that were done by ``now`` [s]."""
        self._total += steps
        self._counts.append((now, self._total))
        while len(self._counts) > 2 and now - self._counts[1][0] >= self._window:
            self._counts.popleft()

    @property
    def rate(self) -> float:
        """Steps per second; zero before two counts."""
        if len(self._counts) < 2:
            return 0.0
        (begun, first), (ended, last) = self._counts[0], self._counts[-1]
        return (last - first) / (ended - begun) if ended > begun else 0.0
