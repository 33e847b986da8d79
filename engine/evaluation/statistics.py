"""Figures of many objects, by kind and by family, each with its 95 % interval.

The objects are what was sampled, not their states: an interval comes from drawing the objects of a group anew, with
replacement, two thousand times (the percentile bootstrap of Efron 1979), seeded. A group of one object has no interval.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float64, Int

RESAMPLES = 2000
# Mean squared motion below which a group stands still: that of rounding in half precision is 3e-8 [unit frame squared].
_STILL = 1e-6


@dataclass(slots=True)
class ObjectFigures:
    """What was measured on one object, averaged over its states.

    Attributes:
        key, family: of the object's record.
        ratios: pairs of mean squares; over objects both are summed, divided, and the root is taken.
        means: plain figures, averaged over objects; those that are not numbers are left out.
    """

    key: str
    family: str
    ratios: dict[str, tuple[float, float]] = field(default_factory=dict)
    means: dict[str, float] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """The kind of motion."""
        return self.family.split("/")[0]

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, as kept in JSON."""
        ratios = {name: list(pair) for name, pair in self.ratios.items()}
        means = {name: value for name, value in self.means.items() if np.isfinite(value)}
        return {"key": self.key, "family": self.family, "ratios": ratios, "means": means}

    @staticmethod
    def from_dict(plain: dict[str, Any]) -> ObjectFigures:
        """Return the figures that ``as_dict`` gave."""
        ratios = {str(name): (float(pair[0]), float(pair[1])) for name, pair in plain["ratios"].items()}
        means = {str(name): float(value) for name, value in plain["means"].items()}
        return ObjectFigures(str(plain["key"]), str(plain["family"]), ratios, means)


def merged(rows: Sequence[ObjectFigures]) -> ObjectFigures:
    """Return the mean of several measurements of one object."""
    figures = ObjectFigures(rows[0].key, rows[0].family)
    for name in _names(rows, "ratios"):
        pairs = np.array([row.ratios[name] for row in rows if name in row.ratios])
        figures.ratios[name] = (float(pairs[:, 0].mean()), float(pairs[:, 1].mean()))
    for name in _names(rows, "means"):
        figures.means[name] = float(np.mean([row.means[name] for row in rows if name in row.means]))
    return figures


@dataclass(frozen=True, slots=True)
class Interval:
    """A figure of a group of objects: its value, the ends of its 95 % interval, and how many objects gave it."""

    value: float
    low: float
    high: float
    objects: int

    def __str__(self) -> str:
        """Return the figure as in the tables: value and interval."""
        if not np.isfinite(self.value):
            return "-"
        if self.objects < 2:
            return f"{_short(self.value)} (one object)"
        return f"{_short(self.value)} [{_short(self.low)}, {_short(self.high)}]"


def _short(value: float) -> str:
    return f"{value:.3f}" if abs(value) >= 0.0995 else f"{value:.3g}"


def summarise(
    objects: Sequence[ObjectFigures], *, seed: int = 0, by_family: bool = False
) -> dict[str, dict[str, Interval]]:
    """Return, for each group and each figure, its value and interval.

    Args:
        objects: of all groups.
        seed: of the bootstrap.
        by_family: group by family instead of by kind.
    """
    groups: dict[str, list[ObjectFigures]] = {}
    for each in objects:
        groups.setdefault(each.family if by_family else each.kind, []).append(each)
    found: dict[str, dict[str, Interval]] = {}
    for group, members in sorted(groups.items()):
        figures: dict[str, Interval] = {}
        for name in _names(members, "ratios"):
            pairs = np.array([each.ratios[name] for each in members if name in each.ratios])
            figures[name] = root_ratio(pairs, seed=_seed(seed, group, name))
        for name in _names(members, "means"):
            values = np.array([each.means[name] for each in members if name in each.means])
            values = values[np.isfinite(values)]
            if len(values):
                figures[name] = mean_of(values, seed=_seed(seed, group, name))
        found[group] = figures
    return found


def root_ratio(pairs: Float64[np.ndarray, "o 2"], *, seed: int) -> Interval:
    """Return ``sqrt(sum a / sum b)`` of the pairs; where nothing moves, ``sqrt(mean a)`` [unit frame]."""
    still = pairs[:, 1].mean() < _STILL

    def figure(chosen: Float64[np.ndarray, "r o 2"]) -> Float64[np.ndarray, " r"]:
        upper, lower = chosen[..., 0].mean(-1), chosen[..., 1].mean(-1)
        return np.sqrt(upper if still else upper / np.maximum(lower, _STILL))

    drawn = figure(pairs[_draws(len(pairs), seed)])
    return _interval(float(figure(pairs[None])[0]), drawn, len(pairs))


def mean_of(values: Float64[np.ndarray, " o"], *, seed: int) -> Interval:
    """Return the mean of the values."""
    return _interval(float(values.mean()), values[_draws(len(values), seed)].mean(-1), len(values))


def _interval(value: float, drawn: Float64[np.ndarray, " r"], count: int) -> Interval:
    low, high = np.quantile(drawn, (0.025, 0.975))
    return Interval(value, float(low), float(high), count)


def _draws(count: int, seed: int) -> Int[np.ndarray, "r o"]:
    return np.random.default_rng(seed).integers(count, size=(RESAMPLES, count))


def _seed(seed: int, *words: str) -> int:
    # A figure's interval does not depend on which other figures are there.
    return zlib.crc32("/".join((str(seed), *words)).encode())


def _names(members: Sequence[ObjectFigures], of: str) -> list[str]:
    return list(dict.fromkeys(name for each in members for name in getattr(each, of)))
