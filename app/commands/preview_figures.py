"""What a preview draws of an object: its states on the rest shape, coloured by part or by how far they moved."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import trimesh
from jaxtyping import Float, Int, UInt8
from scipy.spatial import KDTree

from app.commands.preview_motion import aligned_states, is_rigid, spread_states, walk_between, walk_states
from app.render.contact_sheet import Figure, distance_colors
from engine.datasets.sampling import SampledMotion
from engine.geometry.rigid_fit import rigid_fit
from engine.geometry.welding import vertex_components

# As displayed (sRGB), one for each part, the largest first.
_PARTS = np.array(
    (
        (116, 146, 190),
        (231, 150, 96),
        (126, 180, 142),
        (208, 116, 122),
        (164, 140, 196),
        (222, 190, 104),
        (108, 180, 188),
        (196, 148, 120),
        (214, 148, 186),
        (150, 160, 116),
    ),
    np.uint8,
)
# Radius of a sample where samples are all that is kept [half extents].
_DOT = 0.028
# Share of a piece's vertices that have to be of one rigid part for the whole piece to count as that part.
_AGREED = 0.8
# States in which vertices and parts are compared, and what being apart at rest counts beside moving apart.
_LOOKS = 7
_NEARNESS = 0.03


@dataclass(frozen=True, slots=True)
class Moving:
    """An object's states, ready to be drawn.

    Attributes:
        name: what it is, and how many states it has.
        caption: the same, and whether it is held.
        rest: vertices of the rest mesh [half extents], shape (n, 3).
        faces: triangles of the rest mesh, shape (m, 3).
        states: vertices or, where the dataset keeps the rest mesh alone, samples of all states, shape (f, s, 3).
        group: rigid part, or connected piece where no part is known, of each vertex or sample, 0..g-1, shape (s,).
        tint: colour of each vertex or sample; None for one by its distance from the rest shape.
        as_samples: whether ``states`` are samples.
    """

    name: str
    caption: str
    rest: Float[np.ndarray, "n 3"]
    faces: Int[np.ndarray, "m 3"]
    states: Float[np.ndarray, "f s 3"]
    group: Int[np.ndarray, " s"]
    tint: UInt8[np.ndarray, "s 3"] | None
    as_samples: bool

    def spread(self, count: int) -> list[Figure]:
        """Return what is drawn side by side: the rest shape, then states far from it and from one another."""
        chosen = self.states[spread_states(self.states, count)]
        if not self.as_samples:
            return [self._figure(chosen)]
        # The samples of the rest shape show nothing that its mesh does not.
        plain = distance_colors(np.zeros((1, len(self.rest))))
        return [Figure(self.faces, self.rest[None], plain), *([self._figure(chosen[1:])] if len(chosen) > 1 else [])]

    def walk(self, *, stops: int, pictures: int) -> Figure:
        """Return a closed walk through some states, each after the nearest one left, with in-betweens."""
        chosen = self.states[spread_states(self.states, stops)]
        return self._figure(walk_between(chosen[walk_states(chosen)], self.group, pictures=pictures))

    def _figure(self, states: Float[np.ndarray, "f s 3"]) -> Figure:
        if self.tint is None:
            far = np.linalg.norm(self.states - self.states[0], axis=-1).max()
            share = np.linalg.norm(states - self.states[0], axis=-1) / max(float(far), 1e-6)
            colors = distance_colors(share)
        else:
            colors = np.tile(self.tint, (len(states), 1, 1))
        if not self.as_samples:
            return Figure(self.faces, states, colors)
        dot = trimesh.creation.icosphere(subdivisions=0, radius=_DOT)
        count, corners = states.shape[1], len(dot.vertices)
        points = (states[:, :, None] + dot.vertices.astype(np.float32)).reshape(len(states), -1, 3)
        faces = (np.arange(count)[:, None, None] * corners + dot.faces).reshape(-1, 3)
        return Figure(faces, points, np.repeat(colors, corners, axis=1))


def moving(motion: SampledMotion) -> Moving:
    """Return how an object is drawn: by its meshes where the dataset keeps them, otherwise by its samples."""
    record, states = motion.record, len(motion.points)
    as_samples = len(motion.vertices) < states
    name = f"{record.family.split('/', 1)[-1].replace('_', ' ')}  \u00b7  {states} states"
    caption = name + (", held" if record.fixed else "")
    rest = motion.vertices[0].astype(np.float32)
    pieces = vertex_components(motion.faces, len(rest))
    parted = len(np.unique(motion.part[motion.part >= 0])) > 1
    if as_samples:
        group = motion.part if parted else motion.component
    else:
        group = _vertex_parts(motion, rest, pieces) if parted else pieces
    group = _numbered(group)
    shown = aligned_states(motion, motion.points if as_samples else motion.vertices)
    tint = _PARTS[group % len(_PARTS)] if parted or is_rigid(motion) else None
    return Moving(name, caption, rest, motion.faces, shown, group, tint, as_samples)


def _numbered(labels: Int[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
    """Number labels anew from 0, the most frequent first."""
    _, index, counts = np.unique(labels, return_inverse=True, return_counts=True)
    return np.argsort(np.argsort(-counts, kind="stable"))[index]


def _vertex_parts(
    motion: SampledMotion, rest: Float[np.ndarray, "n 3"], pieces: Int[np.ndarray, " n"]
) -> Int[np.ndarray, " n"]:
    """Return the rigid part of each vertex: the one that it moves with, the nearest where several move alike.

    A connected piece whose vertices mostly agree is of one part: a part that never moves alone is found nowhere else.
    """
    labels = np.unique(motion.part[motion.part >= 0])
    points, vertices = motion.points.astype(np.float64), motion.vertices.astype(np.float64)
    looks = spread_states(motion.points.astype(np.float32), _LOOKS)[1:]
    misfit = np.zeros((len(labels), len(rest)))
    for row, label in enumerate(labels):
        of_part = motion.part == label
        distance, _ = KDTree(points[0, of_part]).query(rest)
        misfit[row] = (_NEARNESS * distance) ** 2 * len(looks)
        for i in looks:
            rotation, shift = rigid_fit(points[0, of_part], points[i, of_part], np.ones(int(of_part.sum())))
            misfit[row] += ((vertices[0] @ rotation.T + shift - vertices[i]) ** 2).sum(-1)
    part = labels[misfit.argmin(0)].astype(np.int64)
    for piece in range(int(pieces.max()) + 1):
        rows = np.flatnonzero(pieces == piece)
        found, counts = np.unique(part[rows], return_counts=True)
        if counts.max() >= _AGREED * len(rows):
            part[rows] = found[counts.argmax()]
    return part
