"""``dataset``: build, import, inspect, preview and pack 4D datasets; the work is in `engine.datasets`."""

from __future__ import annotations

import json
import logging
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from app.commands.refusal import Refused, refusing

dataset = typer.Typer(help="Make data to train on.", no_args_is_help=True, rich_markup_mode=None)


@contextmanager
def _refusing_folders() -> Generator[None]:
    """Refuse, in its own words, a folder that is no usable dataset."""
    from engine.datasets.shards import DatasetError

    try:
        yield
    except DatasetError as problem:
        raise Refused(str(problem)) from problem


Folder = Annotated[Path, typer.Argument(help="Folder of a dataset.", show_default=False)]


@dataset.callback()
def _group() -> None:
    """Make data to train on."""


@dataset.command()
@refusing
def build(
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder of the dataset.", show_default=False)],
    extra: Annotated[
        Path | None,
        typer.Option(help="Folder of permissive meshes and motions of others.", exists=True, file_okay=False),
    ] = None,
    share: Annotated[float, typer.Option(min=0.0, max=10.0, help="Share of the full number of objects.")] = 1.0,
    seed: Annotated[int, typer.Option(min=0, help="Seed of everything random.")] = 0,
    workers: Annotated[int | None, typer.Option(min=1, help="Processes; default one per core.")] = None,
    only: Annotated[list[str] | None, typer.Option(help="Run this maker alone. May be given again.")] = None,
) -> None:
    """Generate and simulate moving objects of every kind. May be interrupted and goes on where it was.

    \b
    Examples:
      main.py dataset build -o data/full
      main.py dataset build -o data/small --share 0.05 --only articulated --only modal_solid
    """  # noqa: D301  (marks a block that keeps its lines)
    from engine.datasets.build import BuildPlan, build_dataset
    from engine.datasets.makers import MAKERS

    unknown = sorted(set(only or []) - set(MAKERS))
    if unknown:
        raise Refused(f"There is no maker {', '.join(unknown)}: the makers are {', '.join(MAKERS)}.")
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    plan = BuildPlan(seed=seed, share=share, extra=extra, makers=tuple(only or []))
    try:
        with _refusing_folders():
            build_dataset(output, plan, workers=workers)
    except ModuleNotFoundError as missing:
        raise Refused(f"{missing.name} is not installed: pip install -e '.[data]'") from missing
    print((output / "README.md").read_text())


@dataset.command("import")
@refusing
def import_(
    paths: Annotated[list[Path], typer.Argument(help="Files and folders of motion.", show_default=False)],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder of the dataset.", show_default=False)],
    seed: Annotated[int, typer.Option(min=0, help="Seed of samples and joint sweeps.")] = 0,
    split: Annotated[str | None, typer.Option(help="Put all in this split, e.g. train.")] = None,
) -> None:
    """Turn animated GLB, BVH, OBJ or PLY sequences, NPZ, MJCF and URDF into a dataset.

    What cannot be used is skipped with a reason; it is an error only if nothing could be used.

    \b
    Example:
      main.py dataset import animals/*.glb robot.urdf -o data/mine
    """  # noqa: D301  (marks a block that keeps its lines)
    from engine.datasets.import_files import import_motions
    from engine.datasets.shards import SPLITS

    if split is not None and split not in SPLITS:
        raise Refused(f"There is no split {split}: the splits are {', '.join(SPLITS)}.")
    missing = [str(path) for path in paths if not path.exists()]
    if missing:
        raise Refused(f"There is no file {', '.join(missing)}.")
    report = import_motions(paths, output, seed=seed, split=split)
    for name, reason in report.refused.items():
        print(f"skipped {name}: {reason}")
    if not report.imported:
        raise Refused("Nothing could be imported.")
    print(f"{len(report.imported)} objects in {output}")


@dataset.command("inspect")
@refusing
def inspect_(
    folder: Folder,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON object.")] = False,
) -> None:
    """Read the whole dataset; count what is there, and name what is not finite, broken or on both sides of a split."""
    from engine.datasets.inspection import inspect_dataset

    with _refusing_folders():
        found = inspect_dataset(folder)
    if as_json:
        counts = {"objects": found.objects, "states": found.states, "splits": found.splits, "variants": found.variants}
        print(json.dumps({**counts, "faults": found.faults}))
    else:
        for kind, count in sorted(found.objects.items()):
            print(f"{kind:12} {count:6,} objects {found.states[kind]:8,} states")
        print(
            f"{'in all':12} {found.objects.total():6,} objects {found.states.total():8,} states, "
            f"and {found.variants:,} coarser copies"
        )
        print(", ".join(f"{split} {n:,}" for split, n in found.splits.items()))
        for fault in found.faults:
            print(f"fault: {fault}")
        print(f"{len(found.faults)} faults")
    if found.faults:
        raise typer.Exit(1)


@dataset.command()
@refusing
def preview(
    folder: Folder,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder of the pictures.", show_default=False)],
    objects: Annotated[int, typer.Option(min=1, help="Objects of each kind.")] = 24,
    seed: Annotated[int, typer.Option(min=0, help="Which objects.")] = 0,
) -> None:
    """Draw a contact sheet and a moving picture of each kind of motion."""
    from app.commands.dataset_preview import preview_dataset

    with _refusing_folders():
        for path in preview_dataset(folder, output, objects=objects, seed=seed):
            print(path)


@dataset.command()
@refusing
def pack(
    folder: Folder,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder of the compact dataset.", show_default=False)],
    states: Annotated[int, typer.Option(min=2, help="States in all.")] = 6000,
    samples: Annotated[int, typer.Option(min=32, help="Surface samples of a state.")] = 256,
) -> None:
    """Make a copy with few samples and states, to carry to another machine."""
    from engine.datasets.pack import pack_dataset

    with _refusing_folders():
        count = pack_dataset(folder, output, states=states, samples=samples)
    size = sum(path.stat().st_size for path in (output / "train").iterdir())
    print(f"{count:,} states, {size / 1e6:.1f} MB in {output}")
