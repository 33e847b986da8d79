"""Sequences of whole shapes: folders of OBJ or PLY files, and arrays of positions, all with one topology.

The first frame is taken as the rest shape.
"""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import trimesh
from jaxtyping import Float, Int

from engine.datasets.imported.frames import check_mesh, diverse, motion_of, sample, size_of, tidy
from engine.datasets.imported.refusal import ImportRefused
from engine.datasets.motion import Motion, Source
from engine.geometry.load_report import UpAxis
from engine.geometry.welding import weld

SUFFIXES = (".obj", ".ply")
# A longer sequence is read at so many evenly spaced frames.
_MOST_FILES = 240


def z_up(points: Float[np.ndarray, "*n 3"]) -> Float[np.ndarray, "*n 3"]:
    """Return points with Y up as points with Z up, by a quarter turn about X."""
    return np.stack((points[..., 0], -points[..., 2], points[..., 1]), -1)


def natural(path: Path) -> list[tuple[int, str]]:
    """Return a key that sorts frame2 before frame10."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", path.name.lower())]


def sequence_motion(
    files: list[Path],
    *,
    frames: int,
    pack: str,
    name: str,
    source: Source | None = None,
    up: UpAxis | None = None,
) -> Motion:
    """Return the motion of a folder's OBJ or PLY files, each a frame of one mesh.

    Args:
        files: the frames, in any order; their numbers sort them.
        frames: how many frames at most.
        pack: collection that the object belongs to.
        name: what the object is called.
        source: where it comes from.
        up: axis that points up; by default Y for OBJ and Z for PLY.

    Raises:
        ImportRefused: the triangles or the number of vertices change, a file cannot be read, or nothing moves.
    """
    files = sorted(files, key=natural)
    if len(files) < 2:
        raise ImportRefused(files[0] if files else Path(name), "a sequence needs at least two frames.")
    picked = [files[k] for k in np.unique(np.linspace(0, len(files) - 1, min(len(files), _MOST_FILES)).astype(int))]
    first, faces = _read(picked[0])
    shapes = np.zeros((len(picked), *first.shape))
    for row, file in enumerate(picked):
        points, own = _read(file)
        if points.shape != first.shape:
            reason = f"the topology changes: {len(points)} vertices, but {len(first)} in {picked[0].name}."
            raise ImportRefused(file, f"{reason} Export all frames from one mesh.")
        if own.shape != faces.shape or (own != faces).any():
            reason = f"the topology changes: its triangles are not those of {picked[0].name}."
            raise ImportRefused(file, f"{reason} Export all frames from one mesh.")
        shapes[row] = points
    axis = up or (UpAxis.Z if picked[0].suffix.lower() == ".ply" else UpAxis.Y)
    return array_motion(shapes, faces, file=picked[0], frames=frames, pack=pack, name=name, source=source, up=axis)


def npz_motion(
    path: Path, *, frames: int, pack: str, name: str, source: Source | None = None, up: UpAxis = UpAxis.Y
) -> Motion:
    """Return the motion of an NPZ file with one array of positions (T, V, 3) and one of triangles (M, 3).

    Raises:
        ImportRefused: the file cannot be read, or holds no such arrays, or nothing moves.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {key: file[key] for key in file.files}
    except (OSError, ValueError, EOFError) as error:
        raise ImportRefused(path, f"it cannot be read as NPZ ({error}).") from error
    shapes = [a for a in arrays.values() if a.dtype.kind == "f" and a.ndim == 3 and a.shape[2] == 3]
    faces = [a for a in arrays.values() if a.dtype.kind in "iu" and a.ndim == 2 and a.shape[1] == 3]
    if not shapes or not faces:
        found = ", ".join(f"{key} {value.shape} {value.dtype}" for key, value in arrays.items()) or "nothing"
        raise ImportRefused(path, f"it needs positions (T, V, 3) and triangles (M, 3), and holds {found}.")
    return array_motion(
        max(shapes, key=np.size).astype(float),
        faces[0].astype(np.int64),
        file=path,
        frames=frames,
        pack=pack,
        name=name,
        source=source,
        up=up,
    )


def array_motion(
    shapes: Float[np.ndarray, "t v 3"],
    faces: Int[np.ndarray, "m 3"],
    *,
    file: Path,
    frames: int,
    pack: str,
    name: str,
    source: Source | None,
    up: UpAxis,
) -> Motion:
    """Return a motion of given frames; vertices that coincide in all of them are joined.

    Raises:
        ImportRefused: a position is not finite, there are no triangles, or nothing moves.
    """
    broken = np.flatnonzero(~np.isfinite(shapes).all((1, 2)))
    if len(broken):
        raise ImportRefused(file, f"frame {broken[0]} of the sequence has positions that are not finite.")
    if len(shapes) < 2:
        raise ImportRefused(file, "it holds no motion: a sequence needs at least two frames.")
    check_mesh(shapes[0], faces, file=file)
    if up is UpAxis.Y:
        shapes = z_up(shapes)
    size = size_of(shapes[0])
    label, first = weld(shapes[0], 1e-6 * size)
    leader = first[label]
    # What comes apart later was never one vertex.
    apart = np.abs(shapes - shapes[:, leader]).max((0, 2)) > 1e-4 * size
    leader = np.where(apart, np.arange(len(leader)), leader)
    kept, faces = tidy(shapes[0], leader[faces])
    if not len(faces):
        raise ImportRefused(file, "it has no triangle with an area.")
    shapes = shapes[:, kept]
    chosen = diverse(shapes[:, sample(len(kept))], frames, file=file)
    return motion_of(shapes[chosen], faces, pack=pack, name=name, source=source)


def read_obj(path: Path) -> tuple[Float[np.ndarray, "v 3"], Int[np.ndarray, "m 3"], list[str]]:
    """Return the vertices of an OBJ file in its order, its polygons cut into fans, and the group of each triangle.

    Raises:
        ImportRefused: a line is not what OBJ allows.
    """
    points: list[list[float]] = []
    faces: list[tuple[int, int, int]] = []
    groups: list[str] = []
    group = ""
    try:
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            words = line.split()
            if not words:
                continue
            if words[0] == "v":
                points.append([float(word) for word in words[1:4]])
            elif words[0] == "g":
                group = " ".join(words[1:])
            elif words[0] == "f":
                corners = [int(word.split("/")[0]) for word in words[1:]]
                corners = [corner - 1 if corner > 0 else len(points) + corner for corner in corners]
                fan = [(corners[0], b, c) for b, c in pairwise(corners[1:])]
                faces += fan
                groups += [group] * len(fan)
        vertices = np.array(points, float).reshape(-1, 3)
    except (ValueError, IndexError, OSError) as error:
        raise ImportRefused(path, f"it cannot be read as OBJ ({error}).") from error
    return vertices, np.array(faces, np.int64).reshape(-1, 3), groups


def _read(path: Path) -> tuple[Float[np.ndarray, "v 3"], Int[np.ndarray, "m 3"]]:
    if path.suffix.lower() == ".obj":
        points, faces, _ = read_obj(path)
        return points, faces
    try:
        mesh = trimesh.load(path, process=False)
    except Exception as error:  # trimesh lets whatever a damaged file causes through.
        raise ImportRefused(path, f"it cannot be read as PLY ({error!r}).") from error
    if not isinstance(mesh, trimesh.Trimesh):
        raise ImportRefused(path, "it holds no triangles; export a mesh with it.")
    return np.asarray(mesh.vertices, float), np.asarray(mesh.faces, np.int64)
