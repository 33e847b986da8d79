"""From a moving mesh to what a shard keeps of it: fixed samples on its surface, followed through every state."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Float16, Int, Int8, Int32

from engine.datasets.motion import Motion
from engine.geometry.surface import SurfaceSamples, face_normals_and_areas, sample_surface

SAMPLE_COUNT = 1024


@dataclass(frozen=True, slots=True)
class ObjectRecord:
    """What is known of one object in a dataset.

    Attributes:
        key: unique name of the record in its dataset, without dots.
        object: name that the variants of one object share; splits never part them.
        family: as `Motion.family`.
        variant: "original", "decimated" or "remeshed".
        split: "train", "validation", "test_seen" or "test_unseen".
        fixed: whether something holds part of the object to the world.
        size: bounding-box diagonal of the rest shape, in the maker's unit of length.
        vertices: vertices of the rest mesh.
        source, licence, credit: as `Source`.
    """

    key: str
    object: str
    family: str
    variant: str
    split: str
    fixed: bool
    size: float
    vertices: int
    source: str
    licence: str
    credit: str

    @property
    def kind(self) -> str:
        """The kind of motion."""
        return self.family.split("/")[0]


@dataclass(frozen=True, slots=True)
class SampledMotion:
    """Surface samples of one object in all its kept states; state 0 is the rest shape.

    Attributes:
        record: what is known of the object.
        points: positions relative to the state's origin, in half extents of the rest shape, shape (f, p, 3).
        origins: centre of each state's bounding box in the world, in half extents of the rest shape, shape (f, 3).
        normals: unit normals times 127, shape (f, p, 3).
        rotations: rotation of each sample from a reference pose common to all states, unit quaternions (w, x, y, z),
            shape (f, p, 4).
        component: connected component of each sample, shape (p,).
        part: true rigid part of each sample, -1 where none, shape (p,).
        faces: triangles of the mesh, shape (m, 3).
        vertices: mesh vertices, as `points`, of the rest shape alone, shape (1, n, 3), or of all states, (f, n, 3).
    """

    record: ObjectRecord
    points: Float16[np.ndarray, "f p 3"]
    origins: Float[np.ndarray, "f 3"]
    normals: Int8[np.ndarray, "f p 3"]
    rotations: Float16[np.ndarray, "f p 4"]
    component: Int[np.ndarray, " p"]
    part: Int[np.ndarray, " p"]
    faces: Int32[np.ndarray, "m 3"]
    vertices: Float16[np.ndarray, "s n 3"]


def sample_states(
    motion: Motion,
    rng: np.random.Generator,
    *,
    key: str,
    name: str,
    split: str,
    variant: str = "original",
    count: int = SAMPLE_COUNT,
    all_meshes: bool = False,
) -> SampledMotion:
    """Follow ``count`` samples, spread by area over the rest shape, through the states of a motion.

    Args:
        motion: a curated motion.
        rng: draws the samples.
        key: see `ObjectRecord`.
        name: see `ObjectRecord.object`.
        split: see `ObjectRecord`.
        variant: see `ObjectRecord`.
        count: number of samples.
        all_meshes: keep the mesh of every state, for evaluation, and not of the rest shape alone.
    """
    faces = motion.faces.astype(np.int32)
    rest = motion.positions[0].astype(np.float64)
    samples = sample_surface(face_normals_and_areas(rest, faces)[1], count, rng)
    low, high = motion.positions.min(1).astype(np.float64), motion.positions.max(1).astype(np.float64)
    centres = 0.5 * (low + high)
    half = 0.5 * float((high[0] - low[0]).max())
    frames = len(motion.positions)
    points = np.zeros((frames, count, 3), dtype=np.float16)
    normals = np.zeros((frames, count, 3), dtype=np.int8)
    rotations = np.zeros((frames, count, 4), dtype=np.float16)
    meshes = np.zeros((frames if all_meshes else 1, len(rest), 3), dtype=np.float16)
    for i in range(frames):
        local = (motion.positions[i].astype(np.float64) - centres[i]) / half
        points[i] = samples.interpolate(faces, local)
        normals[i] = np.rint(127.0 * face_normals_and_areas(local, faces)[0][samples.face])
        rotations[i] = _blend_rotations(motion.rotations[i], faces, samples)
        if i < len(meshes):
            meshes[i] = local
    corner = faces[samples.face, samples.barycentric.argmax(-1)]
    part = np.full(len(rest), -1) if motion.part is None else motion.part
    record = ObjectRecord(
        key=key,
        object=name,
        family=motion.family,
        variant=variant,
        split=split,
        fixed=motion.fixed,
        size=float(np.linalg.norm(high[0] - low[0])),
        vertices=len(rest),
        source=motion.source.name,
        licence=motion.source.licence,
        credit=motion.source.credit,
    )
    return SampledMotion(
        record,
        points,
        (centres / half).astype(np.float32),
        normals,
        rotations,
        motion.component[corner].astype(np.int16),
        part[corner].astype(np.int16),
        faces,
        meshes,
    )


def _blend_rotations(
    rotations: Float[np.ndarray, "n 4"], faces: Int[np.ndarray, "m 3"], samples: SurfaceSamples
) -> Float[np.ndarray, "p 4"]:
    """Carry vertex rotations to samples: blended with one sign, renormalised."""
    corners = rotations[faces[samples.face]].astype(np.float64)
    same = np.sign(np.einsum("pkc,pc->pk", corners, corners[:, 0]))
    blended = np.einsum("pk,pkc->pc", samples.barycentric * np.where(same == 0, 1.0, same), corners)
    return blended / np.maximum(np.linalg.norm(blended, axis=-1, keepdims=True), 1e-9)
