"""glTF files as an importer of motion needs them: accessors, nodes, skins, morph targets and the curves of clips.

Section numbers are those of the glTF 2.0 specification. The file's own frame is kept here: Y up, metres.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from engine.datasets.imported.gltf_curves import Clip, Curve
from engine.datasets.imported.refusal import ImportRefused
from engine.geometry.gltf_document import Document, _split, read_document
from engine.geometry.load_report import MeshError

_TYPES = {5120: "<i1", 5121: "<u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", 5126: "<f4"}
_WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT2": 4, "MAT3": 9, "MAT4": 16}
_PATHS = {"translation": 3, "rotation": 4, "scale": 3}


@dataclass(frozen=True, slots=True)
class Part:
    """A primitive under a node that places or skins it.

    Attributes:
        node: number of the node.
        skin: number of the skin, -1 for none.
        points: positions in the mesh's own space.
        faces: triangles.
        bones, weights: joints by their place in the skin, and their weights; no columns without a skin.
        deltas: displacement by each morph target.
    """

    node: int
    skin: int
    points: Float[np.ndarray, "v 3"]
    faces: Int[np.ndarray, "m 3"]
    bones: Int[np.ndarray, "v k"]
    weights: Float[np.ndarray, "v k"]
    deltas: Float[np.ndarray, "t v 3"]


@dataclass(slots=True)
class GltfScene:
    """The active scene of a file.

    Attributes:
        file: where it was read from.
        names: of the nodes, "" where they have none.
        parents: of the nodes, -1 for none.
        order: nodes with parents before children.
        translations, rotations, scales: of the nodes at rest, quaternions (x, y, z, w).
        fixed: matrices of the nodes that have one in place of those three.
        parts: the primitives of the scene.
        joints: nodes of each skin.
        inverses: inverse bind matrices of each skin, shape (j, 4, 4).
        morph: for nodes with morph targets: first column among all morph weights, and the weights at rest.
        clips: the animations.
        credit: whom the file names as its author.
    """

    file: Path
    names: list[str]
    parents: list[int]
    order: list[int]
    translations: Float[np.ndarray, "n 3"]
    rotations: Float[np.ndarray, "n 4"]
    scales: Float[np.ndarray, "n 3"]
    fixed: dict[int, Float[np.ndarray, "4 4"]]
    parts: list[Part] = field(default_factory=list[Part])
    joints: list[list[int]] = field(default_factory=list[list[int]])
    inverses: list[Float[np.ndarray, "j 4 4"]] = field(default_factory=list[np.ndarray])
    morph: dict[int, tuple[int, Float[np.ndarray, " t"]]] = field(default_factory=dict[int, tuple[int, np.ndarray]])
    clips: list[Clip] = field(default_factory=list[Clip])
    credit: str = ""


def read_scene(path: Path) -> GltfScene:
    """Read the nodes, primitives, skins and clips of a glTF or GLB file.

    Raises:
        ImportRefused: the file is damaged or its skin is broken; the message names the file and the reason.
    """
    try:
        document = read_document(path)
        # The document for trimesh has lost its clips and morph targets and has new names; those come from the file.
        header: dict[str, Any] = json.loads(_split(path)[0])
        return _scene(document, header)
    except MeshError as error:
        raise ImportRefused(path, str(error)) from error
    except ImportRefused:
        raise
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, OSError) as error:
        message = f"it breaks the rules of glTF ({error!r}); export it again."
        raise ImportRefused(path, message) from error


def _scene(document: Document, header: dict[str, Any]) -> GltfScene:
    nodes = header.get("nodes", [])
    parents = [-1] * len(nodes)
    for number, node in enumerate(nodes):
        for child in node.get("children", []):
            parents[child] = number
    order = _descend([k for k, parent in enumerate(parents) if parent < 0], nodes)
    if len(order) != len(nodes):
        message = "it has nodes that are their own ancestors; export it again."
        raise ImportRefused(document.path, message)
    scene = GltfScene(
        file=document.path,
        names=[str(node.get("name", "")) for node in nodes],
        parents=parents,
        order=order,
        translations=_rows(nodes, "translation", (0, 0, 0)),
        rotations=_rows(nodes, "rotation", (0, 0, 0, 1)),
        scales=_rows(nodes, "scale", (1, 1, 1)),
        fixed={k: np.array(n["matrix"], float).reshape(4, 4).T for k, n in enumerate(nodes) if "matrix" in n},
        credit=str(header.get("asset", {}).get("copyright", "")),
    )
    for number, skin in enumerate(header.get("skins", [])):
        scene.joints.append(list(skin["joints"]))
        inverse = np.tile(np.eye(4), (len(skin["joints"]), 1, 1))
        if "inverseBindMatrices" in skin:
            inverse = _array(document, skin["inverseBindMatrices"]).reshape(-1, 4, 4).transpose(0, 2, 1)
        if not all(0 <= joint < len(nodes) for joint in skin["joints"]):
            raise ImportRefused(document.path, f"skin {number} has joints that are no nodes of the file.")
        if len(inverse) < len(skin["joints"]) or not np.isfinite(inverse).all():
            message = f"skin {number} lacks bind matrices of its joints, or they are no numbers."
            raise ImportRefused(document.path, message)
        scene.inverses.append(inverse[: len(skin["joints"])])
    shown = document.header["scenes"][document.header.get("scene", 0)].get("nodes", [])
    for number in sorted(_descend(shown, nodes)):
        if "mesh" in nodes[number]:
            _add_mesh(scene, document, header, number)
    scene.clips.extend(_clips(document, header))
    return scene


def _descend(roots: list[int], nodes: list[dict[str, Any]]) -> list[int]:
    """Return the roots and all below them, parents first, each once."""
    order = list(dict.fromkeys(roots))
    seen = set(order)
    for number in order:
        fresh = [child for child in nodes[number].get("children", []) if child not in seen]
        seen.update(fresh)
        order.extend(fresh)
    return order


def _rows(nodes: list[dict[str, Any]], key: str, default: tuple[int, ...]) -> Float[np.ndarray, "n w"]:
    return np.array([node.get(key, default) for node in nodes], float).reshape(len(nodes), len(default))


def _add_mesh(scene: GltfScene, document: Document, header: dict[str, Any], number: int) -> None:
    """Append the triangles of a node's mesh (sections 3.7.2 and 3.7.3)."""
    node = header["nodes"][number]
    raw, read = header["meshes"][node["mesh"]], document.header["meshes"][node["mesh"]]
    skin = int(node.get("skin", -1))
    targets = max((len(primitive.get("targets", [])) for primitive in raw["primitives"]), default=0)
    if targets:
        rest = np.array(node.get("weights", raw.get("weights", [0.0] * targets)), float)
        scene.morph[number] = (sum(len(weights) for _, weights in scene.morph.values()), rest)
    for plain, primitive in zip(raw["primitives"], read["primitives"], strict=True):
        attributes = primitive["attributes"]
        if "POSITION" not in attributes or primitive.get("mode", 4) not in (4, 5, 6):
            continue
        points = _array(document, attributes["POSITION"])
        corners = np.arange(len(points))
        if "indices" in primitive:
            corners = _array(document, primitive["indices"]).ravel().astype(np.int64)
        sets = [k for k in range(2) if f"_NEUROK_JOINTS_{k}" in attributes]
        if skin >= 0 and not sets:
            message = f"mesh {node['mesh']} has a skin but no joints and weights; bind it and export again."
            raise ImportRefused(scene.file, message)
        bones = np.zeros((len(points), 0), np.int64)
        weights = np.zeros((len(points), 0))
        if skin >= 0:
            bones = np.concatenate([_array(document, attributes[f"_NEUROK_JOINTS_{k}"]) for k in sets], 1)
            weights = np.concatenate([_array(document, attributes[f"_NEUROK_WEIGHTS_{k}"]) for k in sets], 1)
        deltas = np.zeros((targets, *points.shape))
        for row, target in enumerate(plain.get("targets", [])):
            if "POSITION" in target:
                deltas[row] = _array(document, target["POSITION"])
        faces = _triangles(corners, primitive.get("mode", 4))
        scene.parts.append(Part(number, skin, points, faces, bones.astype(np.int64), weights, deltas))


def _triangles(corners: Int[np.ndarray, " k"], mode: int) -> Int[np.ndarray, "m 3"]:
    """Return separate triangles of a list (mode 4), a strip (5) or a fan (6)."""
    if mode == 4:
        return corners[: len(corners) // 3 * 3].reshape(-1, 3)
    if mode == 6:
        return np.stack((np.full(max(len(corners) - 2, 0), corners[0]), corners[1:-1], corners[2:]), 1)
    strip = np.stack((corners[:-2], corners[1:-1], corners[2:]), 1)
    strip[1::2] = strip[1::2, ::-1]
    return strip


def _clips(document: Document, header: dict[str, Any]) -> list[Clip]:
    clips: list[Clip] = []
    for number, animation in enumerate(header.get("animations", [])):
        curves: list[Curve] = []
        for channel in animation["channels"]:
            target, sampler = channel["target"], animation["samplers"][channel["sampler"]]
            if "node" not in target or target["path"] not in (*_PATHS, "weights"):
                continue
            if not 0 <= target["node"] < len(header["nodes"]):
                raise ImportRefused(document.path, f"clip {number} moves node {target['node']}, which is not there.")
            how = sampler.get("interpolation", "LINEAR")
            times, values = _array(document, sampler["input"]).ravel(), _array(document, sampler["output"])
            rows = len(times) * (3 if how == "CUBICSPLINE" else 1)
            wanted = _PATHS.get(target["path"], 0)
            if not len(times) or values.size % rows or (wanted and values.size != rows * wanted):
                message = f"clip {number} has {values.size} values for {len(times)} times."
                raise ImportRefused(document.path, message)
            if not (np.isfinite(times).all() and np.isfinite(values).all()):
                message = f"clip {number} holds values that are not finite; export it again."
                raise ImportRefused(document.path, message)
            curves.append(Curve(int(target["node"]), target["path"], times, values.reshape(rows, -1), how))
        if curves:
            clips.append(Clip(str(animation.get("name", number)), curves))
    return clips


def _array(document: Document, number: int) -> Float[np.ndarray, "c w"]:
    """Return an accessor's values, normalised integers as fractions, sparse ones filled in (section 3.6.2)."""
    accessor = document.header["accessors"][number]
    width, kind = _WIDTHS[accessor["type"]], np.dtype(_TYPES[accessor["componentType"]])
    values = np.zeros((accessor["count"], width), kind)
    if "bufferView" in accessor:
        stride = document.header["bufferViews"][accessor["bufferView"]].get("byteStride")
        values = _strided(document, accessor, kind, (accessor["count"], width), stride).copy()
    if "sparse" in accessor:
        sparse = accessor["sparse"]
        where = np.dtype(_TYPES[sparse["indices"]["componentType"]])
        rows = _strided(document, sparse["indices"], where, (sparse["count"], 1), None).ravel()
        values[rows] = _strided(document, sparse["values"], kind, (sparse["count"], width), None)
    if not accessor.get("normalized"):
        return values.astype(float)
    return np.maximum(values.astype(float) / np.iinfo(kind).max, -1.0)


def _strided(
    document: Document, place: dict[str, Any], kind: np.dtype[Any], shape: tuple[int, int], stride: int | None
) -> np.ndarray:
    data, start = document.view(place["bufferView"]), place.get("byteOffset", 0)
    step = stride or shape[1] * kind.itemsize
    if shape[0] and start + step * (shape[0] - 1) + shape[1] * kind.itemsize > len(data):
        message = f"it is cut off: an array of {shape[0]} rows ends outside its buffer."
        raise ImportRefused(document.path, message)
    return np.ndarray(shape, kind, data, start, (step, kind.itemsize))
