"""``demo``: a short film of the plush bear, as a first look and as a check that everything works."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from app.commands import options
from app.commands.gallery_choice import GALLERY
from app.commands.parsing import check_targets
from app.commands.refusal import Refused, refusing

OBJECT = GALLERY / "plush_bear.glb"
SECONDS = 5.0


@refusing
def demo(
    output: Annotated[list[Path], typer.Option("--output", "-o", help="File to write; may be given again.")] = [  # noqa: B006
        Path("demo.mp4")
    ],
    fps: options.Fps = 30,
    size: options.Size = options.DEFAULT_SIZE,  # type: ignore[assignment]  (Typer parses it)
    quiet: options.Quiet = False,
) -> None:
    """Write a short film of the plush bear being pulled. Needs no display.

    \b
    Example:
      main.py demo -o demo.mp4
    """  # noqa: D301  (marks a block that keeps its lines)
    import numpy as np

    from app.commands.gallery_choice import gallery_choice
    from app.commands.parsing import CameraChoice
    from app.commands.progress import Progress
    from app.commands.simulate import write_all
    from engine import api
    from engine.runtime.cores import use_spare_cores
    from engine.scenes.conditions import TimedPull

    check_targets(output)
    if not OBJECT.is_file():
        raise Refused(f"the gallery has no {OBJECT.name}; restore assets/objects")
    use_spare_cores()
    anchor, material = gallery_choice(OBJECT)
    loaded = api.load(OBJECT, anchor=anchor, material=material)
    rest = np.asarray(loaded.rest.vertices)
    to_file = np.asarray(loaded.rest.unit_to_file)

    def place(unit: np.ndarray) -> tuple[float, float, float]:
        x, y, z = (to_file[:3, :3] @ unit + to_file[:3, 3]).tolist()
        return x, y, z

    def shift(unit: tuple[float, float, float]) -> tuple[float, float, float]:
        x, y, z = (to_file[:3, :3] @ np.array(unit)).tolist()
        return x, y, z

    top, side = rest[rest[:, 2].argmax()], rest[rest[:, 0].argmax()]
    conditions = (
        TimedPull(point=place(top), offset=shift((0.45, -0.2, -0.1)), start=0.4, end=1.6),
        TimedPull(point=place(side), offset=shift((0.6, -0.2, 0.35)), start=2.8, end=3.8),
    )
    clip = api.simulate(loaded, seconds=SECONDS, conditions=conditions, progress=Progress("Simulating", quiet=quiet))
    write_all(clip, output, fps=fps, size=size, camera=CameraChoice(), quiet=quiet)
