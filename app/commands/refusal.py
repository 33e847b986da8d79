"""How a command says no: one sentence on standard error and exit status 1; tracebacks are for mistakes in the code."""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, ParamSpec, TypeVar

import typer

if TYPE_CHECKING:
    from collections.abc import Callable

P = ParamSpec("P")
T = TypeVar("T")

REFUSED = 1
INTERRUPTED = 130


class Refused(Exception):
    """The command cannot do what was asked; the message is one sentence for the user."""


def refusing(command: Callable[P, T]) -> Callable[P, T]:
    """Let a command end with a sentence instead of a traceback where the reason is known."""

    @functools.wraps(command)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return command(*args, **kwargs)
        except KeyboardInterrupt:
            say("Stopped; nothing was left half-written.")
            raise typer.Exit(INTERRUPTED) from None
        except Exception as problem:
            if not _foreseen(problem):
                raise
            say(_sentence(problem))
            raise typer.Exit(REFUSED) from problem

    return guarded


def say(text: str) -> None:
    """Write a line to standard error."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def _foreseen(problem: Exception) -> bool:
    # Imported here: `--help` shall not wait for torch, which the checkpoint's reader needs.
    from engine.api import SimulationError
    from engine.clips.clip import ClipError
    from engine.geometry.load_report import MeshError
    from engine.model.checkpoint import CheckpointError
    from engine.scenes.scene import SceneError

    known = (Refused, MeshError, ClipError, SceneError, SimulationError, CheckpointError, FileNotFoundError)
    return isinstance(problem, (*known, PermissionError))


def _sentence(problem: Exception) -> str:
    text = " ".join(str(problem).split()) or type(problem).__name__
    # The name of a file keeps its spelling.
    if not set("./\\").intersection(text.split()[0]):
        text = f"{text[0].upper()}{text[1:]}"
    return text if text.endswith((".", "!", "?")) else f"{text}."
