"""What a user does first, on the gallery: pull the bear and the laptop's lid and let go; drop every object."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np

from app.commands.gallery_choice import GALLERY
from benchmarks.figures import Figure
from engine.dynamics.mechanics import Mechanics
from engine.dynamics.state import Loads, State, SurfacePoint
from engine.geometry.mesh_reader import load_rest_shape
from engine.kinematics.object_kinematics import prepare_object
from engine.runtime.pacing import STEP
from engine.scenes.material import MATERIALS, Anchor

MISS_BAR = 15.0
RETURN_BAR = 3.0
SETTLED_BAR = 1e-4
"""Kinetic energy per mass of what counts as settled [J/kg]."""
DEPTH_BAR = 1.0

_HELD, _AFTER, _FALL = 180, 300, 600
# The hand takes a third of a second to where it then stays.
_REACHING = 20


def measure_drags() -> list[Figure]:
    """Pull for 3 s, let go, watch for 5 s: the bear comes back having swung through, the lid stays."""
    return [
        *_drag("plush_bear", "elastic", np.array((0.2, 0.1, 0.0)), comes_back=True),
        *_drag("laptop", "articulated", np.array((0.0, -0.25, -0.05)), comes_back=False),
    ]


def _drag(name: str, material: str, pull: np.ndarray, *, comes_back: bool) -> list[Figure]:
    """Pull the highest point by ``pull`` sizes."""
    mechanics = _mechanics(f"{name}.glb", material, Anchor.STANDING)
    state, size = mechanics.rest_state(), mechanics.size
    home = mechanics.decode(state)
    grab = mechanics.begin_grab(state, _highest(mechanics))
    start, reach = np.array(grab.target), float(np.linalg.norm(pull))
    miss = kinetic = float("nan")
    for index in range(_HELD):
        share = min(1.0, index / _REACHING)
        grab = replace(grab, target=start + share * size * pull, age=index * STEP)
        state, report = mechanics.step(state, Loads(grab=grab), STEP)
        kinetic = report.kinetic / mechanics.mass
        miss = float(np.linalg.norm(mechanics.point_position(state, grab.point) - grab.target)) / size
    held = mechanics.decode(state)
    swing = 0.0
    for _ in range(_AFTER):
        state, _ = mechanics.step(state, Loads(), STEP)
        along = float((mechanics.point_position(state, grab.point) - start) @ pull) / (reach * size)
        swing = max(swing, -along)
    ended = mechanics.decode(state)
    figures = [
        Figure(f"{name}: miss after 3 s", 100.0 * miss, "% of size", MISS_BAR, f"pulled by {100.0 * reach:.0f} %"),
        Figure(f"{name}: energy after 3 s", kinetic, "J/kg", SETTLED_BAR, "kinetic, per mass"),
    ]
    if comes_back:
        # The verdict wants a swing through rest too: without one the return does not count.
        left = _farthest(ended, home, size) if swing > 0.0 else float("inf")
        note = f"swung through by {100.0 * swing:.0f} %"
        return [*figures, Figure(f"{name}: from rest after 5 s", left, "% of size", RETURN_BAR, note)]
    note = f"{_farthest(ended, home, size):.0f} % from rest"
    return [*figures, Figure(f"{name}: moved in 5 s", _farthest(ended, held, size), "% of size", RETURN_BAR, note)]


def measure_drops() -> list[Figure]:
    """Set every object of the gallery free and drop it from half its size; watch for 10 s."""
    figures: list[Figure] = []
    for entry in json.loads((GALLERY / "gallery.json").read_text(encoding="utf-8")):
        mechanics = _mechanics(entry["file"], entry["material"], Anchor.FREE)
        state, depth, kinetic = mechanics.rest_state(height=0.5 * mechanics.size), 0.0, float("inf")
        failed = ""
        for _ in range(_FALL):
            state, report = mechanics.step(state, Loads(), STEP)
            if report.message:
                failed, kinetic = f"step failed at {state.time:.2f} s: {report.message}", float("inf")
                break
            kinetic = report.kinetic / mechanics.mass
            depth = max(depth, _depth(mechanics, state))
        figures += [
            Figure(f"{entry['name']}: energy after 10 s", kinetic, "J/kg", SETTLED_BAR, failed),
            Figure(f"{entry['name']}: deepest vertex", depth, "% of size", DEPTH_BAR, "below the floor, at any time"),
        ]
    return figures


def _mechanics(file: str, material: str, anchor: Anchor) -> Mechanics:
    kinematics = prepare_object(load_rest_shape(GALLERY / file))
    return Mechanics(kinematics, material=MATERIALS[material], anchor=anchor)


def _highest(mechanics: Mechanics) -> SurfacePoint:
    rest = mechanics.kinematics.rest
    vertices, faces = np.asarray(rest.vertices), np.asarray(rest.faces)
    top = vertices[vertices[:, 2].argmax()]
    face = int(np.linalg.norm(vertices[faces].mean(1) - top, axis=-1).argmin())
    return SurfacePoint(face, (1 / 3, 1 / 3, 1 / 3))


def _farthest(a: np.ndarray, b: np.ndarray, size: float) -> float:
    return 100.0 * float(np.linalg.norm(a - b, axis=-1).max()) / size


def _depth(mechanics: Mechanics, state: State) -> float:
    return 100.0 * max(0.0, -float(mechanics.decode(state)[:, 2].min())) / mechanics.size
