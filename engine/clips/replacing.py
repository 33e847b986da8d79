"""Writing a file so that the old one stays whole until the new one is proven good."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from engine.clips.clip import ClipError


class ExportCancelled(Exception):
    """The user gave up; nothing was left behind."""


@contextmanager
def replacing(path: Path) -> Generator[Path]:
    """Give a path to write to, beside the target; rename it over the target at the end, remove it on any failure.

    Raises:
        ClipError: the folder is missing or cannot be written to.
    """
    if path.is_dir():
        raise ClipError(f"{path} is a folder; name a file in it.")
    if not path.parent.is_dir():
        raise ClipError(f"The folder {path.parent} does not exist; make it or choose another.")
    part = path.with_name(path.name + ".part")
    try:
        yield part
        os.replace(part, path)
    except OSError as problem:
        raise ClipError(f"{path.name} could not be written: {problem.strerror or problem}.") from problem
    finally:
        # The reason for the failure is worth more than a second one about the rest of the file.
        try:
            part.unlink(missing_ok=True)
        except OSError:
            pass
