"""Shards: tar files of `SampledMotion`, in the layout of WebDataset, so that they can be read as a stream.

A dataset is a folder::

    train/*.tar[.gz]  validation/*.tar  test_seen/*.tar  test_unseen/*.tar
    jobs/*.json       what each part of the build made, left out and spent
    excluded.json     keys that are never read (a twin of theirs lies in another split)
    card.json, README.md   the dataset card

Each object is one sample: ``KEY.json`` (its `ObjectRecord`), and ``KEY.points.npy``, ``KEY.origins.npy``,
``KEY.normals.npy``, ``KEY.rotations.npy``, ``KEY.component.npy``, ``KEY.part.npy``, ``KEY.faces.npy`` and
``KEY.vertices.npy`` as in `SampledMotion`. A shard is written beside its place and moved there when it is whole.
"""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from collections.abc import Iterable, Iterator
from dataclasses import asdict, fields
from io import BufferedWriter
from pathlib import Path
from typing import Any

import numpy as np

from engine.datasets.sampling import ObjectRecord, SampledMotion

SPLITS = ("train", "validation", "test_seen", "test_unseen")
_ARRAYS = tuple(f.name for f in fields(SampledMotion) if f.name != "record")


class DatasetError(ValueError):
    """A folder or shard that is no usable dataset; the message says why and what to do."""


def write_shard(motions: Iterable[SampledMotion], path: Path) -> int:
    """Write a shard and return how many objects it holds; an interrupted write leaves no shard behind."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    count = 0
    with part.open("wb") as raw, _stream(raw, path) as stream, tarfile.open(fileobj=stream, mode="w") as tar:
        for motion in motions:
            _append(tar, f"{motion.record.key}.json", json.dumps(asdict(motion.record)).encode())
            for name in _ARRAYS:
                stream = io.BytesIO()
                np.save(stream, getattr(motion, name), allow_pickle=False)
                _append(tar, f"{motion.record.key}.{name}.npy", stream.getvalue())
            count += 1
    part.replace(path)
    return count


def _stream(raw: BufferedWriter, path: Path) -> BufferedWriter | gzip.GzipFile:
    """Return where the tar goes: to the file itself or, for a name that ends in .gz, through gzip without a date."""
    return gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0) if path.suffix == ".gz" else raw


def _append(tar: tarfile.TarFile, name: str, data: bytes) -> None:
    # No time, owner or mode of this machine: the same motions give the same bytes.
    member = tarfile.TarInfo(name)
    member.size = len(data)
    tar.addfile(member, io.BytesIO(data))


def read_shard(path: Path) -> Iterator[SampledMotion]:
    """Yield the objects of a shard in order, reading it once from front to end.

    Raises:
        DatasetError: the file is damaged or no shard.
    """
    try:
        with tarfile.open(path, "r|*") as tar:
            key, values = "", {}
            for member in tar:
                file = tar.extractfile(member)
                if file is None:
                    continue
                name, _, field = member.name.partition(".")
                if name != key and key:
                    yield _motion(values)
                    values = {}
                key = name
                data = file.read()
                if field == "json":
                    values["record"] = ObjectRecord(**json.loads(data))
                else:
                    values[field.removesuffix(".npy")] = np.load(io.BytesIO(data), allow_pickle=False)
            if key:
                yield _motion(values)
    except (tarfile.TarError, OSError, ValueError, TypeError, KeyError) as error:
        raise DatasetError(f"{path} cannot be read as a shard ({error}): delete it and build it again") from error


def _motion(values: dict[str, Any]) -> SampledMotion:
    missing = [name for name in ("record", *_ARRAYS) if name not in values]
    if missing:
        raise KeyError(f"a record lacks {', '.join(missing)}")
    return SampledMotion(**values)


def shards_of(folder: Path, split: str) -> list[Path]:
    """Return the shards of one split of a dataset, in order.

    Raises:
        DatasetError: the folder is no dataset.
    """
    if not any((folder / name).is_dir() for name in SPLITS):
        raise DatasetError(f"{folder} holds no dataset: make one with 'main.py dataset build -o {folder}'")
    return sorted(path for path in (folder / split).glob("*.tar*") if path.suffix in (".tar", ".gz"))


def excluded_keys(folder: Path) -> frozenset[str]:
    """Return the keys of a dataset that are never read."""
    path = folder / "excluded.json"
    return frozenset(json.loads(path.read_text())) if path.exists() else frozenset()


def read_split(folder: Path, split: str) -> Iterator[SampledMotion]:
    """Yield all objects of one split of a dataset, without the excluded ones."""
    excluded = excluded_keys(folder)
    for path in shards_of(folder, split):
        for motion in read_shard(path):
            if motion.record.key not in excluded:
                yield motion
