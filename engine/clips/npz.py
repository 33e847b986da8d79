"""The numbers of a clip for other programs: ``.npz`` with vertices in the mesh file's own axes and units."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from engine.clips.clip import Clip, ClipError
from engine.clips.replacing import ExportCancelled, replacing
from engine.clips.resample import frame_times


def write_npz(
    clip: Clip,
    path: Path,
    *,
    fps: int | float | None = None,
    progress: Callable[[int], None] | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> int:
    """Write a clip as arrays and return the number of frames.

    ``vertices`` (f, n, 3) float32 and ``faces`` are in the file's frame and units, so the object at rest has the file's
    own vertices; ``times`` [s]; ``q``, ``p`` [m] and ``R`` are those of the nearest earlier step; ``facts`` is JSON
    text with material, anchor and conditions.

    Args:
        clip: the recording.
        path: target.
        fps: frames per second; None keeps every recorded step.
        progress: called with the number of frames written.
        cancelled: asked before each frame.

    Raises:
        ClipError: the file could not be written.
        ExportCancelled: ``cancelled`` said so; nothing is left behind.
    """
    times = clip.times if fps is None else frame_times(clip, fps=fps)
    steps = np.array([clip.place_of(float(time))[0] for time in times])
    small: dict[str, Any] = {
        "faces": clip.rest_faces,
        "times": times,
        "q": clip.q[steps],
        "p": clip.p[steps],
        "R": clip.R[steps],
        "unit_to_file": clip.unit_to_file,
        "metres_per_unit": np.float64(clip.metres_per_unit),
        "facts": np.str_(json.dumps(clip.facts.model_dump(mode="json"))),
    }
    shape = (len(times), len(clip.rest_vertices), 3)
    with replacing(path) as part:
        with zipfile.ZipFile(part, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
            # Frame by frame into the archive: a long clip of a large mesh would not fit into memory.
            with archive.open("vertices.npy", "w", force_zip64=True) as out:
                header = {"descr": "<f4", "fortran_order": False, "shape": shape}
                np.lib.format.write_array_header_2_0(out, header)
                for done, time in enumerate(times, 1):
                    if cancelled is not None and cancelled():
                        raise ExportCancelled
                    frame = clip.in_file_frame(clip.at(float(time)))
                    out.write(np.ascontiguousarray(frame, dtype="<f4").tobytes())
                    if progress is not None:
                        progress(done)
            for name, value in small.items():
                with archive.open(f"{name}.npy", "w", force_zip64=True) as out:
                    np.lib.format.write_array(out, np.asanyarray(value), allow_pickle=False)
        _verify(part, shape, path.name)
    return len(times)


def _verify(part: Path, shape: tuple[int, ...], name: str) -> None:
    with zipfile.ZipFile(part) as archive:
        if archive.testzip() is not None:
            raise ClipError(f"{name} did not read back as it was written; is the disk failing?")
        with archive.open("vertices.npy") as file:
            np.lib.format.read_magic(file)
            found = np.lib.format.read_array_header_2_0(file)[0]
    if found != shape:
        raise ClipError(f"{name} should hold vertices of shape {shape}; read back it holds {found}.")
