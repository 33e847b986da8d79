"""Train on one GPU for some minutes, where there is no network and only what was carried there.

Beforehand, on any machine, make the compact dataset; code and data together stay below 64 MiB::

    python main.py dataset pack data/full -o data/pack

There, in the root of a checkout (torch, numpy, scipy, safetensors and jaxtyping are all it needs)::

    python -m benchmarks.train_on_gpu --data data/pack -o out
    python -m benchmarks.train_on_gpu --data data/pack -o out --init assets/models/neurok-small.safetensors

It trains with the recipe ``gpu`` and ends within ``--seconds`` of its start, reading and the last examination included;
then it writes ``model.safetensors``, ``log.csv`` and ``facts.json`` (the figures on the validation objects of the pack,
the device, and the pairs a second) to ``-o``, which by default is the folder that the variable OUT names. Without a GPU
the same runs on the processor, with batches of the recipe ``small``: ``--seconds 5`` is a trial of the whole path.
"""

from __future__ import annotations

import time

STARTED = time.perf_counter()

import argparse  # noqa: E402  (the clock starts first: the libraries take seconds to load)
import csv  # noqa: E402
import json  # noqa: E402
import logging  # noqa: E402
import os  # noqa: E402
from dataclasses import replace  # noqa: E402
from pathlib import Path  # noqa: E402

import torch  # noqa: E402

from engine.training.settings import RECIPES  # noqa: E402
from engine.training.train import train  # noqa: E402

# What the start of the interpreter and the last examination and writing take at most on a GPU [s].
RESERVE = 20.0


def main() -> None:
    """Train, and write what came of it."""
    wanted = argparse.ArgumentParser(description="Train on one GPU for some minutes.")
    wanted.add_argument("--data", type=Path, required=True, help="a dataset, such as 'main.py dataset pack' makes")
    wanted.add_argument("-o", "--out", type=Path, default=Path(os.environ.get("OUT", "runs/gpu")), help="folder")
    wanted.add_argument("--seconds", type=float, default=390.0, help="of wall-clock time, from start to end")
    wanted.add_argument("--init", type=Path, help="checkpoint to start from")
    wanted.add_argument("--objects", type=int, help="rest shapes in a batch")
    wanted.add_argument("--compile", action="store_true", help="compile the transformer blocks")
    given = wanted.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    on_gpu = torch.cuda.is_available()
    config, model_config = RECIPES["gpu" if on_gpu else "small"]
    # Reading is counted by what is left when it is done; a short trial keeps half of its time for training.
    left = given.seconds - (time.perf_counter() - STARTED)
    config = replace(
        config,
        seconds=max(left - RESERVE, 0.5 * left, 1.0),
        objects=given.objects or config.objects,
        compile=given.compile,
    )
    checkpoint = train(
        [given.data],
        given.out,
        config=config,
        model_config=model_config,
        initial=given.init,
        grow=given.init is not None,
    )
    with (given.out / "log.csv").open(newline="") as file:
        last = list(csv.DictReader(file))[-1]
    facts = {
        "device": torch.cuda.get_device_name() if on_gpu else "processor",
        "torch": torch.__version__,
        "gpu_memory_gb": torch.cuda.max_memory_allocated() / 1e9 if on_gpu else 0.0,
        "pairs_a_second": float(last["items"]) / (60.0 * float(last["minutes"])),
        "wall_seconds": time.perf_counter() - STARTED,
        **{name: float(value) for name, value in last.items() if value},
    }
    (given.out / "facts.json").write_text(json.dumps(facts, indent=1))
    print(json.dumps(facts, indent=1))
    print(checkpoint)


if __name__ == "__main__":
    main()
