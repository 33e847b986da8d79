"""Objects of a dataset's shards held in memory, from which training draws."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from engine.datasets.sampling import SampledMotion
from engine.datasets.shards import DatasetError, excluded_keys, read_shard, shards_of


class ObjectPool:
    """Objects of a dataset's shards held in memory, from which batches are drawn, by kind in given shares.

    A dataset larger than the pool streams through it: with every draw the oldest objects give way to the next ones of
    the shards, which are read over and over in a new random order.
    """

    def __init__(self, folders: list[Path], *, capacity: int = 8192, seed: int = 0, split: str = "train") -> None:
        """Fill the pool.

        Raises:
            DatasetError: a folder is no dataset, or holds no object of the split.
        """
        self._rng = np.random.default_rng(seed)
        self._shards = [(shard, excluded_keys(folder)) for folder in folders for shard in shards_of(folder, split)]
        self._stream = self._endless()
        self._motions: list[SampledMotion] = []
        self.streams = False
        seen: set[str] = set()
        for motion in self._stream:
            if motion.record.key in seen:
                break
            if len(self._motions) == capacity:
                self.streams = True
                break
            seen.add(motion.record.key)
            self._motions.append(motion)
        self._oldest = 0
        self._by_kind: dict[str, list[SampledMotion]] | None = None

    def _endless(self) -> Iterator[SampledMotion]:
        while True:
            count = 0
            for index in self._rng.permutation(len(self._shards)):
                shard, excluded = self._shards[index]
                for motion in read_shard(shard):
                    if motion.record.key not in excluded:
                        count += 1
                        yield motion
            if count == 0:
                raise DatasetError("the dataset holds no object of this split: build or import more")

    @property
    def motions(self) -> list[SampledMotion]:
        """The objects now in the pool."""
        return self._motions

    def draw(self, count: int, *, shares: dict[str, float] | None = None) -> list[SampledMotion]:
        """Return ``count`` random objects; ``shares`` weighs the kinds (default: every object alike)."""
        if self.streams:
            for _ in range(max(1, count // 4)):
                self._motions[self._oldest] = next(self._stream)
                self._by_kind = None
                self._oldest = (self._oldest + 1) % len(self._motions)
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
        return kinds
