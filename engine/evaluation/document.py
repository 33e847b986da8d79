"""The JSON file of an evaluation: all figures, and what it takes to obtain them again."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch

from engine.datasets.sampling import SampledMotion
from engine.evaluation.programs import Result
from engine.evaluation.selection import Selection, fingerprint_of
from engine.model.checkpoint import Checkpoint

FORMAT = "neurok-evaluation-0"


class DocumentError(ValueError):
    """A file that is no evaluation; the message says why."""


@dataclass(slots=True)
class Document:
    """Results with their circumstances.

    Attributes:
        command: words of the command line.
        seed: of choices and intervals.
        data: split, fingerprint, counts and plan of what was measured.
        checkpoint: fingerprint and facts of the network; empty where several were measured.
        results: one for each evaluation and method.
        date: day and time, UTC, in ISO 8601.
        seconds: wall clock.
        calibration: how fast the machine was.
    """

    command: list[str]
    seed: int
    data: dict[str, Any]
    checkpoint: dict[str, Any]
    results: list[Result]
    date: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))
    seconds: float = 0.0
    calibration: dict[str, float] = field(default_factory=dict)

    def write(self, path: Path) -> None:
        """Write the document beside its place, then rename it over."""
        plain = {
            "format": FORMAT,
            "date": self.date,
            "command": self.command,
            "seed": self.seed,
            "seconds": round(self.seconds, 1),
            "data": self.data,
            "checkpoint": self.checkpoint,
            "calibration": self.calibration,
            "results": [result.as_dict(seed=self.seed) for result in self.results],
        }
        part = path.with_name(path.name + ".part")
        part.write_text(json.dumps(plain, indent=1))
        part.replace(path)


def read_document(path: Path) -> Document:
    """Read what `Document.write` wrote.

    Raises:
        DocumentError: the file is missing, or no evaluation.
    """
    try:
        plain = json.loads(path.read_text())
        if plain.get("format") != FORMAT:
            raise DocumentError(f"{path} is no evaluation of this program: make one with 'main.py evaluate'")
        return Document(
            command=plain["command"],
            seed=plain["seed"],
            data=plain["data"],
            checkpoint=plain["checkpoint"],
            results=[Result.from_dict(each) for each in plain["results"]],
            date=plain["date"],
            seconds=plain["seconds"],
            calibration=plain["calibration"],
        )
    except (OSError, json.JSONDecodeError, KeyError, TypeError, AttributeError) as problem:
        raise DocumentError(f"{path} cannot be read as an evaluation: {problem}") from problem


def data_facts(folder: Path, motions: Sequence[SampledMotion], selection: Selection) -> dict[str, Any]:
    """Return what identifies the objects that were measured."""
    kinds: dict[str, int] = {}
    for motion in motions:
        kinds[motion.record.kind] = kinds.get(motion.record.kind, 0) + 1
    plan = folder / "plan.json"
    return {
        "folder": folder.name,
        "plan": json.loads(plan.read_text()) if plan.exists() else {},
        "split": selection.split,
        "objects": kinds,
        "most_objects_of_a_kind": selection.objects,
        "states_of_an_object": selection.states,
        "fingerprint": fingerprint_of(motions),
    }


def checkpoint_facts(checkpoint: Checkpoint, path: Path | None) -> dict[str, Any]:
    """Return what identifies a network."""
    return {
        "name": path.name if path is not None else "that of the program",
        "fingerprint": checkpoint.fingerprint,
        "config": checkpoint.model.config.as_dict(),
        "facts": checkpoint.facts,
    }


def calibration() -> dict[str, float]:
    """Return how fast the machine is just now: the same two figures as `benchmarks.calibration` [ms], and its load."""
    a, b, one = torch.randn(512, 512), torch.randn(512, 512), torch.zeros(1)

    def small() -> None:
        for _ in range(1000):
            one.add_(0.0)

    with torch.inference_mode():
        figures = {"product_512_ms": _median_ms(lambda: a @ b), "operations_1000_ms": _median_ms(small)}
    return {
        **figures,
        "threads": float(torch.get_num_threads()),
        "cores": float(os.cpu_count() or 1),
        "load": round(float(np.array(os.getloadavg())[0]), 2) if hasattr(os, "getloadavg") else float("nan"),
    }


def _median_ms(work: Callable[[], object]) -> float:
    times: list[float] = []
    for _ in range(9):
        begun = time.perf_counter()
        work()
        times.append(1000.0 * (time.perf_counter() - begun))
    return round(median(times), 3)
