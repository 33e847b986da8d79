"""The object on the stage: its laws, its present state, and all that holds or pushes it. No clock, no messages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float64

from engine.dynamics.state import Grab, Loads, Pin, State, StepReport, StepStatus, SurfacePoint
from engine.runtime.condition_loads import Held, PlacedCondition, place_conditions, timed_loads
from engine.runtime.history import History
from engine.runtime.loading import LoadedObject, Motion, material_for
from engine.scenes.conditions import Condition
from engine.scenes.material import Anchor, Material

_FAILURES = (StepStatus.NOT_CONVERGED, StepStatus.NOT_FINITE)


class UnknownPlace(ValueError):
    """A surface point that the object does not have."""


@dataclass(frozen=True, slots=True, eq=False)
class StepResult:
    """One step of the stage.

    Attributes:
        state: at its end; the state before it if it failed.
        loads: what acted.
        report: of the dynamics.
        failed: whether neither the step nor its two halves found a solution.
    """

    state: State
    loads: Loads
    report: StepReport
    failed: bool


class Stage:
    """One object in motion.

    Attributes:
        loaded: the object as it was loaded.
        motion: its present laws, which change with material, anchor and world.
        material, anchor, gravity, floor, conditions: what the laws were made from.
        height: above the floor, from where it begins [m].
        state: the last good state.
        history: states of the last minute.
        report: of the last step; None before the first.
        hand: the user's grab, or None.
        pins: the user's pins by their numbers.
    """

    def __init__(self, loaded: LoadedObject, *, gravity: float = 9.81, floor: bool = True, height: float = 0.0) -> None:
        """Put an object at rest on the stage."""
        self.loaded = loaded
        self.material, self.anchor = loaded.material, loaded.anchor
        self.gravity, self.floor, self.height = gravity, floor, height
        self.conditions: tuple[Condition, ...] = ()
        self.motion: Motion = loaded.motion
        if (gravity, floor) != (9.81, True):
            self.motion = self.motion.with_world(gravity=gravity, floor=floor)
        self.history = History()
        self._placed: tuple[PlacedCondition, ...] = ()
        self._begin()

    def _begin(self) -> None:
        self.state: State = self.motion.rest_state(height=self.height)
        self.history.clear()
        self.history.append(self.state)
        self.report: StepReport | None = None
        self.hand: Grab | None = None
        self.pins: dict[int, Pin] = {}
        self._next_pin = 0
        self._held: Held = {}

    def reset(self, *, height: float | None = None) -> None:
        """Put the object back at rest, ``height`` [m] above the floor, held by nothing but its anchor."""
        self.height = self.height if height is None else height
        self._begin()

    def seek(self, moment: float) -> None:
        """Go to the kept state at or before a moment [s]; pins stay, the hand lets go."""
        self.state = _fitting(self.history.at(moment), self.motion)
        self.report, self.hand, self._held = None, None, {}

    # -- what the object is ------------------------------------------------------------------------------------

    def set_material(self, material: Material) -> None:
        """Make the object of another material; it goes on from its present shape and speed."""
        self.material = material_for(material, self.loaded.rest)
        self._obey(self.motion.with_material(self.material))

    def set_anchor(self, anchor: Anchor) -> None:
        """Hold the object in another way.

        An object that lay about free is put back first: an anchor holds it where it rests, and would throw it there.
        """
        was_free, self.anchor = self.anchor is Anchor.FREE, anchor
        self._obey(self.motion.with_anchor(anchor))
        if was_free and anchor is not Anchor.FREE:
            rest = self.motion.rest_state(height=self.height)
            self.state = replace(rest, time=self.state.time)
            self.hand = None

    def set_world(self, *, gravity: float | None = None, floor: bool | None = None) -> None:
        """Change gravity [m/s^2] or the floor."""
        self.gravity = self.gravity if gravity is None else gravity
        self.floor = self.floor if floor is None else floor
        self._obey(self.motion.with_world(gravity=self.gravity, floor=self.floor))

    def set_conditions(self, conditions: Sequence[Condition]) -> None:
        """Replace the timed conditions."""
        self.conditions = tuple(conditions)
        rest, scale = self.loaded.rest, self.loaded.metres_per_unit
        self._placed = place_conditions(self.conditions, rest, metres_per_unit=scale)
        self._held = {}

    def _obey(self, motion: Motion) -> None:
        """Go on under other laws, with a hand that fits the mass it now feels."""
        self.motion = motion
        self.state = _fitting(self.state, motion)
        if self.hand is not None:
            grab = motion.begin_grab(self.state, self.hand.point, pins=self._pins_only)
            self.hand = replace(grab, target=self.hand.target, age=self.hand.age)

    # -- what the user holds -----------------------------------------------------------------------------------

    def grab(self, point: SurfacePoint) -> None:
        """Take hold of a point."""
        self._check(point)
        self.hand = self.motion.begin_grab(self.state, point, pins=self._pins_only)

    def drag_to(self, target: Float64[np.ndarray, " 3"]) -> bool:
        """Move the hand, world [m]; return whether there is one."""
        if self.hand is None or not np.isfinite(target).all():
            return False
        self.hand = replace(self.hand, target=target)
        return True

    def release(self) -> None:
        """Let go."""
        self.hand = None

    def pin(self, point: SurfacePoint, target: Float64[np.ndarray, " 3"] | None) -> None:
        """Hold a point at a place, world [m]; None: where it is."""
        self._check(point)
        place = self.motion.point_position(self.state, point) if target is None else target
        if not np.isfinite(place).all():
            raise UnknownPlace(f"a pin needs a finite place; it was told {place.tolist()}")
        self.pins[self._next_pin] = Pin(point, place)
        self._next_pin += 1

    @property
    def _pins_only(self) -> Loads:
        return Loads(pins=tuple(self.pins.values()))

    def _check(self, point: SurfacePoint) -> None:
        count = len(self.loaded.rest.faces)
        if not 0 <= point.face < count:
            raise UnknownPlace(f"the object has faces 0 to {count - 1}; face {point.face} was asked for")
        if not np.isfinite(point.barycentric).all() or abs(sum(point.barycentric) - 1.0) > 1e-3:
            raise UnknownPlace(f"barycentric weights have to sum to 1; they were {point.barycentric}")

    # -- time --------------------------------------------------------------------------------------------------

    def step(self, h: float) -> StepResult:
        """Go on by ``h`` seconds; a step that fails is tried once more as two half steps.

        After a failure the last good state stands, without the integrator's memory, and the hand has let go: the same
        pull would fail again.
        """
        before = self.state
        loads, held = self._loads(h)
        state, report = self.motion.step(before, loads, h)
        if _bad(state, report):
            state, report = self._halves(before, loads, h)
        if _bad(state, report):
            self.state, self.hand, self.report = replace(before, trail=None), None, None
            return StepResult(self.state, loads, report, failed=True)
        self.state, self.report, self._held = state, report, held
        # After a look back, going on replaces the future that was.
        self.history.cut_after(before.time)
        self.history.append(state)
        if self.hand is not None:
            self.hand = replace(self.hand, age=self.hand.age + h)
        return StepResult(state, loads, report, failed=False)

    def _halves(self, before: State, loads: Loads, h: float) -> tuple[State, StepReport]:
        state, report = self.motion.step(before, loads, 0.5 * h)
        if _bad(state, report):
            return state, report
        if loads.grab is not None:
            loads = replace(loads, grab=replace(loads.grab, age=loads.grab.age + 0.5 * h))
        return self.motion.step(state, loads, 0.5 * h)

    def _loads(self, h: float) -> tuple[Loads, Held]:
        """Join what the user holds and what the conditions do; the user's hand goes before a condition's."""
        timed, held = timed_loads(self._placed, self._held, motion=self.motion, state=self.state, h=h)
        pins = (*self.pins.values(), *timed.pins)
        return Loads(self.hand or timed.grab, pins, timed.forces), held


def _fitting(state: State, motion: Motion) -> State:
    """Return the state under laws that may have another number of coordinates.

    A rigid material has none; the other way, the object starts undeformed.
    """
    count = len(motion.rest_state().q)
    if count == len(state.q):
        return state
    none = np.zeros(count)
    return replace(state, q=none, qd=none, stuck=none, trail=None)


def _bad(state: State, report: StepReport) -> bool:
    """Return whether a step failed, by its own word or by what it brought."""
    numbers = (state.p, state.R, state.q, state.v, state.w, state.qd)
    return report.status in _FAILURES or not all(np.isfinite(a).all() for a in numbers)
