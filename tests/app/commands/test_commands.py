"""The commands: what they write, and how they say no. Status 0 good, 1 refused, 2 usage."""

from __future__ import annotations

import json
from pathlib import Path

import av
import numpy as np
import pytest
from typer.testing import CliRunner

from app.commands import cli
from engine.clips.clip_file import read_clip
from engine.scenes.conditions import TimedForce
from engine.scenes.material import MATERIALS
from engine.scenes.scene import Scene, write_scene
from tests.app.commands.conftest import Run

runner = CliRunner()
PULL = "0,0,50;1,0,0;40;0.05;0.4"


def test_help_everywhere() -> None:
    """Every command explains itself with an example."""
    assert runner.invoke(cli.commands, ["--help"]).exit_code == 0
    for words in (
        *([name] for name in cli.NAMES),
        ["dataset", "build"],
        ["bench", "step"],
        ["evaluate", "modes"],
        ["evaluate", "generative"],
    ):
        shown = runner.invoke(cli.commands, [*words, "--help"])
        assert shown.exit_code == 0, words
        if words not in (["dataset"], ["evaluate"], ["bench"]):
            assert f"main.py {words[0]}" in shown.output, words


def test_simulate_writes_all_formats(capsule_file: Path, tmp_path: Path) -> None:
    """Half a second of pulling becomes arrays and a clip of exact counts, and the pulled end goes along the pull."""
    arrays, clip_file = tmp_path / "pull.npz", tmp_path / "pull.neurok"
    words = ["simulate", str(capsule_file), "--pull", PULL, "--seconds", "0.5", "--fps", "20", "--anchor", "standing"]
    done = runner.invoke(cli.commands, [*words, "-o", str(arrays), "-o", str(clip_file), "--quiet"])
    assert done.exit_code == 0, done.output
    assert done.stderr == ""
    clip = read_clip(clip_file)
    assert len(clip.times) == 31
    assert clip.facts.conditions[0].kind == "force"
    with np.load(arrays) as file:
        vertices = file["vertices"]
        assert len(vertices) == 10
        # File units: the capsule is in centimetres.
        assert (
            np.abs(
                vertices[0] - np.array(clip.rest_vertices) @ clip.unit_to_file[:3, :3].T - clip.unit_to_file[:3, 3]
            ).max()
            < 0.1
        )
    top = np.array(clip.rest_vertices)[:, 2].argmax()
    assert clip.vertices(24)[top, 0] - clip.vertices(0)[top, 0] > 0.003


def test_drop_falls(capsule_file: Path, tmp_path: Path) -> None:
    """What is dropped from half its size falls freely: g t^2 / 2 after 0.2 s."""
    target = tmp_path / "fall.neurok"
    done = runner.invoke(
        cli.commands, ["simulate", str(capsule_file), "--drop", "0.5", "--seconds", "0.2", "-o", str(target)]
    )
    assert done.exit_code == 0, done.output
    clip = read_clip(target)
    size = clip.metres_per_unit * float(np.linalg.norm(np.ptp(clip.rest_vertices, axis=0)))
    assert clip.vertices(0)[:, 2].min() == pytest.approx(0.5 * size, abs=0.02)
    assert clip.p[0, 2] - clip.p[-1, 2] == pytest.approx(0.5 * 9.81 * 0.2**2, rel=0.12)


def test_scene_file(capsule_file: Path, tmp_path: Path) -> None:
    """A scene file brings mesh, material and conditions."""
    force = TimedForce(point=(0.0, 0.0, 50.0), direction=(0.0, 1.0, 0.0), newtons=20.0, start=0.0, end=0.1)
    scene = Scene(mesh=str(capsule_file), material=MATERIALS["rubber"], conditions=(force,), floor=False, gravity=0.0)
    write_scene(scene, tmp_path / "scene.json")
    target = tmp_path / "scene.neurok"
    done = runner.invoke(
        cli.commands, ["simulate", str(tmp_path / "scene.json"), "--seconds", "0.1", "-o", str(target)]
    )
    assert done.exit_code == 0, done.output
    facts = read_clip(target).facts
    assert (facts.material.name, facts.gravity, facts.floor, facts.conditions) == ("rubber", 0.0, False, (force,))


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["simulate", "MESH"], 2, "output"),
        (["simulate", "MESH", "-o", "a.avi"], 2, ".mp4"),
        (["simulate", "MESH", "-o", "a.mp4", "--pull", "1,2"], 2, "nine numbers"),
        (["simulate", "MESH", "-o", "a.mp4", "--size", "12"], 2, "1280x720"),
        (["simulate", "MESH", "-o", "a.npz", "--material", "soap"], 2, "elastic"),
        (["simulate", "MESH", "-o", "a.npz", "--drop", "1", "--anchor", "fixed"], 1, "cannot fall"),
        (["simulate", "none.obj", "-o", "a.npz"], 1, "none.obj"),
        (["simulate", "MESH", "-o", "nowhere/a.npz", "--seconds", "0.05", "-q"], 1, "does not exist"),
        (["inspect", "bad.stl"], 1, "bad.stl"),
        (["export", "bad.neurok", "-o", "a.npz"], 1, "bad.neurok"),
        (["train", "--data", ".", "--out", "run"], 1, "holds no dataset"),
        (["bench", "step", "--mesh", "none.obj"], 1, "none.obj"),
        (["nonsense"], 2, "nonsense"),
    ],
)
def test_refusals(
    words: list[str], status: int, said: str, capsule_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each refusal has its status and one sentence on standard error, never a traceback."""
    monkeypatch.chdir(tmp_path)
    Path("bad.stl").write_bytes(b"solid nothing\n")
    Path("bad.neurok").write_bytes(b"PK\x03\x04 cut off")
    done = runner.invoke(cli.commands, [str(capsule_file) if word == "MESH" else word for word in words])
    assert done.exit_code == status, done.output
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert sorted(p.name for p in tmp_path.iterdir() if p.name != "run") == ["bad.neurok", "bad.stl"]


def test_inspect_is_json(capsule_file: Path) -> None:
    """The report is JSON that names what was read and how the object would move."""
    done = runner.invoke(cli.commands, ["inspect", str(capsule_file), "--json"])
    assert done.exit_code == 0, done.output
    report = json.loads(done.stdout)
    assert report["format"] == "ply"
    assert report["watertight"] is True
    assert report["motion"]["coordinates"] >= 0


def test_bench_step_has_its_figures(capsule_file: Path) -> None:
    """The figures that other tools read are there, for any mesh size."""
    words = ["bench", "step", "--json", "--mesh", str(capsule_file), "--vertices", "500", "--steps", "5"]
    done = runner.invoke(cli.commands, words)
    assert done.exit_code == 0, done.output
    figures = json.loads(done.stdout)
    assert figures["vertices"] == pytest.approx(500, abs=10)
    assert {"step_ms", "decode_ms", "step_decode_ms", "k_q"} <= set(figures)
    assert figures["failed_steps"] == 0


def test_film_without_a_display(without_display: Run, capsule_file: Path, tmp_path: Path) -> None:
    """With no display at all, a video of odd size comes out even, with seconds times rate distinct pictures."""
    words = (
        "simulate",
        capsule_file,
        "--pull",
        PULL,
        "--seconds",
        0.5,
        "--fps",
        12,
        "--size",
        "161x121",
        "-o",
        "film.mp4",
    )
    done = without_display(*words)
    assert done.returncode == 0, done.stderr
    assert "Simulating" in done.stderr
    assert done.stdout == ""
    with av.open(str(tmp_path / "film.mp4")) as film:
        stream = film.streams.video[0]
        assert (stream.width, stream.height, stream.average_rate) == (162, 122, 12)
        pictures = [frame.to_ndarray(format="rgb24") for frame in film.decode(stream)]
    assert len(pictures) == 6
    assert len({picture.tobytes() for picture in pictures}) == 6
    assert [p.name for p in tmp_path.iterdir()] == ["film.mp4"]


def test_window_without_a_display_is_refused(without_display: Run, capsule_file: Path) -> None:
    """No display: one sentence that says what to do instead. A word that is nothing: usage."""
    refused = without_display(capsule_file)
    assert refused.returncode == 1
    assert "simulate" in refused.stderr
    assert len(refused.stderr.strip().splitlines()) == 1
    unknown = without_display("simulat")
    assert unknown.returncode == 2
    assert "sub-command" in unknown.stderr


def test_word_that_is_no_command_is_a_mesh(monkeypatch: pytest.MonkeyPatch, capsule_file: Path) -> None:
    """A mesh as the only word, or no word, opens the window with it, and its status is the program's."""
    opened: list[Path | None] = []

    def window(mesh: Path | None, *, checkpoint: Path | None) -> int:
        assert checkpoint is None
        opened.append(mesh)
        return 7

    monkeypatch.setenv("QT_QPA_PLATFORM", "offscreen")
    monkeypatch.setattr("app.application.run_window", window)
    assert cli.run([str(capsule_file)]) == 7
    assert cli.run([]) == 7
    assert opened == [capsule_file, None]
    assert cli.run(["a.obj", "b.obj"]) == 2
    assert len(opened) == 2


def test_doctor_names_what_it_found() -> None:
    """The report names renderer, torch, encoders and network, and the status says whether anything is missing."""
    done = runner.invoke(cli.commands, ["doctor", "--json"])
    report = json.loads(done.stdout)
    assert {"drawing", "torch", "encoders", "checkpoint", "window", "packages"} <= set(report)
    assert done.exit_code == (1 if report["missing"] else 0)
