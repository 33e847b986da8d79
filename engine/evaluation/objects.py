"""What every method is given to be measured on: one test object with its true states, all in one frame.

The states of a dataset are brought to the unit frame of the state that is taken as the rest shape, each by one
area-weighted rigid fit (the convention of the training pairs), so that an error counts motion and no placement.
The mesh is that of the dataset, vertex by vertex: reading it as a file would weld loose parts that touch. Its positions
are kept in half precision, which rounds them by up to 2.4e-4 of the half extent.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Float64, Int
from scipy.spatial import KDTree

from engine.datasets.alignment import vertex_areas
from engine.datasets.sampling import ObjectRecord, SampledMotion
from engine.geometry.rest_shape import RestShape, rest_shape_from_arrays
from engine.geometry.rigid_fit import rigid_fit
from engine.geometry.surface import SurfaceSamples, face_normals_and_areas, farthest_points, sample_surface
from engine.geometry.welding import irregular_edges, vertex_components
from engine.geometry.winding import faces_to_flip

HANDLE_SAMPLES, PROBES = 512, 2048
# A vertex belongs to a rigid part if the part's motions carry it to within this distance of where it goes [unit frame].
_PART_TOLERANCE = 8e-3
# Residuals below this are rounding [unit frame]: between parts that explain a vertex alike, the nearer one has it.
_ROUNDING = 2e-3
_LEAST_SAMPLES = 4


@dataclass(frozen=True, slots=True)
class EvaluationObject:
    """One object in all its states.

    Attributes:
        record: what the dataset says of it.
        shape: the rest shape, unit frame; vertex i of every state is vertex i of it.
        states: all states of the dataset, each rigidly fitted to the rest shape, unit frame, shape (s, n, 3).
        rest_state: which of them is the rest shape.
        samples: surface samples that a method is fitted on, spread evenly, the same for all methods.
        probes: other samples, in proportion to area, on which errors are measured.
        vertex_part: true rigid part of each vertex, -1 where it has none (a skin between parts, or no parts at all).
    """

    record: ObjectRecord
    shape: RestShape
    states: Float64[np.ndarray, "s n 3"]
    rest_state: int
    samples: SurfaceSamples
    probes: SurfaceSamples
    vertex_part: Int[np.ndarray, " n"]

    @property
    def vertices(self) -> Float64[np.ndarray, "n 3"]:
        """Vertices of the rest shape, unit frame."""
        return self.shape.vertices

    @property
    def faces(self) -> Int[np.ndarray, "m 3"]:
        """Triangles."""
        return self.shape.faces

    @property
    def component(self) -> Int[np.ndarray, " n"]:
        """Connected component of each vertex."""
        return self.shape.component

    @property
    def parts(self) -> int:
        """Number of true rigid parts; zero where the object has none or they are not known."""
        return len(np.unique(self.vertex_part[self.vertex_part >= 0]))

    @property
    def closed(self) -> bool:
        """Whether the surface bounds a volume."""
        return self.shape.solid

    @property
    def others(self) -> list[int]:
        """The states that are not the rest shape."""
        return [i for i in range(len(self.states)) if i != self.rest_state]

    def at(self, samples: SurfaceSamples, vertices: Float[np.ndarray, "n 3"]) -> Float64[np.ndarray, "p 3"]:
        """Return where samples are when the vertices are at the given places."""
        return samples.interpolate(self.faces, np.asarray(vertices, np.float64))


def evaluation_object(motion: SampledMotion, *, rest_state: int = 0, seed: int = 0) -> EvaluationObject:
    """Bring an object of a test split into the form in which it is measured.

    Args:
        motion: of a split that keeps the mesh of every state (validation or test).
        rest_state: which state is the rest shape.
        seed: of the samples.

    Raises:
        ValueError: the split keeps the rest mesh alone.
    """
    if len(motion.vertices) != len(motion.points):
        raise ValueError(
            f"{motion.record.key} has {len(motion.vertices)} meshes for {len(motion.points)} states; measure on a "
            "split other than train, which keeps the mesh of every state"
        )
    faces = np.asarray(motion.faces, np.int32)
    meshes = motion.vertices.astype(np.float64)
    rest = meshes[rest_state]
    low, high = rest.min(0), rest.max(0)
    unit = 2.0 / float((high - low).max())
    meshes = (meshes - 0.5 * (low + high)) * unit
    rest = meshes[rest_state]
    areas = vertex_areas(rest, faces)
    for i in range(len(meshes)):
        if i != rest_state:
            turn, shift = rigid_fit(meshes[i], rest, areas)
            meshes[i] = meshes[i] @ turn.T + shift
    part = vertex_parts(motion)
    shape = unwelded_shape(rest, faces, name=motion.record.key)
    rng = np.random.default_rng(seed)
    face_areas = face_normals_and_areas(rest, faces)[1]
    many = sample_surface(face_areas, 4 * HANDLE_SAMPLES, rng)
    spread = farthest_points(many.interpolate(faces, rest), shape.component[faces[many.face, 0]], HANDLE_SAMPLES)
    samples = SurfaceSamples(many.face[spread], many.barycentric[spread])
    probes = sample_surface(face_areas, PROBES, rng)
    return EvaluationObject(motion.record, shape, meshes, rest_state, samples, probes, part)


def unwelded_shape(vertices: Float[np.ndarray, "n 3"], faces: Int[np.ndarray, "m 3"], *, name: str) -> RestShape:
    """Return a rest shape with exactly the given vertices (unit frame) and triangles; parts that touch stay apart.

    Triangles are turned to face outward as in a mesh that is read, and none is dropped.
    """
    read = rest_shape_from_arrays(vertices, faces, name=name)
    faces = np.array(faces, np.int32)
    flip = faces_to_flip(np.asarray(vertices, np.float64), faces)
    faces[flip] = faces[flip][:, ::-1]
    component = vertex_components(faces, len(vertices))
    open_edges, crowded = irregular_edges(faces)
    arrays = [np.array(vertices, np.float64), faces, component]
    for array in arrays:
        array.setflags(write=False)
    report = replace(
        read.report,
        vertices_kept=len(vertices),
        vertices_welded=0,
        faces_kept=len(faces),
        components=int(component.max()) + 1,
        open_edges=open_edges,
        crowded_edges=crowded,
        watertight=open_edges == 0 and crowded == 0,
    )
    return replace(read, vertices=arrays[0], faces=arrays[1], component=arrays[2], report=report)


def vertex_parts(motion: SampledMotion) -> Int[np.ndarray, " n"]:
    """Return the true rigid part of each vertex, from the parts of the dataset's samples.

    A loose piece whose vertices all follow one part belongs to it. Of other pieces, as a skin over the whole object,
    each vertex belongs to the part whose motions, read off the part's samples, carry it through all states; -1 where
    none does, as between two parts. A piece that is too small for its few samples to tell its motion, and that moves
    rigidly, belongs to the part of the sample nearest to it.
    """
    meshes = motion.vertices.astype(np.float64)
    points = motion.points.astype(np.float64)
    labels = np.unique(motion.part[motion.part >= 0]).astype(np.int64)
    part = np.full(meshes.shape[1], -1)
    if not len(labels):
        return part
    cost = np.stack([_part_cost(points[:, motion.part == label], meshes) for label in labels])
    component = vertex_components(np.asarray(motion.faces), len(part))
    for piece in range(int(component.max()) + 1):
        mine = np.flatnonzero(component == piece)
        together = cost[:, mine].sum(1)
        own = meshes[:, mine]
        if np.isfinite(together.min()):
            part[mine] = labels[together.argmin()]
        elif max(float(_departure(own, own, s).max()) for s in range(len(meshes))) < _PART_TOLERANCE:
            part[mine] = motion.part[KDTree(points[0]).query(own[0].mean(0))[1]]
        else:
            part[mine] = np.where(np.isfinite(cost[:, mine].min(0)), labels[cost[:, mine].argmin(0)], -1)
    return part


def _part_cost(points: Float[np.ndarray, "s p 3"], meshes: Float[np.ndarray, "s n 3"]) -> Float[np.ndarray, " n"]:
    """Return how badly a part's motions, told by its samples, explain each vertex; infinite where they do not."""
    residual = np.zeros(meshes.shape[1])
    if points.shape[1] < _LEAST_SAMPLES:
        return np.full_like(residual, np.inf)
    for state in range(1, len(meshes)):
        residual = np.maximum(residual, _departure(points, meshes, state))
    away = KDTree(points[0]).query(meshes[0])[0]
    return np.where(residual < _PART_TOLERANCE, np.maximum(residual, _ROUNDING) + 1e-2 * away, np.inf)


def _departure(
    points: Float[np.ndarray, "s p 3"], meshes: Float[np.ndarray, "s n 3"], state: int
) -> Float[np.ndarray, " n"]:
    """Return how far vertices are in a state from where the rigid motion of the points carries them."""
    turn, shift = rigid_fit(points[0], points[state], np.ones(points.shape[1]))
    return np.linalg.norm(meshes[0] @ turn.T + shift - meshes[state], axis=-1)
