"""The window's choice among networks: what is offered, what a choice sends, and that a failure changes nothing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from PySide6.QtWidgets import QFileDialog

from app.commands import cli
from app.panels.network_choice import list_networks
from engine.geometry.load_report import UpAxis
from engine.runtime import messages
from tests.app.conftest import ListeningEngine, ball, make_loaded, needs_display

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot

    from app.application import Workbench
    from app.panels.network_choice import NetworkChoice

pytestmark = needs_display

MODELS = Path(__file__).resolve().parents[2] / "assets" / "models"
SMALL, BROAD = MODELS / "neurok-small.safetensors", MODELS / "neurok-broad.safetensors"


def pick(choice: NetworkChoice, entry: str) -> None:
    """Choose an entry as a user does."""
    index = choice.combo.findText(entry)
    choice.combo.setCurrentIndex(index)
    choice.combo.activated.emit(index)


def put_on_stage(bench: Workbench, engine: ListeningEngine, qtbot: QtBot, *, checkpoint: Path, path: Path) -> None:
    """Let the engine say that an object was loaded with a network."""
    from dataclasses import replace

    bench.load(path)
    engine.push(replace(make_loaded(ball(), path), checkpoint=checkpoint))
    qtbot.waitUntil(lambda: bench.display.checkpoint == checkpoint)


def test_networks_of_the_program_are_offered(workbench: Workbench) -> None:
    """All checkpoints of the folder and the way to others stand in the list; before the first load none is shown."""
    choice = workbench.window.gallery.networks
    names = [choice.combo.itemText(i) for i in range(choice.combo.count())]
    assert names == [*(path.stem for path in sorted(MODELS.glob("*.safetensors"))), "Open…"]
    assert choice.shown is None and choice.combo.currentIndex() == -1


def test_another_network_loads_the_object_again(workbench: Workbench, engine: ListeningEngine, qtbot: QtBot) -> None:
    """A choice asks for the same file, standing as it stands, with the new network, which later objects get too."""
    put_on_stage(workbench, engine, qtbot, checkpoint=SMALL, path=Path("ball.ply"))
    choice, count = workbench.window.gallery.networks, len(engine.of(messages.LoadMesh))
    assert choice.shown == SMALL
    pick(choice, SMALL.stem)
    assert len(engine.of(messages.LoadMesh)) == count, "what is shown already is not loaded again"
    pick(choice, BROAD.stem)
    asked = engine.of(messages.LoadMesh)[-1]
    assert (asked.path, asked.checkpoint) == (Path("ball.ply"), BROAD)
    assert workbench.rest is not None and asked.up is workbench.rest.report.up
    assert choice.shown == SMALL, "the old one moves the object until the new one is ready"
    workbench.load(Path("next.ply"))
    assert engine.of(messages.LoadMesh)[-1] == messages.LoadMesh(Path("next.ply"), checkpoint=BROAD)
    put_on_stage(workbench, engine, qtbot, checkpoint=BROAD, path=Path("next.ply"))
    assert choice.shown == BROAD


def test_a_network_that_fails_leaves_the_scene(workbench: Workbench, engine: ListeningEngine, qtbot: QtBot) -> None:
    """After a failed load the object, its network and the choice are those from before, and the reason is shown."""
    put_on_stage(workbench, engine, qtbot, checkpoint=SMALL, path=Path("ball.ply"))
    rest = workbench.rest
    pick(workbench.window.gallery.networks, BROAD.stem)
    engine.push(messages.LoadFailed("neurok-broad.safetensors is not a readable file.", Path("ball.ply")))
    qtbot.waitUntil(lambda: "not a readable" in workbench.window.banner.words)
    assert workbench.rest is rest and workbench.window.gallery.networks.shown == SMALL
    workbench.load(Path("next.ply"), up=UpAxis.Z)
    assert engine.of(messages.LoadMesh)[-1].checkpoint == SMALL


def test_a_network_from_a_file(
    workbench: Workbench, engine: ListeningEngine, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last entry asks for a file; once it has been loaded with it stands in the list, once."""
    put_on_stage(workbench, engine, qtbot, checkpoint=SMALL, path=Path("ball.ply"))
    own = tmp_path / "my run" / "checkpoint.safetensors"
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: (str(own), ""))
    choice = workbench.window.gallery.networks
    pick(choice, "Open…")
    assert engine.of(messages.LoadMesh)[-1].checkpoint == own
    before = choice.combo.count()
    for _ in range(2):
        put_on_stage(workbench, engine, qtbot, checkpoint=own, path=Path("ball.ply"))
    assert choice.shown == own and choice.combo.count() == before + 1
    assert choice.combo.itemText(choice.combo.count() - 1) == "Open…"
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: ("", ""))
    count = len(engine.commands)
    pick(choice, "Open…")
    assert len(engine.commands) == count, "a dialog that was closed asks for nothing"


def test_no_folder_no_networks(tmp_path: Path) -> None:
    """A folder that is not there offers nothing."""
    assert list_networks(tmp_path / "none") == []


@pytest.mark.parametrize("words", [["--checkpoint", str(BROAD)], [f"--checkpoint={BROAD}"]])
def test_the_command_line_names_a_network(words: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The window opens with the network and the mesh that are named; one that is not there is a usage error."""
    opened: list[tuple[Path | None, Path | None]] = []
    monkeypatch.setattr(cli, "_open_window", lambda mesh, checkpoint: opened.append((mesh, checkpoint)) or 0)
    assert cli.run([*words, "chair.obj"]) == 0 and cli.run(words) == 0 and cli.run([]) == 0
    assert opened == [(Path("chair.obj"), BROAD), (None, BROAD), (None, None)]
    assert cli.run(["--checkpoint", str(tmp_path / "none.safetensors"), "chair.obj"]) == cli.USAGE
    assert cli.run(["--checkpoint"]) == cli.USAGE
