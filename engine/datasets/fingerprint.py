"""Recognises a shape again: moved, turned, mirrored, rescaled, renumbered, or with its vertices doubled.

A fingerprint is a row of integrals over the surface that no such change alters: principal moments, moments of the
distance to the centroid, third-order moments, and how the surface stands to the ray from the centroid. Integrals go
smoothly with the shape and do not count vertices, so that two fingerprints of one shape differ by rounding only; they
are compared with a tolerance, as any hash breaks where a value lies at the border of its bin. Mirror images have the
same fingerprint: a mirrored test object would give the answer away just as well.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int

from engine.datasets.shapes.packaged import HELD_OUT_GARMENTS, is_never_trained, read_garment
from engine.geometry.mesh_reader import load_rest_shape

# Largest difference between two fingerprints of one shape: five times what 14-bit coordinates (Draco) do, and a small
# part of what a deformation by 3 % does.
TOLERANCE = 3e-4
# Width of a bucket, and which of the values make the key.
_BIN, _KEYED = 0.05, (0, 1, 3, 12)

GALLERY = Path(__file__).resolve().parents[2] / "assets" / "objects"
# Points of the degree-4 rule of six points on a triangle (Strang & Fix 1973), and their weights.
_A, _B = 0.445948490915965, 0.091576213509771
_POINTS = np.array([np.roll((1 - 2 * x, x, x), k) for x in (_A, _B) for k in range(3)])
_WEIGHTS = np.repeat((0.223381589678011, 0.109951743655322), 3)


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What a shape is recognised by.

    Attributes:
        values: dimensionless invariants of the surface, shape (k,).
    """

    values: Float[np.ndarray, " k"]

    @staticmethod
    def of(vertices: Float[np.ndarray, "n 3"], faces: Int[np.ndarray, "m 3"]) -> Fingerprint:
        """Return the fingerprint of a surface in any frame and unit.

        Raises:
            ValueError: the surface has no area, or positions that are not finite.
        """
        # Coordinates go first in all arrays here: long contiguous rows are several times faster.
        points = np.ascontiguousarray(np.asarray(vertices, dtype=np.float64).T)
        a, b, c = (points[:, faces[:, k]] for k in range(3))
        u, v = b - a, c - a
        normal = np.stack((u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]))
        double_area = np.sqrt((normal**2).sum(0))
        total = float(double_area.sum())
        if not (np.isfinite(total) and total > 0.0):
            message = f"A surface with a finite area is wanted; that of {len(faces)} triangles is {0.5 * total}."
            raise ValueError(message)
        share = double_area / total
        centre = ((a + b + c) @ share)[:, None] / 3.0
        a, b, c = a - centre, b - centre, c - centre
        at = np.concatenate([i * a + j * b + k * c for i, j, k in _POINTS], axis=1)
        weight = (_WEIGHTS[:, None] * share).ravel()
        scale = np.sqrt(float((at * at).sum(0) @ weight))
        at /= scale
        square = (at * at).sum(0)
        radius = np.sqrt(square)
        unit = normal / np.maximum(double_area, 1e-300)
        # The distance of a triangle's plane to the centroid is the same at all of its points.
        facing = np.tile(np.abs((a * unit).sum(0)) / scale, len(_POINTS))
        x, y, z = at
        weighted = at * weight
        pairs = np.stack((x * x, y * y, z * z, x * y, x * z, y * z))
        # Third moments E[x_i x_j x_k] by pairs (j, k); mixed pairs occur twice in the tensor.
        cubic = weighted @ pairs.T
        principal = np.linalg.eigvalsh(weighted @ at.T)
        leaning = np.linalg.eigvalsh((unit * share) @ unit.T)
        fourth = square * square
        values = [
            *principal[:2],
            *leaning[:2],
            radius @ weight,
            np.cbrt((square * radius) @ weight),
            (fourth @ weight) ** 0.25,
            ((fourth * square) @ weight) ** (1 / 6),
            np.exp(-square) @ weight,
            np.exp(-4.0 * square) @ weight,
            np.sqrt((cubic**2 @ (1, 1, 1, 2, 2, 2)).sum()),
            np.linalg.norm(cubic[:, :3].sum(1)),
            facing @ weight,
            (facing * facing) @ weight,
            (facing * square) @ weight,
        ]
        return Fingerprint(np.array(values, dtype=np.float64))

    def matches(self, other: Fingerprint, *, tolerance: float = TOLERANCE) -> bool:
        """Return whether both are of one shape: no value differs by more than ``tolerance``."""
        return bool(np.abs(self.values - other.values).max() <= tolerance)

    @property
    def bucket(self) -> tuple[int, ...]:
        """A coarse key for look-up. One shape may fall on either side of a border: see `buckets`."""
        return tuple(int(b) for b in np.floor(self.values[list(_KEYED)] / _BIN))

    @property
    def buckets(self) -> set[tuple[int, ...]]:
        """Every key that a match of this fingerprint can have: one, and more near a border."""
        near = self.values[list(_KEYED)]
        reach = ({int(np.floor((v + d) / _BIN)) for d in (-TOLERANCE, TOLERANCE)} for v in near)
        return set(itertools.product(*reach))


def geometry_hash(vertices: Float[np.ndarray, "n 3"], faces: Int[np.ndarray, "m 3"]) -> str:
    """Return a short name for a shape, the same for twins of it unless a value lies at the border of a bin.

    For listings; whether two shapes are one is decided by `Fingerprint.matches` or `KnownShapes`.
    """
    rounded = np.round(Fingerprint.of(vertices, faces).values / (10 * TOLERANCE)).astype(np.int64)
    return hashlib.sha256(rounded.tobytes()).hexdigest()[:16]


class KnownShapes:
    """Named fingerprints that can be asked whether a shape is one of them."""

    def __init__(self) -> None:
        self._found: dict[tuple[int, ...], list[tuple[str, Fingerprint]]] = {}

    def add(self, name: str, vertices: Float[np.ndarray, "n 3"], faces: Int[np.ndarray, "m 3"]) -> None:
        """Remember a shape."""
        mark = Fingerprint.of(vertices, faces)
        self._found.setdefault(mark.bucket, []).append((name, mark))

    def names_like(self, vertices: Float[np.ndarray, "n 3"], faces: Int[np.ndarray, "m 3"]) -> str | None:
        """Return the name of the shape that this is a twin of, None where it is new."""
        mark = Fingerprint.of(vertices, faces)
        near = (known for bucket in sorted(mark.buckets) for known in self._found.get(bucket, []))
        return next((name for name, other in near if mark.matches(other)), None)

    @property
    def names(self) -> list[str]:
        """Names of all shapes, sorted."""
        return sorted(name for marks in self._found.values() for name, _ in marks)


class ForbiddenShapes(KnownShapes):
    """Shapes that must not be trained on: the gallery, on which the product is judged, and held-out files.

    Args:
        extra: a folder with files of others; those it must not train on by `is_never_trained` and the held-out
            garments are added where they are present.
        gallery: the folder with the gallery's GLB files.
    """

    def __init__(self, *, extra: Path | None = None, gallery: Path = GALLERY) -> None:
        super().__init__()
        for file in sorted(gallery.glob("*.glb")):
            shape = load_rest_shape(file)
            self.add(file.stem, shape.vertices, shape.faces)
        for name, vertices, faces in _held_out(extra) if extra is not None else ():
            self.add(name, vertices, faces)


def _held_out(folder: Path) -> Iterator[tuple[str, Float[np.ndarray, "n 3"], Int[np.ndarray, "m 3"]]]:
    for file in sorted(folder.glob("*.ply")):
        if is_never_trained(file.stem):
            shape = load_rest_shape(file)
            yield file.stem, shape.vertices, shape.faces
    for name in HELD_OUT_GARMENTS:
        if (garment := read_garment(folder, name)) is not None:
            yield (name, *garment)
