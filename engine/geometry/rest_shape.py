"""The rest shape of an object: one welded simulation mesh and the render parts that it drives.

Unit frame: Z up, centred on the bounding box, largest half-extent 1. The simulation mesh is what
physics sees; the render parts keep the seams, normals and materials of the file and follow it
through an index map.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int, UInt8
from numpy.typing import ArrayLike

from engine.geometry.load_report import LoadReport, MeshError, UpAxis
from engine.geometry.shading import crease_normals, facing
from engine.geometry.welding import (
    first_of_equal,
    has_area,
    irregular_edges,
    vertex_components,
    weld,
)
from engine.geometry.winding import faces_to_flip

__all__ = [
    "LoadReport",
    "MeshError",
    "RenderPart",
    "RestShape",
    "SourcePart",
    "UpAxis",
    "assemble_rest_shape",
    "rest_shape_from_arrays",
]

# Vertices nearer than this fraction of the bounding box's diagonal are one vertex.
_WELD = 1e-5

_Y_UP_TO_Z_UP = np.array(((1.0, 0.0, 0.0), (0.0, 0.0, -1.0), (0.0, 1.0, 0.0)))


@dataclass(frozen=True, slots=True)
class RenderPart:
    """Triangles of one material as in the file. All arrays are read-only.

    Attributes:
        vertices: rest positions in the unit frame, float32, shape (v, 3); each equals its
            simulation vertex.
        faces: corners of the triangles, int32, shape (f, 3).
        normals: unit normals in the unit frame, float32, shape (v, 3).
        uv: texture coordinates with the origin at the lower left of the image, float32, shape (v,
            2).
        colors: vertex colours, red green blue alpha, shape (v, 4).
        base_color: red, green, blue, alpha, each 0..1, as displayed (sRGB); multiplies texture and
            vertex colours.
        metallic: 0..1.
        roughness: 0..1.
        texture: base-colour image, first row at the top, shape (h, w, 3 or 4); parts may share one.
        sim_index: simulation vertex of each render vertex, int32, shape (v,).
    """

    vertices: Float[np.ndarray, "v 3"]
    faces: Int[np.ndarray, "f 3"]
    normals: Float[np.ndarray, "v 3"]
    uv: Float[np.ndarray, "v 2"] | None
    colors: UInt8[np.ndarray, "v 4"] | None
    base_color: tuple[float, float, float, float]
    metallic: float
    roughness: float
    texture: UInt8[np.ndarray, "h w c"] | None
    sim_index: Int[np.ndarray, " v"]


@dataclass(frozen=True, slots=True)
class RestShape:
    """A triangle mesh at rest, ready for physics. All arrays are read-only.

    Attributes:
        name: the object's name.
        vertices: welded positions in the unit frame, float64, shape (n, 3).
        faces: corners of the triangles, int32, shape (m, 3); none is degenerate, none occurs twice.
        component: connected component of each vertex, 0..c-1, int32, shape (n,).
        unit_to_file: maps unit-frame points to the file's axes and units, shape (4, 4).
        render_parts: what the viewport draws, one part for each material.
        report: what reading found and changed.
    """

    name: str
    vertices: Float[np.ndarray, "n 3"]
    faces: Int[np.ndarray, "m 3"]
    component: Int[np.ndarray, " n"]
    unit_to_file: Float[np.ndarray, "4 4"]
    render_parts: tuple[RenderPart, ...]
    report: LoadReport

    @property
    def size(self) -> float:
        """Diagonal of the bounding box, unit frame."""
        return float(np.linalg.norm(np.ptp(self.vertices, axis=0)))

    @property
    def solid(self) -> bool:
        """Whether the surface is closed: every edge is shared by exactly two triangles."""
        return self.report.watertight


@dataclass(frozen=True, slots=True)
class SourcePart:
    """Triangles of one material as they were read, in the file's axes and units.

    The fields are those of ``RenderPart``; ``normals`` may be missing, and ``material`` is the
    material's name.
    """

    vertices: Float[np.ndarray, "v 3"]
    faces: Int[np.ndarray, "f 3"]
    normals: Float[np.ndarray, "v 3"] | None = None
    uv: Float[np.ndarray, "v 2"] | None = None
    colors: UInt8[np.ndarray, "v 4"] | None = None
    base_color: tuple[float, float, float, float] = (0.8, 0.8, 0.8, 1.0)
    metallic: float = 0.0
    roughness: float = 0.6
    texture: UInt8[np.ndarray, "h w c"] | None = None
    material: str = ""


def rest_shape_from_arrays(
    vertices: ArrayLike, faces: ArrayLike, *, name: str = "mesh", up: UpAxis = UpAxis.Z
) -> RestShape:
    """Make a rest shape of vertices (v, 3), any unit, and triangles (f, 3).

    Raises:
        MeshError: the arrays hold no usable surface.
    """
    points = np.asarray(vertices, np.float64)
    corners = np.asarray(faces)
    if points.ndim != 2 or points.shape[1] != 3 or corners.ndim != 2 or corners.shape[1] != 3:
        message = (
            f"The arrays have shapes {points.shape} and {corners.shape}; "
            "give vertices of shape (v, 3) and triangles of shape (f, 3)."
        )
        raise MeshError(message)
    part = SourcePart(points, corners.astype(np.int64))
    return assemble_rest_shape([part], name=name, up=up, up_reason="given with the arrays")


def assemble_rest_shape(
    parts: Sequence[SourcePart],
    *,
    name: str,
    up: UpAxis,
    up_reason: str,
    file: str = "",
    file_format: str = "arrays",
    notes: Sequence[str] = (),
) -> RestShape:
    """Clean, weld and normalise parts into one rest shape.

    Raises:
        MeshError: the parts hold no usable surface.
    """
    surface = _clean(parts)
    rotation = _Y_UP_TO_Z_UP if up is UpAxis.Y else np.eye(3)
    turned = surface.positions @ rotation.T
    centre = 0.5 * (turned.min(axis=0) + turned.max(axis=0))
    extents = np.ptp(surface.positions, axis=0)
    half = 0.5 * float(extents.max())
    unit = (turned - centre) / half
    unit_to_file = np.eye(4)
    unit_to_file[:3, :3] = half * rotation.T
    unit_to_file[:3, 3] = rotation.T @ centre

    drawn: list[RenderPart] = []
    materials: list[str] = []
    vertex, face = 0, 0
    for part in parts:
        of_vertices = slice(vertex, vertex + len(part.vertices))
        of_faces = slice(face, face + len(part.faces))
        vertex, face = of_vertices.stop, of_faces.stop
        if surface.drawn[of_faces].any():
            drawn.append(
                _render_part(
                    part,
                    unit,
                    surface.sim_index[of_vertices],
                    surface.drawn[of_faces],
                    surface.turned[of_faces],
                    rotation,
                )
            )
            materials.append(part.material)

    faces = surface.faces
    component = vertex_components(faces, len(unit))
    open_edges, crowded_edges = irregular_edges(faces)
    lost = int(np.count_nonzero(surface.sim_index < 0))
    report = LoadReport(
        file=file,
        format=file_format,
        vertices_read=vertex,
        faces_read=face,
        vertices_kept=len(unit),
        faces_kept=len(faces),
        vertices_unused=lost,
        vertices_welded=vertex - lost - len(unit),
        degenerate_faces=int(np.count_nonzero(~surface.drawn)),
        duplicate_faces=int(np.count_nonzero(surface.drawn)) - len(faces),
        flipped_faces=int(np.count_nonzero(surface.turned)),
        components=int(component.max()) + 1,
        open_edges=open_edges,
        crowded_edges=crowded_edges,
        watertight=open_edges == 0 and crowded_edges == 0,
        up=up,
        up_reason=up_reason,
        extents=(float(extents[0]), float(extents[1]), float(extents[2])),
        materials=tuple(materials),
        textures=sum(part.texture is not None for part in drawn),
        notes=tuple(notes),
    )
    return RestShape(
        name=name,
        vertices=_locked(unit, np.float64),
        faces=_locked(faces, np.int32),
        component=_locked(component, np.int32),
        unit_to_file=_locked(unit_to_file, np.float64),
        render_parts=tuple(drawn),
        report=report,
    )


@dataclass(frozen=True, slots=True)
class _Surface:
    """The simulation mesh in the file's frame, and what became of everything that was read.

    Attributes:
        positions: welded vertices [file units], shape (n, 3).
        faces: triangles, shape (m, 3).
        sim_index: simulation vertex of every vertex read, -1 for those that are not used.
        drawn: which triangles read have an area and stay in the render parts.
        turned: which triangles read were given the opposite winding.
    """

    positions: Float[np.ndarray, "n 3"]
    faces: Int[np.ndarray, "m 3"]
    sim_index: Int[np.ndarray, " v"]
    drawn: Bool[np.ndarray, " f"]
    turned: Bool[np.ndarray, " f"]


def _clean(parts: Sequence[SourcePart]) -> _Surface:
    """Weld all parts into one mesh without triangles that are degenerate or repeated."""
    read, corners = _joined(parts)
    used = np.zeros(len(read), bool)
    used[corners] = True
    points = read[used]
    size = _checked_size(points)
    welded, first = weld(points, _WELD * size)
    positions = points[first]
    sim_index = np.full(len(read), -1, np.int64)
    sim_index[used] = welded
    faces = sim_index[corners]
    drawn = has_area(positions, faces, size)
    if not drawn.any():
        message = "No triangle of it has an area; export the surface again, larger or nearer to the origin."
        raise MeshError(message)
    faces = faces[drawn]
    # Vertices that only degenerate triangles had are dropped, so that every vertex moves with some
    # surface.
    lasting = np.zeros(len(positions) + 1, bool)
    lasting[faces] = True
    number = np.where(lasting, np.cumsum(lasting) - 1, -1)
    positions, faces, sim_index = positions[lasting[:-1]], number[faces], number[sim_index]
    once = first_of_equal(faces)
    faces = faces[once]
    flip = faces_to_flip(positions, faces)
    faces[flip] = faces[flip][:, ::-1]
    turned = np.zeros(len(corners), bool)
    turned[np.flatnonzero(drawn)[once][flip]] = True
    return _Surface(positions, faces, sim_index, drawn, turned)


def _joined(
    parts: Sequence[SourcePart],
) -> tuple[Float[np.ndarray, "v 3"], Int[np.ndarray, "f 3"]]:
    """Return the vertices and triangles of all parts together, after checking them."""
    vertices = [np.zeros((0, 3))]
    faces = [np.zeros((0, 3), np.int64)]
    offset = 0
    for part in parts:
        if len(part.faces) and (part.faces.min() < 0 or part.faces.max() >= len(part.vertices)):
            message = "Its triangles refer to vertices that are not there; it is damaged or cut off, export it again."
            raise MeshError(message)
        vertices.append(np.asarray(part.vertices, np.float64))
        faces.append(part.faces.astype(np.int64) + offset)
        offset += len(part.vertices)
    corners = np.concatenate(faces)
    if len(corners) == 0:
        message = "It has no triangles; open a surface mesh, or build a surface from the points first."
        raise MeshError(message)
    return np.concatenate(vertices), corners


def _checked_size(points: Float[np.ndarray, "n 3"]) -> float:
    """Return the diagonal of the bounding box [file units]."""
    bad = int(np.count_nonzero(~np.isfinite(points).all(axis=1)))
    if bad:
        message = (
            f"{bad} of its vertices have positions that are not finite numbers; "
            "repair or remove them where the mesh was made, and export it again."
        )
        raise MeshError(message)
    diagonal = float(np.linalg.norm(np.ptp(points, axis=0)))
    if not 0.0 < diagonal < np.inf:
        message = "All its vertices lie at one place, so it has no size; check the scale of the export."
        raise MeshError(message)
    return diagonal


def _render_part(
    part: SourcePart,
    unit: Float[np.ndarray, "n 3"],
    sim_index: Int[np.ndarray, " v"],
    keep: Bool[np.ndarray, " f"],
    turned: Bool[np.ndarray, " f"],
    rotation: Float[np.ndarray, "3 3"],
) -> RenderPart:
    faces = part.faces.astype(np.int64)
    faces[turned] = faces[turned][:, ::-1]
    faces = faces[keep]
    if part.normals is None:
        keep_seams = part.uv is not None or part.colors is not None
        faces, source, normals = crease_normals(unit, sim_index, faces, keep_seams=keep_seams)
    else:
        source = np.arange(len(part.vertices))
        normals = part.normals @ rotation.T
        if turned.any():
            normals = facing(normals, unit, sim_index, faces)
    used = np.zeros(len(source), bool)
    used[faces] = True
    faces = (np.cumsum(used) - 1)[faces]
    normals, source = normals[used], source[used]
    length = np.linalg.norm(normals, axis=1, keepdims=True)
    normals = np.where(length > 0, normals / np.where(length > 0, length, 1.0), (0.0, 0.0, 1.0))
    drives = sim_index[source]
    return RenderPart(
        vertices=_locked(unit[drives], np.float32),
        faces=_locked(faces, np.int32),
        normals=_locked(normals, np.float32),
        uv=None if part.uv is None else _locked(part.uv[source], np.float32),
        colors=None if part.colors is None else _locked(part.colors[source], np.uint8),
        base_color=part.base_color,
        metallic=part.metallic,
        roughness=part.roughness,
        texture=part.texture,
        sim_index=_locked(drives, np.int32),
    )


def _locked(array: np.ndarray, dtype: type[np.generic]) -> np.ndarray:
    """Return a read-only contiguous copy."""
    copy = np.array(array, dtype, order="C")
    copy.setflags(write=False)
    return copy
