"""Scenes as files, and the materials."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from engine.scenes.conditions import TimedForce, TimedPin, TimedPull
from engine.scenes.material import MATERIALS, Anchor
from engine.scenes.scene import Scene, SceneError, read_scene, write_scene

SCENE = Scene(
    mesh="bear.glb",
    material=MATERIALS["jelly"],
    anchor=Anchor.FIXED,
    floor=False,
    conditions=(
        TimedForce(point=(0, 1, 2), direction=(0, 0, 1), newtons=5.0, start=1.0, end=2.0),
        TimedPull(point=(0, 1, 2), offset=(1, 0, 0), end=3.0),
        TimedPin(point=(0, 0, 0)),
    ),
)


def test_scene_comes_back_from_its_file(tmp_path: Path) -> None:
    """What is written is what is read, with each kind of condition."""
    write_scene(SCENE, tmp_path / "scene.json")
    assert read_scene(tmp_path / "scene.json") == SCENE


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "is not a scene"),
        ('{"mesh": "a.obj", "colour": 1}', "colour"),
        ('{"mesh": "a.obj", "version": 99}', "version 99"),
        ('{"mesh": "a.obj", "conditions": [{"kind": "wish", "point": [0, 0, 0]}]}', "conditions"),
    ],
)
def test_what_is_no_scene_is_refused_in_words(tmp_path: Path, text: str, words: str) -> None:
    """The message names the file and what is wrong in it."""
    (tmp_path / "scene.json").write_text(text)
    with pytest.raises(SceneError, match=words) as problem:
        read_scene(tmp_path / "scene.json")
    assert "scene.json" in str(problem.value)


def test_missing_file_is_refused_in_words(tmp_path: Path) -> None:
    """A path without a file is told as such."""
    with pytest.raises(SceneError, match=r"none\.json cannot be read"):
        read_scene(tmp_path / "none.json")


def test_impossible_conditions_are_refused() -> None:
    """A condition that ends before it starts, a force without direction and a pull without end are errors."""
    with pytest.raises(ValidationError, match="must end after its start"):
        TimedPin(point=(0, 0, 0), start=2.0, end=1.0)
    with pytest.raises(ValidationError, match="needs a direction"):
        TimedForce(point=(0, 0, 0), direction=(0, 0, 0), newtons=1.0)
    with pytest.raises(ValidationError, match="needs an end"):
        TimedPull(point=(0, 0, 0), offset=(1, 0, 0))


def test_presets_bear_their_names() -> None:
    """Each preset is found by its own name, and only joints have dry friction."""
    assert all(name == material.name for name, material in MATERIALS.items())
    assert [name for name, material in MATERIALS.items() if material.dry_friction > 0] == ["articulated"]
