"""``train``: train the network; the work is in `engine.training.train`."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Annotated

import typer

from app.commands.refusal import Refused, refusing


@refusing
def train(
    data: Annotated[list[Path], typer.Option(help="Folder of a dataset. May be given again.", show_default=False)],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder of the run.", show_default=False)],
    minutes: Annotated[float, typer.Option(min=0.01, help="Time to train.")] = 60.0,
    initial: Annotated[
        Path | None, typer.Option("--init", help="Start from this checkpoint's weights.", exists=True, dir_okay=False)
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the run's last state.")] = False,
    threads: Annotated[int, typer.Option(min=1, help="Processor threads.")] = 1,
    seed: Annotated[int, typer.Option(help="Of weights and batches.")] = 0,
) -> None:
    """Train the network on one's own or on generated motion, and write a checkpoint now and then.

    \b
    Examples:
      main.py dataset build -o data/small --share 0.1
      main.py train --data data/small --out runs/first --minutes 40
      main.py train --data data/small --out runs/first --minutes 80 --resume
      main.py train --data data/mine --out runs/mine --init assets/models/neurok-small.safetensors
    """  # noqa: D301  (marks a block that keeps its lines)
    from engine.datasets.shards import DatasetError
    from engine.model.checkpoint import CheckpointError
    from engine.model.variational_autoencoder import ModelConfig
    from engine.training.train import TrainingConfig, TrainingDiverged
    from engine.training.train import train as run

    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    config = TrainingConfig(seconds=60.0 * minutes, threads=threads, seed=seed)
    try:
        checkpoint = run(data, out, config=config, model_config=ModelConfig(), resume=resume, initial=initial)
    except (TrainingDiverged, DatasetError, CheckpointError) as problem:
        raise Refused(str(problem)) from problem
    print(checkpoint)
