"""``simulate``: let an object move for some seconds and write what happened."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from app.commands import options
from app.commands.parsing import PULL_FORM, check_targets, parse_pull
from app.commands.progress import Progress
from app.commands.refusal import Refused, refusing
from engine.scenes.conditions import TimedForce
from engine.scenes.material import MATERIALS, Anchor

if TYPE_CHECKING:
    from app.commands.parsing import CameraChoice, PictureSize
    from engine.clips.clip import Clip
    from engine.scenes.scene import Scene


@refusing
def simulate(
    mesh: options.Mesh,
    output: options.Targets,
    pull: Annotated[
        list[TimedForce],
        typer.Option(parser=parse_pull, metavar=PULL_FORM, help="A force on a point, see above. May be given again."),
    ] = [],  # noqa: B006  (Typer reads the default; it is not changed)
    seconds: Annotated[float, typer.Option(min=0.02, max=3600.0, help="How long.")] = 4.0,
    fps: options.Fps = 30,
    size: options.Size = options.DEFAULT_SIZE,  # type: ignore[assignment]  (Typer parses it)
    drop: Annotated[
        float | None,
        typer.Option(min=0.0, metavar="SIZES", help="Let it fall from this height, as a multiple of its size."),
    ] = None,
    anchor: options.AnchorChoice = None,
    material: options.MaterialChoice = None,
    up: options.Up = None,
    gravity: Annotated[float, typer.Option(help="Downward [m/s^2].")] = 9.81,
    floor: Annotated[bool, typer.Option(help="Whether there is a floor.")] = True,
    checkpoint: options.Network = None,
    camera: options.Camera = options.DEFAULT_CAMERA,  # type: ignore[assignment]
    quiet: options.Quiet = False,
) -> None:
    """Let an object move and write a video, arrays or a clip. Needs no display.

    A pull is a constant force on the surface point nearest to X,Y,Z, along DX,DY,DZ, in newtons, from START to END
    seconds. Point and direction are in the mesh file's own axes and units. The form is

    \b
      X,Y,Z;DX,DY,DZ;NEWTONS;START;END      (or the nine numbers with commas only)

    In place of a mesh, a scene file (.json) may name mesh, material, anchor and conditions; options go before it.

    \b
    Examples:
      main.py simulate assets/objects/plush_bear.glb --pull "0.4,0.9,0;1,0,0.5;25;0.3;1.3" -o bear.mp4
      main.py simulate chair.obj --pull 0,1,0,1,0,0,40,0,0.5 --seconds 3 --fps 60 --size 960x720 -o chair.mp4
      main.py simulate box.stl --drop 1.5 --material rubber -o fall.mp4 -o fall.npz -o fall.neurok
    """  # noqa: D301  (marks a block that keeps its lines)
    check_targets(output)
    if not output:
        raise typer.BadParameter("name at least one file to write with -o")
    if material is not None and material not in MATERIALS:
        raise typer.BadParameter(f"there is no material {material!r}; there are {', '.join(MATERIALS)}")
    clip = _run(
        mesh,
        tuple(pull),
        seconds=seconds,
        drop=drop,
        anchor=anchor,
        material=material,
        up=up,
        gravity=gravity,
        floor=floor,
        checkpoint=checkpoint,
        quiet=quiet,
    )
    write_all(clip, output, fps=fps, size=size, camera=camera, quiet=quiet)


def _run(
    mesh: Path,
    pulls: tuple[TimedForce, ...],
    *,
    seconds: float,
    drop: float | None,
    anchor: Anchor | None,
    material: str | None,
    up: options.UpAxis | None,
    gravity: float,
    floor: bool,
    checkpoint: Path | None,
    quiet: bool,
) -> Clip:
    from dataclasses import replace

    from app.commands.gallery_choice import gallery_choice
    from engine import api
    from engine.runtime.cores import use_spare_cores

    use_spare_cores()
    scene: Scene | None = None
    if mesh.suffix.lower() == ".json":
        mesh, scene = _read_scene(mesh)
        anchor = anchor or scene.anchor
        gravity, floor = scene.gravity, scene.floor
    own_anchor, own_material = gallery_choice(mesh)
    # What falls cannot be held.
    anchor = anchor or (Anchor.FREE if drop is not None else own_anchor)
    if drop is not None and anchor not in (None, Anchor.FREE):
        raise Refused(f"an object that is {anchor.value} cannot fall: leave out --drop, or say --anchor free")
    loaded = api.load(mesh, up=up, anchor=anchor, material=material or own_material, checkpoint=checkpoint)
    if scene is not None and scene.material is not None and material is None:
        motion = loaded.motion.with_material(scene.material)
        loaded = replace(loaded, material=scene.material, motion=motion)
    conditions = (*(scene.conditions if scene else ()), *pulls)
    return api.simulate(
        loaded,
        seconds=seconds,
        conditions=conditions,
        height=(drop or 0.0) * loaded.rest.size * loaded.metres_per_unit,
        gravity=gravity,
        floor=floor,
        progress=Progress("Simulating", quiet=quiet),
    )


def _read_scene(path: Path) -> tuple[Path, Scene]:
    from engine.scenes.scene import read_scene

    scene = read_scene(path)
    return path.parent / scene.mesh, scene


def write_all(
    clip: Clip, targets: list[Path], *, fps: int, size: PictureSize, camera: CameraChoice, quiet: bool
) -> None:
    """Write a clip to each target, drawing where a target is a video."""
    from app.commands.filming import film_of
    from engine import api
    from engine.clips.resample import frame_times

    count = len(frame_times(clip, fps=fps))
    for target in targets:
        told = Progress(f"Writing {target.name}", quiet=quiet)

        def progress(done: int, told: Progress = told) -> None:
            told(done, count)

        film = film_of(size=(size.width, size.height), camera=camera)
        api.export(clip, target, fps=fps, film=film, progress=progress)
