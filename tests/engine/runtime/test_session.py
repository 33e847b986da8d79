"""The session: what commands and time do to it, with a stand-in for the dynamics and time as numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from engine.dynamics.state import StepStatus
from engine.geometry.rest_shape import MeshError
from engine.runtime import messages as m
from engine.runtime.pacing import STEP
from engine.runtime.session import Session
from engine.scenes.conditions import TimedForce, TimedPin, TimedPull
from engine.scenes.material import MATERIALS, Anchor
from tests.engine.runtime.point_mass import SCALE, Faults, loaded_point_mass

CORNER = (1.0, 0.0, 0.0)
LOAD = m.LoadMesh(Path("tetrahedron.obj"))


class Bench:
    """A session with its clock."""

    def __init__(self, faults: Faults | None = None, *, loaded: bool = True) -> None:
        """Open the stand-in, and let nothing take any time."""
        self.faults = faults or Faults()
        self.session = Session(lambda command: loaded_point_mass(self.faults, command.path), stopwatch=lambda: 0.0)
        self.events: list[m.Event] = []
        self.now = 50.0
        if loaded:
            self.do(LOAD)

    def do(self, *commands: m.Command) -> list[m.Event]:
        """Obey commands; return what they brought about."""
        got = [event for command in commands for event in self.session.handle(command)]
        self.events += got
        return got

    def run(self, steps: int) -> list[m.Frame]:
        """Let time pass for a number of steps; return the frames."""
        frames = []
        for _ in range(steps):
            frames.append(self.session.advance(self.now))
            self.events += self.session.take_events()
            self.now += STEP
        return [frame for frame in frames if frame is not None]

    @property
    def height(self) -> float:
        """Where the mass is along x [m]."""
        return float(self.session.stage.state.p[0])


def test_nothing_happens_without_an_object() -> None:
    """Before the first load no command does harm and no frame appears."""
    bench = Bench(loaded=False)
    assert bench.do(m.Play(), m.GrabPoint(0, CORNER), m.Reset(), m.StepOnce(), m.StopRecording()) == []
    assert bench.run(3) == [] and bench.session.patience(0.0) is None


def test_a_loaded_object_runs_at_once() -> None:
    """Loading tells the object, starts time, and the first frame shows it."""
    bench = Bench()
    loaded, changed = bench.events
    assert isinstance(loaded, m.Loaded) and loaded.generation == 1 and loaded.material is MATERIALS["elastic"]
    assert changed == m.StateChanged(1, True)
    frames = bench.run(60)
    assert [f.sequence for f in frames] == list(range(60))
    assert frames[-1].time == pytest.approx(1.0) and frames[-1].generation == 1
    assert frames[-1].sim_rate == pytest.approx(60.0) and frames[-1].real_time_factor == pytest.approx(1.0)
    assert not frames[-1].vertices.flags.writeable


def test_failed_load_keeps_the_object() -> None:
    """When a file cannot be read, its reason is told and the present object moves on in the same generation."""

    def load(command: m.LoadMesh) -> object:
        if command.path.name == "bad.obj":
            raise MeshError("bad.obj has no faces; export it with faces.")
        return loaded_point_mass()

    session = Session(load, stopwatch=lambda: 0.0)
    session.handle(LOAD)
    stage = session.stage
    bad = Path("bad.obj")
    assert session.handle(m.LoadMesh(bad)) == [m.LoadFailed("bad.obj has no faces; export it with faces.", bad)]
    assert session.stage is stage and session.generation == 1 and session.running


def test_a_grab_pulls_only_when_the_hand_moves() -> None:
    """Without motion of the hand nothing moves; with it the object follows, and its age grows with each step."""
    bench = Bench()
    bench.do(m.GrabPoint(3, CORNER))
    frames = bench.run(5)
    assert bench.height == 0.0 and np.allclose(frames[-1].grab.force_newtons, 0.0)
    assert bench.session.stage.hand.age == pytest.approx(5 * STEP)
    target = frames[-1].grab.target + np.array([0.2, 0.0, 0.0])
    bench.do(m.DragTo(tuple(target.tolist())))
    frame = bench.run(100)[-1]
    assert 0.02 < bench.height < 0.2
    assert frame.grab.point == pytest.approx(
        bench.session.stage.motion.point_position(bench.session.stage.state, bench.session.stage.hand.point), abs=1e-6
    )
    assert frame.grab.force_newtons[0] > 1.0 and frame.grab.target == pytest.approx(target)
    bench.do(m.Release())
    assert bench.run(200)[-1].grab is None
    assert bench.height == pytest.approx(0.0, abs=1e-3)


def test_a_drag_without_a_grab_and_a_wild_target_change_nothing() -> None:
    """A late drag after a release is ignored, and so is a target that is not finite."""
    bench = Bench()
    bench.do(m.DragTo((1.0, 1.0, 1.0)))
    assert bench.session.stage.hand is None
    bench.do(m.GrabPoint(0, CORNER), m.DragTo((float("nan"), 0.0, 0.0)))
    assert np.isfinite(bench.session.stage.hand.target).all()


def test_places_that_do_not_exist_are_refused_in_words() -> None:
    """A face beyond the mesh and weights that do not sum to one are told, and nothing is held."""
    bench = Bench()
    events = bench.do(m.GrabPoint(99, CORNER), m.PinPoint(0, (0.5, 0.0, 0.0)))
    assert [type(e) for e in events] == [m.Failed, m.Failed]
    assert "faces 0 to 3" in events[0].reason and bench.session.stage.hand is None


def test_pins_have_numbers_that_stay() -> None:
    """Freeing one pin does not change the numbers of the others."""
    bench = Bench()
    events = bench.do(m.PinPoint(0, CORNER), m.PinPoint(1, CORNER, (1.0, 2.0, 3.0)), m.PinPoint(2, CORNER), m.Unpin(0))
    assert [e.count for e in events] == [1, 2, 3, 2]
    pins = bench.run(1)[-1].pins
    assert pins.indices.tolist() == [1, 2] and pins.points[0] == pytest.approx([1.0, 2.0, 3.0])
    assert bench.do(m.Unpin(7)) == [] and bench.do(m.ClearPins()) == [m.PinsChanged(1, 0)]


def test_pause_step_and_play() -> None:
    """Held time stands still; each single step is one step; and time goes on from there without a jump."""
    bench = Bench()
    bench.run(10)
    assert bench.do(m.Pause(), m.Pause()) == [m.StateChanged(1, False)]
    # One frame shows that time is held; then there is nothing new.
    assert len(bench.run(30)) == 1
    assert bench.session.patience(bench.now) is None
    bench.do(m.StepOnce(), m.StepOnce(), m.StepOnce())
    assert bench.run(1)[0].time == pytest.approx(13 * STEP)
    bench.do(m.Play())
    assert bench.run(5)[-1].time == pytest.approx(18 * STEP)


def test_reset_begins_a_new_generation() -> None:
    """After a reset the object is at rest at time zero, held by nothing, and frames carry the new generation."""
    bench = Bench()
    bench.do(m.GrabPoint(0, CORNER), m.DragTo((3.0, 0.0, 0.0)), m.PinPoint(1, CORNER))
    bench.run(20)
    assert bench.do(m.Reset()) == [m.WasReset(2), m.PinsChanged(2, 0)]
    frame = bench.run(1)[-1]
    assert frame.generation == 2 and frame.time == pytest.approx(STEP) and frame.grab is None
    bench.do(m.Reset(height=0.3))
    assert bench.session.stage.state.p[2] == pytest.approx(0.8)


@pytest.mark.parametrize("status", [StepStatus.NOT_CONVERGED, StepStatus.NOT_FINITE, None])
def test_divergence_restores_the_last_good_state(status: StepStatus | None) -> None:
    """A step that fails whole and in halves: the last good state is back, finite, time is held, the reason is told."""
    bench = Bench(Faults(bad_from=10 * STEP, status=status))
    bench.do(m.GrabPoint(0, CORNER), m.DragTo((0.5, 0.0, 0.5)))
    bench.run(10)
    good = bench.session.stage.state
    bench.events.clear()
    frames = bench.run(5)
    diverged, changed = bench.events
    assert isinstance(diverged, m.Diverged) and diverged.reason.endswith(".")
    assert changed == m.StateChanged(1, False)
    assert not bench.session.running and bench.session.stage.hand is None
    assert np.array_equal(bench.session.stage.state.p, good.p) and bench.session.stage.state.time == good.time
    assert len(frames) == 1 and np.isfinite(frames[0].vertices).all()
    lengths = [h for time, _, h in bench.faults.asked if time >= 10 * STEP - 1e-9]
    assert lengths == pytest.approx([STEP, STEP / 2])
    bench.faults.bad_from = np.inf
    bench.do(m.Play())
    assert bench.run(3)[-1].time == pytest.approx(13 * STEP)


def test_two_half_steps_save_a_step() -> None:
    """A step that fails only when whole is taken in halves, and nobody is bothered."""
    bench = Bench(Faults(bad_from=10 * STEP, whole_only=True))
    bench.do(m.GrabPoint(0, CORNER))
    frames = bench.run(20)
    assert frames[-1].time == pytest.approx(20 * STEP) and bench.session.running
    assert not any(isinstance(e, m.Diverged) for e in bench.events)
    halves = [loads.grab.age for _, loads, h in bench.faults.asked if h < 0.9 * STEP]
    assert halves[1] - halves[0] == pytest.approx(STEP / 2)


def test_recording_keeps_every_step() -> None:
    """Between start and stop, n steps give n + 1 states with what acted, however few frames were drawn."""
    bench = Bench()
    bench.run(7)
    bench.do(
        m.StartRecording(), m.StartRecording(), m.GrabPoint(3, CORNER), m.DragTo((1.0, 0.0, 1.0)), m.PinPoint(0, CORNER)
    )
    assert bench.run(30)[-1].recording
    bench.do(m.Pause(), *[m.StepOnce()] * 13)
    (recorded,) = bench.do(m.StopRecording())
    clip = recorded.clip
    assert len(clip.times) == 44 and clip.duration == pytest.approx(43 * STEP)
    assert clip.times[0] == pytest.approx(7 * STEP)
    assert clip.inputs.face.tolist() == [-1] + [3] * 43
    assert np.isnan(clip.inputs.target[0]).all() and clip.inputs.target[1:] == pytest.approx(
        np.tile([1.0, 0.0, 1.0], (43, 1))
    )
    assert clip.inputs.pins.shape == (44, 1, 3)
    assert clip.vertices(43) == pytest.approx(bench.session.stage.motion.decode(bench.session.stage.state), abs=1e-6)
    assert bench.do(m.StopRecording()) == []


@pytest.mark.parametrize("end", [m.Reset(), LOAD, m.Shutdown()])
def test_recording_ends_with_the_run(end: m.Command) -> None:
    """A reset, another object or the end hand over what was recorded until then."""
    bench = Bench()
    bench.do(m.StartRecording())
    bench.run(5)
    events = bench.do(end)
    assert isinstance(events[0], m.Recorded) and events[0].generation == 1 and len(events[0].clip.times) == 6


def test_recording_survives_a_rigid_while() -> None:
    """Coordinates of a rigid material are none; in the clip they are zero, and the rows stay of one length."""
    bench = Bench()
    bench.do(m.StartRecording())
    bench.run(3)
    bench.do(m.SetMaterial(MATERIALS["rigid"]))
    assert len(bench.session.stage.state.q) == 0
    bench.run(3)
    bench.do(m.SetMaterial(MATERIALS["jelly"]))
    bench.run(3)
    (recorded,) = bench.do(m.StopRecording())
    assert recorded.clip.q.shape == (10, 2)


def test_material_change_keeps_state_and_hand() -> None:
    """The object goes on where it is, and the hand keeps place and age with a spring for the new mass."""
    bench = Bench()
    bench.do(m.GrabPoint(3, CORNER), m.DragTo((0.3, 0.0, 0.5)))
    bench.run(10)
    state, hand = bench.session.stage.state, bench.session.stage.hand
    bench.do(m.SetMaterial(MATERIALS["rubber"]))
    stage = bench.session.stage
    assert stage.state is state and stage.hand.stiffness == MATERIALS["rubber"].density
    assert stage.hand.age == hand.age and stage.hand.target == pytest.approx(hand.target)


def test_world_and_anchor() -> None:
    """Gravity and floor hold for the next object too; an object that lay about free is put back to be anchored."""
    bench = Bench()
    bench.do(m.SetGravity(1.62), m.SetFloor(False))
    assert (bench.session.stage.motion.gravity, bench.session.stage.motion.floor) == (1.62, False)
    bench.do(LOAD)
    assert (bench.session.stage.motion.gravity, bench.session.stage.motion.floor) == (1.62, False)
    bench.do(m.SetAnchor(Anchor.FREE), m.GrabPoint(3, CORNER), m.DragTo((2.0, 0.0, 0.5)))
    bench.run(30)
    assert abs(bench.height) > 0.1
    bench.do(m.SetAnchor(Anchor.FIXED))
    assert bench.height == 0.0 and bench.session.stage.state.time == pytest.approx(30 * STEP)
    assert [type(e) for e in bench.do(m.SetGravity(float("inf")), m.SetTimeScale(0.0))] == [m.Failed, m.Failed]


def test_slow_motion_shows_what_lies_between_steps() -> None:
    """At a tenth of the speed every picture is new and times grow evenly, while steps stay a sixtieth long."""
    bench = Bench()
    bench.do(m.GrabPoint(3, CORNER), m.DragTo((2.0, 0.0, 0.5)), m.SetTimeScale(0.1))
    frames = bench.run(100)
    times = np.array([f.time for f in frames])[20:]
    assert len(frames) == 100 and np.diff(times) == pytest.approx(np.full(len(times) - 1, 0.1 * STEP), abs=1e-4)
    assert {round(h / STEP, 6) for _, _, h in bench.faults.asked} == {1.0}
    places = np.array([f.vertices[0, 0] for f in frames])
    assert (np.diff(places) != 0.0)[12:].all()


def test_stepping_takes_a_share_of_the_display_period() -> None:
    """When steps are expensive a frame comes after each, and when they are cheap all that are due are taken first."""
    clock = {"time": 0.0}

    def stopwatch() -> float:
        clock["time"] += 0.003
        return clock["time"]

    session = Session(lambda command: loaded_point_mass(), stopwatch=stopwatch)
    session.handle(LOAD)
    session.advance(0.0)
    before = session.stage.state.time
    session.advance(0.09)
    taken = round((session.stage.state.time - before) / STEP)
    assert 1 <= taken <= 3


def test_timed_conditions_act_in_their_time() -> None:
    """A force, a pull and a pin of a scene act while they should, at the nearest place of the surface."""
    bench = Bench()
    rest = bench.session.stage.loaded.rest
    corner = rest.unit_to_file[:3, :3] @ rest.vertices[3] + rest.unit_to_file[:3, 3]
    point, scale = tuple(corner.tolist()), float(np.linalg.norm(rest.unit_to_file[:3, 0]))
    bench.do(
        m.Reset(),
        m.SetConditions(
            (
                TimedForce(point=point, direction=(2.0, 0.0, 0.0), newtons=7.0, start=2 * STEP, end=4 * STEP),
                TimedPull(point=point, offset=(scale, 0.0, 0.0), start=1 * STEP, end=11 * STEP),
                TimedPin(point=point, start=3 * STEP),
            )
        ),
    )
    bench.run(20)
    asked = [loads for _, loads, _ in bench.faults.asked]
    assert [len(loads.forces) for loads in asked[:6]] == [0, 0, 1, 1, 0, 0]
    assert asked[2].forces[0].force == pytest.approx([7.0, 0.0, 0.0])
    assert [loads.grab is not None for loads in asked] == [False] + [True] * 10 + [False] * 9
    hands = np.array([loads.grab.target[0] for loads in asked[1:11]])
    assert hands[-1] - (hands[0] - SCALE / 10) == pytest.approx(SCALE)
    assert np.diff(hands) == pytest.approx(np.full(9, SCALE / 10))
    assert [len(loads.pins) for loads in asked] == [0] * 3 + [1] * 17
    assert asked[5].pins[0].target == pytest.approx(asked[19].pins[0].target)
    assert asked[10].grab.age == pytest.approx(9 * STEP)


def test_looking_back_and_branching() -> None:
    """A kept moment is shown with time held, its frames say what can be reached, and going on replaces the future."""
    bench = Bench()
    bench.do(m.GrabPoint(0, CORNER), m.DragTo((0.8, 0.0, 0.5)))
    seen = {round(frame.time / STEP): frame.vertices for frame in bench.run(40)}
    bench.do(m.StartRecording())
    events = bench.do(m.Seek(20.2 * STEP))
    assert [type(event) for event in events] == [m.StateChanged, m.Recorded] and not bench.session.running
    (frame,) = bench.run(1)
    assert frame.time == pytest.approx(20 * STEP) and frame.kept == pytest.approx((0.0, 40 * STEP))
    assert np.array_equal(frame.vertices, seen[20]) and frame.grab is None
    # Only looking changes nothing: the later moment is still there.
    bench.do(m.Seek(35 * STEP))
    (frame,) = bench.run(1)
    assert np.array_equal(frame.vertices, seen[35])
    bench.do(m.Seek(20 * STEP), m.Play())
    frame = bench.run(10)[-1]
    assert frame.time == pytest.approx(30 * STEP) and frame.kept[1] == pytest.approx(30 * STEP)
    assert not np.allclose(frame.vertices, seen[30])
    assert bench.do(m.Seek(float("nan")))[0].reason
    bench.do(m.Seek(-5.0))
    assert bench.run(1)[0].time == 0.0
