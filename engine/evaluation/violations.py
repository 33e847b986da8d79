"""What a recorded motion does that the laws it claims to obey forbid.

Conventions. Size is the diagonal of the rest shape's bounding box. The floor is z = 0. An edge's stretch is the longer
of its two lengths, now and at rest, over the shorter, so 1 is none; the dataset's own bound on it is 3. A vertex is
buried where it lies inside a closed piece of the surface other than its own (winding number over a half); what is
buried at rest is taken off. A pin's drift is how far the pinned place of the surface gets from where it was when the
pin took hold. Energy is `EnergyLedger`'s.

Sources: conventions of `engine.datasets.curation`; winding numbers after Van Oosterom and Strackee, 1983.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Float64, Int

from engine.clips.clip import Clip
from engine.datasets.intersection import buried_share
from engine.dynamics.state import State
from engine.geometry.welding import edges_of
from engine.runtime.condition_loads import PlacedCondition, place_conditions
from engine.runtime.loading import LoadedObject
from engine.runtime.stage import Stage
from engine.scenes.conditions import Condition
from engine.scenes.material import Anchor

STRETCH_BOUND = 3.0
# Moments at which buried vertices are looked for, and how many vertices.
_LOOKS = 8
_PROBES = 400
# Shorter edges than this share of size have no stretch worth the name.
_SHORT = 1e-6


@dataclass(frozen=True, slots=True)
class Violations:
    """What a motion does that it must not; lengths are shares of size.

    Attributes:
        floor_depth: deepest place of any vertex below the floor; 0 without a floor.
        stretch: 95th percentile of the stretch of edges, over all edges and states.
        overstretched: largest share of a state's edges that are stretched or shortened threefold or more.
        buried: largest share of a state's vertices that lie inside another piece and do not at rest.
        pin_drift: largest; None without a pin.
        energy_gain: most that the energy rose above what was put in, over m g size; None where it is not known.
    """

    floor_depth: float
    stretch: float
    overstretched: float
    buried: float
    pin_drift: float | None
    energy_gain: float | None


def measure_violations(clip: Clip, loaded: LoadedObject, *, energy_gain: float | None = None) -> Violations:
    """Measure the states of a clip.

    Args:
        clip: the motion.
        loaded: the object that moved.
        energy_gain: what an `EnergyLedger` found.
    """
    rest, size = loaded.rest, loaded.rest.size * loaded.metres_per_unit
    faces = np.asarray(rest.faces)
    edges = edges_of(faces)
    length = _lengths(np.asarray(rest.vertices) * loaded.metres_per_unit, edges)
    edges, length = edges[length > _SHORT * size], length[length > _SHORT * size]
    depth, over, ratios = 0.0, 0.0, np.zeros((len(clip.times), len(edges)), np.float32)
    for i in range(len(clip.times)):
        vertices = clip.vertices(i)
        depth = max(depth, -float(vertices[:, 2].min()))
        ratio = np.maximum(_lengths(vertices, edges), 1e-12) / length
        ratios[i] = np.maximum(ratio, 1.0 / ratio)
        over = max(over, float((ratios[i] >= STRETCH_BOUND).mean()))
    return Violations(
        floor_depth=depth / size if clip.facts.floor else 0.0,
        stretch=float(np.percentile(ratios, 95.0)),
        overstretched=over,
        buried=_newly_buried(clip, faces, np.asarray(rest.component)),
        pin_drift=_pin_drift(clip, loaded, size),
        energy_gain=energy_gain,
    )


class EnergyLedger:
    """Keeps account of an object's energy and of the work that is done on it, step by step.

    Energy is kinetic, elastic and gravitational; work is that of timed forces and of the hand (trapezoidal along the
    way of the held point). The account begins after the first step. What an anchor or a pin holds is under forces whose
    energy the steps do not report, so there the gain is not known.
    """

    def __init__(self, loaded: LoadedObject, conditions: Sequence[Condition], *, mass: float) -> None:
        """Open an account; use it as ``watch`` of `engine.api.simulate`.

        Args:
            loaded: the object.
            conditions: that act on it.
            mass: of it [kg].
        """
        self._motion, self._scale = loaded.motion, mass * 9.81 * loaded.rest.size * loaded.metres_per_unit
        forces = [c for c in conditions if c.kind == "force"]
        self._forces = place_conditions(forces, loaded.rest, metres_per_unit=loaded.metres_per_unit)
        self._known = loaded.anchor is Anchor.FREE and all(c.kind != "pin" for c in conditions)
        self._before: State | None = None
        self._hand: tuple[Float64[np.ndarray, "3"], Float64[np.ndarray, "3"]] | None = None
        self._beginning = self._work = self._gain = 0.0

    @property
    def gain(self) -> float | None:
        """Most that the energy rose above the work, as a share of m g size; None where it is not known."""
        return self._gain / self._scale if self._known else None

    def __call__(self, stage: Stage) -> None:
        """Enter a step."""
        report, state = stage.report, stage.state
        if report is None:
            return
        energy = report.kinetic + report.potential
        if self._before is None:
            self._beginning = energy
        else:
            self._work += sum(self._force_work(item, self._before, state) for item in self._forces)
        if report.grab_point is not None and report.grab_force is not None:
            if self._hand is not None:
                point, force = self._hand
                self._work += 0.5 * float((force + report.grab_force) @ (report.grab_point - point))
            self._hand = (report.grab_point, report.grab_force)
        else:
            self._hand = None
        self._before = state
        self._gain = max(self._gain, energy - self._beginning - self._work)

    def _force_work(self, item: PlacedCondition, before: State, after: State) -> float:
        if not item.condition.active(before.time):
            return 0.0
        way = self._motion.point_position(after, item.point) - self._motion.point_position(before, item.point)
        return float(item.vector @ way)


def _lengths(vertices: Float[np.ndarray, "n 3"], edges: Int[np.ndarray, "e 2"]) -> Float64[np.ndarray, " e"]:
    return np.linalg.norm(vertices[edges[:, 0]] - vertices[edges[:, 1]], axis=-1).astype(np.float64)


def _newly_buried(clip: Clip, faces: Int[np.ndarray, "m 3"], component: Int[np.ndarray, " n"]) -> float:
    if int(component.max()) == 0:
        return 0.0
    count = len(component)
    probes = np.unique(np.linspace(0, count - 1, min(count, _PROBES)).astype(np.int64))
    at_rest = buried_share(np.asarray(clip.rest_vertices, np.float64), faces, component, probes)
    moments = np.unique(np.linspace(0, len(clip.times) - 1, _LOOKS).astype(int))
    shares = [buried_share(clip.vertices(int(i)).astype(np.float64), faces, component, probes) for i in moments]
    return max(0.0, max(shares) - at_rest)


def _pin_drift(clip: Clip, loaded: LoadedObject, size: float) -> float | None:
    """Return how far pinned places get from where they were when their pins took hold."""
    pins = [c for c in clip.facts.conditions if c.kind == "pin"]
    if not pins:
        return None
    worst = 0.0
    for item in place_conditions(pins, loaded.rest, metres_per_unit=loaded.metres_per_unit):
        held = [i for i, time in enumerate(clip.times) if item.condition.active(float(time))]
        corners = np.asarray(loaded.rest.faces)[item.point.face]
        places = [np.asarray(item.point.barycentric) @ clip.vertices(i)[corners].astype(np.float64) for i in held]
        worst = max([worst, *(float(np.linalg.norm(place - places[0])) / size for place in places)])
    return worst
