"""Objects of a dataset's shards held in memory, from which training draws."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from engine.datasets.sampling import SampledMotion
from engine.datasets.shards import DatasetError, excluded_keys, read_shard, shards_of


class ObjectPool:
    """Objects of a dataset's shards held in memory, from which batches are drawn, by kind in given shares.

    A dataset larger than the pool streams through it: with every draw the oldest objects give way to the next ones of
    the shards, which are read over and over in a new random order. Object number i of that stream stands in slot
    ``i % capacity``.
    """

    def __init__(
        self,
        folders: list[Path],
        *,
        capacity: int = 8192,
        seed: int | list[int] = 0,
        split: str = "train",
        copies: bool = True,
    ) -> None:
        """Fill the pool.

        Args:
            folders: of the datasets.
            capacity: objects held at a time.
            seed: of the order of the shards and of what is drawn.
            split: of the datasets.
            copies: whether decimated and remeshed copies are held too.

        Raises:
            DatasetError: a folder is no dataset, or holds no object of the split.
        """
        self._seed = seed
        self._copies = copies
        self._rng = np.random.default_rng(seed)
        self._shards = [(shard, excluded_keys(folder)) for folder in folders for shard in shards_of(folder, split)]
        self._counts: dict[int, int] = {}
        self._stream = self._endless()
        self._motions: list[SampledMotion] = []
        self.streams = False
        seen: set[str] = set()
        for motion in self._stream:
            if motion.record.key in seen:
                break
            seen.add(motion.record.key)
            self._motions.append(motion)
            if len(self._motions) == capacity:
                self.streams = True
                break
        self._taken = len(self._motions)
        self._by_kind: dict[str, list[SampledMotion]] | None = None

    def _endless(self, *, skip: int = 0) -> Iterator[SampledMotion]:
        """Yield the objects over and over; of shards whose count is known, the first ``skip`` are not even read."""
        order = np.random.default_rng([*np.atleast_1d(self._seed), 1])
        while True:
            total = 0
            for index in map(int, order.permutation(len(self._shards))):
                count = self._counts.get(index)
                if count is not None and count <= skip:
                    skip -= count
                    total += count
                    continue
                count = 0
                for motion in self._read(index):
                    count += 1
                    if skip:
                        skip -= 1
                    else:
                        yield motion
                self._counts[index] = count
                total += count
            if total == 0:
                raise DatasetError("the dataset holds no object of this split: build or import more")

    def _read(self, index: int) -> Iterator[SampledMotion]:
        shard, excluded = self._shards[index]
        for motion in read_shard(shard):
            if motion.record.key not in excluded and (self._copies or motion.record.variant == "original"):
                yield motion

    @property
    def motions(self) -> list[SampledMotion]:
        """The objects now in the pool."""
        return self._motions

    def state(self) -> dict[str, Any]:
        """Return where the pool stands, for `restore`."""
        return {"draws": self._rng.bit_generator.state, "taken": self._taken, "counts": dict(self._counts)}

    def restore(self, state: dict[str, Any]) -> None:
        """Bring a fresh pool of the same folders, capacity and seed to where another stood."""
        self._rng.bit_generator.state = state["draws"]
        self._counts = {int(index): int(count) for index, count in state["counts"].items()}
        taken, capacity = int(state["taken"]), len(self._motions)
        if self.streams and taken > capacity:
            self._stream = self._endless(skip=taken - capacity)
            for number in range(taken - capacity, taken):
                self._motions[number % capacity] = next(self._stream)
            self._taken = taken
            self._by_kind = None

    def draw(self, count: int, *, shares: dict[str, float] | None = None) -> list[SampledMotion]:
        """Return ``count`` random objects; ``shares`` weighs the kinds (default: every object alike)."""
        if self.streams:
            for _ in range(max(1, count // 4)):
                self._motions[self._taken % len(self._motions)] = next(self._stream)
                self._taken += 1
            self._by_kind = None
        if shares is None:
            return [self._motions[int(i)] for i in self._rng.integers(len(self._motions), size=count)]
        kinds = self._by_kind = self._by_kind or self._grouped()
        weights = np.array([shares.get(kind, 0.0) for kind in kinds])
        if not weights.sum() > 0:
            raise DatasetError(f"the shares {shares} name none of the kinds here: {', '.join(kinds)}")
        names = self._rng.choice(list(kinds), size=count, p=weights / weights.sum())
        return [kinds[str(n)][int(self._rng.integers(len(kinds[str(n)])))] for n in names]

    def _grouped(self) -> dict[str, list[SampledMotion]]:
        kinds: dict[str, list[SampledMotion]] = {}
        for motion in self._motions:
            kinds.setdefault(motion.record.kind, []).append(motion)
        # In alphabetical order, whatever the order of the slots, so that a resumed run draws alike.
        return {kind: kinds[kind] for kind in sorted(kinds)}
