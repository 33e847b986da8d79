"""Options that several commands share, with their help."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from app.commands.parsing import CameraChoice, PictureSize, parse_camera, parse_size
from engine.geometry.load_report import UpAxis
from engine.scenes.material import MATERIALS, Anchor

Mesh = Annotated[Path, typer.Argument(help="OBJ, PLY, STL, OFF, glTF or GLB file.", show_default=False)]
Up = Annotated[UpAxis | None, typer.Option(help="The file's up axis; by default what its format usually means.")]
AnchorChoice = Annotated[Anchor | None, typer.Option(help="How the object is held; by default what suits it.")]
MaterialChoice = Annotated[
    str | None, typer.Option(help=f"One of {', '.join(MATERIALS)}; by default what suits the object.")
]
Network = Annotated[
    Path | None,
    typer.Option("--checkpoint", help="Network that moves the object (.safetensors); by default the program's own."),
]
Targets = Annotated[
    list[Path],
    typer.Option(
        "--output", "-o", help="File to write: .mp4, .npz or .neurok. May be given again.", show_default=False
    ),
]
Fps = Annotated[int, typer.Option(min=1, max=240, help="Pictures (or .npz frames) per second.")]
Size = Annotated[
    PictureSize,
    typer.Option(parser=parse_size, metavar="WxH", help="Picture size [pixels]; odd numbers grow by one."),
]
Camera = Annotated[
    CameraChoice,
    typer.Option(
        parser=parse_camera,
        metavar="AZIMUTH,ELEVATION[,DISTANCE]",
        help="Where the film is seen from, in degrees; distance 1 has all of the motion in view.",
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress on standard error.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]

DEFAULT_SIZE = "1280x720"
DEFAULT_CAMERA = "-55,16,1"
