"""Progress on standard error: one line that is written over on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time

_ON_TERMINAL = 0.1
_ELSEWHERE = 10.0


class Progress:
    """Tells how far a piece of long work is, and about how long the rest takes."""

    def __init__(self, title: str, *, quiet: bool = False) -> None:
        """Begin; nothing is written before the first piece is done."""
        self._title = title
        self._quiet = quiet
        self._terminal = sys.stderr.isatty()
        self._begun = self._told = time.monotonic()

    def __call__(self, done: int, count: int) -> None:
        """Take note that ``done`` of ``count`` pieces are done."""
        now = time.monotonic()
        pause = _ON_TERMINAL if self._terminal else _ELSEWHERE
        if self._quiet or (done < count and now - self._told < pause):
            return
        self._told = now
        spent = now - self._begun
        rest = f", {spent * (count - done) / done:.0f} s left" if done < count else f" in {spent:.1f} s"
        line = f"{self._title}: {done}/{count}{rest}"
        if self._terminal:
            sys.stderr.write(f"\r\x1b[K{line}" + ("\n" if done >= count else ""))
        else:
            sys.stderr.write(line + "\n")
        sys.stderr.flush()
