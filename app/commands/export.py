"""``export``: make a video or arrays of a recorded clip."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from app.commands import options
from app.commands.parsing import check_targets
from app.commands.refusal import refusing


@refusing
def export(
    clip: Annotated[Path, typer.Argument(help="Clip file (.neurok).", show_default=False)],
    output: options.Targets,
    fps: options.Fps = 30,
    size: options.Size = options.DEFAULT_SIZE,  # type: ignore[assignment]  (Typer parses it)
    camera: options.Camera = options.DEFAULT_CAMERA,  # type: ignore[assignment]
    quiet: options.Quiet = False,
) -> None:
    """Make a video or arrays of a recorded clip, at any rate and size. Needs no display and no network.

    \b
    Examples:
      main.py export pull.neurok -o pull.mp4 --fps 60 --size 1920x1080
      main.py export pull.neurok -o pull.npz --fps 24
    """  # noqa: D301  (marks a block that keeps its lines)
    from app.commands.simulate import write_all
    from engine.clips.clip_file import read_clip

    check_targets(output)
    write_all(read_clip(clip), output, fps=fps, size=size, camera=camera, quiet=quiet)
