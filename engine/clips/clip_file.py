"""The clip file ``.neurok``: a zip archive of ``clip.json`` and ``arrays.npz``."""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from engine.clips.clip import CLIP_VERSION, Clip, ClipError, ClipFacts, ClipInputs
from engine.clips.replacing import replacing

FORMAT = "neurok-clip"
SUFFIX = ".neurok"
_INPUT = "input_"
# All that the zip reader says of a byte that changed; RuntimeError: it takes the file for an encrypted one.
_DAMAGE = (zipfile.BadZipFile, zlib.error, KeyError, ValueError, EOFError, NotImplementedError, RuntimeError)
_ARRAYS = tuple(f.name for f in fields(Clip) if f.name not in ("inputs", "facts", "metres_per_unit", "version"))


def write_clip(clip: Clip, path: Path) -> None:
    """Write a clip; it is read back before it takes the place of an old file.

    Raises:
        ClipError: the file could not be written.
    """
    arrays = {name: getattr(clip, name) for name in _ARRAYS}
    arrays |= {_INPUT + f.name: getattr(clip.inputs, f.name) for f in fields(ClipInputs)}
    header: dict[str, Any] = {
        "format": FORMAT,
        "version": clip.version,
        "metres_per_unit": clip.metres_per_unit,
        "facts": clip.facts.model_dump(mode="json"),
    }
    packed = io.BytesIO()
    np.savez(packed, **arrays)
    with replacing(path) as part:
        with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED, compresslevel=3) as archive:
            archive.writestr("clip.json", json.dumps(header, indent=2))
            archive.writestr("arrays.npz", packed.getbuffer())
        again = _read(part, path.name)
        if len(again.times) != len(clip.times) or not np.array_equal(again.handles, clip.handles):
            raise ClipError(f"{path.name} did not read back as it was written; is the disk failing?")


def read_clip(path: Path) -> Clip:
    """Read a clip.

    Raises:
        ClipError: the file is missing, damaged, no clip, or of a newer version.
    """
    return _read(Path(path), Path(path).name)


def _read(path: Path, name: str) -> Clip:
    try:
        with zipfile.ZipFile(path) as archive:
            header = json.loads(archive.read("clip.json"))
            packed = archive.read("arrays.npz")
    except FileNotFoundError as problem:
        raise ClipError(f"There is no file {path}.") from problem
    except OSError as problem:
        raise ClipError(f"{name} cannot be read: {problem.strerror or problem}.") from problem
    except _DAMAGE as problem:
        raise ClipError(f"{name} is damaged, cut off, or no clip of neurok; record or copy it again.") from problem
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise ClipError(f"{name} is no clip of neurok.")
    version = header.get("version")
    if not isinstance(version, int) or version > CLIP_VERSION:
        raise ClipError(
            f"{name} has clip version {version}; this program reads up to {CLIP_VERSION}. Update the program."
        )
    try:
        with np.load(io.BytesIO(packed), allow_pickle=False) as arrays:
            inputs = ClipInputs(**{f.name: arrays[_INPUT + f.name] for f in fields(ClipInputs)})
            clip = Clip(
                **{key: arrays[key] for key in _ARRAYS},
                inputs=inputs,
                metres_per_unit=float(header["metres_per_unit"]),
                facts=ClipFacts.model_validate(header["facts"]),
                version=version,
            )
    except (KeyError, TypeError, ValueError, ValidationError, zipfile.BadZipFile) as problem:
        raise ClipError(f"{name} is incomplete: {_first_line(problem)}.") from problem
    _check(clip, name)
    return clip


def _check(clip: Clip, name: str) -> None:
    """Refuse arrays that do not belong together."""
    if clip.handles.ndim != 3 or clip.q.ndim != 2:
        raise ClipError(f"{name} does not fit together: handles or coordinates have no axis of time.")
    f, n, t = len(clip.times), len(clip.rest_vertices), clip.handles.shape[1]
    shapes = {
        "p": (f, 3),
        "R": (f, 3, 3),
        "q": (f, clip.q.shape[-1]),
        "qd": clip.q.shape,
        "handles": (f, t, 8),
        "vertex_weights": (n, t),
        "rest_vertices": (n, 3),
        "unit_to_file": (4, 4),
        "origin": (3,),
    }
    for key, shape in shapes.items():
        found = getattr(clip, key).shape
        if found != shape:
            raise ClipError(f"{name} does not fit together: {key} should have shape {shape}, it has {found}.")
    if clip.rest_faces.size and not 0 <= int(clip.rest_faces.min()) <= int(clip.rest_faces.max()) < n:
        raise ClipError(f"{name} does not fit together: a triangle names a vertex that is not there.")


def _first_line(problem: Exception) -> str:
    return (str(problem).splitlines() or [type(problem).__name__])[0].rstrip(".")
