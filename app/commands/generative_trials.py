"""What is done to each object for the generative evaluation: seeded conditions, the same for every network.

NeuROK's conditions are a force, an initial velocity and an action. Here they are a force on a point, a short blow, a
fall, a hand that moves a point, and a pin by which the object hangs. Points, directions and strengths depend on the
object's shape and mass alone, so that every network is asked the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from engine.scenes.conditions import Condition, TimedForce, TimedPin, TimedPull
from engine.scenes.material import Anchor

if TYPE_CHECKING:
    from jaxtyping import Float64

    from engine.geometry.rest_shape import RestShape

GALLERY_OBJECTS = (
    "plush_bear",
    "gummy_ring",
    "octopus",
    "cloth_on_rail",
    "laptop",
    "cabinet",
    "desk_lamp",
    "snake",
)
"""Eight objects of the gallery; its parcel is left out, being rigid."""

_START = 0.3
_FORCE_SECONDS, _FORCE_WEIGHTS = 0.6, 0.6
_BLOW_SECONDS, _BLOW_SPEED = 0.05, 1.2
_PULL_SECONDS, _PULL_SHARE = 0.8, 0.25
_HEIGHT = 0.5
_CANDIDATES = 256


class Action(StrEnum):
    """What is done to an object, once."""

    FORCE = "force"
    BLOW = "blow"
    DROP = "drop"
    PULL = "pull"
    HANG = "hang"


WORDS = {
    Action.FORCE: "A steady sideways force acts on the marked place for a moment, then ends.",
    Action.BLOW: "A short sideways blow hits the object.",
    Action.DROP: "The object falls from half its own size onto the floor.",
    Action.PULL: "A hand takes hold of the marked place, moves it to the side and lets go.",
    Action.HANG: "The object hangs in the air by the marked place, and is let go of elsewhere.",
}
"""What a voter is told of each."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One object under one action.

    Attributes:
        mesh: its file.
        action: what is done.
        anchor: how it is held; None leaves it to the gallery or to the object.
        conditions: timed, in the file's frame and units.
        height: of its lowest point above the floor at the beginning, as a share of size.
    """

    mesh: Path
    action: Action
    anchor: Anchor | None
    conditions: tuple[Condition, ...]
    height: float

    @property
    def name(self) -> str:
        """Object and action."""
        return f"{self.mesh.stem}_{self.action.value}"


def draw_trial(
    mesh: Path,
    action: Action,
    rest: RestShape,
    *,
    mass: float,
    anchor: Anchor,
    metres_per_unit: float,
    rng: np.random.Generator,
) -> Trial:
    """Choose place, direction and strength of an action.

    Args:
        mesh: the object's file.
        action: what is done to it.
        rest: the object.
        mass: of it [kg].
        anchor: how it is held where the action does not ask for a free one.
        metres_per_unit: size of the unit frame's unit [m].
        rng: draws place and direction.
    """
    place, direction = _place(rest, anchor, rng), _direction(rng)
    to_file = np.asarray(rest.unit_to_file, np.float64)
    point = _triple(to_file[:3, :3] @ place + to_file[:3, 3])
    along = _triple(to_file[:3, :3] @ direction)
    conditions: tuple[Condition, ...] = ()
    match action:
        case Action.FORCE:
            newtons = _FORCE_WEIGHTS * 9.81 * mass
            end = _START + _FORCE_SECONDS
            conditions = (TimedForce(point=point, direction=along, newtons=newtons, start=_START, end=end),)
        case Action.BLOW:
            newtons = mass * _BLOW_SPEED * rest.size * metres_per_unit / _BLOW_SECONDS
            end = _START + _BLOW_SECONDS
            conditions = (TimedForce(point=point, direction=along, newtons=newtons, start=_START, end=end),)
        case Action.PULL:
            offset = _triple(_PULL_SHARE * rest.size * (to_file[:3, :3] @ direction))
            conditions = (TimedPull(point=point, offset=offset, start=_START, end=_START + _PULL_SECONDS),)
        case Action.HANG:
            conditions = (TimedPin(point=point, start=0.0),)
        case Action.DROP:
            pass
    freed = action in (Action.DROP, Action.HANG)
    return Trial(mesh, action, Anchor.FREE if freed else anchor, conditions, _HEIGHT if freed else 0.0)


def _place(rest: RestShape, anchor: Anchor, rng: np.random.Generator) -> Float64[np.ndarray, "3"]:
    """Return a point of the surface, unit frame, among the quarter that is farthest from what holds the object."""
    from engine.geometry.surface import face_normals_and_areas, sample_surface

    vertices, faces = np.asarray(rest.vertices, np.float64), np.asarray(rest.faces)
    _, areas = face_normals_and_areas(vertices, faces)
    points = sample_surface(areas, _CANDIDATES, rng).interpolate(faces, vertices)
    if anchor is Anchor.FREE:
        far = np.linalg.norm(points - points.mean(0), axis=1)
    else:
        # A fixed sheet hangs from its top.
        far = points[:, 2] * (-1.0 if anchor is Anchor.FIXED and not rest.solid else 1.0)
    return points[rng.choice(np.argsort(far)[-_CANDIDATES // 4 :])]


def _direction(rng: np.random.Generator) -> Float64[np.ndarray, "3"]:
    """Return a unit direction to the side and a little upward."""
    angle = rng.uniform(0.0, 2.0 * np.pi)
    direction = np.array((np.cos(angle), np.sin(angle), 0.25))
    return direction / np.linalg.norm(direction)


def _triple(values: Float64[np.ndarray, "3"]) -> tuple[float, float, float]:
    x, y, z = (float(value) for value in values)
    return x, y, z
