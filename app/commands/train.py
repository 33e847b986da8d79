"""``train``: train the network; the work is in `engine.training.train`."""

from __future__ import annotations

import json
import logging
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from app.commands.refusal import Refused, refusing

if TYPE_CHECKING:
    from engine.training.settings import TrainingConfig


class Recipe(StrEnum):
    """Named settings: `engine.training.settings.RECIPES`."""

    SMALL = "small"
    GPU = "gpu"


class Device(StrEnum):
    """Where to train."""

    AUTO = "auto"
    CPU = "cpu"
    CUDA = "cuda"


@refusing
def train(
    data: Annotated[list[Path], typer.Option(help="Folder of a dataset. May be given again.", show_default=False)],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Folder of the run; by default that of --resume.", show_default=False),
    ] = None,
    recipe: Annotated[
        Recipe, typer.Option("--config", help="small: one processor core, hours. gpu: one large GPU, minutes.")
    ] = Recipe.SMALL,
    initial: Annotated[
        Path | None,
        typer.Option("--init", help="Start from this checkpoint's weights.", exists=True, dir_okay=False),
    ] = None,
    resume: Annotated[
        Path | None,
        typer.Option("--resume", help="Go on with the run in this folder, exactly where it was, with its settings."),
    ] = None,
    minutes: Annotated[
        float | None, typer.Option(min=0.01, help="Time to train, that of --resume included.", show_default="recipe's")
    ] = None,
    items: Annotated[
        int | None, typer.Option(min=1, help="Pairs to train on, in place of a time.", show_default=False)
    ] = None,
    grow: Annotated[
        bool, typer.Option("--grow", help="With --init: add the layers that the recipe's network has besides.")
    ] = False,
    augment: Annotated[bool, typer.Option(help="Vary the objects at random.")] = True,
    seed: Annotated[int, typer.Option(min=0, help="Of weights and batches.")] = 0,
    threads: Annotated[int, typer.Option(min=1, help="Processor threads.")] = 1,
    device: Annotated[Device, typer.Option(help="auto: a GPU where there is one.")] = Device.AUTO,
    devices: Annotated[int, typer.Option(min=1, help="Processes on each machine, each on a GPU of its own.")] = 1,
    nodes: Annotated[int, typer.Option(min=1, help="Machines; start each with 'fabric run'.")] = 1,
) -> None:
    """Train the network on one's own or on generated motion, and write a checkpoint now and then.

    \b
    Examples:
      main.py dataset build -o data/small --share 0.1
      main.py train --data data/small -o runs/first --minutes 40
      main.py train --data data/small --resume runs/first --minutes 80
      main.py train --data data/mine -o runs/mine --init assets/models/neurok-small.safetensors
      main.py train --data data/full -o runs/fast --config gpu --devices 4
    """  # noqa: D301  (marks a block that keeps its lines)
    from engine.datasets.shards import DatasetError
    from engine.model.checkpoint import CheckpointError
    from engine.training.processes import Processes, ProcessesUnavailable
    from engine.training.run_files import STATE, RunError
    from engine.training.settings import RECIPES
    from engine.training.train import TrainingDiverged
    from engine.training.train import train as run

    if initial is not None and resume is not None:
        raise Refused("A run either starts from a checkpoint or goes on: give --init or --resume.")
    if grow and initial is None:
        raise Refused("--grow adds layers to the network of a checkpoint: give --init too.")
    if minutes is not None and items is not None:
        raise Refused("A run ends after a time or after a number of pairs: give --minutes or --items.")
    folder = out or resume
    if folder is None:
        raise Refused("Say where the run shall be kept: -o FOLDER.")
    if (folder / STATE).exists() and resume is None:
        raise Refused(f"{folder} holds a run: go on with it by --resume {folder}, or choose another folder.")
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    config, model_config = RECIPES[recipe]
    try:
        if resume is None:
            config = replace(config, seed=seed, device=str(device), augmentation=config.augmentation)
            config = config if augment else replace(config, augmentation=config.augmentation.none())
        else:
            config = _kept(resume, config)
        config = replace(config, threads=threads)
        if minutes is not None:
            config = replace(config, seconds=60.0 * minutes, items=None)
        elif items is not None:
            config = replace(config, items=items)
        processes = Processes(devices=devices, nodes=nodes, device=config.device)
        if not processes.first:
            logging.getLogger().setLevel(logging.WARNING)
        going_on: bool | Path = False if resume is None else resume
        checkpoint = run(
            data,
            folder,
            config=config,
            model_config=model_config,
            resume=going_on,
            initial=initial,
            grow=grow,
            processes=processes,
        )
        processes.close()
    except (TrainingDiverged, DatasetError, CheckpointError, RunError, ProcessesUnavailable) as problem:
        raise Refused(str(problem)) from problem
    if processes.first:
        print(checkpoint)


def _kept(run: Path, otherwise: TrainingConfig) -> TrainingConfig:
    """Return the settings that an interrupted run was started with."""
    from engine.training.run_files import load_state

    kept = load_state(run).get("training")
    return otherwise if kept is None else otherwise.from_dict(json.loads(kept))
