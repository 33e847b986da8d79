"""Values that the dynamics takes and gives: states, loads and what a step reports. All frozen."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from jaxtyping import Float32, Float64


@dataclass(frozen=True, slots=True)
class SurfacePoint:
    """A point of the rest surface: a face and barycentric weights of its corners (sum 1)."""

    face: int
    barycentric: tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Grab:
    """A spring from a surface point to a target that the hand moves.

    Attributes:
        point: what is held.
        target: where it is pulled, world [m].
        stiffness: of the spring [N/m]; from the effective mass at the moment of the grab.
        damping: critical damping [N s/m], ramped in over the first 50 ms.
        force_cap: largest pull [N].
        age: time since the grab [s].
    """

    point: SurfacePoint
    target: Float64[np.ndarray, "3"]
    stiffness: float
    damping: float
    force_cap: float
    age: float = 0.0


@dataclass(frozen=True, slots=True)
class Pin:
    """A surface point held at a place, world [m]."""

    point: SurfacePoint
    target: Float64[np.ndarray, "3"]


@dataclass(frozen=True, slots=True)
class PointForce:
    """A force on a surface point, world [N]."""

    point: SurfacePoint
    force: Float64[np.ndarray, "3"]


@dataclass(frozen=True, slots=True)
class Loads:
    """All that acts on the object during one step, besides gravity and the floor."""

    grab: Grab | None = None
    pins: tuple[Pin, ...] = ()
    forces: tuple[PointForce, ...] = ()


@dataclass(frozen=True, slots=True)
class Trail:
    """What the two-step integrator remembers, on the mass points, in world axes [m, m/s].

    Attributes:
        positions, velocities: of the mass points now, shape (m, 3).
        old_positions, old_velocities: one step ago.
        old_q, old_qd: reduced coordinates and their rates one step ago.
        h: that step's length [s].
        contacts: numbers of the contacts that touch now.
        handles: dual quaternions of the handles now, shape (t, 8), unit frame.
        bounced: an impact has just turned the velocities, so that two steps no longer follow one law.
    """

    positions: Float64[np.ndarray, "m 3"]
    velocities: Float64[np.ndarray, "m 3"]
    old_positions: Float64[np.ndarray, "m 3"]
    old_velocities: Float64[np.ndarray, "m 3"]
    old_q: Float64[np.ndarray, " r"]
    old_qd: Float64[np.ndarray, " r"]
    h: float
    contacts: frozenset[int]
    handles: Float32[np.ndarray, "t 8"] | Float64[np.ndarray, "t 8"]
    bounced: bool = False


@dataclass(frozen=True, slots=True)
class State:
    """Pose and velocity of one object: ``x = p + s R F(q)``.

    Attributes:
        time: simulated time [s].
        p: position of the unit frame's origin, world [m].
        R: orientation of the unit frame.
        q: reduced coordinates.
        v, w: velocity of the origin and angular velocity, world [m/s, rad/s].
        qd: rate of the reduced coordinates [1/s].
        stuck: reduced coordinates at which dry friction holds.
        trail: memory of the two-step integrator; None restarts it.
    """

    time: float
    p: Float64[np.ndarray, "3"]
    R: Float64[np.ndarray, "3 3"]
    q: Float64[np.ndarray, " r"]
    v: Float64[np.ndarray, "3"]
    w: Float64[np.ndarray, "3"]
    qd: Float64[np.ndarray, " r"]
    stuck: Float64[np.ndarray, " r"]
    trail: Trail | None = None


class StepStatus(StrEnum):
    """How a step ended."""

    CONVERGED = "converged"
    FALLBACK = "fallback"
    NOT_CONVERGED = "not converged"
    NOT_FINITE = "not finite"


@dataclass(frozen=True, slots=True)
class StepReport:
    """What a step found.

    Attributes:
        status: CONVERGED; FALLBACK: a backward Euler step was taken; otherwise the old state was returned.
        iterations: Gauss-Newton iterations.
        residual: RMS of the last correction, as a share of size.
        kinetic, elastic, gravitational: energies at the end [J]; gravity measured from the floor.
        grab_point: where the held point is [m], and ``grab_force``: the pull on it [N].
        contacts: number of points that touch a surface.
        message: one sentence when the step failed.
    """

    status: StepStatus
    iterations: int
    residual: float
    kinetic: float
    elastic: float
    gravitational: float
    grab_point: Float64[np.ndarray, "3"] | None = None
    grab_force: Float64[np.ndarray, "3"] | None = None
    contacts: int = 0
    message: str = ""

    @property
    def potential(self) -> float:
        """Elastic and gravitational energy [J]."""
        return self.elastic + self.gravitational
