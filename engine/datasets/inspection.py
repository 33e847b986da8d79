"""Inspect a dataset: every array of every object is checked, and no object may stand on both sides of a split."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from engine.datasets.sampling import SampledMotion
from engine.datasets.shards import SPLITS, DatasetError, excluded_keys, read_shard, shards_of
from engine.datasets.twins import find_twins, object_entries


@dataclass(slots=True)
class Inspection:
    """What was found: counts of what is there, and one line for each fault."""

    objects: Counter[str] = field(default_factory=Counter)
    states: Counter[str] = field(default_factory=Counter)
    splits: Counter[str] = field(default_factory=Counter)
    variants: int = 0
    faults: list[str] = field(default_factory=list)


def inspect_dataset(folder: Path) -> Inspection:
    """Read the whole dataset and return what is there and what is wrong with it.

    Raises:
        DatasetError: the folder is no dataset.
    """
    result = Inspection()
    excluded = excluded_keys(folder)
    names: dict[tuple[str, str], set[str]] = {}
    keys: Counter[str] = Counter()
    for split in SPLITS:
        for path in shards_of(folder, split):
            try:
                for motion in read_shard(path):
                    record = motion.record
                    keys[record.key] += 1
                    if record.key in excluded:
                        continue
                    result.faults += [f"{path.name}: {record.key}: {fault}" for fault in faults_of(motion)]
                    if record.split != split:
                        result.faults.append(f"{path.name}: {record.key} is of split {record.split}, not {split}")
                    names.setdefault((record.family, record.object), set()).add(split)
                    if record.variant != "original":
                        result.variants += 1
                        continue
                    result.objects[record.kind] += 1
                    result.states[record.kind] += len(motion.points)
                    result.splits[split] += 1
            except DatasetError as error:
                result.faults.append(str(error))
    result.faults += [f"{key} is there {n} times" for key, n in keys.items() if n > 1]
    result.faults += [
        f"{family}/{name} is in {' and '.join(sorted(where))}"
        for (family, name), where in names.items()
        if len(where) > 1
    ]
    families = {split: {family for (family, _), where in names.items() if split in where} for split in SPLITS}
    seen = families["train"] | families["validation"] | families["test_seen"]
    result.faults += [f"family {f} is unseen and seen" for f in sorted(families["test_unseen"] & seen)]
    entries = [entry for entry in object_entries(folder) if entry["key"] not in excluded]
    result.faults += [
        f"{a['key']} ({a['split']}) and {b['key']} ({b['split']}) are one shape" for a, b in find_twins(entries)
    ]
    return result


def faults_of(motion: SampledMotion) -> list[str]:
    """Return what is wrong with one object: shapes, values that are not finite, topology, normals, rotations."""
    states, samples = motion.points.shape[:2]
    faults: list[str] = []
    expected = {
        "origins": (states, 3),
        "normals": (states, samples, 3),
        "rotations": (states, samples, 4),
        "component": (samples,),
        "part": (samples,),
    }
    for name, shape in expected.items():
        there = getattr(motion, name).shape
        if there != shape:
            faults.append(f"{name} has shape {there}, not {shape}")
    for name in ("points", "origins", "rotations", "vertices"):
        if not np.isfinite(getattr(motion, name)).all():
            faults.append(f"{name} is not finite")
    if faults:
        return faults
    if len(motion.vertices) not in (1, states):
        faults.append(f"meshes of {len(motion.vertices)} states, not of 1 or {states}")
    count = motion.vertices.shape[1]
    if not len(motion.faces) or motion.faces.min() < 0 or motion.faces.max() >= count:
        faults.append(f"triangles name vertices outside 0 to {count - 1}")
    elif (motion.faces == np.roll(motion.faces, 1, axis=1)).any():
        faults.append("a triangle names a vertex twice")
    length = np.linalg.norm(motion.rotations.astype(np.float32), axis=-1)
    if np.abs(length - 1.0).max() > 5e-3:
        faults.append("rotations are not of unit length")
    length = np.linalg.norm(motion.normals.astype(np.float32) / 127.0, axis=-1)
    if (np.abs(length - 1.0) > 0.05).mean() > 0.01:
        faults.append("normals are not of unit length")
    if motion.points.shape[0] < 2 and motion.record.kind != "rigid":
        faults.append("one state only")
    low, high = motion.vertices[0].astype(np.float32).min(0), motion.vertices[0].astype(np.float32).max(0)
    margin = 2e-3
    if (motion.points[0] < low - margin).any() or (motion.points[0] > high + margin).any():
        faults.append("samples lie outside the rest mesh's bounding box")
    return faults
