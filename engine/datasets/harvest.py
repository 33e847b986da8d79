"""What one job of a dataset brings in: motions curated, sampled and put to their splits, and the report on them."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from engine.datasets.curation import MOST_VERTICES, Reason, Rejected, curate
from engine.datasets.fingerprint import Fingerprint, ForbiddenShapes
from engine.datasets.motion import Motion
from engine.datasets.sampling import SampledMotion, sample_states
from engine.datasets.shards import SPLITS, write_shard
from engine.datasets.splits import split_of
from engine.datasets.variants import VARIANTS, carried, decimate, make_variant

# Share of the objects that get a coarser copy of themselves.
VARIANT_SHARE = 0.25


class Harvest:
    """Motions of one maker on their way to the shards.

    Attributes:
        objects: the report's line on each object that was kept.
        rejected: motions left out, by reason.
        frames_left_out: frames left out, by reason.
        details: a line on each motion left out.
    """

    def __init__(
        self, maker: str, *, keep: int, forbidden: ForbiddenShapes | None = None, split: str | None = None
    ) -> None:
        """Begin empty.

        Args:
            maker: name of the maker, the first part of the keys.
            keep: most states kept of an object.
            forbidden: shapes that may not be there, or None.
            split: where all objects go; default by their families and names.
        """
        self._maker, self._keep, self._forbidden, self._split = maker, keep, forbidden, split
        self._sampled: dict[str, list[SampledMotion]] = {name: [] for name in SPLITS}
        self.objects: list[dict[str, Any]] = []
        self.rejected: Counter[str] = Counter()
        self.frames_left_out: Counter[str] = Counter()
        self.details: list[str] = []

    def take(self, motion: Motion, label: str, *, name: str, rng: np.random.Generator) -> Rejected | None:
        """Keep a motion, and perhaps a coarser copy of it, or return why nothing of it is kept.

        Args:
            motion: what the maker made.
            label: unique among the maker's motions.
            name: of the object; what shares a family and a name is never parted by a split.
            rng: draws samples and copies.
        """
        try:
            made = self._curated(motion, label, name, rng)
        except Rejected as refusal:
            self.rejected[str(refusal.reason)] += 1
            self.details.append(f"{label} {motion.name}: {refusal}")
            return refusal
        for each in made:
            self._sampled[each.record.split].append(each)
        self.objects.append(_entry(made[0], motion))
        return None

    def _curated(self, motion: Motion, label: str, name: str, rng: np.random.Generator) -> list[SampledMotion]:
        """Return the samples of a motion and perhaps of a coarser copy; the original comes first."""
        if len(motion.positions[0]) > MOST_VERTICES:
            coarse = decimate(motion.positions[0].astype(np.float64), motion.faces, 2 * MOST_VERTICES - 4000)
            motion = carried(motion, *coarse)
        curated = curate(motion, keep=self._keep, counts=self.frames_left_out)
        like = self._forbidden.names_like(curated.positions[0], curated.faces) if self._forbidden else None
        if like is not None:
            raise Rejected(Reason.FORBIDDEN, f"it is {like}")
        split = self._split or split_of(motion.family, name)
        parts = [self._maker, motion.family.split("/")[-1], label, name if name not in label else ""]
        key = re.sub(r"[^A-Za-z0-9_-]+", "_", "-".join(part for part in parts if part))
        made = [sample_states(curated, rng, key=key, name=name, split=split, all_meshes=split != "train")]
        if split == "train" and rng.random() < VARIANT_SHARE:
            variant = VARIANTS[int(rng.integers(len(VARIANTS)))]
            try:
                copy = make_variant(curated, variant, rng)
            except ValueError:
                # A box has nothing to take away.
                return made
            made.append(sample_states(copy, rng, key=f"{key}-{variant}", name=name, split=split, variant=variant))
        return made

    def write(self, folder: Path, job: str, *, core_seconds: float, versions: dict[str, str]) -> dict[str, Any]:
        """Write one shard for each split that has objects, then the report, and return it; older ones are replaced."""
        for split, motions in self._sampled.items():
            shard = folder / split / f"{job}.tar"
            if motions:
                write_shard(motions, shard)
            else:
                shard.unlink(missing_ok=True)
        report = {
            "job": job,
            "maker": self._maker,
            "objects": self.objects,
            "variants": sum(len(m) for m in self._sampled.values()) - len(self.objects),
            "rejected": self.rejected,
            "frames_left_out": self.frames_left_out,
            "details": self.details,
            "core_seconds": core_seconds,
            "versions": versions,
        }
        path = report_path(folder, job)
        path.parent.mkdir(exist_ok=True)
        part = path.with_suffix(".part")
        part.write_text(json.dumps(report))
        part.replace(path)
        return report


def report_path(folder: Path, job: str) -> Path:
    """Return where a job's report is; a job whose report is there is done."""
    return folder / "jobs" / f"{job}.json"


def _entry(sampled: SampledMotion, motion: Motion) -> dict[str, Any]:
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
