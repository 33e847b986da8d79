"""What each of two processes does in `test_processes`: ``python -m tests.engine.training.two_processes DATA OUT``."""

from __future__ import annotations

import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import torch

from engine.datasets.pairs import ObjectPool, PairBatch, Sampling, draw_batch
from engine.model.variational_autoencoder import ModelConfig, VariationalAutoencoder
from engine.training import train as training
from engine.training.losses import reconstruction, run_model
from engine.training.processes import Processes

TINY = ModelConfig(width=32, heads=2, handles=6)
CONFIG = training.TrainingConfig(items=5 * 2 * 2 * 4, objects=2, points=48, warmup_iterations=1, device="cpu")


def small_model() -> VariationalAutoencoder:
    """Return the network whose gradients are compared."""
    torch.manual_seed(0)
    return VariationalAutoencoder(TINY)


def gradients(model: VariationalAutoencoder, batch: PairBatch) -> None:
    """Give the network the gradients of the mean loss of a batch."""
    decoded = run_model(model, batch, sample=False)
    (reconstruction(batch, decoded.positions, decoded.rotations).mean() + 1e-3 * decoded.kl.mean()).backward()


def tensors(batch: PairBatch) -> dict[str, Any]:
    """Return the tensors of a batch by name."""
    return {field.name: getattr(batch, field.name) for field in fields(batch) if field.name != "noise"}


def main(data: Path, out: Path) -> None:
    """Average gradients, then train, and write down what this process had."""
    torch.set_num_threads(1)
    processes = Processes(devices=2, device="cpu")
    pool = ObjectPool([data], seed=processes.rank)
    batch = draw_batch(pool.draw(3), np.random.default_rng(processes.rank), Sampling(48, 6, 2))
    model = small_model()
    gradients(model, batch)
    (told,) = processes.average(list(model.parameters()), [float(processes.rank)])
    averaged = {name: p.grad for name, p in model.named_parameters()}

    learners: list[Any] = []
    begin = training.begin

    def kept(*given: Any, **options: Any) -> Any:
        learners.append(begin(*given, **options))
        return learners[-1]

    training.begin = kept
    training.train([data], out / "run", config=CONFIG, model_config=TINY, processes=processes)
    (learner,) = learners
    facts = {"batch": tensors(batch), "gradients": averaged, "told": told, "noise": torch.get_rng_state()}
    facts |= {"weights": learner.model.state_dict(), "items": learner.items, "rank": processes.rank}
    torch.save(facts, out / f"rank-{processes.rank}.pt")
    processes.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
