"""The dataset commands: import what can be used, say why the rest cannot, and exit as a script expects."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import trimesh
from typer.testing import CliRunner

from app.commands.cli import commands
from engine.datasets.shards import read_split

runner = CliRunner()


@pytest.fixture
def swinging(tmp_path: Path) -> Path:
    """A vertex sequence, Y up: a bar that bends, in 12 frames."""
    bar = trimesh.creation.box((0.2, 2.0, 0.2))
    for _ in range(3):
        bar = bar.subdivide()
    rest = np.asarray(bar.vertices)
    frames = np.stack(
        [rest + np.stack((0.05 * i * rest[:, 1] ** 2, 0 * rest[:, 0], 0 * rest[:, 0]), -1) for i in range(12)]
    )
    path = tmp_path / "swinging.npz"
    np.savez(path, vertices=frames.astype(np.float32), faces=np.asarray(bar.faces))
    return path


def test_import_keeps_what_moves_and_names_what_does_not(swinging: Path, tmp_path: Path) -> None:
    """A sequence is imported, a still mesh beside it is skipped with a reason, and the exit code is 0."""
    still = tmp_path / "still.obj"
    trimesh.creation.box().export(still)
    result = runner.invoke(
        commands, ["dataset", "import", str(swinging), str(still), "-o", str(tmp_path / "d"), "--split", "train"]
    )
    assert result.exit_code == 0, result.output
    assert "skipped still.obj" in result.output
    motion = next(read_split(tmp_path / "d", "train"))
    assert motion.record.kind == "imported"
    assert len(motion.points) > 4
    # Y up became Z up: the long side of the bar.
    assert np.ptp(motion.points[0].astype(float), 0).argmax() == 2
    card = json.loads((tmp_path / "d" / "card.json").read_text())
    assert card["objects"] == 1


def test_importing_the_same_file_again_replaces_it(swinging: Path, tmp_path: Path) -> None:
    """A second import of one file leaves one object, even if it goes to another split."""
    for split in ("validation", "train"):
        runner.invoke(commands, ["dataset", "import", str(swinging), "-o", str(tmp_path / "d"), "--split", split])
    assert sum(m.record.variant == "original" for m in read_split(tmp_path / "d", "train")) == 1
    assert list(read_split(tmp_path / "d", "validation")) == []
    result = runner.invoke(commands, ["dataset", "inspect", str(tmp_path / "d")])
    assert result.exit_code == 0, result.output
    assert "0 faults" in result.output


def test_import_of_nothing_usable_is_refused(tmp_path: Path) -> None:
    """Where no file can be used, the reasons are printed and the exit code is 1."""
    junk = tmp_path / "junk.glb"
    junk.write_bytes(b"no model at all")
    result = runner.invoke(commands, ["dataset", "import", str(junk), "-o", str(tmp_path / "d")])
    assert result.exit_code == 1
    assert "junk.glb" in result.output


def test_inspect_counts_faults_in_its_exit_code(swinging: Path, tmp_path: Path) -> None:
    """A truncated shard is a fault: it is named and the exit code is 1."""
    runner.invoke(commands, ["dataset", "import", str(swinging), "-o", str(tmp_path / "d"), "--split", "train"])
    (shard,) = (tmp_path / "d" / "train").glob("*.tar")
    shard.write_bytes(shard.read_bytes()[:3000])
    result = runner.invoke(commands, ["dataset", "inspect", str(tmp_path / "d"), "--json"])
    assert result.exit_code == 1
    assert shard.name in json.loads(result.output)["faults"][0]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["inspect", "FOLDER"], "dataset build"),
        (["pack", "FOLDER", "-o", "FOLDER/pack"], "dataset build"),
        (["import", "FOLDER/none.glb", "-o", "FOLDER/d"], "no file"),
        (["build", "-o", "FOLDER/d", "--only", "magic"], "no maker magic"),
    ],
)
def test_what_cannot_be_done_is_refused_in_words(tmp_path: Path, arguments: list[str], words: str) -> None:
    """A folder that is no dataset, a file that is not there and a maker that is none are named."""
    result = runner.invoke(commands, ["dataset", *(a.replace("FOLDER", str(tmp_path)) for a in arguments)])
    assert result.exit_code == 1
    assert words in result.output


def test_a_small_build_trains(tmp_path: Path) -> None:
    """Two articulated objects are built, inspected without a fault, packed, and trained on for a second."""
    pytest.importorskip("mujoco")
    data, pack, run = (str(tmp_path / name) for name in ("data", "pack", "run"))
    build = ["dataset", "build", "-o", data, "--share", "0.003", "--only", "articulated", "--workers", "1"]
    assert runner.invoke(commands, build).exit_code == 0
    assert "0 faults" in runner.invoke(commands, ["dataset", "inspect", data]).output
    assert runner.invoke(commands, ["dataset", "pack", data, "-o", pack, "--states", "20"]).exit_code == 0
    result = runner.invoke(commands, ["train", "--data", pack, "--out", run, "--minutes", "0.02"])
    assert result.exit_code == 0, result.output
    assert (tmp_path / "run" / "model.safetensors").exists()
