"""What crosses between the window's thread and the engine's: commands in, events and frames out. All frozen.

Arrays are read-only. A ``Vector`` is a world position [m] as three plain floats. Frames and most events carry the
generation, which grows with each load and each reset, so that a receiver can drop what belongs to the past.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float, Float32, Int

from engine.clips.clip import Clip
from engine.geometry.rest_shape import RestShape, UpAxis
from engine.scenes.conditions import Condition
from engine.scenes.material import Anchor, Material

Vector = tuple[float, float, float]

# ---- commands: from the window to the engine ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LoadMesh:
    """Open a mesh file; the present object stays until the new one is ready.

    Attributes:
        path: the file.
        up: its up axis; None lets the reader decide.
        anchor, material: wanted (material: a preset's name); None lets the object suggest.
        metres_per_unit: size of the unit frame's unit [m].
        height: of its lowest point above the floor, from where it begins at rest [m].
        checkpoint: file of the network that moves it; None takes the one that comes with the program.
    """

    path: Path
    up: UpAxis | None = None
    anchor: Anchor | None = None
    material: str | None = None
    metres_per_unit: float = 0.5
    height: float = 0.0
    checkpoint: Path | None = None


@dataclass(frozen=True, slots=True)
class SetMaterial:
    """Make the object of another material; its shape and speed stay."""

    material: Material


@dataclass(frozen=True, slots=True)
class SetAnchor:
    """Hold the object in another way."""

    anchor: Anchor


@dataclass(frozen=True, slots=True)
class SetGravity:
    """Change gravity along -Z [m/s^2]."""

    gravity: float


@dataclass(frozen=True, slots=True)
class SetFloor:
    """Add or remove the floor."""

    floor: bool


@dataclass(frozen=True, slots=True)
class SetConditions:
    """Replace the scene's timed forces, pulls and pins; times count from the last reset."""

    conditions: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class GrabPoint:
    """Take hold of a point of the surface; no force acts before the hand moves."""

    face: int
    barycentric: Vector


@dataclass(frozen=True, slots=True)
class DragTo:
    """Move the hand that holds the object to ``target``, world [m]."""

    target: Vector


@dataclass(frozen=True, slots=True)
class Release:
    """Let go."""


@dataclass(frozen=True, slots=True)
class PinPoint:
    """Hold a surface point at ``target``, world [m]; None: where it is now."""

    face: int
    barycentric: Vector
    target: Vector | None = None


@dataclass(frozen=True, slots=True)
class Unpin:
    """Free one pin, by its number in the frames."""

    index: int


@dataclass(frozen=True, slots=True)
class ClearPins:
    """Free all pins."""


@dataclass(frozen=True, slots=True)
class Play:
    """Let time run."""


@dataclass(frozen=True, slots=True)
class Pause:
    """Hold time."""


@dataclass(frozen=True, slots=True)
class StepOnce:
    """Hold time, after one more step."""


@dataclass(frozen=True, slots=True)
class Seek:
    """Show a moment of the last minute, with time held; what is done next begins a branch there.

    Attributes:
        time: simulated time [s]; the nearest earlier kept state is taken.
    """

    time: float


@dataclass(frozen=True, slots=True)
class Reset:
    """Put the object back to its beginning; pins and grab are freed, material and anchor stay.

    Attributes:
        height: of its lowest point above the floor [m]; None: as before.
    """

    height: float | None = None


@dataclass(frozen=True, slots=True)
class StartRecording:
    """Keep every step from now on."""


@dataclass(frozen=True, slots=True)
class StopRecording:
    """End the recording; ``Recorded`` brings the clip."""


@dataclass(frozen=True, slots=True)
class SetTimeScale:
    """Let simulated time run at ``scale`` seconds per second."""

    scale: float


@dataclass(frozen=True, slots=True)
class Shutdown:
    """End the engine."""


Command = (
    LoadMesh
    | SetMaterial
    | SetAnchor
    | SetGravity
    | SetFloor
    | SetConditions
    | GrabPoint
    | DragTo
    | Release
    | PinPoint
    | Unpin
    | ClearPins
    | Play
    | Pause
    | StepOnce
    | Seek
    | Reset
    | StartRecording
    | StopRecording
    | SetTimeScale
    | Shutdown
)

# ---- frames: what there is to see, the newest wins ------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class FramePins:
    """The pins of a frame.

    Attributes:
        points: where the pins are, world [m], shape (k, 3).
        indices: the numbers to unpin them by, shape (k,); a number is not used twice in a run.
    """

    points: Float[np.ndarray, "k 3"]
    indices: Int[np.ndarray, " k"]


@dataclass(frozen=True, slots=True, eq=False)
class FrameGrab:
    """The hand's pull in a frame.

    Attributes:
        point: where the held point is, world [m].
        target: where the hand is, world [m].
        force_newtons: the pull on the object, world [N].
    """

    point: Float[np.ndarray, " 3"]
    target: Float[np.ndarray, " 3"]
    force_newtons: Float[np.ndarray, " 3"]


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """The object at one moment.

    Attributes:
        generation: of the run that it belongs to.
        sequence: number of frames made before it, in the engine's life.
        time: simulated time since the last reset [s].
        vertices: simulation vertices, world [m], shape (n, 3).
        pins, grab: what the user holds it by.
        kinetic, potential: energies [J].
        step_ms: mean duration of the steps since the last frame [ms]; ``decode_ms`` that of the decode.
        sim_rate: steps per second of wall time.
        real_time_factor: simulated over wall time.
        recording, running: what the session does.
        status: a few words on the last step; empty when all is well.
        kept: first and last time that `Seek` can reach [s].
    """

    generation: int
    sequence: int
    time: float
    vertices: Float32[np.ndarray, "n 3"]
    pins: FramePins
    grab: FrameGrab | None
    kinetic: float
    potential: float
    step_ms: float
    decode_ms: float
    sim_rate: float
    real_time_factor: float
    recording: bool
    running: bool
    status: str
    kept: tuple[float, float] = (0.0, 0.0)


# ---- events: from the engine to the window, in order, none lost -----------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Loaded:
    """Another object is on the stage.

    Attributes:
        generation: of its first run.
        rest: its rest shape.
        k_q: number of reduced coordinates.
        anchor, material: that it starts with.
        metres_per_unit: size of the unit frame's unit [m].
        trust: a few words on how far the network may be trusted with this shape; empty if unknown.
        path: the file.
        checkpoint: file of the network that moves it; None where it came from no file.
        material_reason: one sentence on why it has this material; empty where the material was asked for.
    """

    generation: int
    rest: RestShape
    k_q: int
    anchor: Anchor
    material: Material
    metres_per_unit: float
    trust: str
    path: Path
    checkpoint: Path | None = None
    material_reason: str = ""


@dataclass(frozen=True, slots=True)
class LoadFailed:
    """A mesh could not be opened; the object before it is still on the stage."""

    reason: str
    path: Path


@dataclass(frozen=True, slots=True)
class Diverged:
    """A step failed; the last good state is back and time is held."""

    generation: int
    reason: str


@dataclass(frozen=True, slots=True)
class Failed:
    """A command, or the engine itself, met an error that nobody foresaw; the engine goes on."""

    reason: str


@dataclass(frozen=True, slots=True)
class PinsChanged:
    """The number of pins is now ``count``."""

    generation: int
    count: int


@dataclass(frozen=True, slots=True)
class StateChanged:
    """Time runs, or is held."""

    generation: int
    running: bool


@dataclass(frozen=True, slots=True)
class WasReset:
    """The object is back at its beginning, and a new generation starts."""

    generation: int


@dataclass(frozen=True, slots=True, eq=False)
class Recorded:
    """A recording has ended."""

    generation: int
    clip: Clip


Event = Loaded | LoadFailed | Diverged | Failed | PinsChanged | StateChanged | WasReset | Recorded
