"""glTF documents: what trimesh is not told or does not do when it reads them.

Decodes Draco geometry into ordinary accessors, refuses encodings that would silently give empty
geometry, and places skinned meshes in the pose of their joints (glTF 2.0 specification, section
3.7.3: a skinned mesh follows its joints, not its node).
"""

from __future__ import annotations

import base64
import io
import json
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast
from urllib.parse import unquote

import numpy as np
import PIL.Image
from jaxtyping import Float

from engine.geometry.draco import DracoMesh, decode_draco
from engine.geometry.load_report import MeshError

_REFUSED = {
    "EXT_meshopt_compression": "its geometry is compressed with meshopt",
    "KHR_meshopt_compression": "its geometry is compressed with meshopt",
}
_DRACO = "KHR_draco_mesh_compression"
_HARMLESS = (
    _DRACO,
    "KHR_materials_",
    "KHR_mesh_quantization",
    "KHR_lights_punctual",
    "KHR_xmp",
    "KHR_texture_basisu",
    "EXT_texture_webp",
)
_COMPONENTS = {5120: "i1", 5121: "u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", 5126: "<f4"}
_WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT4": 16}
# trimesh hands on attributes whose names begin with an underscore, one array per part, untouched.
_JOINTS, _WEIGHTS = "_NEUROK_JOINTS_", "_NEUROK_WEIGHTS_"
_SCALES = "neurok_scales"


@dataclass(slots=True)
class Document:
    """A glTF document prepared for trimesh: nodes named by index, skin attributes handed on."""

    path: Path
    header: dict[str, Any]
    binary: bytes | None
    notes: list[str] = field(default_factory=list[str])

    def stream(self) -> io.BytesIO:
        """Return the prepared document in the encoding of its file."""
        text = json.dumps(self.header).encode()
        if self.binary is None:
            return io.BytesIO(text)
        text += b" " * (-len(text) % 4)
        body = self.binary + b"\0" * (-len(self.binary) % 4)
        head = struct.pack("<4sIIII", b"glTF", 2, 28 + len(text) + len(body), len(text), 0x4E4F534A)
        return io.BytesIO(head + text + struct.pack("<II", len(body), 0x004E4942) + body)

    @staticmethod
    def node_index(frame: str) -> int:
        """Return the node of a scene frame, whose name begins with the node's index."""
        return int(frame.split("_")[0])

    def scales(self, mesh: Any) -> dict[str, float]:
        """Return the factors of attributes stored as normalised integers, such as ``POSITION``."""
        found: Any = mesh.metadata.get(_SCALES)
        return found or {}

    def skinning(self, mesh: Any, scene: Any, frame: str) -> Float[np.ndarray, "v 4 4"] | None:
        """Return the matrix that takes each vertex of a part to the scene, posed by the joints.

        ``None`` when the part follows its node. The pose is that of the document's nodes, without
        animation.
        """
        node = self.header["nodes"][self.node_index(frame)]
        attributes = mesh.vertex_attributes
        if "skin" not in node or f"{_JOINTS}0" not in attributes:
            return None
        skin = self.header["skins"][node["skin"]]
        joints: list[int] = skin["joints"]
        inverse = np.tile(np.eye(4), (len(joints), 1, 1))
        if "inverseBindMatrices" in skin:
            inverse = self._accessor(skin["inverseBindMatrices"]).reshape(-1, 4, 4).transpose(0, 2, 1)
        try:
            places = np.stack([np.asarray(scene.graph[str(joint)][0], np.float64) for joint in joints])
        except (KeyError, ValueError):
            self.notes.append("A skin whose joints are outside the scene was left in the pose of its vertices.")
            return None
        sets = [k for k in range(4) if f"{_JOINTS}{k}" in attributes and f"{_WEIGHTS}{k}" in attributes]
        index = np.concatenate([np.asarray(attributes[f"{_JOINTS}{k}"], np.int64) for k in sets], axis=1)
        weight = np.concatenate([np.asarray(attributes[f"{_WEIGHTS}{k}"], np.float64) for k in sets], axis=1)
        total = weight.sum(axis=1, keepdims=True)
        # A vertex without weights follows its first joint, as in common viewers.
        weight = np.where(total > 0, weight / np.where(total > 0, total, 1.0), np.eye(1, weight.shape[1]))
        return np.einsum("vk,vkij->vij", weight, (places @ inverse[: len(joints)])[index])

    def _accessor(self, number: int) -> Float[np.ndarray, "c w"]:
        accessor = self.header["accessors"][number]
        view = self.header["bufferViews"][accessor["bufferView"]]
        kind = np.dtype(_COMPONENTS[accessor["componentType"]])
        width = _WIDTHS[accessor["type"]]
        start = view.get("byteOffset", 0) + accessor.get("byteOffset", 0)
        stride = view.get("byteStride") or width * kind.itemsize
        data = self._buffer(view["buffer"])
        rows = np.ndarray((accessor["count"], width), kind, data, start, (stride, kind.itemsize))
        return rows.astype(np.float64)

    def view(self, number: int) -> bytes:
        """Return the bytes of a buffer view."""
        view = self.header["bufferViews"][number]
        start = view.get("byteOffset", 0)
        return self._buffer(view["buffer"])[start : start + view["byteLength"]]

    def append(self, arrays: Sequence[np.ndarray]) -> int:
        """Store arrays in buffer views of their own, and return the first view's number."""
        views, buffers = self.header["bufferViews"], self.header["buffers"]
        inside = self.binary is not None and "uri" not in buffers[0]
        blocks, first = [self.binary or b"" if inside else b""], len(views)
        at = len(blocks[0])
        for array in arrays:
            blocks.append(b"\0" * (-at % 4))
            at += len(blocks[-1])
            views.append({"buffer": 0 if inside else len(buffers), "byteOffset": at, "byteLength": array.nbytes})
            blocks.append(array.tobytes())
            at += array.nbytes
        data = b"".join(blocks)
        if inside:
            self.binary = data
            buffers[0]["byteLength"] = at
        else:
            uri = "data:application/octet-stream;base64," + base64.b64encode(data).decode()
            buffers.append({"byteLength": at, "uri": uri})
        return first

    def _buffer(self, number: int) -> bytes:
        uri = self.header["buffers"][number].get("uri")
        if uri is None:
            return self.binary or b""
        if uri.startswith("data:"):
            return base64.b64decode(uri.split(",", 1)[1])
        return (self.path.parent / unquote(uri)).read_bytes()


def read_document(path: Path) -> Document:
    """Read and prepare a glTF or GLB file.

    Raises:
        MeshError: the file is damaged, lacks a file that it refers to, or uses an encoding that is
        not supported.
    """
    text, binary = _split(path)
    try:
        header: Any = json.loads(text)
        is_gltf = isinstance(header, dict) and "asset" in header
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        message = f"{path.name} holds no readable glTF; it may be cut off. Export it again."
        raise MeshError(message) from error
    if not is_gltf:
        message = f"{path.name} is JSON but not glTF; open a glTF 2.0 file."
        raise MeshError(message)
    document = Document(path, cast("dict[str, Any]", header), binary)
    try:
        _refuse_extensions(document)
        _refuse_missing_files(document)
        _decode_draco(document)
        _refuse_positions(document)
        _note_unread_textures(document)
        _prepare(document)
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        message = f"{path.name} breaks the rules of glTF ({error!r}); export it again."
        raise MeshError(message) from error
    return document


def _split(path: Path) -> tuple[bytes, bytes | None]:
    """Return the JSON text and, for a GLB, its binary chunk."""
    data = path.read_bytes()
    if path.suffix.lower() != ".glb":
        return data, None
    if len(data) < 20 or data[:4] != b"glTF":
        message = f"{path.name} does not begin like a GLB file; it may be damaged. Export it again."
        raise MeshError(message)
    version, length, size = struct.unpack_from("<III", data, 4)
    if version != 2:
        message = f"{path.name} is GLB version {version}; export it as glTF 2.0."
        raise MeshError(message)
    if length > len(data):
        message = f"{path.name} is cut off: {len(data)} of {length} bytes are there. Export or download it again."
        raise MeshError(message)
    text, at = data[20 : 20 + size], 20 + size
    while at + 8 <= len(data):
        size, kind = struct.unpack_from("<II", data, at)
        if kind == 0x004E4942:
            return text, data[at + 8 : at + 8 + size]
        at += 8 + size
    return text, b""


def _refuse_extensions(document: Document) -> None:
    header, name = document.header, document.path.name
    for extension in header.get("extensionsRequired", []):
        if extension in _REFUSED:
            message = f"{name} cannot be opened: {_REFUSED[extension]} ({extension}). Export it again without that."
            raise MeshError(message)
        if not extension.startswith(_HARMLESS):
            document.notes.append(f"The file asks for {extension}, which is not supported; it may look different.")


def _refuse_positions(document: Document) -> None:
    header, name = document.header, document.path.name
    accessors = header.get("accessors", [])
    for mesh in header.get("meshes", []):
        for primitive in mesh["primitives"]:
            position = primitive.get("attributes", {}).get("POSITION")
            if position is None:
                continue
            accessor = accessors[position]
            if "sparse" in accessor or "bufferView" not in accessor:
                message = f"{name} stores positions in a sparse or compressed way. Export it again without that."
                raise MeshError(message)


def _refuse_missing_files(document: Document) -> None:
    for buffer in document.header.get("buffers", []):
        uri = buffer.get("uri")
        if uri and not uri.startswith("data:") and not (document.path.parent / unquote(uri)).is_file():
            message = f"{document.path.name} needs the file {unquote(uri)} beside it, which is missing; copy it there."
            raise MeshError(message)
    for image in document.header.get("images", []):
        uri = image.get("uri")
        if uri and not uri.startswith("data:") and not (document.path.parent / unquote(uri)).is_file():
            document.notes.append(f"The image {unquote(uri)} is missing; its texture is left out.")


def _decode_draco(document: Document) -> None:
    """Turn primitives compressed with Draco into ordinary ones, and drop the extension."""
    header = document.header
    accessors: list[dict[str, Any]] = header.get("accessors", [])
    required = _DRACO in header.get("extensionsRequired", [])
    # Primitives of several materials may share one compressed mesh.
    meshes: dict[int, DracoMesh] = {}
    arrays: list[np.ndarray] = []
    first = len(accessors)
    for primitive in (each for mesh in header.get("meshes", []) for each in mesh["primitives"]):
        packed = primitive.get("extensions", {}).pop(_DRACO, None)
        if packed is None:
            continue
        attributes: dict[str, int] = primitive["attributes"]
        plain = [*attributes.values(), *([primitive["indices"]] if "indices" in primitive else [])]
        if not required and all("bufferView" in accessors[k] for k in plain):
            continue  # The file holds the same primitive uncompressed, for readers without Draco.
        number: int = packed["bufferView"]
        if number not in meshes:
            meshes[number] = decode_draco(document.view(number), file=document.path.name)
        decoded = meshes[number]
        for name in [name for name in attributes if name in packed["attributes"]]:
            values, accessor = _as_declared(decoded.attributes[packed["attributes"][name]], accessors[attributes[name]])
            attributes[name] = len(accessors)
            accessors.append(accessor)
            arrays.append(values)
        # Strips come out of the decoder as separate triangles too.
        primitive["mode"] = 4
        primitive["indices"] = len(accessors)
        accessors.append({"componentType": 5125, "type": "SCALAR", "count": decoded.faces.size})
        arrays.append(decoded.faces)
    if arrays:
        view = document.append(arrays)
        for k in range(len(arrays)):
            accessors[first + k]["bufferView"] = view + k
    for key in ("extensionsRequired", "extensionsUsed"):
        if _DRACO in header.get(key, []):
            header[key].remove(_DRACO)


def _as_declared(values: np.ndarray, declared: dict[str, Any]) -> tuple[np.ndarray, dict[str, Any]]:
    """Return decoded values in the type that their accessor declares, and an accessor for them."""
    accessor = {"type": declared["type"], "count": len(values)}
    if values.shape[1] != _WIDTHS[declared["type"]]:
        message = f"a {declared['type']} of {values.shape[1]} components"
        raise TypeError(message)
    if values.dtype.kind == "f":
        return values.astype("<f4"), accessor | {"componentType": 5126}
    # The decoder may widen integers, which changes what a normalised one means.
    values = values.astype(_COMPONENTS[declared["componentType"]])
    accessor["componentType"] = declared["componentType"]
    return values, accessor | ({"normalized": True} if declared.get("normalized") else {})


def _note_unread_textures(document: Document) -> None:
    """Add a note for each texture that is drawn and whose image cannot be read."""
    header = document.header
    used: set[int] = set()
    for material in header.get("materials", []):
        look = material.get("pbrMetallicRoughness", {})
        used |= {look[key]["index"] for key in ("baseColorTexture", "metallicRoughnessTexture") if key in look}
    for number in sorted(used):
        name = f"of texture {number}"
        try:
            texture = header["textures"][number]
            extensions = texture.get("extensions", {})
            source = extensions.get("EXT_texture_webp", texture).get("source", texture.get("source"))
            if source is None:
                name += f" ({', '.join(extensions) or 'none given'})"
            image = header["images"][source]
            uri: str = image.get("uri", "")
            if uri and not uri.startswith("data:"):
                name = unquote(uri)
                if not (document.path.parent / name).is_file():
                    continue  # Missing files have their own note.
                data = (document.path.parent / name).read_bytes()
            else:
                name = " ".join(filter(None, (image.get("name") or name, image.get("mimeType"))))
                data = base64.b64decode(uri.split(",", 1)[1]) if uri else document.view(image["bufferView"])
            PIL.Image.open(io.BytesIO(data)).close()
        except (OSError, ValueError, SyntaxError, KeyError, IndexError, TypeError):
            document.notes.append(f"The image {name} cannot be read; its texture is left out.")


def _prepare(document: Document) -> None:
    """Keep what is used, name nodes by index and pass skin attributes through trimesh."""
    header = document.header
    header.pop("animations", None)
    header.pop("cameras", None)
    nodes = header.get("nodes", [])
    if not header.get("scenes"):
        below = {child for node in nodes for child in node.get("children", [])}
        header["scenes"] = [{"nodes": [k for k in range(len(nodes)) if k not in below]}]
        header["scene"] = 0
    for index, node in enumerate(nodes):
        node["name"] = str(index)
        node.pop("camera", None)
        node.pop("extras", None)
    materials = header.get("materials", [])
    accessors = header.get("accessors", [])
    morphs = False
    for mesh in header.get("meshes", []):
        scales: dict[str, float] = {}
        for primitive in mesh["primitives"]:
            morphs |= bool(primitive.pop("targets", None))
            given = primitive.get("attributes", {})
            kept = {key: given[key] for key in ("POSITION", "NORMAL", "COLOR_0") if key in given}
            texture: dict[str, Any] = {}
            if "material" in primitive:
                texture = materials[primitive["material"]].get("pbrMetallicRoughness", {}).get("baseColorTexture", {})
            uv = given.get(f"TEXCOORD_{texture.get('texCoord', 0)}")
            if uv is not None:
                kept["TEXCOORD_0"] = uv
            if "KHR_texture_transform" in texture.get("extensions", {}):
                document.notes.append("A texture is moved or scaled by the file (KHR_texture_transform); ignored.")
            for k in range(4):
                if f"JOINTS_{k}" in given and f"WEIGHTS_{k}" in given:
                    kept[f"{_JOINTS}{k}"] = given[f"JOINTS_{k}"]
                    kept[f"{_WEIGHTS}{k}"] = given[f"WEIGHTS_{k}"]
            for key in ("POSITION", "TEXCOORD_0"):
                accessor: dict[str, Any] = accessors[kept[key]] if key in kept else {}
                if accessor.get("normalized"):
                    scales[key] = 1.0 / float(np.iinfo(_COMPONENTS[accessor["componentType"]]).max)
            primitive["attributes"] = kept
        mesh.pop("weights", None)
        mesh["extras"] = {_SCALES: scales}
    if morphs:
        document.notes.append("Morph targets are left out; the mesh is opened in its base shape.")
    document.notes[:] = list(dict.fromkeys(document.notes))
