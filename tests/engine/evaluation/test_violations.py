"""What a motion must not do, measured on motions whose violations are known."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
import trimesh

from engine.dynamics.state import StepReport, StepStatus
from engine.evaluation.violations import EnergyLedger, measure_violations
from engine.geometry.rest_shape import rest_shape_from_arrays
from engine.runtime.stage import Stage
from engine.scenes.conditions import TimedForce, TimedPin
from engine.scenes.material import Anchor
from tests.engine.clips.conftest import SLIDE, expected, make_clip
from tests.engine.runtime.point_mass import loaded_point_mass

if TYPE_CHECKING:
    from engine.clips.clip import Clip
    from engine.runtime.loading import LoadedObject


def object_of(clip: Clip) -> LoadedObject:
    """Return an object with the clip's mesh."""
    rest = rest_shape_from_arrays(np.array(clip.rest_vertices), np.array(clip.rest_faces), name="box")
    return replace(loaded_point_mass(), rest=rest, metres_per_unit=clip.metres_per_unit)


def test_floor_and_stretch_of_a_sheared_box() -> None:
    """A box whose upper half slides stretches as its definition says; lowered, it is in the floor by as much."""
    clip = make_clip(steps=30)
    found = measure_violations(clip, object_of(clip))
    size = 0.5 * np.sqrt(4.0 + 1.0 + 1.0)
    assert found.floor_depth == pytest.approx(0.0, abs=1e-6)
    edges = trimesh.Trimesh(clip.rest_vertices, clip.rest_faces).edges_unique
    lengths = np.stack([np.linalg.norm(np.diff(expected(clip, t)[edges], axis=1)[:, 0], axis=-1) for t in clip.times])
    ratios = np.maximum(lengths / lengths[0], lengths[0] / lengths)
    assert found.stretch == pytest.approx(np.percentile(ratios, 95.0), abs=1e-5)
    assert 1.0 < found.stretch < np.hypot(2.0 + 0.5 * SLIDE, 1.0) / np.hypot(2.0, 1.0), "the longest diagonal's"
    assert (found.overstretched, found.buried, found.pin_drift, found.energy_gain) == (0.0, 0.0, None, None)
    lowered = replace(clip, p=np.array(clip.p) - np.array((0.0, 0.0, 0.1)))
    assert measure_violations(lowered, object_of(clip)).floor_depth == pytest.approx(0.1 / size, rel=1e-4)
    no_floor = replace(lowered, facts=lowered.facts.model_copy(update={"floor": False}))
    assert measure_violations(no_floor, object_of(clip)).floor_depth == 0.0


def test_edges_stretched_threefold_are_counted() -> None:
    """Slid by three heights, the four uprights and the diagonals between the halves are beyond the bound."""
    clip = make_clip(steps=1)
    handles = np.array(clip.handles)
    handles[1, 1, 5] = 0.5 * 10.0
    found = measure_violations(replace(clip, handles=handles), object_of(clip))
    upright = [
        abs(a - b)[2] > 0.5
        for a, b in clip.rest_vertices[trimesh.Trimesh(clip.rest_vertices, clip.rest_faces).edges_unique]
    ]
    assert found.overstretched == pytest.approx(np.mean(upright))


def test_a_piece_that_moves_into_another_is_buried() -> None:
    """A small box that slides into a large one is buried, and its vertices are the share that is found."""
    large = trimesh.creation.box((2.0, 2.0, 2.0), transform=trimesh.transformations.translation_matrix((0, 0, -1.1)))
    small = trimesh.creation.box((0.4, 0.4, 0.4), transform=trimesh.transformations.translation_matrix((-2.0, 0, 0.5)))
    both = trimesh.util.concatenate([large, small])
    assert isinstance(both, trimesh.Trimesh)
    clip = make_clip(steps=1, box=both)
    handles = np.array(clip.handles)
    # The upper handle carries the small box to the middle of the large one.
    handles[1, 1, 5:] = 0.5 * np.array((2.0, 0.0, -1.6))
    found = measure_violations(replace(clip, handles=handles), object_of(clip))
    assert found.buried == pytest.approx(0.5)
    assert measure_violations(clip, object_of(clip)).buried == 0.0


def test_drift_of_a_pin() -> None:
    """A pinned corner that the motion carries along has drifted by its way since the pin took hold."""
    clip = make_clip(steps=60)
    corner = np.array(clip.rest_vertices)[0]
    loaded = object_of(clip)
    to_file = np.asarray(loaded.rest.unit_to_file)
    pin = TimedPin(point=tuple(to_file[:3, :3] @ corner + to_file[:3, 3]), start=0.5)
    held = replace(clip, facts=clip.facts.model_copy(update={"conditions": (pin,)}))
    found = measure_violations(held, loaded).pin_drift
    ways = [np.linalg.norm(clip.vertices(i)[0] - clip.vertices(30)[0]) for i in range(30, 61)]
    assert found == pytest.approx(max(ways) / (0.5 * loaded.rest.size), rel=1e-4)


def test_energy_above_the_work_is_a_gain() -> None:
    """A force of 3 N along 0.1 m puts in 0.3 J a step; what the energy rises beyond that, its highest, is the gain."""
    loaded = replace(loaded_point_mass(), anchor=Anchor.FREE)
    force = TimedForce(point=(0.0, 0.0, 0.0), direction=(1.0, 0.0, 0.0), newtons=3.0, end=0.25)
    stage, ledger = Stage(loaded), EnergyLedger(loaded, (force,), mass=2.0)
    state = loaded.motion.rest_state()
    # The force ends after the third entry: the work is 0.3, 0.6, 0.6 J and the rise 0.2, 1.0, 0.9 J.
    for number, energy in enumerate((5.0, 5.2, 6.0, 5.9)):
        moved = replace(state, time=0.15 * number, p=state.p + np.array((0.1 * number, 0.0, 0.0)))
        report = StepReport(StepStatus.CONVERGED, 1, 0.0, 1.0, 1.5, energy - 2.5)
        stage.report, stage.state = report, moved
        ledger(stage)
    assert ledger.gain == pytest.approx(0.4 / (2.0 * 9.81 * 0.5 * loaded.rest.size))


def test_work_of_the_hand_is_the_mean_force_along_its_way() -> None:
    """A spring that grows from 0 to 4 N over half a metre does 1 J, and an energy of 1 J more is no gain."""
    loaded = replace(loaded_point_mass(), anchor=Anchor.FREE)
    stage, ledger = Stage(loaded), EnergyLedger(loaded, (), mass=1.0)
    for number in range(3):
        report = StepReport(
            StepStatus.CONVERGED,
            1,
            0.0,
            kinetic=0.25 * number**2,
            elastic=0.0,
            gravitational=0.0,
            grab_point=np.array((0.25 * number, 0.0, 0.0)),
            grab_force=np.array((2.0 * number, 0.0, 0.0)),
        )
        stage.report = report
        ledger(stage)
    assert ledger.gain == pytest.approx(0.0, abs=1e-12)


def test_energy_of_what_is_held_is_not_known() -> None:
    """Under an anchor or a pin the account says that it does not know."""
    pin = TimedPin(point=(0.0, 0.0, 0.0))
    assert EnergyLedger(loaded_point_mass(), (), mass=1.0).gain is None
    assert EnergyLedger(replace(loaded_point_mass(), anchor=Anchor.FREE), (pin,), mass=1.0).gain is None
