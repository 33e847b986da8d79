"""Reads mesh files (OBJ, PLY, STL, OFF, glTF, GLB) into rest shapes."""

from __future__ import annotations

import io
import logging
import re
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import numpy as np
import trimesh
from trimesh.resolvers import FilePathResolver

from engine.geometry.complete_file import complete_data
from engine.geometry.gltf_document import Document, read_document
from engine.geometry.load_report import LoadReport, MeshError, UpAxis
from engine.geometry.materials import ImageStore, read_appearance
from engine.geometry.rest_shape import (
    RenderPart,
    RestShape,
    SourcePart,
    assemble_rest_shape,
    rest_shape_from_arrays,
)

__all__ = [
    "FORMATS",
    "LoadReport",
    "MeshError",
    "RenderPart",
    "RestShape",
    "UpAxis",
    "load_rest_shape",
    "rest_shape_from_arrays",
]

# The formats that can be opened, each with the axis that its files usually take as up.
FORMATS = {
    ".obj": UpAxis.Y,
    ".gltf": UpAxis.Y,
    ".glb": UpAxis.Y,
    ".ply": UpAxis.Z,
    ".stl": UpAxis.Z,
    ".off": UpAxis.Z,
}

_MATERIAL_FILE = re.compile(rb"^mtllib[ \t]+(.+)$", re.MULTILINE)
_MATERIAL_IMAGE = re.compile(rb"^[ \t]*map_Kd[ \t]+(?:-.*[ \t])?([^ \t\r\n].*)$", re.MULTILINE)


def load_rest_shape(path: Path, *, up: UpAxis | None = None) -> RestShape:
    """Read a mesh file.

    Args:
        path: the file; its extension names the format.
        up: the axis of the file that points up; by default what the format usually means.

    Raises:
        MeshError: the file cannot be used; the message says why and what to do.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    _refuse_non_files(path, suffix)
    document = read_document(path) if suffix in (".gltf", ".glb") else None
    notes = _missing_material_files(path) if suffix == ".obj" else []
    try:
        with _silent_trimesh():
            scene = _load_scene(path, suffix, document, notes)
            parts = _collect(scene, path, document, notes)
    except (MeshError, MemoryError):
        raise
    # Readers of damaged files fail with every kind of exception.
    except Exception as error:
        message = (
            f"{path.name} could not be read as {suffix[1:].upper()} ({_reason(error)}); "
            "it may be cut off, damaged, or of another format. Export or download it again."
        )
        raise MeshError(message) from error
    if document is not None:
        notes.extend(document.notes)
    reason = "chosen by the user"
    if up is None:
        up = FORMATS[suffix]
        reason = f"{suffix[1:].upper()} files usually have {up.value.upper()} up"
    try:
        return assemble_rest_shape(
            parts,
            name=path.stem,
            up=up,
            up_reason=reason,
            file=path.name,
            file_format=suffix[1:],
            notes=list(dict.fromkeys(notes)),
        )
    except MeshError as error:
        message = f"{path.name} cannot be used. {error}"
        raise MeshError(message) from error


def _refuse_non_files(path: Path, suffix: str) -> None:
    known = ", ".join(name[1:].upper() for name in FORMATS)
    if path.is_dir():
        message = f"{path.name} is a folder; choose a mesh file inside it ({known})."
        raise MeshError(message)
    if not path.exists():
        message = f"{path} does not exist; it may have been moved or renamed."
        raise MeshError(message)
    if suffix not in FORMATS:
        kind = f"has the unknown extension '{suffix}'" if suffix else "has no extension"
        message = f"{path.name} {kind}; open one of {known}, or convert the file first."
        raise MeshError(message)
    try:
        with path.open("rb") as stream:
            begun = stream.read(1)
    except OSError as error:
        message = f"{path.name} cannot be read ({error.strerror}); check its permissions."
        raise MeshError(message) from error
    if not begun:
        message = f"{path.name} is empty; export or download it again."
        raise MeshError(message)


def _missing_material_files(path: Path) -> list[str]:
    """Return a note for each material file or image that an OBJ names and that is not there."""
    notes: list[str] = []
    for library in _MATERIAL_FILE.findall(path.read_bytes()):
        name = library.decode("utf-8", "replace").strip()
        materials = path.parent / name
        if not materials.is_file():
            notes.append(f"The material file {name} is missing; the mesh is drawn plain.")
            continue
        for image in _MATERIAL_IMAGE.findall(materials.read_bytes()):
            picture = image.decode("utf-8", "replace").strip()
            if not (path.parent / picture.replace("\\", "/")).is_file():
                notes.append(f"The image {picture} is missing; its texture is left out.")
    return notes


@contextmanager
def _silent_trimesh() -> Generator[None]:
    """Keep trimesh from logging: what it finds reaches the user through exceptions and notes."""
    log = logging.getLogger("trimesh")
    level = log.level
    log.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        log.setLevel(level)


def _load_scene(path: Path, suffix: str, document: Document | None, notes: list[str]) -> Any:
    # trimesh is typed in parts only.
    load = cast("Any", trimesh.load_scene)  # pyright: ignore[reportUnknownMemberType]
    if suffix == ".obj":
        return load(str(path), process=False)
    if document is not None:
        stream = document.stream()
    else:
        stream = io.BytesIO(complete_data(path.read_bytes(), name=path.name, suffix=suffix, notes=notes))
    return load(stream, file_type=suffix[1:], resolver=FilePathResolver(str(path)), process=False)


def _reason(error: Exception) -> str:
    text = " ".join(str(error).split())
    return text[:120] if text else type(error).__name__


def _collect(scene: Any, path: Path, document: Document | None, notes: list[str]) -> list[SourcePart]:
    """Return the surfaces of a scene in the file's frame, one for each place and material."""
    parts: list[SourcePart] = []
    images = ImageStore()
    others = {type(geometry).__name__ for geometry in scene.geometry.values() if not _is_surface(geometry)}
    nodes = list(scene.graph.nodes_geometry)
    if document is not None:
        # trimesh names the frames of one mesh's materials at random; the file's own order does not
        # change.
        order = {name: k for k, name in enumerate(scene.geometry)}
        nodes.sort(key=lambda node: (document.node_index(node), order[scene.graph[node][1]]))
    for node in nodes:
        transform, name = scene.graph[node]
        geometry = scene.geometry[name]
        if _is_surface(geometry):
            part = _placed(geometry, np.asarray(transform, np.float64), scene, node, document, images)
            parts.append(part)
            if part.texture is None and part.uv is not None and _has_image(geometry):
                notes.append(f"The image of the material {part.material or 'of a part'} is damaged; it is left out.")
    if not parts:
        if "PointCloud" in others:
            message = f"{path.name} holds points without triangles; reconstruct a surface from them first."
        elif others:
            message = f"{path.name} holds only lines, no triangles; export it as a surface mesh."
        else:
            message = f"{path.name} holds no triangles; open a file with a surface mesh."
        raise MeshError(message)
    if others:
        notes.append("Points or lines beside the surface were left out.")
    return parts


def _is_surface(geometry: Any) -> bool:
    return isinstance(geometry, trimesh.Trimesh) and len(geometry.faces) > 0


def _has_image(mesh: Any) -> bool:
    material = getattr(mesh.visual, "material", None)
    return any(getattr(material, name, None) is not None for name in ("baseColorTexture", "image"))


def _placed(
    mesh: Any,
    transform: np.ndarray,
    scene: Any,
    node: str,
    document: Document | None,
    images: ImageStore,
) -> SourcePart:
    """Return a mesh as one part in the scene, its winding kept outward under mirroring."""
    vertices = np.asarray(mesh.vertices, np.float64)
    faces = np.asarray(mesh.faces, np.int64)
    # Only normals from the file count; asking the mesh for others would compute them.
    cached = mesh._cache.cache.get("vertex_normals")
    normals = None if cached is None else np.asarray(cached, np.float64)
    if normals is not None and (normals.shape != vertices.shape or not np.isfinite(normals).all()):
        normals = None
    scales = {} if document is None else document.scales(mesh)
    vertices = vertices * scales.get("POSITION", 1.0)
    matrices = None if document is None else document.skinning(mesh, scene, node)
    linear = transform[:3, :3]
    if matrices is None:
        vertices = vertices @ linear.T + transform[:3, 3]
        determinant = float(np.linalg.det(linear))
        if normals is not None:
            # Cofactors are the inverse transpose times the determinant, and exist for flattened
            # objects too.
            normals = normals @ (_cofactors(linear).T * (-1.0 if determinant < 0 else 1.0))
        if determinant < 0:
            faces = faces[:, ::-1]
    else:
        vertices = np.einsum("vij,vj->vi", matrices[:, :3, :3], vertices) + matrices[:, :3, 3]
        if normals is not None:
            normals = np.einsum("vij,vj->vi", matrices[:, :3, :3], normals)
        if float(np.median(np.linalg.det(matrices[:, :3, :3]))) < 0:
            faces = faces[:, ::-1]
    look = read_appearance(mesh, images, linear_colors=document is not None)
    uv = look.uv
    if uv is not None and "TEXCOORD_0" in scales:
        # trimesh turned v upside down before the scale; undo, scale, turn again.
        uv = np.stack((uv[:, 0] * scales["TEXCOORD_0"], 1.0 - (1.0 - uv[:, 1]) * scales["TEXCOORD_0"]), 1)
    return SourcePart(
        vertices,
        faces,
        normals=normals,
        uv=uv,
        colors=look.colors,
        base_color=look.base_color,
        metallic=look.metallic,
        roughness=look.roughness,
        texture=look.texture,
        material=look.material,
    )


def _cofactors(a: np.ndarray) -> np.ndarray:
    return np.stack((np.cross(a[1], a[2]), np.cross(a[2], a[0]), np.cross(a[0], a[1])))
