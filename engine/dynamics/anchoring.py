"""The base of an object: the region by which an anchored object is held, and where it is at home."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float64, Int

from engine.dynamics.body import Shape
from engine.dynamics.constraints import frame_rows
from engine.dynamics.contact import MARGIN
from engine.dynamics.evaluation_point import Evaluation
from engine.kinematics.object_kinematics import ObjectKinematics
from engine.scenes.material import Anchor

# What hangs from its top does not touch the floor, by this share of size.
HANGING_CLEARANCE = 0.15
STANDARD_GRAVITY = 9.81  # m/s^2, under which an anchored object took the shape it has in its file


@dataclass(frozen=True, slots=True)
class Reaction:
    """Constant forces: ``inner`` on q, shape (r,), and ``support`` on the functionals of the base, shape (6,) [N]."""

    inner: Float64[np.ndarray, " r"]
    support: Float64[np.ndarray, "6"]


def guess_anchor(kinematics: ObjectKinematics, shape: Shape) -> Anchor:
    """Return how an object that nothing is known of is held: a sheet whose top moves less hangs, all else stands."""
    (_, bottom_motion), (_, top_motion) = shape.bands
    hangs = not kinematics.rest.solid and top_motion < 0.7 * bottom_motion
    return Anchor.HANGING if hangs else Anchor.STANDING


class Base:
    """How one object is held.

    Attributes:
        hanging: it is held at its top, as a cloth on a rail; otherwise at its bottom.
        samples: the samples that are held; none for a free object.
    """

    def __init__(self, kinematics: ObjectKinematics, shape: Shape, anchor: Anchor, metres_per_unit: float) -> None:
        """Choose the lowest band of the object, or the highest one if it hangs."""
        self._kinematics, self._scale = kinematics, metres_per_unit
        (bottom, _), (top, _) = shape.bands
        self.hanging = anchor is Anchor.HANGING
        chosen = top if self.hanging else bottom
        self.samples: Int[np.ndarray, " b"] = chosen if anchor is not Anchor.FREE else np.zeros(0, dtype=np.int64)

    @property
    def held(self) -> bool:
        """Whether the object is anchored."""
        return bool(self.samples.size)

    @property
    def height(self) -> float:
        """Height of the unit frame's origin when the object is at home: on the floor, or hanging above it [m]."""
        size = self._kinematics.rest.size * self._scale
        low = float(np.asarray(self._kinematics.rest.vertices)[:, 2].min()) * self._scale
        return MARGIN * size - low + (HANGING_CLEARANCE * size if self.hanging else 0.0)

    @cached_property
    def home(self) -> Float64[np.ndarray, "p 3"]:
        """Where all samples are when the object is at home, world [m]."""
        return np.array([0.0, 0.0, self.height]) + self._scale * self._kinematics.sample_points

    @cached_property
    def rows(self) -> Float64[np.ndarray, "6 p3"]:
        """The six functionals of the samples that the anchor holds: place and turn of the base."""
        home = self.home[self.samples]
        rows = np.zeros((6, len(self.home), 3))
        rows[:, self.samples] = frame_rows(home - home.mean(0)).reshape(6, -1, 3)
        return rows.reshape(6, -1)

    def touchable(self, candidates: Float64[np.ndarray, "c 3"]) -> Int[np.ndarray, " k"]:
        """Return which contact candidates (rest positions, unit frame) the floor may touch.

        The base of an anchored object is left out: its anchor stands for the floor there.
        """
        if not self.held or self.hanging:
            return np.arange(len(candidates))
        return np.flatnonzero(candidates[:, 2] > self._kinematics.sample_points[self.samples, 2].max() + 1e-3)

    def weight_at_home(self, at_home: Evaluation, masses: Float64[np.ndarray, " m"]) -> Reaction:
        """Return the forces by which an anchored object carries its weight in the pose of its file.

        A cloth on a rail and a toy on a shelf were modelled as they hang and stand: gravity is in their shape already.
        """
        d = len(at_home.mass_matrix)
        weight = at_home.masses_jacobian.reshape(d, -1, 3)[:, :, 2] @ masses * STANDARD_GRAVITY
        rows = self.rows @ at_home.samples_jacobian.reshape(d, -1).T
        support = np.linalg.lstsq(rows[:, :6].T, weight[:6], rcond=1e-9)[0]
        return Reaction(weight[6:] - rows[:, 6:].T @ support, support)

    def relative_mass(self, now: Evaluation) -> Float64[np.ndarray, "r r"]:
        """Return the mass matrix of q alone: beside the best rigid motion, or beside the base if that is held."""
        mass = now.mass_matrix
        if self.held:
            rows = self.rows @ now.samples_jacobian.reshape(len(mass), -1).T
            follows = -np.linalg.lstsq(rows[:, :6], rows[:, 6:], rcond=1e-9)[0]
        else:
            follows = -np.linalg.solve(mass[:6, :6], mass[:6, 6:])
        motion = np.concatenate((follows, np.eye(len(mass) - 6)))
        return motion.T @ mass @ motion
