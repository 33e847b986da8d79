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
import re
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

import numpy as np

from engine.datasets.card import write_card
from engine.datasets.curation import MOST_VERTICES, Reason, Rejected, curate
from engine.datasets.fingerprint import Fingerprint, ForbiddenShapes
from engine.datasets.makers import MAKERS, Item, items_of
from engine.datasets.motion import Motion
from engine.datasets.sampling import SampledMotion, sample_states
from engine.datasets.shards import SPLITS, DatasetError, write_shard
from engine.datasets.splits import split_of
from engine.datasets.twins import exclude_twins
from engine.datasets.variants import VARIANTS, carried, decimate, make_variant

logger = logging.getLogger(__name__)

# Share of the objects that get a coarser copy of themselves.
VARIANT_SHARE = 0.25


@dataclass(frozen=True, slots=True)
class BuildPlan:
    """What is built.

    Attributes:
        seed: of the whole dataset.
        share: share of the full number of objects; 1 is the training set of the shipped network.
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
    jobs = [job for job in plan_jobs(plan) if not _report_path(folder, job).exists()]
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


def _report_path(folder: Path, job: Job) -> Path:
    return folder / "jobs" / f"{job.name}.json"


@cache
def _forbidden(extra: Path | None) -> ForbiddenShapes:
    return ForbiddenShapes(extra=extra)


def _run_job(arguments: tuple[Path, BuildPlan, Job]) -> dict:
    """Make, curate, sample and write the objects of one job; returns its report."""
    folder, plan, job = arguments
    began = time.process_time()
    forbidden = _forbidden(plan.extra)
    sampled: dict[str, list[SampledMotion]] = {split: [] for split in SPLITS}
    objects: list[dict] = []
    rejected: Counter[str] = Counter()
    frames: Counter[str] = Counter()
    details: list[str] = []
    for item in job.items:
        digest = hashlib.sha256(f"{plan.seed}:{job.maker}:{item.label}".encode()).digest()
        rng = np.random.default_rng(list(digest))
        try:
            for number, motion in enumerate(MAKERS[job.maker].make(item, rng)):
                try:
                    made = keep_motion(
                        motion,
                        f"{item.label}-{number}" if number else item.label,
                        name=motion.name or item.label,
                        maker=job.maker,
                        keep=MAKERS[job.maker].keep,
                        rng=rng,
                        forbidden=forbidden,
                        frames=frames,
                    )
                except Rejected as refusal:
                    rejected[str(refusal.reason)] += 1
                    details.append(f"{item.label} {motion.name}: {refusal}")
                    continue
                for each in made:
                    sampled[each.record.split].append(each)
                objects.append(object_entry(made[0], motion))
        except (ValueError, RuntimeError, ArithmeticError, np.linalg.LinAlgError) as error:
            rejected[str(Reason.FAILED)] += 1
            details.append(f"{item.label}: {error}")
    for split, motions in sampled.items():
        if motions:
            write_shard(motions, folder / split / f"{job.name}.tar")
    report = {
        "job": job.name,
        "maker": job.maker,
        "objects": objects,
        "variants": sum(len(m) for m in sampled.values()) - len(objects),
        "rejected": rejected,
        "frames_left_out": frames,
        "details": details,
        "core_seconds": time.process_time() - began,
        "versions": MAKERS[job.maker].versions(),
    }
    path = _report_path(folder, job)
    path.parent.mkdir(exist_ok=True)
    part = path.with_suffix(".part")
    part.write_text(json.dumps(report))
    part.replace(path)
    return report


def keep_motion(
    motion: Motion,
    label: str,
    *,
    name: str,
    maker: str,
    keep: int,
    rng: np.random.Generator,
    forbidden: ForbiddenShapes | None,
    frames: Counter[str],
    split: str | None = None,
) -> list[SampledMotion]:
    """Curate and sample one motion, and perhaps a coarser copy of it; the original comes first.

    Args:
        motion: what a maker made.
        label: unique among the maker's motions.
        name: of the object; what shares a family and a name is never parted by a split.
        maker: name of the maker, the first part of the key.
        keep: most states kept.
        rng: draws samples and copies.
        forbidden: shapes that may not be there, or None.
        frames: receives the frames left out, by reason.
        split: where it goes; default by its family and name.

    Raises:
        Rejected: nothing of it is kept.
    """
    if len(motion.positions[0]) > MOST_VERTICES:
        coarse = decimate(motion.positions[0].astype(np.float64), motion.faces, 2 * MOST_VERTICES - 4000)
        motion = carried(motion, *coarse)
    curated = curate(motion, keep=keep, counts=frames)
    like = forbidden.names_like(curated.positions[0], curated.faces) if forbidden else None
    if like is not None:
        raise Rejected(Reason.FORBIDDEN, f"it is {like}")
    split = split or split_of(motion.family, name)
    parts = [maker, motion.family.split("/")[-1], label, name if name not in label else ""]
    key = re.sub(r"[^A-Za-z0-9_-]+", "_", "-".join(part for part in parts if part))
    made = [sample_states(curated, rng, key=key, name=name, split=split, all_meshes=split != "train")]
    if split == "train" and rng.random() < VARIANT_SHARE:
        variant = VARIANTS[int(rng.integers(len(VARIANTS)))]
        try:
            coarse_motion = make_variant(curated, variant, rng)
        except ValueError:
            # A box has nothing to take away.
            return made
        made.append(sample_states(coarse_motion, rng, key=f"{key}-{variant}", name=name, split=split, variant=variant))
    return made


def object_entry(sampled: SampledMotion, motion: Motion) -> dict:
    """Return the report's line on one object."""
    rest = motion.positions[0]
    points = sampled.points.astype(np.float32)
    spread = float(np.sqrt(((points - points[0]) ** 2).sum(-1).mean()))
    return {
        **asdict(sampled.record),
        "states": len(sampled.points),
        "fingerprint": [float(value) for value in Fingerprint.of(rest, motion.faces).values],
        "motion": spread,
    }
