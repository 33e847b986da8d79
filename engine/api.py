"""The few public verbs: load an object, simulate it, export what was recorded. The commands use nothing else.

bear = load(Path("bear.glb"))
pull = TimedForce(point=(0.4, 0.2, 0.0), direction=(1, 0, 0), newtons=30.0, start=0.5, end=1.5)
clip = simulate(bear, seconds=4.0, conditions=(pull,))
export(clip, Path("bear.npz"), fps=30)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float64, UInt8

from engine.clips.clip import Clip, ClipError
from engine.clips.clip_file import SUFFIX, write_clip
from engine.clips.npz import write_npz
from engine.clips.replacing import ExportCancelled
from engine.clips.resample import frame_times
from engine.clips.video import write_video
from engine.geometry.rest_shape import UpAxis
from engine.runtime import messages
from engine.runtime.loading import LoadedObject, load_object
from engine.runtime.pacing import STEP
from engine.runtime.session import Session
from engine.runtime.stage import Stage
from engine.scenes.conditions import Condition
from engine.scenes.material import Anchor

__all__ = ["EXPORT_SUFFIXES", "Film", "SimulationError", "export", "load", "simulate"]

EXPORT_SUFFIXES = (".mp4", ".npz", SUFFIX)


class SimulationError(RuntimeError):
    """A motion could not be computed; the message says when and why."""


@dataclass(frozen=True, slots=True)
class Film:
    """How a video is drawn: the engine has no renderer, so the pictures come from outside.

    Attributes:
        size: width and height [pixels].
        draw: makes the pictures of a clip at the given times [s], one at a time, at the (even) size.
    """

    size: tuple[int, int]
    draw: Callable[[Clip, Float64[np.ndarray, " f"]], Iterable[UInt8[np.ndarray, "h w 3"]]]


def load(
    path: Path,
    *,
    up: UpAxis | None = None,
    anchor: Anchor | None = None,
    material: str | None = None,
    metres_per_unit: float = 0.5,
    checkpoint: Path | None = None,
) -> LoadedObject:
    """Read a mesh and make it ready to move.

    Args:
        path: the mesh file.
        up: its up axis; None takes what its format usually means.
        anchor: how it is held; None lets the object suggest.
        material: a preset's name; None lets the object suggest.
        metres_per_unit: half the object's longest side [m].
        checkpoint: file of the network that moves it; None takes the one that comes with the program.

    Raises:
        MeshError: the file holds no usable mesh; the message says what to do.
        CheckpointError: the checkpoint cannot be used; the message says why.
        ValueError: an unknown material.
    """
    return load_object(
        messages.LoadMesh(
            path, up=up, anchor=anchor, material=material, metres_per_unit=metres_per_unit, checkpoint=checkpoint
        )
    )


def simulate(
    loaded: LoadedObject,
    *,
    seconds: float,
    conditions: Sequence[Condition] = (),
    height: float = 0.0,
    gravity: float = 9.81,
    floor: bool = True,
    progress: Callable[[int, int], None] | None = None,
    cancelled: Callable[[], bool] | None = None,
    watch: Callable[[Stage], None] | None = None,
) -> Clip:
    """Let time pass and return what happened. The same session runs here and in the window, without clock or thread.

    Args:
        loaded: the object, at rest.
        seconds: how long, rounded to steps of 1/60 s.
        conditions: timed forces, pulls and pins, in the mesh file's frame and units.
        height: of the lowest point above the floor at the beginning [m].
        gravity: along -Z [m/s^2].
        floor: whether there is one.
        progress: called with the steps done and their number.
        cancelled: asked before each step.
        watch: shown the stage after each step, to measure what a clip does not keep, such as energies.

    Raises:
        SimulationError: a step failed, or the time is not positive.
        ExportCancelled: ``cancelled`` said so.
    """
    if not (np.isfinite(seconds) and seconds > 0.0):
        raise SimulationError(f"the time to simulate must be positive; it is {seconds} s")
    session = Session(lambda _: loaded)
    beginning: tuple[messages.Command, ...] = (
        messages.SetGravity(gravity),
        messages.SetFloor(floor),
        messages.LoadMesh(loaded.path),
        messages.Pause(),
        messages.Reset(height=height),
        messages.SetConditions(tuple(conditions)),
        messages.StartRecording(),
    )
    for command in beginning:
        _check(session.handle(command), 0.0)
    steps = max(1, round(seconds / STEP))
    for done in range(1, steps + 1):
        if cancelled is not None and cancelled():
            raise ExportCancelled
        _check(session.handle(messages.StepOnce()), done * STEP)
        if watch is not None and session.stage is not None:
            watch(session.stage)
        if progress is not None:
            progress(done, steps)
    (recorded,) = [e for e in session.handle(messages.StopRecording()) if isinstance(e, messages.Recorded)]
    return recorded.clip


def export(
    clip: Clip,
    path: Path,
    *,
    fps: int | float = 30,
    film: Film | None = None,
    progress: Callable[[int], None] | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> None:
    """Write a clip in the format that the file's extension names: ``.mp4``, ``.npz`` or ``.neurok``.

    Args:
        clip: the recording.
        path: target; an old file stays until the new one has been read back.
        fps: pictures or frames per second; ``.neurok`` keeps every step.
        film: needed for ``.mp4``.
        progress: called with the number of pictures or frames written.
        cancelled: asked before each.

    Raises:
        ClipError: an unknown extension, no film for a video, or a file that could not be written.
        ExportCancelled: ``cancelled`` said so; nothing is left behind.
    """
    suffix = path.suffix.lower()
    if suffix == SUFFIX:
        write_clip(clip, path)
    elif suffix == ".npz":
        write_npz(clip, path, fps=fps, progress=progress, cancelled=cancelled)
    elif suffix == ".mp4" and film is not None:
        pictures = film.draw(clip, frame_times(clip, fps=fps))
        write_video(pictures, path, fps=fps, size=film.size, progress=progress, cancelled=cancelled)
    elif suffix == ".mp4":
        raise ClipError(f"{path.name} is a video, and no film says how to draw it")
    else:
        raise ClipError(f"{path.name} should end in one of {', '.join(EXPORT_SUFFIXES)}")


def _check(events: Sequence[messages.Event], time: float) -> None:
    for event in events:
        if isinstance(event, (messages.Diverged, messages.Failed, messages.LoadFailed)):
            raise SimulationError(f"the motion could not be computed at {time:.2f} s: {event.reason}")
