"""A recording: the states of every step and all that is needed to see them again, with any later network or none.

Kept are poses and handle dual quaternions, not vertices: a step takes about a kilobyte whatever the mesh, and the
vertices are decoded when they are wanted, at any moment between two steps.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, fields

import numpy as np
from jaxtyping import Float, Float32, Float64, Int, Int32
from pydantic import BaseModel, ConfigDict
from scipy.spatial.transform import Rotation

from engine.clips.blend import blend_handles
from engine.scenes.conditions import Condition
from engine.scenes.material import Anchor, Material

CLIP_VERSION = 0


class ClipError(ValueError):
    """A clip or a file made from it cannot be read or written; the message says what is wrong and what to do."""


class ClipFacts(BaseModel):
    """What a clip was made of.

    Attributes:
        name: of the object.
        mesh: path of the mesh file, for its materials; empty if it came from arrays.
        mesh_hash: first 12 hex digits of the SHA-256 of the rest shape.
        material, anchor, gravity, floor, conditions: the scene.
        checkpoint: fingerprint of the network.
        steps_per_second: rate of the recording.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    mesh: str = ""
    mesh_hash: str = ""
    material: Material
    anchor: Anchor
    gravity: float = 9.81
    floor: bool = True
    conditions: tuple[Condition, ...] = ()
    checkpoint: str = ""
    steps_per_second: float = 60.0


@dataclass(frozen=True, slots=True, eq=False)
class ClipInputs:
    """What acted on the object in each step; not-a-number where nothing did.

    Attributes:
        face: the held face, -1 for none, shape (f,); ``barycentric``: the held place on it, shape (f, 3).
        point: the held place, world [m], shape (f, 3); ``target``: where the hand was; ``force``: its pull [N].
        pins: places of the pins, world [m], shape (f, m, 3), ``m`` the largest number of pins.
    """

    face: Int32[np.ndarray, " f"]
    barycentric: Float64[np.ndarray, "f 3"]
    point: Float64[np.ndarray, "f 3"]
    target: Float64[np.ndarray, "f 3"]
    force: Float64[np.ndarray, "f 3"]
    pins: Float64[np.ndarray, "f m 3"]

    def __post_init__(self) -> None:
        _protect(self)


@dataclass(frozen=True, slots=True, eq=False)
class Clip:
    """The motion of one object. All arrays are read-only.

    Attributes:
        times: of the states [s], shape (f,), increasing.
        p, R: origin [m] and orientation of the unit frame, shapes (f, 3) and (f, 3, 3).
        q, qd: reduced coordinates and their rates [1/s], shape (f, k).
        handles: dual quaternions of the handles, unit frame, shape (f, T, 8).
        inputs: what acted on the object.
        vertex_weights: blending weights, shape (n, T).
        rest_vertices, rest_faces: the rest shape, unit frame, shapes (n, 3) and (m, 3).
        unit_to_file: maps unit-frame points to the file's axes and units, shape (4, 4).
        origin: place of the unit frame's origin when the object rests on the floor [m].
        metres_per_unit: size of the unit frame's unit [m].
        facts: what it was made of.
        version: of the format.
    """

    times: Float64[np.ndarray, " f"]
    p: Float64[np.ndarray, "f 3"]
    R: Float64[np.ndarray, "f 3 3"]
    q: Float64[np.ndarray, "f k"]
    qd: Float64[np.ndarray, "f k"]
    handles: Float32[np.ndarray, "f t 8"]
    inputs: ClipInputs
    vertex_weights: Float32[np.ndarray, "n t"]
    rest_vertices: Float64[np.ndarray, "n 3"]
    rest_faces: Int[np.ndarray, "m 3"]
    unit_to_file: Float64[np.ndarray, "4 4"]
    origin: Float64[np.ndarray, " 3"]
    metres_per_unit: float
    facts: ClipFacts
    version: int = CLIP_VERSION

    def __post_init__(self) -> None:
        if len(self.times) == 0:
            raise ClipError("a clip needs at least one state; this one has none")
        if not (np.diff(self.times) > 0.0).all():
            raise ClipError("the times of a clip must increase")
        _protect(self)

    @property
    def duration(self) -> float:
        """Time from the first state to the last [s]."""
        return float(self.times[-1] - self.times[0])

    def vertices(self, index: int) -> Float32[np.ndarray, "n 3"]:
        """Return the vertices of one recorded state, world [m]."""
        return self._world(self.handles[index], self.p[index], self.R[index])

    def at(self, time: float) -> Float32[np.ndarray, "n 3"]:
        """Return the vertices at any time [s], world [m]; before the first state and after the last it stands still."""
        i, share = self.place_of(time)
        if share == 0.0:
            return self.vertices(i)
        turn = Rotation.from_matrix(self.R[i].T @ self.R[i + 1]).as_rotvec()
        return self._world(
            ((1.0 - share) * self.handles[i] + share * self.handles[i + 1]).astype(np.float32),
            (1.0 - share) * self.p[i] + share * self.p[i + 1],
            self.R[i] @ Rotation.from_rotvec(share * turn).as_matrix(),
        )

    def place_of(self, time: float) -> tuple[int, float]:
        """Return the state at or before ``time`` and how far toward the next one it is, 0 to 1."""
        i = bisect_right(self.times, time) - 1
        if i < 0:
            return 0, 0.0
        if i >= len(self.times) - 1:
            return len(self.times) - 1, 0.0
        share = float((time - self.times[i]) / (self.times[i + 1] - self.times[i]))
        # Times that were computed in another way differ by rounding; they mean the recorded state.
        if share < 1e-6:
            return i, 0.0
        return (i + 1, 0.0) if share > 1.0 - 1e-6 else (i, share)

    def in_file_frame(self, vertices: Float[np.ndarray, "n 3"]) -> Float32[np.ndarray, "n 3"]:
        """Return world points [m] in the mesh file's axes and units; the object at rest has the file's own vertices."""
        unit = (vertices - self.origin) / self.metres_per_unit
        return (unit @ self.unit_to_file[:3, :3].T + self.unit_to_file[:3, 3]).astype(np.float32)

    def _world(
        self, handles: Float32[np.ndarray, "t 8"], p: Float64[np.ndarray, " 3"], turn: Float64[np.ndarray, "3 3"]
    ) -> Float32[np.ndarray, "n 3"]:
        local = blend_handles(self.vertex_weights, handles, self.rest_vertices)
        return local @ (self.metres_per_unit * turn.T).astype(np.float32) + p.astype(np.float32)


def _protect(owner: Clip | ClipInputs) -> None:
    """Make the arrays read-only: they are seen by several threads."""
    for field in fields(owner):
        value = getattr(owner, field.name)
        if isinstance(value, np.ndarray):
            value.setflags(write=False)
