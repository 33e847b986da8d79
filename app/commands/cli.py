"""All sub-commands in one place, and the choice between them and the window."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from app.commands.bench import bench
from app.commands.dataset import dataset
from app.commands.demo import demo
from app.commands.doctor import doctor
from app.commands.evaluate import evaluate
from app.commands.export import export
from app.commands.inspect import inspect
from app.commands.refusal import REFUSED, say
from app.commands.simulate import simulate
from app.commands.train import train

if TYPE_CHECKING:
    from collections.abc import Sequence

USAGE = 2
_CHECKPOINT = "--checkpoint"

commands = typer.Typer(
    name="neurok", no_args_is_help=True, add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False
)


@commands.callback()
def _program() -> None:
    """Open any 3D mesh, grab a point with the mouse and pull: the object answers as the real thing would.

    \b
    Without a sub-command the window opens:
      main.py                       with the gallery
      main.py MESH                  with a mesh of your own (OBJ, PLY, STL, OFF, glTF, GLB)
      main.py --checkpoint FILE [MESH]   with another network (.safetensors)

    The sub-commands need no display.
    """  # noqa: D301  (marks a block that keeps its lines)


for _command in (simulate, demo, export, inspect, train, doctor):
    commands.command()(_command)
commands.add_typer(dataset, name="dataset")
commands.add_typer(evaluate, name="evaluate")
commands.add_typer(bench, name="bench")

NAMES = ("simulate", "demo", "export", "inspect", "train", "doctor", "dataset", "evaluate", "bench")


def run(arguments: Sequence[str]) -> int:
    """Run a sub-command, or open the window when the first word is none; return the exit status."""
    arguments, checkpoint = _split_checkpoint(arguments)
    if checkpoint is not None and not checkpoint.is_file():
        say(f"There is no network {checkpoint}; --checkpoint wants a .safetensors file. See main.py --help.")
        return USAGE
    if checkpoint is None and arguments and (arguments[0] in NAMES or arguments[0].startswith("-")):
        try:
            commands(list(arguments), prog_name="main.py")
        except SystemExit as ended:
            return ended.code if isinstance(ended.code, int) else int(bool(ended.code))
        return 0
    if len(arguments) > 1:
        say(f"One mesh at a time; these are {len(arguments)} words. See main.py --help.")
        return USAGE
    return _open_window(Path(arguments[0]) if arguments else None, checkpoint)


def _split_checkpoint(arguments: Sequence[str]) -> tuple[Sequence[str], Path | None]:
    """Take the window's only option off the beginning of the words; without a file it becomes one that is not there."""
    if arguments and arguments[0] == _CHECKPOINT:
        return arguments[2:], Path(arguments[1] if len(arguments) > 1 else _CHECKPOINT)
    if arguments and arguments[0].startswith(f"{_CHECKPOINT}="):
        return arguments[1:], Path(arguments[0].removeprefix(f"{_CHECKPOINT}="))
    return arguments, None


def _open_window(mesh: Path | None, checkpoint: Path | None) -> int:
    if mesh is not None and not mesh.exists():
        say(f"{mesh} is neither a file nor a sub-command ({', '.join(NAMES)}). See main.py --help.")
        return USAGE if not mesh.suffix else REFUSED
    if not _display_is_there():
        say(
            "There is no display to open a window on. Use main.py simulate or main.py demo, or start a desktop or Xvfb."
        )
        return REFUSED
    from app.application import run_window

    return run_window(mesh, checkpoint=checkpoint)


def _display_is_there() -> bool:
    if not sys.platform.startswith("linux"):
        return True
    return any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"))
