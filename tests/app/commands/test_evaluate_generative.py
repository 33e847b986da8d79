"""The generative evaluation on a small object: the same trials for every network, films, figures and page."""

from __future__ import annotations

import json
from pathlib import Path

import av
import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from app.commands.evaluate_generative import generative
from app.commands.generative_trials import Action, draw_trial
from engine.geometry.mesh_reader import load_rest_shape
from engine.runtime.condition_loads import place_conditions
from engine.scenes.conditions import TimedForce, TimedPull
from engine.scenes.material import Anchor
from tests.app.commands.test_vote_page import read_data

commands = typer.Typer()
commands.command()(generative)


def test_films_figures_page_and_key(capsule_file: Path, tmp_path: Path) -> None:
    """Five actions with the program's network and the untrained control make ten films and ten questions."""
    words = [str(capsule_file), "--seconds", "0.3", "--size", "64x48", "-o", str(tmp_path), "--json", "--quiet"]
    done = CliRunner().invoke(commands, words)
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told == json.loads((tmp_path / "generative.json").read_text())
    assert "Not to be compared with the paper's table" in " ".join(told["note"].split())
    assert [row["films"] for row in told["summary"]] == [5, 5]
    assert {row["network"] for row in told["summary"]} == {"neurok-deep", "untrained"}
    for item in told["films"]:
        assert item["problem"] == "" and item["motion"]["surface"] >= item["motion"]["picture"] >= 0.0
        with av.open(str(tmp_path / item["film"])) as film:
            assert (film.streams.video[0].width, film.streams.video[0].height) == (64, 48)
    falls = [item for item in told["films"] if item["trial"].endswith("_drop")]
    # It falls freely in both: 0.3 s fit into the first half metre.
    assert falls[0]["motion"]["surface"] == pytest.approx(falls[1]["motion"]["surface"], rel=0.02)
    assert falls[0]["motion"]["surface"] > 0.5
    assert all(item["violations"]["energy_gain"] < 0.01 for item in falls)
    questions = read_data(tmp_path / "vote.html")["questions"]
    assert isinstance(questions, list) and len(questions) == 10
    assert set(json.loads((tmp_path / "key.json").read_text())["questions"]) == {q["id"] for q in questions}


def test_trials_depend_on_seed_and_object_alone(capsule_file: Path) -> None:
    """The same seed gives the same place and direction; strengths are those that the table of actions says."""
    rest = load_rest_shape(capsule_file)

    def drawn(action: Action, seed: int) -> object:
        rng = np.random.default_rng(seed)
        return draw_trial(
            capsule_file, action, rest, mass=2.0, anchor=Anchor.STANDING, metres_per_unit=0.5, rng=rng
        ).conditions

    assert drawn(Action.FORCE, 1) == drawn(Action.FORCE, 1) != drawn(Action.FORCE, 2)
    (blow,) = drawn(Action.BLOW, 1)  # type: ignore[misc]
    assert isinstance(blow, TimedForce) and blow.end is not None
    size = 0.5 * rest.size
    assert blow.newtons * (blow.end - blow.start) == pytest.approx(2.0 * 1.2 * size)
    (pull,) = drawn(Action.PULL, 1)  # type: ignore[misc]
    assert isinstance(pull, TimedPull)
    (placed,) = place_conditions((pull,), rest, metres_per_unit=0.5)
    assert np.linalg.norm(placed.vector) == pytest.approx(0.25 * size)
    corners = np.asarray(rest.vertices)[np.asarray(rest.faces)[placed.point.face]]
    assert (np.asarray(placed.point.barycentric) @ corners)[2] > 0.0, "a standing object is taken by its upper half"


def test_checkpoints_of_one_name_are_refused(capsule_file: Path, tmp_path: Path) -> None:
    """Two networks that cannot be told apart by file or folder are a mistake, said in one sentence."""
    same = ["--checkpoint", "runs/a/checkpoint.safetensors"] * 2
    done = CliRunner().invoke(commands, [str(capsule_file), *same, "-o", str(tmp_path), "--quiet"])
    assert done.exit_code == 1
    assert "names that tell them apart" in done.stderr
