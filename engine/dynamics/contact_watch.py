"""Which points of an object may touch which surface of the world in a step: chosen anew for each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Float64, Int
from torch import Tensor

from engine.dynamics.anchoring import Base
from engine.dynamics.body import Body
from engine.dynamics.contact import MARGIN, Surfaces, Touch, choose_points
from engine.dynamics.evaluation_point import Evaluation, PointRows, Pose, candidate_rows, world_positions
from engine.scenes.colliders import Collider

# Depth, as a share of size, at which a point that was not watched is added to a step; so many of them at a time.
DEPTH_MISSED = 0.001
MOST_ADDED = 8


class ContactWatch:
    """Contacts of one object with one world. A contact is a number: surface times the candidates, plus candidate.

    Attributes:
        surfaces: of the world.
    """

    def __init__(self, body: Body, base: Base, colliders: Sequence[Collider]) -> None:
        """Find what may touch at all: not the base of an anchored object, whose anchor stands for the floor there."""
        self._body, self._count = body, len(body.candidate_rest)
        self.surfaces = Surfaces.of(colliders, friction=body.material.floor_friction)
        self._touchable = base.touchable(body.candidate_rest.double().numpy())
        self._rows = candidate_rows(body, self._touchable)

    def __bool__(self) -> bool:
        """Return whether there is anything to touch."""
        return len(self.surfaces) > 0

    def rows(self, watched: Int[np.ndarray, " c"]) -> PointRows:
        """Return the rows of watched contacts."""
        return candidate_rows(self._body, watched % self._count)

    def touch(self, watched: Int[np.ndarray, " c"], before: Float64[np.ndarray, "c 3"], h: float) -> Touch:
        """Return the watched contacts as the step's energy takes them.

        Args:
            watched: contacts.
            before: where their points are at the start of the step, world [m].
            h: step [s].
        """
        surfaces = self.surfaces.chosen(watched // self._count)
        return Touch.between(surfaces, before, mass=self._body.mass, size=self._body.size, h=h)

    def near(
        self, pose: Pose, handles: Float[Tensor, "t 8"], reach: float, still: frozenset[int]
    ) -> Int[np.ndarray, " c"]:
        """Return the contacts to watch in a step.

        Args:
            pose: predicted.
            handles: at that pose.
            reach: gap below which a point is watched [m].
            still: contacts that touched before: watched on, or two sets of points would take turns for ever.
        """
        if not self or not np.isfinite(pose.p).all():
            return np.zeros(0, dtype=np.int64)
        positions = world_positions(self._body, pose, handles, self._rows)
        # The world may have fewer surfaces than when they touched.
        found = [np.array([i for i in still if i < self._count * len(self.surfaces)], dtype=np.int64)]
        for surface in range(len(self.surfaces)):
            gap, normal = self._gaps(surface, positions)
            chosen = choose_points(positions, gap, normal, reach, self._body.size)
            found.append(surface * self._count + self._touchable[chosen])
        return np.unique(np.concatenate(found))

    def missed(self, end: Evaluation, watched: Int[np.ndarray, " c"]) -> Int[np.ndarray, " n"]:
        """Return contacts that a solution leaves inside a surface though they were not watched, the deepest first."""
        if not self:
            return np.zeros(0, dtype=np.int64)
        positions = world_positions(self._body, end.pose, end.handles[0], self._rows)
        found: list[np.ndarray] = []
        for surface in range(len(self.surfaces)):
            gap, _ = self._gaps(surface, positions)
            contacts = surface * self._count + self._touchable
            inside = np.flatnonzero((gap < -DEPTH_MISSED * self._body.size) & ~np.isin(contacts, watched))
            found.append(contacts[inside[np.argsort(gap[inside], kind="stable")[:MOST_ADDED]]])
        return np.concatenate(found)

    def closed(self, end: Evaluation, watched: Int[np.ndarray, " c"], touch: Touch) -> frozenset[int]:
        """Return the watched contacts that touch at a solution."""
        gap = touch.at(end.points_at[: len(watched)]).local[:, 2]
        return frozenset(int(i) for i in watched[gap < MARGIN * self._body.size])

    def _gaps(
        self, surface: int, positions: Float64[np.ndarray, "n 3"]
    ) -> tuple[Float64[np.ndarray, " n"], Float64[np.ndarray, "n 3"]]:
        return self.surfaces.chosen(np.full(len(positions), surface)).gaps(positions)
