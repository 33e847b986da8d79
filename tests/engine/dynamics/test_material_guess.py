"""The first guess of the material, and the sentence that comes with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.dynamics.body import describe_shape
from engine.dynamics.material_guess import MaterialGuess, guess_material
from engine.geometry.mesh_reader import load_rest_shape
from engine.geometry.rest_shape import RestShape
from engine.kinematics.object_kinematics import ObjectKinematics, prepare_object
from engine.model.checkpoint import Checkpoint
from engine.runtime import messages as m
from engine.runtime.loading import load_object
from engine.runtime.session import Session
from engine.scenes.material import MATERIALS

OBJECTS = Path(__file__).resolve().parents[3] / "assets" / "objects"


def _guess(rest: RestShape, checkpoint: Checkpoint) -> MaterialGuess:
    kinematics = prepare_object(rest, checkpoint=checkpoint)
    return guess_material(kinematics, describe_shape(kinematics))


@pytest.mark.parametrize(
    ("file", "material"),
    [
        ("laptop", "articulated"),
        ("cabinet", "articulated"),
        ("desk_lamp", "articulated"),
        ("snake", "articulated"),
        ("cloth_on_rail", "cloth"),
        ("plush_bear", "elastic"),
        ("gummy_ring", "elastic"),
        ("octopus", "elastic"),
        ("box", "rigid"),
    ],
)
def test_gallery_is_guessed(file: str, material: str, checkpoint: Checkpoint) -> None:
    """What the gallery's author wrote down is what the prior says, and a figure stands beside it."""
    guess = _guess(load_rest_shape(OBJECTS / f"{file}.glb"), checkpoint)
    assert guess.material == MATERIALS[material], guess.reason
    assert material in guess.reason and "%" in guess.reason and guess.reason.endswith(".")


def test_made_objects_are_guessed(bean_kinematics: ObjectKinematics, laptop_kinematics: ObjectKinematics) -> None:
    """A soft bean stretches and two slabs on a hinge turn, though no file says so."""
    for kinematics, material in ((bean_kinematics, "elastic"), (laptop_kinematics, "articulated")):
        assert guess_material(kinematics, describe_shape(kinematics)).material.name == material


def test_guess_reaches_the_window() -> None:
    """A load that names no material brings the guess with its reason; one that names it brings neither."""
    session = Session(load_object, stopwatch=lambda: 0.0)
    guessed = next(e for e in session.handle(m.LoadMesh(OBJECTS / "laptop.glb")) if isinstance(e, m.Loaded))
    assert guessed.material.name == "articulated" and "joints" in guessed.material_reason
    told = m.LoadMesh(OBJECTS / "laptop.glb", material="rubber")
    named = next(e for e in session.handle(told) if isinstance(e, m.Loaded))
    assert named.material == MATERIALS["rubber"] and not named.material_reason
