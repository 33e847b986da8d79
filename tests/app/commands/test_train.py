"""The command ``train``: its recipes, going on, its refusals, and the prepared script for a GPU."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from app.commands.cli import commands
from engine.datasets.sampling import sample_states
from engine.datasets.shards import write_shard
from engine.model.checkpoint import load_checkpoint
from engine.training.run_files import load_state
from engine.training.settings import RECIPES
from tests.engine.datasets.moving import hinge_motion

ROOT = Path(__file__).resolve().parents[3]
runner = CliRunner()


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset as an import of one's own leaves it: one object, none for validation."""
    folder = tmp_path_factory.mktemp("mine")
    motion = sample_states(hinge_motion(), np.random.default_rng(0), key="h", name="h", split="train", count=256)
    write_shard([motion], folder / "train" / "a.tar")
    return folder


def test_one_object_of_ones_own_trains_and_goes_on(data: Path, tmp_path: Path) -> None:
    """Two iterations of the recipe write a checkpoint, and two more follow with the settings of the first."""
    run = tmp_path / "run"
    pairs = RECIPES["small"][0].objects * RECIPES["small"][0].frames
    words = ["train", "--data", str(data), "--device", "cpu"]
    done = runner.invoke(commands, [*words, "-o", str(run), "--items", str(2 * pairs), "--seed", "5", "--no-augment"])
    assert done.exit_code == 0, done.output
    assert done.output.splitlines()[-1] == str(run / "model.safetensors")
    assert load_checkpoint(run / "model.safetensors").model.config == RECIPES["small"][1]
    done = runner.invoke(commands, [*words, "--resume", str(run), "--items", str(4 * pairs)])
    assert done.exit_code == 0, done.output
    assert load_state(run)["iteration"] == 4
    kept = json.loads(load_state(run)["training"])
    assert kept["seed"] == 5
    assert not kept["augmentation"]["turned"]
    with (run / "log.csv").open() as file:
        assert [line["iteration"] for line in csv.DictReader(file)] == ["2", "4"]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ([], "-o FOLDER"),
        (["-o", "run", "--minutes", "1", "--items", "5"], "--minutes or --items"),
        (["-o", "run", "--grow"], "give --init too"),
        (["--resume", "nothing"], "no run to go on with"),
        (["-o", "old"], "go on with it by --resume"),
        (["-o", "run", "--init", "weights", "--resume", "old"], "--init or --resume"),
        (["-o", "run", "--init", "weights"], "not a readable safetensors file"),
        (["-o", "run", "--device", "cpu", "--devices", "2"], "pip install"),
    ],
)
def test_refusals(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], why: str) -> None:
    """What cannot be is refused with a sentence that says what to give instead."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "lightning_fabric", None)
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "state.pt").write_bytes(b"")
    (tmp_path / "weights").write_bytes(b"none")
    refused = runner.invoke(commands, ["train", "--data", str(data), *words])
    assert refused.exit_code == 1, refused.output
    assert why in refused.stderr


def test_the_prepared_script_runs_on_a_processor_too(data: Path, tmp_path: Path) -> None:
    """A trial of five seconds goes the whole path: train, examine, checkpoint, figures."""
    command = [sys.executable, "-m", "benchmarks.train_on_gpu", "--data", str(data), "--seconds", "5", "--objects", "2"]
    environment = {**os.environ, "OUT": str(tmp_path), "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    facts = json.loads((tmp_path / "facts.json").read_text())
    assert facts["device"] == "processor"
    assert facts["wall_seconds"] < 30
    assert facts["items"] >= 8
    assert facts["error/articulated"] > 0
    load_checkpoint(tmp_path / "model.safetensors")
