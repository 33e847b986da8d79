"""``evaluate baseline``: train one of the methods that the network is compared with."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Annotated

import typer

from app.commands.refusal import Refused, refusing


@refusing
def baseline(
    name: Annotated[str, typer.Argument(help="keypoint_deformer, blobs (24 of them) or blobs_4.")],
    data: Annotated[list[Path], typer.Option(help="Folder of a dataset. May be given again.", show_default=False)],
    out: Annotated[Path, typer.Option("--out", "-o", help="Checkpoint to write.", show_default=False)],
    items: Annotated[int, typer.Option(min=1, help="Pairs of states to train on.")] = 150_000,
    minutes: Annotated[float | None, typer.Option(min=0.01, help="End the training earlier.")] = None,
    most_minutes: Annotated[
        float, typer.Option(min=0.01, help="Go on for so long, if the baseline does not beat the rest pose by 30 %.")
    ] = 60.0,
    threads: Annotated[int, typer.Option(min=1, help="Processor threads.")] = 1,
    seed: Annotated[int, typer.Option(help="Of weights and batches.")] = 0,
) -> None:
    """Train a baseline on the data that the network is trained on, and write its checkpoint.

    \b
    Examples:
      main.py evaluate baseline keypoint_deformer --data data/full -o runs/baselines/keypoint_deformer.safetensors
      main.py evaluate baseline blobs_4 --data data/full -o runs/baselines/blobs_4.safetensors --minutes 20
    """  # noqa: D301  (marks a block that keeps its lines)
    from engine.datasets.shards import DatasetError
    from engine.evaluation.baselines.training import TRAINED, BaselineTraining, train_baseline
    from engine.training.train import TrainingDiverged

    if name not in TRAINED:
        raise Refused(f"no baseline is called {name!r}: choose one of {', '.join(TRAINED)}")
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    config = BaselineTraining(
        items=items,
        seconds=None if minutes is None else 60.0 * minutes,
        most_seconds=60.0 * most_minutes,
        threads=threads,
        seed=seed,
    )
    try:
        facts = train_baseline(name, data, out, config=config)
    except (TrainingDiverged, DatasetError) as problem:
        raise Refused(str(problem)) from problem
    verdict = "passes" if facts["passes"] else "FAILS"
    print(f"{out}: {facts['items']} pairs in {facts['seconds']:.0f} s, error over motion {facts['error/all']:.3f} on")
    print(f"training objects; {verdict} its gate of 0.7")
