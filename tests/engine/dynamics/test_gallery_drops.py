"""Every gallery object, set free and dropped from half its size, lands, settles and does not sink into the floor."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine.dynamics.mechanics import Mechanics
from engine.dynamics.state import Loads
from engine.geometry.mesh_reader import load_rest_shape
from engine.kinematics.object_kinematics import ObjectKinematics
from engine.model.checkpoint import Checkpoint
from engine.scenes.material import MATERIALS, Anchor

OBJECTS = Path(__file__).resolve().parents[3] / "assets" / "objects"
GALLERY = json.loads((OBJECTS / "gallery.json").read_text())


@pytest.mark.slow
@pytest.mark.parametrize("entry", GALLERY, ids=[e["name"] for e in GALLERY])
def test_dropped_object_settles(entry: dict[str, str], checkpoint: Checkpoint) -> None:
    """After 10 s: kinetic energy per mass below 1e-4, and no vertex ever 1 % of size below the floor."""
    kinematics = ObjectKinematics(load_rest_shape(OBJECTS / entry["file"]), checkpoint)
    mechanics = Mechanics(kinematics, material=MATERIALS[entry["material"]], anchor=Anchor.FREE)
    state, lowest = mechanics.rest_state(height=0.5 * mechanics.size), 0.0
    for _ in range(600):
        state, report = mechanics.step(state, Loads(), 1.0 / 60.0)
        assert not report.message
        lowest = min(lowest, float(mechanics.decode(state)[:, 2].min()))
    assert report.kinetic / mechanics.mass < 1e-4
    assert lowest > -0.01 * mechanics.size
