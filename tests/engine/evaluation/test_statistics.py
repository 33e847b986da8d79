"""Intervals over objects, and what is compared in pairs."""

from __future__ import annotations

import numpy as np
import pytest

from engine.evaluation.comparison import compare, error_over
from engine.evaluation.programs import Result
from engine.evaluation.statistics import ObjectFigures, mean_of, merged, root_ratio, summarise


def figures(key: str, *, error: float = 0.01, chamfer: float = 0.1, iou: float = 0.5) -> ObjectFigures:
    """Return the figures of one object whose motion has mean square 0.04."""
    means = {"chamfer": chamfer, "iou": iou}
    return ObjectFigures(key, "articulated/door", {"error": (error, 0.04)}, means)


def test_a_constant_figure_has_no_width() -> None:
    """Objects that are all alike give their own value and an interval of it alone."""
    found = mean_of(np.full(7, 0.25), seed=0)
    assert (found.value, found.low, found.high, found.objects) == (0.25, 0.25, 0.25, 7)


def test_the_interval_of_a_mean_is_that_of_its_standard_error() -> None:
    """400 normal values: 1.96 standard errors to either side, within a tenth; the same seed gives the same ends."""
    values = np.random.default_rng(0).normal(size=400)
    found = mean_of(values, seed=3)
    half = 1.96 * values.std() / 20.0
    assert found.high - found.value == pytest.approx(half, rel=0.1)
    assert found.value - found.low == pytest.approx(half, rel=0.1)
    assert found == mean_of(values, seed=3)


def test_errors_are_summed_before_they_are_divided() -> None:
    """An object that moves ten times as far counts for its motion, and what stands still is not divided by nothing."""
    pairs = np.array([[0.01, 1.0], [0.01, 0.0001]])
    assert root_ratio(pairs, seed=0).value == pytest.approx(np.sqrt(0.02 / 1.0001))
    still = np.array([[1e-6, 1e-9], [3e-6, 1e-9]])
    assert root_ratio(still, seed=0).value == pytest.approx(np.sqrt(2e-6))


def test_groups_are_kinds_or_families_and_figures_that_are_missing_are_left_out() -> None:
    """Two families of one kind are one group by kind and two by family; a figure that is not a number has no place."""
    one, two = figures("a"), figures("b")
    two.family = "articulated/drawer"
    two.means["iou"] = float("nan")
    by_kind = summarise([one, two])
    assert list(by_kind) == ["articulated"]
    assert by_kind["articulated"]["error"].value == pytest.approx(0.5)
    assert by_kind["articulated"]["iou"].objects == 1
    assert list(summarise([one, two], by_family=True)) == ["articulated/door", "articulated/drawer"]


def test_measurements_of_one_object_are_averaged() -> None:
    """Two rest shapes of one object make one object."""
    both = merged([figures("a", error=0.01, iou=0.4), figures("a", error=0.03, iou=0.6)])
    assert both.ratios["error"] == pytest.approx((0.02, 0.04))
    assert both.means["iou"] == pytest.approx(0.5)


def test_the_best_rival_is_found_without_those_that_have_seen_the_states() -> None:
    """Half the Chamfer of the better rival, and half of its gap in IoU closed; the one that cheats is left out."""
    keys = "abcdef"
    ours = Result("ik", "neurok", objects=[figures(k, chamfer=0.05, iou=0.8, error=0.01) for k in keys])
    weak = Result("ik", "rest", objects=[figures(k, chamfer=0.4, iou=0.1) for k in keys])
    better = Result("ik", "eigenmodes", objects=[figures(k, chamfer=0.1, iou=0.6, error=0.04) for k in keys])
    seen = Result("ik", "pca", True, objects=[figures(k, chamfer=0.001, iou=0.99) for k in keys])
    found = {c.figure: c for c in compare(ours, [weak, better, seen])}
    assert {c.rival for c in found.values()} == {"eigenmodes"}
    assert found["Chamfer over best rival's"].interval.value == pytest.approx(0.5)
    assert found["gap in IoU closed"].interval.value == pytest.approx(0.5)
    assert found["error over eigenmodes'"].interval.value == pytest.approx(0.5)


def test_an_ablation_is_paired_with_the_full_model_object_by_object() -> None:
    """Twice the error on every object, easy or hard: a ratio of two without any width."""
    hard = dict(zip("abcd", (0.01, 0.02, 0.04, 0.4), strict=True))
    full = Result("ik", "full", objects=[figures(k, error=e) for k, e in hard.items()])
    worse = Result("ik", "without", objects=[figures(k, error=4 * e) for k, e in hard.items()])
    found = error_over(worse, full, "articulated")
    assert found is not None
    assert (found.value, found.low, found.high) == pytest.approx((2.0, 2.0, 2.0))
    assert error_over(worse, full, "cloth") is None
