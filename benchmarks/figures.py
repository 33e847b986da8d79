"""A measured figure with its bar, and the table that they are printed in."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured number.

    Attributes:
        name: what was measured.
        value: in ``unit``.
        bar: the largest value that is good; None where there is none.
        note: how it was measured, in a few words.
    """

    name: str
    value: float
    unit: str
    bar: float | None = None
    note: str = ""

    @property
    def good(self) -> bool | None:
        """Whether the value is at most its bar; None without one."""
        return None if self.bar is None else self.value <= self.bar

    def row(self) -> tuple[str, ...]:
        """Return the figure as cells of a table: name, value, bar, value over bar, verdict, note."""
        if self.bar is None:
            return self.name, f"{self.value:.4g} {self.unit}", "", "", "", self.note
        verdict = "good" if self.good else "MISSED"
        return (
            self.name,
            f"{self.value:.4g} {self.unit}",
            f"{self.bar:.4g} {self.unit}",
            f"{self.value / self.bar:.2f}",
            verdict,
            self.note,
        )


def table(figures: Sequence[Figure]) -> str:
    """Return the figures as an aligned table."""
    rows = [("figure", "measured", "bar", "ratio", "", "how"), *(figure.row() for figure in figures)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(lines)


def median_ms(work: Callable[[], object], *, repeats: int, warm_up: int = 3) -> float:
    """Return the median time of a piece of work [ms]."""
    for _ in range(warm_up):
        work()
    times: list[float] = []
    for _ in range(repeats):
        begun = time.perf_counter()
        work()
        times.append(1000.0 * (time.perf_counter() - begun))
    return median(times)
