"""No object on both sides of a split: the same shape, moved or rescaled, is found by its fingerprint."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from engine.datasets.fingerprint import Fingerprint
from engine.datasets.variants import VARIANTS

# The side that keeps an object of which another side has a twin: what was tested stays untrained.
_PRECEDENCE = ("test_unseen", "test_seen", "validation", "train")


def find_twins(objects: list[dict]) -> list[tuple[dict, dict]]:
    """Return pairs of objects of different splits that have the same shape.

    Args:
        objects: lines of the jobs' reports.
    """
    found: list[tuple[dict, dict]] = []
    buckets: dict[tuple[int, ...], list[tuple[Fingerprint, dict]]] = {}
    for entry in objects:
        mark = Fingerprint(np.array(entry["fingerprint"]))
        for bucket in mark.buckets:
            found += [
                (there, entry)
                for other, there in buckets.get(bucket, [])
                if there["split"] != entry["split"] and other.matches(mark)
            ]
        buckets.setdefault(mark.bucket, []).append((mark, entry))
    return found


def object_entries(folder: Path) -> list[dict]:
    """Return the lines of all jobs' reports of a dataset."""
    return [
        entry for path in sorted((folder / "jobs").glob("*.json")) for entry in json.loads(path.read_text())["objects"]
    ]


def exclude_twins(folder: Path) -> list[str]:
    """Write ``excluded.json``: of twins in different splits, the one nearer to training. Returns the keys."""
    excluded: set[str] = set()
    for one, two in find_twins(object_entries(folder)):
        loser = max(one, two, key=lambda entry: _PRECEDENCE.index(entry["split"]))
        excluded.update((loser["key"], *(f"{loser['key']}-{variant}" for variant in VARIANTS)))
    (folder / "excluded.json").write_text(json.dumps(sorted(excluded)))
    return sorted(excluded)
