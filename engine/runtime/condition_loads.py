"""From a scene's timed conditions to the loads of one step. Pure: what has been taken hold of goes in and comes out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import trimesh
from jaxtyping import Float64

from engine.dynamics.state import Grab, Loads, Pin, PointForce, State, SurfacePoint
from engine.geometry.rest_shape import RestShape
from engine.runtime.loading import Motion
from engine.scenes.conditions import Condition, TimedForce, TimedPin, TimedPull


@dataclass(frozen=True, slots=True, eq=False)
class PlacedCondition:
    """A condition on a rest shape.

    Attributes:
        condition: as the scene states it.
        point: the surface point nearest to its point.
        vector: the force [N], or how far the hand moves [m]; world axes of an object that is not turned; zero for pins.
    """

    condition: Condition
    point: SurfacePoint
    vector: Float64[np.ndarray, " 3"]


Held = Mapping[int, Grab | Pin]
"""By a condition's place in the sequence: what its hand or pin took hold of when it began."""


def place_conditions(
    conditions: Sequence[Condition], rest: RestShape, *, metres_per_unit: float
) -> tuple[PlacedCondition, ...]:
    """Find for each condition its place on the surface, and turn it from the file's frame to the world's."""
    file_to_unit = np.linalg.inv(np.asarray(rest.unit_to_file, dtype=np.float64))
    linear = file_to_unit[:3, :3]
    placed: list[PlacedCondition] = []
    for condition in conditions:
        place = linear @ np.asarray(condition.point) + file_to_unit[:3, 3]
        vector = np.zeros(3)
        if isinstance(condition, TimedForce):
            along = linear @ np.asarray(condition.direction)
            vector = condition.newtons * along / np.linalg.norm(along)
        elif isinstance(condition, TimedPull):
            vector = metres_per_unit * (linear @ np.asarray(condition.offset))
        placed.append(PlacedCondition(condition, nearest_point(rest, place), vector))
    return tuple(placed)


def nearest_point(rest: RestShape, place: Float64[np.ndarray, " 3"]) -> SurfacePoint:
    """Return the point of the rest surface nearest to a place of the unit frame."""
    corners = np.asarray(rest.vertices)[np.asarray(rest.faces)]
    everywhere = np.broadcast_to(place, (len(corners), 3))
    candidates = trimesh.triangles.closest_point(corners, everywhere)  # pyright: ignore[reportUnknownMemberType]
    face = int(np.linalg.norm(candidates - place, axis=1).argmin())
    found = candidates[face : face + 1]
    weights = trimesh.triangles.points_to_barycentric(corners[face : face + 1], found)[0]  # pyright: ignore[reportUnknownMemberType]
    weights = np.clip(weights, 0.0, 1.0)
    a, b, c = (weights / weights.sum()).tolist()
    return SurfacePoint(face, (a, b, c))


def timed_loads(
    placed: Sequence[PlacedCondition], held: Held, *, motion: Motion, state: State, h: float
) -> tuple[Loads, dict[int, Grab | Pin]]:
    """Return what the conditions do during the step from ``state.time`` to ``state.time + h``, and what they now hold.

    A pull's hand stands where it is at the end of the step. Of several pulls at once, the first acts.
    """
    forces: list[PointForce] = []
    now: dict[int, Grab | Pin] = {}
    for index, item in enumerate(placed):
        condition = item.condition
        if not condition.active(state.time):
            continue
        before = held.get(index)
        match condition:
            case TimedForce():
                forces.append(PointForce(item.point, item.vector))
            case TimedPin():
                now[index] = before or Pin(item.point, motion.point_position(state, item.point))
            case TimedPull():
                now[index] = _moved_hand(item, condition, before, motion, state, h)
    pins = tuple(load for load in now.values() if isinstance(load, Pin))
    grab = next((load for load in now.values() if isinstance(load, Grab)), None)
    return Loads(grab, pins, tuple(forces)), now


def _moved_hand(
    item: PlacedCondition, pull: TimedPull, before: Grab | Pin | None, motion: Motion, state: State, h: float
) -> Grab:
    """Return the hand of a pull one step further, or where it takes hold."""
    assert pull.end is not None
    grab = before if isinstance(before, Grab) else motion.begin_grab(state, item.point)
    part = min(h, pull.end - state.time) / (pull.end - pull.start)
    age = grab.age + h if isinstance(before, Grab) else 0.0
    return replace(grab, target=np.asarray(grab.target) + part * item.vector, age=age)
