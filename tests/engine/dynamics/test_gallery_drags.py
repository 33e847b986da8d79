"""What a user does first: pull the bear's head, turn the laptop's lid. The network decides whether it works."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from engine.dynamics.mechanics import Mechanics
from engine.dynamics.state import Loads, SurfacePoint
from engine.geometry.mesh_reader import load_rest_shape
from engine.geometry.welding import edges_of
from engine.kinematics.object_kinematics import ObjectKinematics
from engine.model.checkpoint import Checkpoint, random_checkpoint
from engine.scenes.material import MATERIALS, Anchor

OBJECTS = Path(__file__).resolve().parents[3] / "assets" / "objects"
H = 1.0 / 60.0
PULLS = {"plush_bear": ("elastic", (0.2, 0.1, 0.0)), "laptop": ("articulated", (0.0, -0.25, -0.05))}


def drag(name: str, checkpoint: Checkpoint) -> dict[str, float]:
    """Pull the highest point for 3 s, let go, wait 5 s; return what happened as shares of size."""
    rest = load_rest_shape(OBJECTS / f"{name}.glb")
    material, pull = PULLS[name]
    mechanics = Mechanics(ObjectKinematics(rest, checkpoint), material=MATERIALS[material], anchor=Anchor.STANDING)
    vertices, faces = np.asarray(rest.vertices), np.asarray(rest.faces)
    top = vertices[np.argmax(vertices[:, 2])]
    face = int(np.argmin(np.linalg.norm(vertices[faces].mean(1) - top, axis=-1)))
    state = mechanics.rest_state()
    home = mechanics.decode(state)
    grab = mechanics.begin_grab(state, SurfacePoint(face, (1 / 3, 1 / 3, 1 / 3)))
    start, size = grab.target, mechanics.size
    way = np.array(pull)
    for i in range(180):
        grab = replace(grab, target=start + way * size * min(1.0, i / 20), age=i * H)
        state, report = mechanics.step(state, Loads(grab=grab), H)
    assert report.grab_point is not None
    held = mechanics.decode(state)
    result = {
        "kinetic": report.kinetic / mechanics.mass,
        "miss": float(np.linalg.norm(report.grab_point - grab.target)) / size,
    }
    edges = edges_of(faces)
    lengths = [np.linalg.norm(x[edges[:, 0]] - x[edges[:, 1]], axis=-1) for x in (home, held)]
    result["stretch"] = float(np.quantile(np.abs(lengths[1] / lengths[0] - 1.0), 0.99))
    result["followed"] = 1.0 - result["miss"] / float(np.linalg.norm(way))
    along: list[float] = []
    for _ in range(300):
        state, report = mechanics.step(state, Loads(), H)
        along.append(float((mechanics.point_position(state, grab.point) - start) @ way / np.linalg.norm(way)) / size)
    now = mechanics.decode(state)
    result["from_rest"] = float(np.linalg.norm(now - home, axis=-1).max()) / size
    result["from_held"] = float(np.linalg.norm(now - held, axis=-1).max()) / size
    result["swing"] = -min(along)
    return result


def test_bear_follows_settles_and_comes_back(checkpoint: Checkpoint) -> None:
    """The bear follows the cursor to 15 % of size, settles in 3 s, swings through rest and is back to 3 % in 5 s."""
    seen = drag("plush_bear", checkpoint)
    assert seen["miss"] < 0.15
    assert seen["followed"] > 0.6
    assert seen["kinetic"] < 1e-4
    assert seen["swing"] > 0.0
    assert seen["from_rest"] < 0.03


def test_lid_follows_and_stays(checkpoint: Checkpoint) -> None:
    """The lid follows the cursor, settles, and stays where it is left, to 3 % of size."""
    seen = drag("laptop", checkpoint)
    assert seen["miss"] < 0.15
    assert seen["followed"] > 0.6
    assert seen["kinetic"] < 1e-4
    assert seen["from_held"] < 0.03
    assert seen["from_rest"] > 0.1


@pytest.mark.parametrize("name", list(PULLS))
def test_network_matters(name: str, checkpoint: Checkpoint) -> None:
    """With random weights in place of the trained ones the same pulls tear what the trained ones keep together.

    How far random weights tear a lid is bounded: the prior's stiffness and the learned range hold it back.
    """
    torn, kept = (drag(name, weights)["stretch"] for weights in (random_checkpoint(), checkpoint))
    assert torn > 0.2 and torn > 3.0 * kept
    assert kept < 0.15
