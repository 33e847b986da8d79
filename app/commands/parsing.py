"""From words of the command line to values; what does not fit is a usage error that says what would."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from pathlib import Path

import typer
from pydantic import ValidationError

from app.commands.refusal import Refused
from engine.scenes.conditions import TimedForce

SUFFIXES = (".mp4", ".npz", ".neurok")
PULL_FORM = "X,Y,Z;DX,DY,DZ;NEWTONS;START;END"
_SMALLEST, _LARGEST = 16, 7680


@dataclass(frozen=True, slots=True)
class CameraChoice:
    """Where a film is seen from.

    Attributes:
        azimuth: angle of the eye around the vertical [degrees], 0 on the +X side.
        elevation: angle above the horizon [degrees].
        distance: 1 shows all of the motion, 2 stands twice as far.
    """

    azimuth: float = -55.0
    elevation: float = 16.0
    distance: float = 1.0


@dataclass(frozen=True, slots=True)
class PictureSize:
    """Width and height of a picture [pixels]."""

    width: int
    height: int


def parse_pull(text: str) -> TimedForce:
    """Read ``X,Y,Z;DX,DY,DZ;NEWTONS;START;END``, or the same nine numbers with commas only."""
    numbers = _numbers(text.replace(";", ","), "--pull")
    groups = [len(group.split(",")) for group in text.split(";")]
    if len(numbers) != 9 or (len(groups) > 1 and groups != [3, 3, 1, 1, 1]):
        raise typer.BadParameter(f"a pull is {PULL_FORM}, nine numbers; this is {text!r}")
    x, y, z, dx, dy, dz, newtons, start, end = numbers
    try:
        return TimedForce(point=(x, y, z), direction=(dx, dy, dz), newtons=newtons, start=start, end=end)
    except ValueError as problem:
        raise typer.BadParameter(f"{text!r}: {_last_reason(problem)}") from problem


def parse_size(text: str) -> PictureSize:
    """Read ``1280x720``."""
    match = re.fullmatch(r"(\d+)[xX*](\d+)", text.strip())
    if match is None:
        raise typer.BadParameter(f"a size is WIDTHxHEIGHT, such as 1280x720; this is {text!r}")
    width, height = int(match[1]), int(match[2])
    if not (_SMALLEST <= min(width, height) and max(width, height) <= _LARGEST):
        raise typer.BadParameter(f"width and height are {_SMALLEST} to {_LARGEST} pixels; this is {text!r}")
    return PictureSize(width, height)


def parse_camera(text: str) -> CameraChoice:
    """Read ``AZIMUTH,ELEVATION`` or ``AZIMUTH,ELEVATION,DISTANCE``."""
    numbers = _numbers(text, "--camera")
    if len(numbers) not in (2, 3) or not -89.0 <= numbers[1] <= 89.0 or (len(numbers) == 3 and numbers[2] <= 0.0):
        raise typer.BadParameter(
            f"a camera is AZIMUTH,ELEVATION[,DISTANCE]: degrees, at most 89 up or down, a distance above 0; "
            f"this is {text!r}"
        )
    return CameraChoice(*numbers)


def check_targets(paths: list[Path]) -> list[Path]:
    """Return the targets; each needs an extension that names a format, and a folder that exists."""
    for path in paths:
        if path.suffix.lower() not in SUFFIXES:
            raise typer.BadParameter(f"{path.name} should end in one of {', '.join(SUFFIXES)}")
        # Found out before a minute of work, not after it.
        if not path.parent.is_dir():
            raise Refused(f"the folder {path.parent} does not exist; make it or choose another")
    return paths


def _numbers(text: str, option: str) -> list[float]:
    try:
        numbers = [float(word) for word in text.split(",")]
    except ValueError as problem:
        raise typer.BadParameter(f"{option} takes numbers; this is {text!r}") from problem
    if not all(math.isfinite(number) for number in numbers):
        raise typer.BadParameter(f"{option} takes finite numbers; this is {text!r}")
    return numbers


def _last_reason(problem: ValueError) -> str:
    """Return what a validation found, without the frame around it."""
    text = problem.errors()[0]["msg"] if isinstance(problem, ValidationError) else str(problem)
    return text.removeprefix("Value error, ")
