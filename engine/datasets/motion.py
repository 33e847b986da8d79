"""One moving mesh: what every generator, simulator and importer returns, and what curation and shards take."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float, Int

KINDS = ("articulated", "elastic", "cloth", "rigid", "continuum", "imported")


@dataclass(frozen=True, slots=True)
class Source:
    """Where a motion comes from.

    Attributes:
        name: the generator, simulator or file collection, e.g. "MuJoCo 4.0.0 flex" or "Quaternius animated animals".
        licence: SPDX name of the licence of the shape, e.g. "CC0-1.0".
        credit: whom the licence asks to name; empty where nobody.
    """

    name: str = "procedural"
    licence: str = "Apache-2.0"
    credit: str = ""


@dataclass(frozen=True, slots=True)
class Motion:
    """Frames of one mesh with one topology.

    Attributes:
        family: generator of the object, as "kind/name" with a kind of `KINDS`. Splits never cut a family's name.
        faces: triangles, shape (m, 3).
        component: connected component of each vertex, shape (n,).
        positions: vertices of each frame in the world, shape (f, n, 3), float32, Z up, arbitrary unit of length.
        rotations: local rotation of each vertex from a reference pose common to all frames, unit quaternions
            (w, x, y, z), shape (f, n, 4), float32.
        fixed: whether something holds a part of the object to the world (a base, a nail, a hand).
        part: true rigid part of each vertex, shape (n,), -1 where none; None where the object has no rigid parts.
        source: where it comes from.
        name: what the object is called, e.g. a file's stem; the builder numbers those that have none.
    """

    family: str
    faces: Int[np.ndarray, "m 3"]
    component: Int[np.ndarray, " n"]
    positions: Float[np.ndarray, "f n 3"]
    rotations: Float[np.ndarray, "f n 4"]
    fixed: bool = False
    part: Int[np.ndarray, " n"] | None = None
    source: Source = field(default_factory=Source)
    name: str = ""

    @property
    def kind(self) -> str:
        """The kind of motion, one of `KINDS`."""
        return self.family.split("/")[0]
