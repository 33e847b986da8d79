"""Build the 4D dataset: jobs of a few dozen objects each, over processes, resumable, every object by its own seed.

A job writes one shard for each split that it has objects of, then its report; a job whose report is there is not made
again. The same seed gives the same shards, however often the build was interrupted and however many processes ran.
"""

from __future__ import annotations

import hashlib
import json
import logging
import multiprocessing
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from engine.datasets.card import write_card
from engine.datasets.curation import Reason
from engine.datasets.fingerprint import ForbiddenShapes
from engine.datasets.harvest import Harvest, report_path
from engine.datasets.makers import MAKERS, Item, items_of
from engine.datasets.shards import DatasetError
from engine.datasets.twins import exclude_twins

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class BuildPlan:
    """What is built.

    Attributes:
        seed: of the whole dataset.
        share: share of the full number of objects.
        extra: folder of permissive meshes and motions of others, or None.
        makers: those to run now, by name; empty for all.
    """

    seed: int = 0
    share: float = 1.0
    extra: Path | None = None
    makers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Job:
    """A run of neighbouring items of one maker."""

    maker: str
    number: int
    items: tuple[Item, ...]

    @property
    def name(self) -> str:
        """Name of the job's shards and report."""
        return f"{self.maker}-{self.number:04d}"


def plan_jobs(plan: BuildPlan) -> list[Job]:
    """Return the jobs of a plan, those of different makers in turn, so that every part of a build holds all kinds.

    Raises:
        ModuleNotFoundError: a maker's simulator is not installed.
    """
    queues: list[list[Job]] = []
    for name in plan.makers or tuple(MAKERS):
        items = items_of(name, share=plan.share, extra=plan.extra)
        size = MAKERS[name].job_size
        queues.append([Job(name, i, tuple(items[at : at + size])) for i, at in enumerate(range(0, len(items), size))])
    total = sum(len(q) for q in queues)
    # Each queue spread evenly over the whole build, the costly makers not all at its end.
    order = [((i + 0.5) / len(queue), n, job) for n, queue in enumerate(queues) for i, job in enumerate(queue)]
    jobs = [job for _, _, job in sorted(order, key=lambda entry: entry[:2])]
    logger.info("%d jobs, %d objects planned", total, sum(len(j.items) for j in jobs))
    return jobs


def build_dataset(folder: Path, plan: BuildPlan, *, workers: int | None = None) -> dict[str, object]:
    """Build or complete a dataset and return its card.

    Args:
        folder: of the dataset; see `engine.datasets.shards`.
        plan: what is built.
        workers: processes; default one per core.

    Raises:
        DatasetError: the folder holds a dataset of another plan.
        ModuleNotFoundError: a maker's simulator is not installed.
    """
    _claim(folder, plan)
    jobs = [job for job in plan_jobs(plan) if not report_path(folder, job.name).exists()]
    began, done = time.perf_counter(), 0
    arguments = [(folder, plan, job) for job in jobs]
    for report in _run(arguments, workers or os.cpu_count() or 1):
        done += 1
        left_out = ", ".join(f"{n} {reason}" for reason, n in sorted(report["rejected"].items()))
        logger.info(
            "%d of %d: %s, %d objects, %d states, %.0f s%s; %.0f min in all",
            done,
            len(jobs),
            report["job"],
            len(report["objects"]),
            sum(o["states"] for o in report["objects"]),
            report["core_seconds"],
            f"; left out: {left_out}" if left_out else "",
            (time.perf_counter() - began) / 60,
        )
    exclude_twins(folder)
    return write_card(folder)


def _claim(folder: Path, plan: BuildPlan) -> None:
    """Note the plan in a new folder, or check it against the one that is there."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "plan.json"
    # Makers are not part of it: a dataset may be built maker by maker.
    wanted = {"seed": plan.seed, "share": plan.share, "extra": plan.extra is not None}
    if path.exists():
        there = json.loads(path.read_text())
        if there != wanted:
            raise DatasetError(f"{folder} holds a dataset of another plan ({there}): choose another folder")
        return
    path.write_text(json.dumps(wanted))


def _run(arguments: list[tuple[Path, BuildPlan, Job]], workers: int) -> Iterator[dict]:
    if workers == 1:
        yield from map(_run_job, arguments)
        return
    # Simulators keep threads and caches that do not survive a fork; a new process now and then bounds memory.
    context = multiprocessing.get_context("spawn")
    with context.Pool(workers, maxtasksperchild=8) as pool:
        yield from pool.imap_unordered(_run_job, arguments)


@cache
def _forbidden(extra: Path | None) -> ForbiddenShapes:
    return ForbiddenShapes(extra=extra)


def _run_job(arguments: tuple[Path, BuildPlan, Job]) -> dict:
    """Make, curate, sample and write the objects of one job; returns its report."""
    folder, plan, job = arguments
    began = time.process_time()
    harvest = Harvest(job.maker, keep=MAKERS[job.maker].keep, forbidden=_forbidden(plan.extra))
    for item in job.items:
        digest = hashlib.sha256(f"{plan.seed}:{job.maker}:{item.label}".encode()).digest()
        rng = np.random.default_rng(list(digest))
        try:
            for number, motion in enumerate(MAKERS[job.maker].make(item, rng)):
                label = f"{item.label}-{number}" if number else item.label
                harvest.take(motion, label, name=motion.name or item.label, rng=rng)
        except (ValueError, RuntimeError, ArithmeticError, np.linalg.LinAlgError) as error:
            harvest.rejected[str(Reason.FAILED)] += 1
            harvest.details.append(f"{item.label}: {error}")
    seconds = time.process_time() - began
    return harvest.write(folder, job.name, core_seconds=seconds, versions=MAKERS[job.maker].versions())
