"""One method against the best of the others on the same objects, with paired intervals.

The best competitor of a kind is the one whose figure is best on average there, among the methods that have not seen the
object's states. Objects are drawn anew in pairs, so that what is hard for all does not widen the interval.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from engine.evaluation.programs import Result
from engine.evaluation.statistics import RESAMPLES, Interval, ObjectFigures

EIGENMODES = "eigenmodes"


@dataclass(frozen=True, slots=True)
class Comparison:
    """How one method does beside another on one kind.

    Attributes:
        kind: of motion.
        figure: what is compared, in words.
        rival: the other method.
        interval: the figure.
    """

    kind: str
    figure: str
    rival: str
    interval: Interval


def compare(ours: Result, others: Sequence[Result], *, seed: int = 0) -> list[Comparison]:
    """Return, by kind, how one method of inverse kinematics does beside the others.

    Returns:
        Chamfer over the best rival's, the share of the best rival's gap in IoU to one that is closed, and the RMS error
        over that of eigenmodes.
    """
    rivals = [result for result in others if not result.sees_states and result.method != ours.method]
    found: list[Comparison] = []
    for kind in sorted({each.kind for each in ours.objects}):
        mine = {each.key: each for each in ours.objects if each.kind == kind}
        theirs = {r.method: {e.key: e for e in r.objects if e.kind == kind} for r in rivals}
        for name, words in (("chamfer", "Chamfer over best rival's"), ("iou", "gap in IoU closed")):
            rows = {method: _paired(mine, each, name) for method, each in theirs.items()}
            rows = {method: pairs for method, pairs in rows.items() if len(pairs)}
            if rows:
                sign = 1.0 if name == "chamfer" else -1.0
                best = min(rows, key=lambda method: sign * float(rows[method][:, 1].mean()))
                interval = _bootstrap(rows[best], gap_closed=name == "iou", seed=seed, words=f"{kind}/{name}")
                found.append(Comparison(kind, words, best, interval))
        if (modes := theirs.get(EIGENMODES)) and (both := [key for key in mine if key in modes]):
            pairs = np.array([(mine[k].ratios["error"][0], modes[k].ratios["error"][0]) for k in both])
            interval = _bootstrap(pairs, gap_closed=False, root=True, seed=seed, words=f"{kind}/modes")
            found.append(Comparison(kind, "error over eigenmodes'", EIGENMODES, interval))
    return found


def error_over(mine: Result, reference: Result, kind: str, *, seed: int = 0) -> Interval | None:
    """Return the RMS error of one result over that of another on the same objects; None where they share none."""
    others = {each.key: each for each in reference.objects}
    shared = [each for each in mine.objects if each.key in others and each.kind == kind]
    rows = [(each.ratios["error"][0], others[each.key].ratios["error"][0]) for each in shared]
    if not rows:
        return None
    words = f"{kind}/{mine.evaluation}/{mine.method}"
    return _bootstrap(np.array(rows), gap_closed=False, root=True, seed=seed, words=words)


def _paired(mine: dict[str, ObjectFigures], theirs: dict[str, ObjectFigures], name: str) -> Float64[np.ndarray, "o 2"]:
    """Return both figures of the objects that have them with both methods."""
    both = [key for key in mine if key in theirs and name in mine[key].means and name in theirs[key].means]
    return np.array([(mine[key].means[name], theirs[key].means[name]) for key in both], np.float64).reshape(-1, 2)


def _bootstrap(
    pairs: Float64[np.ndarray, "o 2"], *, gap_closed: bool, seed: int, words: str, root: bool = False
) -> Interval:
    def figure(means: Float64[np.ndarray, "r 2"]) -> Float64[np.ndarray, " r"]:
        mine, theirs = means[..., 0], means[..., 1]
        if gap_closed:
            return (mine - theirs) / np.maximum(1.0 - theirs, 1e-12)
        ratio = mine / np.maximum(theirs, 1e-12)
        return np.sqrt(ratio) if root else ratio

    rng = np.random.default_rng(zlib.crc32(f"{seed}/{words}".encode()))
    drawn = figure(pairs[rng.integers(len(pairs), size=(RESAMPLES, len(pairs)))].mean(1))
    low, high = np.quantile(drawn, (0.025, 0.975))
    return Interval(float(figure(pairs.mean(0, keepdims=True))[0]), float(low), float(high), len(pairs))
