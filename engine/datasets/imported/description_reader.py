"""Reads robot descriptions, MJCF and URDF, into MuJoCo models that only kinematics is asked of."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any, TypeAlias, cast
from xml.etree import ElementTree

import mujoco
import numpy as np
import trimesh

from engine.datasets.imported.refusal import ImportRefused

# MuJoCo's bindings are compiled and have no stubs.
mj: Any = mujoco
Model: TypeAlias = Any
Data: TypeAlias = Any
Spec: TypeAlias = Any

# MuJoCo's own; the rest comes through trimesh, as MuJoCo reads only the first object of an OBJ, and no ASCII STL.
_NATIVE = ".msh"
MESH_FORMATS = (".stl", ".obj", ".ply", ".off", _NATIVE)


def read_description(path: Path) -> Model:
    """Return the MuJoCo model of a file, without its textures; bodies without a mass are given one.

    Raises:
        ImportRefused: the file is of another format, damaged, or names a mesh that is missing or cannot be read.
    """
    suffix = path.suffix.lower()
    if suffix not in (".xml", ".urdf"):
        raise ImportRefused(path, f"it is '{suffix}', not MJCF (.xml) or URDF (.urdf).")
    if not path.is_file():
        raise ImportRefused(path, "there is no such file.")
    before = mj.get_mju_user_warning()
    # Without a handler MuJoCo writes its warnings to a log in the working folder.
    mj.set_mju_user_warning(lambda _message: None)
    try:
        # What it warns of is appearance (texture coordinates, materials); what matters it refuses.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            spec = mj.MjSpec.from_string(_urdf(path)) if suffix == ".urdf" else mj.MjSpec.from_file(str(path))
            _bare(spec)
            _load_meshes(spec, path)
            return spec.compile()
    except ImportRefused:
        raise
    # MuJoCo raises ValueError for what is wrong with a file and its own FatalError for the rest.
    except (ValueError, OSError, mj.FatalError, ElementTree.ParseError) as error:
        raise ImportRefused(path, _explained(str(error))) from error
    finally:
        mj.set_mju_user_warning(before)


def _bare(spec: Spec) -> None:
    """Take from a description what kinematics does not need and what could make compilation fail."""
    for material in spec.materials:
        for role in range(len(material.textures)):
            material.textures[role] = ""
    for element in (*spec.textures, *spec.sensors, *spec.actuators, *spec.keys):
        spec.delete(element)
    spec.compiler.boundmass, spec.compiler.boundinertia = 1e-6, 1e-9
    spec.compiler.balanceinertia = True
    for mesh in spec.meshes:
        # Only the surface is wanted; the volume of an open or flat mesh would be refused.
        mesh.inertia = mj.mjtMeshInertia.mjMESH_INERTIA_SHELL


def _load_meshes(spec: Spec, path: Path) -> None:
    """Replace the mesh files of a description by their vertices and triangles."""
    for mesh in spec.meshes:
        if not mesh.file:
            continue
        named = Path(mesh.file.replace("\\", "/"))
        suffix = named.suffix.lower()
        if suffix == _NATIVE:
            continue
        if suffix not in MESH_FORMATS:
            raise ImportRefused(path, _unread(mesh.file))
        if spec.strippath:
            named = Path(named.name)
        folders = (path.parent / spec.compiler.meshdir, path.parent)
        file = next((folder / named for folder in folders if (folder / named).is_file()), None)
        if file is None:
            raise ImportRefused(path, f"the mesh {mesh.file} that it names is missing.")
        vertices, faces = _triangles(file, path)
        mesh.name = mesh.name or named.stem
        mesh.uservert, mesh.userface = vertices.ravel().tolist(), faces.ravel().tolist()
        mesh.file = ""


def _triangles(file: Path, path: Path) -> tuple[np.ndarray, np.ndarray]:
    # trimesh is typed in parts only, and its readers of damaged files fail with every kind of exception.
    load = cast("Any", trimesh.load_mesh)
    try:
        options = {"skip_materials": True} if file.suffix.lower() == ".obj" else {}
        mesh = load(str(file), process=False, **options)
        vertices, faces = np.asarray(mesh.vertices, np.float64), np.asarray(mesh.faces, np.int32)
    except Exception as error:
        raise ImportRefused(path, f"its mesh {file.name} cannot be read ({str(error)[:80]}).") from error
    if not len(faces) or not np.isfinite(vertices).all():
        raise ImportRefused(path, f"its mesh {file.name} has no triangles, or vertices that are not finite.")
    return vertices, faces


def _unread(mesh: str) -> str:
    suffix = Path(mesh).suffix[1:].upper() or "of no format"
    return f"its mesh {Path(mesh).name} is {suffix}; STL, OBJ, PLY, OFF and MSH are read."


def _explained(message: str) -> str:
    first = " ".join(message.split())
    if found := re.search(r"opening file '([^']*)'|file not found: '?([^']*)'?", first, re.IGNORECASE):
        return f"the file {found.group(1) or found.group(2)} that it names is missing."
    return f"MuJoCo {mj.__version__} does not read it ({first[:200]})."


def _urdf(path: Path) -> str:
    """Return a URDF with full paths of its meshes and with MuJoCo told to keep visuals and fixed links."""
    root = ElementTree.fromstring(path.read_bytes().lstrip())
    if root.tag != "robot":
        raise ImportRefused(path, f"its root element is <{root.tag}>; a URDF begins with <robot>.")
    for link in root.iter("link"):
        if link.find("visual") is not None:
            # What is only felt would be read, and could be missing, for nothing.
            for collision in link.findall("collision"):
                link.remove(collision)
    for mesh in root.iter("mesh"):
        mesh.set("filename", str(_mesh_file(path, mesh.get("filename", ""))))
    for old in root.findall("mujoco"):
        root.remove(old)
    options = {"strippath": "false", "discardvisual": "false", "fusestatic": "false"}
    ElementTree.SubElement(ElementTree.SubElement(root, "mujoco"), "compiler", options)
    # Materials name textures, which nobody needs here.
    for holder in root.iter():
        for material in holder.findall("material"):
            holder.remove(material)
    return ElementTree.tostring(root, encoding="unicode")


def _mesh_file(path: Path, name: str) -> Path:
    """Return the file that a URDF means: beside it, or in the package that a folder above it holds."""
    plain = re.sub(r"^(package|file|model)://", "", name)
    if Path(plain).suffix.lower() not in MESH_FORMATS:
        raise ImportRefused(path, _unread(name))
    steps = Path(plain).parts
    for folder in (path.parent, *path.resolve().parents[1:4]):
        for drop in range(len(steps) if "://" in name else 1):
            candidate = folder.joinpath(*steps[drop:])
            if candidate.is_file():
                return candidate.resolve()
    raise ImportRefused(path, f"the mesh {name} that it names is missing.")
