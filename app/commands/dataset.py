"""``dataset``: generate the 4D dataset; the work is in `engine.datasets.build`."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Annotated

import typer

from app.commands.refusal import refusing

dataset = typer.Typer(help="Make data to train on.", no_args_is_help=True, rich_markup_mode=None)


@dataset.callback()
def _group() -> None:
    """Make data to train on."""


@dataset.command()
@refusing
def build(
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder of the shards.", show_default=False)],
    count: Annotated[int, typer.Option(min=1, help="Number of motions.")] = 600,
    first_seed: Annotated[int, typer.Option("--seed", "--first-seed", min=0, help="Seed of the first motion.")] = 0,
) -> None:
    """Generate motions of articulated, soft, cloth and rigid objects; shards that are there are kept.

    \b
    Example:
      main.py dataset build -o data/procedural --count 600
    """  # noqa: D301  (marks a block that keeps its lines)
    from engine.datasets.build import build_dataset

    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    build_dataset(output, count=count, first_seed=first_seed)
    print(output)
