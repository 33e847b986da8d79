"""From a mesh file to an object that is ready to move, with what the session needs to know of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float32, Float64

from engine.dynamics.anchoring import guess_anchor
from engine.dynamics.body import describe_shape
from engine.dynamics.material_guess import MaterialGuess, guess_material
from engine.dynamics.mechanics import Mechanics
from engine.dynamics.state import Grab, Loads, State, StepReport, SurfacePoint
from engine.geometry.mesh_reader import load_rest_shape
from engine.geometry.rest_shape import RestShape
from engine.kinematics.object_kinematics import ObjectKinematics, prepare_object
from engine.model.checkpoint import DEFAULT_CHECKPOINT
from engine.runtime.messages import LoadMesh
from engine.scenes.material import MATERIALS, Anchor, Material

SHELL_THICKNESS = 0.01
"""Of an open surface made of a solid's material [m]."""
LEAST_SOLID_DENSITY = 20.0
"""A material less dense than this is meant per area [kg/m^2], not per volume [kg/m^3]."""


class LoadCancelled(Exception):
    """Nobody waits for the object any more."""


@runtime_checkable
class Motion(Protocol):
    """What the session needs of `Mechanics`: laws of motion without a state."""

    def rest_state(self, *, height: float = 0.0) -> State:
        """Return the object at rest, ``height`` [m] above the floor."""
        ...

    def step(self, state: State, loads: Loads, h: float) -> tuple[State, StepReport]:
        """Advance by ``h`` [s]; on failure the old state comes back."""
        ...

    def decode(self, state: State) -> Float32[np.ndarray, "n 3"]:
        """Return all vertices, world [m]."""
        ...

    def handles(self, state: State) -> Float32[np.ndarray, "t 8"]:
        """Return the handles' dual quaternions, unit frame."""
        ...

    def point_position(self, state: State, point: SurfacePoint) -> Float64[np.ndarray, " 3"]:
        """Return the place of a surface point, world [m]."""
        ...

    def begin_grab(self, state: State, point: SurfacePoint, *, pins: Loads | None = None) -> Grab:
        """Take hold of a point, without force yet."""
        ...

    def with_material(self, material: Material) -> Motion:
        """Return the same object of another material."""
        ...

    def with_anchor(self, anchor: Anchor) -> Motion:
        """Return the same object, held in another way."""
        ...

    def with_world(self, *, gravity: float, floor: bool) -> Motion:
        """Return the same object under another gravity, with or without the floor."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class LoadedObject:
    """An object ready to move.

    Attributes:
        path: the file that it came from.
        rest: its rest shape.
        motion: its laws of motion.
        anchor, material: that it starts with.
        metres_per_unit: size of the unit frame's unit [m].
        k_q: number of reduced coordinates.
        vertex_weights: blending weights of the handles, shape (n, T), for clips.
        fingerprint: of the checkpoint.
        trust: a few words on how far the network may be trusted with this shape.
        checkpoint: file of the network; None where it came from no file.
        material_reason: one sentence on why it has this material; empty where the material was asked for.
    """

    path: Path
    rest: RestShape
    motion: Motion
    anchor: Anchor
    material: Material
    metres_per_unit: float
    k_q: int
    vertex_weights: Float32[np.ndarray, "n t"]
    fingerprint: str
    trust: str = ""
    checkpoint: Path | None = None
    material_reason: str = ""


def load_object(command: LoadMesh, *, cancelled: Callable[[], bool] = lambda: False) -> LoadedObject:
    """Read a mesh, prepare its kinematics and its dynamics.

    Args:
        command: what to load and how.
        cancelled: asked between the stages.

    Raises:
        MeshError: the file holds no usable mesh; the message says what to do.
        CheckpointError: the checkpoint cannot be used; the message says why.
        LoadCancelled: as asked for.
        ValueError: an unknown material.
    """
    wanted = None if command.material is None else preset(command.material)
    rest = load_rest_shape(command.path, up=command.up)
    _go_on(cancelled)
    checkpoint = command.checkpoint or DEFAULT_CHECKPOINT
    kinematics = prepare_object(rest, checkpoint=checkpoint)
    _go_on(cancelled)
    shape = describe_shape(kinematics)
    anchor = command.anchor or guess_anchor(kinematics, shape)
    guess = guess_material(kinematics, shape) if wanted is None else MaterialGuess(wanted, "")
    material = material_for(guess.material, rest)
    motion = Mechanics(
        kinematics, material=material, anchor=anchor, metres_per_unit=command.metres_per_unit, shape=shape
    )
    _go_on(cancelled)
    return LoadedObject(
        path=command.path,
        rest=rest,
        motion=motion,
        anchor=anchor,
        material=material,
        metres_per_unit=command.metres_per_unit,
        k_q=kinematics.k_q,
        vertex_weights=kinematics.vertex_weights.float().numpy(),
        fingerprint=kinematics.fingerprint,
        trust=_trust(kinematics),
        checkpoint=checkpoint,
        material_reason=guess.reason,
    )


def preset(name: str) -> Material:
    """Return a material by its name."""
    if name not in MATERIALS:
        raise ValueError(f"there is no material named {name!r}; there are {', '.join(MATERIALS)}")
    return MATERIALS[name]


def material_for(material: Material, rest: RestShape) -> Material:
    """Return the material as an object is made of it: an open surface is a shell, whose density counts per area."""
    if rest.solid or material.density < LEAST_SOLID_DENSITY:
        return material
    return material.model_copy(update={"density": SHELL_THICKNESS * material.density})


def _go_on(cancelled: Callable[[], bool]) -> None:
    if cancelled():
        raise LoadCancelled


def _trust(kinematics: ObjectKinematics) -> str:
    """Say how near the object's rest latent is to those of the training set."""
    distance = float(np.hypot(kinematics.prior_distance, np.linalg.norm(kinematics.prior_offset)))
    share = distance / max(kinematics.range_radius, 1e-9)
    if share <= 1.0:
        return "Rest state within the range of the training"
    return f"Low trust: rest state at {share:.1f} times the range of the training"
