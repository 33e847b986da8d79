"""Train the conditional variational autoencoder: the loop. Settings lie in `settings`, the loss in `losses`.

Balance of the two halves of the loss: the weight ``beta`` of the KL grows with the square of the iteration, from a
hundredth to the full weight over ``beta_warmup_iterations``, so that the decoder learns to listen to the latent before
it costs anything; a run that starts from trained weights has the full weight at once. A weak KL reconstructs better and
reduces worse: the latent spreads over more directions, and samples of the prior lie beside the object's states. Two
figures of every line of the log are to be watched together: ``error``, and ``prior`` (motion between samples of the
prior over that of the data, near one). A layer of its own learns where the states of each object lie
(`engine.model.prior`), by their posteriors and without any say in them; its weight matters to nothing else.

The same seed, budget in ``items`` and number of processes give the same weights, bit for bit on one thread, and so does
a run that was interrupted and resumed.
"""

from __future__ import annotations

import json
import logging
import time
from dataclasses import asdict
from pathlib import Path

import numpy as np
import torch

from engine.datasets.pairs import ObjectPool, Sampling, draw_batch
from engine.datasets.sampling import SampledMotion
from engine.datasets.shards import read_split
from engine.datasets.state_table import StateTable
from engine.model.checkpoint import save_checkpoint
from engine.model.variational_autoencoder import ModelConfig
from engine.training.examination import evaluate as evaluate
from engine.training.examination import prepare_examination
from engine.training.learner import Draws, begin
from engine.training.losses import Neighbours, crispness, looseness
from engine.training.losses import reconstruction as reconstruction
from engine.training.losses import run_model as run_model
from engine.training.processes import Processes
from engine.training.run_files import STATE, RunLog, load_state, save_state
from engine.training.settings import KIND_SHARES as KIND_SHARES
from engine.training.settings import TrainingConfig as TrainingConfig

# Small beside the rest: gradients are clipped together.
PRIOR_WEIGHT = 1.0e-4

logger = logging.getLogger(__name__)


class TrainingDiverged(RuntimeError):
    """The loss or its gradient was not finite; the message names the iteration."""


def train(
    data: list[Path],
    run: Path,
    *,
    config: TrainingConfig,
    model_config: ModelConfig,
    resume: bool | Path = False,
    initial: Path | None = None,
    grow: bool = False,
    processes: Processes | None = None,
) -> Path:
    """Train on the datasets in the given folders and return the path of the last checkpoint in ``run``.

    Args:
        data: folders of datasets; see `engine.datasets.shards`.
        run: folder of the run's checkpoint, state and log (`engine.training.run_files`).
        config: settings.
        model_config: sizes of the network; where ``initial`` is given, its sizes hold.
        resume: go on from the run's last state, if there is one; or from that of the run in another folder.
        initial: checkpoint whose weights a new run starts with; the KL weight then has its full value at once.
        grow: take the sizes of ``model_config`` for all that, and begin what ``initial`` lacks anew.
        processes: that train together; by default one.

    Raises:
        DatasetError: a folder is no dataset, or has nothing to train on.
        CheckpointError: ``initial`` is no usable checkpoint.
        RunError: the run to go on with cannot be read.
        TrainingDiverged: the loss was not finite.
    """
    torch.set_num_threads(config.threads)
    run.mkdir(parents=True, exist_ok=True)
    processes = processes or Processes(device=config.device)
    state = None
    if resume and (isinstance(resume, Path) or (run / STATE).exists()):
        state = load_state(resume if isinstance(resume, Path) else run)
    learner = begin(config, model_config, processes, initial=initial, grow=grow, state=state)
    pool_seed = [config.seed + 1, processes.rank]
    pool = ObjectPool(data, capacity=config.pool, seed=pool_seed, copies=config.augmentation.copies)
    draws = Draws(pool, np.random.default_rng([config.seed, processes.rank]), processes)
    if state is not None:
        draws.restore(state["draws"])
    shares = {kind: KIND_SHARES.get(kind, 0.05) for kind in {motion.record.kind for motion in pool.motions}}
    sizes = learner.model.config
    sampling = Sampling(config.points, sizes.handles, config.frames, sizes.canonical)
    held_out = _held_out(data, pool, config)
    exam = prepare_examination(
        held_out, Sampling(seed_count=sizes.handles, canonical=sizes.canonical), device=processes.device
    )
    resident = config.resident and processes.device.type == "cuda" and not pool.streams
    table = StateTable(pool.motions, processes.device) if resident else None
    parameters = list(learner.model.parameters())
    logger.info(
        "%d objects, %d held out, %d parameters", len(pool.motions), len(held_out), sum(p.numel() for p in parameters)
    )

    checkpoint, saved, losses = run / "model.safetensors", learner.seconds, []
    with RunLog(run, after=None if state is None else learner.iteration, writes=processes.first) as log:
        clock = time.perf_counter()
        while (share := config.spent(seconds=learner.seconds, items=learner.items)) < 1.0:
            batch = draw_batch(
                pool.draw(config.objects, shares=shares),
                draws.rng,
                sampling,
                identity_share=config.identity,
                augmentation=config.augmentation,
                device=processes.device,
                table=table,
            )
            decoded = run_model(learner.model, batch, sample=True)
            near = Neighbours.of(batch)
            recon = reconstruction(batch, decoded.positions, decoded.rotations, near).mean()
            grown = config.kl_growth(iteration=learner.iteration, warm=learner.warm)
            loss = recon + grown * config.beta * decoded.kl.mean()
            loss = loss + config.crispness * crispness(batch, decoded.weights, near)
            random = decoded.random_states(batch.points)
            loss = loss + config.rigidity * looseness(batch, random)
            loss = loss + config.evenness * decoded.unevenness + PRIOR_WEIGHT * decoded.surprise
            learner.optimizers.zero_grad()
            loss.backward()

            # A run that was paused (kill -STOP) does not count the pause as training.
            passed, clock = min(time.perf_counter() - clock, 10.0), time.perf_counter()
            own = [learner.seconds + passed, float(loss.detach()), float(recon.detach())]
            learner.seconds, cost, told = processes.average(parameters, own)
            steepness = float(torch.nn.utils.clip_grad_norm_(parameters, 1.0))
            if not (np.isfinite(cost) and np.isfinite(steepness)):
                raise TrainingDiverged(
                    f"the loss was {cost} and the norm of its gradient {steepness} at iteration {learner.iteration}; "
                    "the last checkpoint is kept: go on from it with --init and a lower learning rate"
                )
            learner.optimizers.step(config.rate(share=share, iteration=learner.iteration))
            learner.average_weights(config.ema)
            learner.iteration += 1
            learner.items += config.objects * config.frames * processes.count
            losses.append(told)

            over = config.spent(seconds=learner.seconds, items=learner.items) >= 1.0
            if over or learner.seconds - saved > config.save_every:
                saved = learner.seconds
                drawn = draws.state()
                if processes.first:
                    metrics = {**learner.progress(), "recon": float(np.mean(losses)), "beta": grown * config.beta}
                    metrics |= evaluate(learner.average, exam.batches, exam.kinds)
                    log.write(metrics)
                    facts = {**metrics, "training": asdict(config), "objects": len(pool.motions)}
                    save_checkpoint(learner.average, facts, checkpoint)
                    save_state({**learner.state(), "draws": drawn, "training": json.dumps(asdict(config))}, run)
                losses.clear()
                clock = time.perf_counter()
    return checkpoint


def _held_out(data: list[Path], pool: ObjectPool, config: TrainingConfig) -> list[SampledMotion]:
    """Return the validation objects; a small set of one's own may have none: then those it trains on have to do."""
    found = [m for folder in data for m in read_split(folder, "validation") if m.record.variant == "original"]
    order = np.random.default_rng(0).permutation(len(found))[: config.held_out]
    return [found[i] for i in sorted(order)] or pool.motions[:: max(1, len(pool.motions) // 32)]
