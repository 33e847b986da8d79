"""Which objects and states are measured: a seeded choice that does not change when others join the dataset."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from engine.datasets.import_files import import_motions
from engine.datasets.sampling import SampledMotion
from engine.datasets.shards import SPLITS, DatasetError, read_split

# Files of one's own have no splits: all of them are measured.
OWN_SPLIT = "test_seen"


@dataclass(frozen=True, slots=True)
class Selection:
    """What is measured.

    Attributes:
        split: of the dataset.
        objects: most objects of a kind; None takes all.
        states: most states of an object, besides its rest shape.
        kinds: these alone; empty takes all.
        seed: of the choice.
    """

    split: str = "test_seen"
    objects: int | None = None
    states: int = 4
    kinds: tuple[str, ...] = ()
    seed: int = 0

    def states_of(self, motion: SampledMotion, rest_state: int = 0) -> list[int]:
        """Return the states of an object that are measured, without the rest shape."""
        others = np.array([i for i in range(len(motion.points)) if i != rest_state])
        rng = np.random.default_rng([self.seed, rest_state, *motion.record.key.encode()])
        return sorted(int(i) for i in rng.permutation(others)[: self.states])

    def second_rest(self, motion: SampledMotion) -> int:
        """Return another state that serves as a rest shape too."""
        rng = np.random.default_rng([self.seed, 1, *motion.record.key.encode()])
        return int(rng.integers(1, len(motion.points)))


def chosen_objects(folder: Path, selection: Selection) -> list[SampledMotion]:
    """Return the objects of a split that are measured; coarser copies of an object are no objects of their own.

    Raises:
        DatasetError: the folder is no dataset, or holds none of what was asked for.
    """
    by_kind: dict[str, list[tuple[str, SampledMotion]]] = {}
    for motion in read_split(folder, selection.split):
        record = motion.record
        if record.variant != "original" or len(motion.points) < 2:
            continue
        if selection.kinds and record.kind not in selection.kinds:
            continue
        # The rank of an object depends on nothing but its key and the seed.
        rank = hashlib.sha256(f"{selection.seed}:{record.key}".encode()).hexdigest()
        kept = by_kind.setdefault(record.kind, [])
        kept.append((rank, motion))
        if selection.objects is not None and len(kept) > selection.objects:
            kept.remove(max(kept, key=lambda pair: pair[0]))
    chosen = [motion for kind in sorted(by_kind) for _, motion in sorted(by_kind[kind], key=lambda pair: pair[0])]
    if selection.split == "train" or any(len(m.vertices) != len(m.points) for m in chosen):
        raise DatasetError(
            f"the split {selection.split!r} of {folder} keeps the mesh of the rest shape alone; measure on "
            "'validation', 'test_seen' or 'test_unseen', which keep the mesh of every state"
        )
    if not chosen:
        wanted = f" of {', '.join(selection.kinds)}" if selection.kinds else ""
        raise DatasetError(f"{folder} holds no object{wanted} in its split {selection.split!r} to measure")
    return chosen


def fingerprint_of(motions: Iterable[SampledMotion]) -> str:
    """Return 12 hex digits that stand for the very objects that were measured."""
    digest = hashlib.sha256()
    for motion in motions:
        digest.update(motion.record.key.encode())
        digest.update(np.ascontiguousarray(motion.points).tobytes())
    return digest.hexdigest()[:12]


@contextmanager
def as_dataset(paths: Sequence[Path], *, seed: int) -> Generator[tuple[Path, dict[str, str]]]:
    """Give a folder of a dataset: the one that is named, or a temporary one with the motions of files and folders.

    Yields:
        The folder, and what of the files could not be used, with the reasons.

    Raises:
        DatasetError: nothing of the files could be used; the message names the reasons.
    """
    if is_dataset(paths):
        yield paths[0], {}
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        report = import_motions(paths, folder, seed=seed, split=OWN_SPLIT)
        if not report.imported:
            reasons = " ".join(f"{name}: {reason}" for name, reason in list(report.refused.items())[:5])
            raise DatasetError(f"nothing that moves could be read. {reasons}")
        yield folder, report.refused


def is_dataset(paths: Sequence[Path]) -> bool:
    """Return whether the paths name one dataset, with splits of its own."""
    return len(paths) == 1 and any((paths[0] / split).is_dir() for split in SPLITS)
