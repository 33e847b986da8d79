"""What reading a mesh found and changed, for the user and for the log."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum


class MeshError(ValueError):
    """A mesh cannot be used. The message says what was wrong and what to do about it."""


class UpAxis(StrEnum):
    """The axis of a file that points up."""

    Y = "y"
    Z = "z"


@dataclass(frozen=True, slots=True)
class LoadReport:
    """What reading a mesh found and changed.

    Attributes:
        file: name of the file, without its folder; empty for a mesh made of arrays.
        format: its format, such as ``"glb"``; ``"arrays"`` for a mesh made of arrays.
        vertices_read: vertices in the file, all parts together.
        faces_read: triangles in the file, all parts together.
        vertices_kept: vertices of the simulation mesh.
        faces_kept: triangles of the simulation mesh.
        vertices_unused: vertices that belonged to no kept triangle.
        vertices_welded: vertices that were joined to another one at the same place.
        degenerate_faces: triangles without area, removed.
        duplicate_faces: triangles over the same three vertices as an earlier one, removed from the
            simulation mesh.
        flipped_faces: triangles whose winding was turned to agree with their neighbours.
        components: connected pieces of the simulation mesh.
        open_edges: edges that only one triangle has.
        crowded_edges: edges that more than two triangles share.
        watertight: whether every edge is shared by exactly two triangles.
        up: the axis of the file that was taken as up.
        up_reason: why that axis.
        extents: size of the bounding box along the file's axes [file units].
        materials: names of the materials, one for each render part.
        textures: number of render parts with a base-colour image.
        notes: everything else that the user should know, as sentences.
    """

    file: str
    format: str
    vertices_read: int
    faces_read: int
    vertices_kept: int
    faces_kept: int
    vertices_unused: int
    vertices_welded: int
    degenerate_faces: int
    duplicate_faces: int
    flipped_faces: int
    components: int
    open_edges: int
    crowded_edges: int
    watertight: bool
    up: UpAxis
    up_reason: str
    extents: tuple[float, float, float]
    materials: tuple[str, ...]
    textures: int
    notes: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, object]:
        """Return the report as plain values that JSON can hold."""
        plain = asdict(self)
        plain["up"] = self.up.value
        for name in ("extents", "materials", "notes"):
            plain[name] = list(plain[name])
        return plain
