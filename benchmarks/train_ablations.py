"""Train the full model and what it is compared with, each from random weights on the same number of pairs.

    python -m benchmarks.train_ablations --data data/full -o runs/ablations --items 150000
    python main.py evaluate ablations runs/ablations --data data/full --json out/ablations.json

A run that is finished is not trained again, one that was interrupted goes on where it was. The KL has its full weight
after a quarter of a run. ``no_extra`` needs ``--plain``, the dataset without the shapes and motions of others.
"""

from __future__ import annotations

import argparse
import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

from engine.datasets.augmentation import Augmentation
from engine.model.checkpoint import load_checkpoint
from engine.model.motions import MotionKind
from engine.model.variational_autoencoder import DecoderKind
from engine.training.settings import RECIPES
from engine.training.train import train

# What each variant changes of the recipe "small": settings of the training, sizes of the network.
VARIANTS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "full": ({}, {}),
    # The paper's: without data augmentation, without dual quaternions. Without reduction needs no training.
    "no_augmentation": ({"augmentation": Augmentation.plain()}, {}),
    "affine": ({}, {"motion": MotionKind.AFFINE}),
    # Ours: the paper's decoder, the weight of the KL, and what the network has besides.
    "query_decoder": ({}, {"decoder": DecoderKind.QUERY}),
    "kl_tenth": ({"beta": 3.0e-5}, {}),
    "kl_tenfold": ({"beta": 3.0e-3}, {}),
    "diagonal_posterior": ({}, {"posterior_rank": 0}),
    "standard_prior": ({}, {"prior_rank": 0}),
    "no_crispness": ({"crispness": 0.0}, {}),
    "no_rigidity": ({"rigidity": 0.0}, {}),
    "no_extra": ({}, {}),
}


def main() -> None:
    """Train them one after another."""
    wanted = argparse.ArgumentParser(description="Train the full model and its ablations at one budget.")
    wanted.add_argument("--data", type=Path, required=True, help="a dataset")
    wanted.add_argument("--plain", type=Path, help="the dataset without the shapes and motions of others")
    wanted.add_argument("-o", "--out", type=Path, required=True, help="folder of the runs")
    wanted.add_argument("--items", type=int, default=150_000, help="pairs of each run")
    wanted.add_argument("--only", action="append", choices=list(VARIANTS), help="this one; may be given again")
    given = wanted.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    config, network = RECIPES["small"]
    warm = max(1, given.items // (4 * config.objects * config.frames))
    for name in given.only or VARIANTS:
        data = given.plain if name == "no_extra" else given.data
        finished = given.out / name / "model.safetensors"
        if data is None or (finished.exists() and load_checkpoint(finished).facts["items"] >= given.items):
            continue
        training, sizes = VARIANTS[name]
        logging.info("%s", name)
        changed = replace(config, items=given.items, beta_warmup_iterations=warm, **training)
        train([data], given.out / name, config=changed, model_config=replace(network, **sizes), resume=True)


if __name__ == "__main__":
    main()
