"""The evaluation commands: a table, a file that a report can be made of, and refusals in words."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import trimesh
from typer.testing import CliRunner

from app.commands.cli import commands
from engine.datasets.sampling import sample_states
from engine.datasets.shards import write_shard
from engine.model.checkpoint import random_checkpoint, save_checkpoint
from engine.model.variational_autoencoder import ModelConfig
from tests.engine.datasets.moving import hinge_motion

runner = CliRunner()


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a dataset of one hinge and two runs of untrained networks."""
    folder = tmp_path_factory.mktemp("evaluate")
    motion = sample_states(
        hinge_motion(), np.random.default_rng(0), key="hinge", name="hinge", split="test_seen", all_meshes=True
    )
    write_shard([motion], folder / "data" / "test_seen" / "a.tar")
    for seed, name in enumerate(("full", "other")):
        checkpoint = random_checkpoint(ModelConfig(width=32, heads=2, handles=6, latent=8), seed=seed)
        (folder / "runs" / name).mkdir(parents=True)
        facts = {**checkpoint.facts, "minutes": 0.5}
        save_checkpoint(checkpoint.model, facts, folder / "runs" / name / "model.safetensors")
    return folder


def run(*arguments: object) -> tuple[int, str]:
    """Run a command and return its exit code and what it wrote."""
    result = runner.invoke(commands, ["evaluate", *map(str, arguments)])
    return result.exit_code, result.output


def test_all_prints_tables_and_writes_a_file_for_the_report(place: Path, tmp_path: Path) -> None:
    """Three tables, and a JSON file with seed, date, checkpoint and data, of which a report is made."""
    out = tmp_path / "all.json"
    network = place / "runs" / "full" / "model.safetensors"
    code, text = run("all", "--data", place / "data", "--checkpoint", network, "--states", 1, "--json", out, "-q")
    assert code == 0, text
    for title in ("Reconstruction through the posterior", "Inverse kinematics", "Samples of the prior"):
        assert title in text
    plain = json.loads(out.read_text())
    assert plain["seed"] == 0
    assert plain["checkpoint"]["name"] == "model.safetensors"
    assert len(plain["checkpoint"]["fingerprint"]) == len(plain["data"]["fingerprint"]) == 12
    assert plain["calibration"]["product_512_ms"] > 0
    code, text = run("report", out, "-o", tmp_path / "part.md")
    assert code == 0, text
    assert "| articulated | neurok | 1 |" in (tmp_path / "part.md").read_text()


def test_ablations_are_one_table_with_every_run_and_reduction(place: Path) -> None:
    """Two runs and two reductions of the full one; the note tells their budgets."""
    code, text = run("ablations", place / "runs", "--data", place / "data", "--states", 1, "-q")
    assert code == 0, text
    for row in ("full, scalar reduction", "full, none reduction", "other", "minutes 0.5"):
        assert row in text


def test_ones_own_sequence_can_be_measured(place: Path, tmp_path: Path) -> None:
    """A vertex sequence in an NPZ file is imported for the occasion; what else was given is skipped with a reason."""
    bar = trimesh.creation.box((0.2, 2.0, 0.2)).subdivide().subdivide()
    rest = np.asarray(bar.vertices)
    bent = [rest + np.stack((0.05 * i * rest[:, 1] ** 2, 0 * rest[:, 0], 0 * rest[:, 0]), -1) for i in range(8)]
    np.savez(tmp_path / "bar.npz", vertices=np.stack(bent).astype(np.float32), faces=np.asarray(bar.faces))
    network = place / "runs" / "full" / "model.safetensors"
    code, text = run("reconstruction", "--data", tmp_path / "bar.npz", "--checkpoint", network, "-q")
    assert code == 0, text
    assert "imported" in text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["samples", "--data", "PLACE/none"], "there is no"),
        (["samples", "--data", "PLACE/data", "--split", "tomorrow"], "no split tomorrow"),
        (["samples", "--data", "PLACE/data", "--split", "test_unseen"], "holds no object"),
        (["samples", "--data", "PLACE/runs"], "nothing that moves"),
        (["ik", "--data", "PLACE/data", "--checkpoint", "PLACE/none"], "no checkpoint"),
        (["ablations", "PLACE/runs", "--data", "PLACE/data", "--full", "best"], "best/model.safetensors"),
        (["report", "PLACE/none.json"], "cannot be read"),
    ],
)
def test_what_cannot_be_measured_is_refused_in_words(place: Path, arguments: list[str], words: str) -> None:
    """Missing files, unknown splits, empty splits and folders without a run are named; the exit code is 1."""
    code, text = run(*(word.replace("PLACE", str(place)) for word in arguments))
    assert code == 1
    assert words in text.replace("There", "there").replace("Nothing", "nothing").replace("No ", "no ")
