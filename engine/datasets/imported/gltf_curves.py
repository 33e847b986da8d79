"""Curves of glTF clips and their values at any time (glTF 2.0 specification, section 3.11 and appendix C)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float


@dataclass(frozen=True, slots=True)
class Curve:
    """The curve of one property of one node (sections 3.11 and C).

    Attributes:
        node: number of the node.
        path: "translation", "rotation" (x, y, z, w), "scale" or "weights".
        times: rising, in seconds.
        values: one row for each time; three (in-tangent, value, out-tangent) where the curve is a cubic spline.
        interpolation: "LINEAR", "STEP" or "CUBICSPLINE".
    """

    node: int
    path: str
    times: Float[np.ndarray, " k"]
    values: Float[np.ndarray, "r w"]
    interpolation: str


@dataclass(frozen=True, slots=True)
class Clip:
    """One animation of a file: its name and its curves."""

    name: str
    curves: list[Curve]

    @property
    def span(self) -> tuple[float, float]:
        """First and last key of all curves [s]."""
        return min(float(c.times[0]) for c in self.curves), max(float(c.times[-1]) for c in self.curves)


def evaluate(curve: Curve, times: Float[np.ndarray, " t"]) -> Float[np.ndarray, "t w"]:
    """Return a curve's values; before its first key and after its last it keeps their values (appendix C)."""
    keys, count = curve.times, len(curve.times)
    spline = curve.interpolation == "CUBICSPLINE"
    values = curve.values.reshape(count, 3, -1)[:, 1] if spline else curve.values.reshape(count, -1)
    if count == 1:
        return np.repeat(values, len(times), 0)
    t = np.clip(times, keys[0], keys[-1])
    low = np.clip(np.searchsorted(keys, t, side="right") - 1, 0, count - 2)
    if curve.interpolation == "STEP":
        # At and after the last key the last value holds.
        return values[np.where(t >= keys[-1], count - 1, low)]
    length = np.maximum(keys[low + 1] - keys[low], 1e-12)
    u = ((t - keys[low]) / length)[:, None]
    before, after = values[low], values[low + 1]
    if spline:
        tangents = curve.values.reshape(count, 3, -1)
        out, into = tangents[low, 2] * length[:, None], tangents[low + 1, 0] * length[:, None]
        square, cube = u**2, u**3
        ends = (2 * cube - 3 * square + 1) * before + (3 * square - 2 * cube) * after
        return ends + (cube - 2 * square + u) * out + (cube - square) * into
    if curve.path != "rotation":
        return before + u * (after - before)
    cosine = np.sum(before * after, 1, keepdims=True)
    after, cosine = np.where(cosine < 0, -after, after), np.abs(cosine)
    angle = np.arccos(np.clip(cosine, -1.0, 1.0))
    # Where both are nearly one rotation the sines vanish, and the straight line is as good.
    close = cosine > 0.99999
    sine = np.where(close, 1.0, np.sin(angle))
    one = np.where(close, 1 - u, np.sin((1 - u) * angle) / sine)
    two = np.where(close, u, np.sin(u * angle) / sine)
    return one * before + two * after
