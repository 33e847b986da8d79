"""From the steps of a recording to the pictures of a film: any rate, with the last instant left to the next film."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from jaxtyping import Float32, Float64

from engine.clips.clip import Clip, ClipError


def frame_times(clip: Clip, *, fps: int | float) -> Float64[np.ndarray, " g"]:
    """Return the times of the pictures [s]: ``duration * fps`` of them, rounded, and at least one.

    Raises:
        ClipError: the rate is not a positive number.
    """
    if not (np.isfinite(fps) and fps > 0.0):
        raise ClipError(f"the rate must be a positive number of pictures per second; it is {fps}")
    count = max(1, round(clip.duration * fps))
    return clip.times[0] + np.arange(count) / fps


def resampled(clip: Clip, *, fps: int | float) -> Iterator[Float32[np.ndarray, "n 3"]]:
    """Yield the vertices of each picture, world [m], one at a time."""
    for time in frame_times(clip, fps=fps):
        yield clip.at(float(time))
