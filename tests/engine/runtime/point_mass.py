"""A small stand-in for the dynamics: one point mass on a spring to its home, that carries a tetrahedron."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from engine.dynamics.state import Grab, Loads, State, StepReport, StepStatus, SurfacePoint
from engine.geometry.rest_shape import RestShape, rest_shape_from_arrays
from engine.runtime.loading import LoadedObject
from engine.scenes.material import MATERIALS, Anchor, Material

SCALE = 0.5


def tetrahedron() -> RestShape:
    """Return a closed shape of four vertices."""
    vertices = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    faces = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
    return rest_shape_from_arrays(vertices, faces, name="tetrahedron")


@dataclass
class Faults:
    """Which steps go wrong, counted over all calls, and what was asked.

    Attributes:
        bad_from: first simulated time at which steps fail [s].
        whole_only: only whole steps fail, half steps go well.
        status: with which status; None brings a state that is not finite, with a good status.
        raising: an unexpected error instead.
    """

    bad_from: float = np.inf
    whole_only: bool = False
    status: StepStatus | None = StepStatus.NOT_CONVERGED
    raising: bool = False
    asked: list[tuple[float, Loads, float]] = field(default_factory=list)


@dataclass(frozen=True)
class PointMass:
    """One point mass with a spring of 10 rad/s to its home, moved by explicit steps."""

    rest: RestShape
    faults: Faults
    material: Material = MATERIALS["elastic"]
    anchor: Anchor = Anchor.STANDING
    gravity: float = 9.81
    floor: bool = True

    def rest_state(self, *, height: float = 0.0) -> State:
        """Return the mass at home."""
        z, k = np.zeros(3), np.zeros(0 if self.material.name == "rigid" else 2)
        return State(0.0, np.array([0.0, 0.0, 0.5 + height]), np.eye(3), k, z, z, k, k)

    def step(self, state: State, loads: Loads, h: float) -> tuple[State, StepReport]:
        """Move, or fail where told to."""
        self.faults.asked.append((state.time, loads, h))
        if state.time >= self.faults.bad_from - 1e-9 and not (self.faults.whole_only and h < 1 / 61):
            if self.faults.raising:
                raise RuntimeError("the stand-in broke")
            if self.faults.status is None:
                return replace(state, p=np.full(3, np.nan)), StepReport(StepStatus.CONVERGED, 1, 0.0, 0.0, 0.0, 0.0)
            return state, StepReport(self.faults.status, 1, 0.0, 0.0, 0.0, 0.0, message="no equilibrium was found")
        home = self.rest_state().p
        force = -100.0 * (state.p - home) - 4.0 * state.v
        grab_force = None
        if loads.grab is not None:
            grab_force = loads.grab.stiffness * (loads.grab.target - self.point_position(state, loads.grab.point))
            force = force + grab_force
        for push in loads.forces:
            force = force + push.force
        v = state.v + h * force
        new = replace(state, time=state.time + h, p=state.p + h * v, v=v)
        kinetic = 0.5 * float(v @ v)
        return new, StepReport(StepStatus.CONVERGED, 1, 0.0, kinetic, 0.0, 0.0, grab_force=grab_force)

    def decode(self, state: State) -> np.ndarray:
        """Return the carried shape."""
        return (SCALE * self.rest.vertices + state.p).astype(np.float32)

    def handles(self, state: State) -> np.ndarray:
        """Return one handle that stays where it is."""
        return np.eye(8, dtype=np.float32)[:1]

    def point_position(self, state: State, point: SurfacePoint) -> np.ndarray:
        """Return where a surface point is."""
        corners = SCALE * self.rest.vertices[self.rest.faces[point.face]] + state.p
        return np.asarray(point.barycentric) @ corners

    def begin_grab(self, state: State, point: SurfacePoint, *, pins: Loads | None = None) -> Grab:
        """Take hold, without force."""
        return Grab(point, self.point_position(state, point), self.material.density, 1.0, 1e3)

    def with_material(self, material: Material) -> PointMass:
        """Return another material."""
        return replace(self, material=material)

    def with_anchor(self, anchor: Anchor) -> PointMass:
        """Return another anchor."""
        return replace(self, anchor=anchor)

    def with_world(self, *, gravity: float, floor: bool) -> PointMass:
        """Return another world."""
        return replace(self, gravity=gravity, floor=floor)


def loaded_point_mass(faults: Faults | None = None, path: Path = Path("tetrahedron.obj")) -> LoadedObject:
    """Return the stand-in as the session gets it."""
    rest = tetrahedron()
    return LoadedObject(
        path=path,
        rest=rest,
        motion=PointMass(rest, faults or Faults()),
        anchor=Anchor.STANDING,
        material=MATERIALS["elastic"],
        metres_per_unit=SCALE,
        k_q=2,
        vertex_weights=np.ones((4, 1), dtype=np.float32),
        fingerprint="stand-in",
    )
