"""Turn anyone's moving meshes into a dataset to train on."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from engine.datasets.card import write_card
from engine.datasets.harvest import Harvest
from engine.datasets.imported.files import motions_of
from engine.datasets.twins import exclude_twins

logger = logging.getLogger(__name__)

FRAMES = 160
KEEP = 128


@dataclass(slots=True)
class ImportReport:
    """What became of the files: the objects that were imported, and why each other file or clip was not."""

    imported: list[str] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)


def import_motions(paths: Iterable[Path], output: Path, *, seed: int = 0, split: str | None = None) -> ImportReport:
    """Add the motions of files and folders to a dataset, one shard a file; a file that is there is made again.

    Args:
        paths: animated GLB or glTF, BVH beside its rig, folders of OBJ or PLY frames, NPZ, MJCF, URDF.
        output: folder of the dataset; made where it is not there.
        seed: of samples and joint sweeps.
        split: where the objects go; default by their names, one in ten for validation and test.
    """
    report = ImportReport()
    output.mkdir(parents=True, exist_ok=True)
    if not (output / "plan.json").exists():
        (output / "plan.json").write_text(json.dumps({"imported": True, "seed": seed}))
    for path in paths:
        began = time.process_time()
        rng = np.random.default_rng([seed, *path.name.encode()])
        harvest = Harvest("import", keep=KEEP, split=split)
        stem = path.stem or path.name
        try:
            for number, motion in enumerate(motions_of(path, frames=FRAMES, rng=rng)):
                label = f"{path.name}: {motion.name}" if motion.name else path.name
                part = f"{stem}-{number}" if number else stem
                refusal = harvest.take(motion, part, name=motion.name or stem, rng=rng)
                if refusal is None:
                    report.imported.append(label)
                else:
                    report.refused[label] = str(refusal)
        except (ValueError, OSError) as error:
            report.refused[path.name] = str(error)
        if harvest.objects:
            name = f"import-{stem}".replace(".", "_")
            harvest.write(output, name, core_seconds=time.process_time() - began, versions={})
            logger.info("%s: %d objects", path.name, len(harvest.objects))
    if report.imported:
        exclude_twins(output)
        write_card(output)
    return report
