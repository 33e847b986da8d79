"""Compressed glTF: geometry packed with Draco, and images in formats beside PNG and JPEG."""

from __future__ import annotations

import io
import json
import struct
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trimesh
from PIL import Image

from engine.geometry.mesh_reader import MeshError, RestShape, load_rest_shape

DracoPy = pytest.importorskip("DracoPy")
_DRACO = "KHR_draco_mesh_compression"


def _file_points(rest: RestShape) -> np.ndarray:
    found = rest.vertices @ rest.unit_to_file[:3, :3].T + rest.unit_to_file[:3, 3]
    return found[np.lexsort(np.round(found, 3).T)]


def _packed_cylinder(*, with_skin: bool = False) -> tuple[dict[str, Any], bytes, trimesh.Trimesh]:
    """Return header and buffer of a cylinder in Draco, its attributes under ids of their own."""
    mesh = trimesh.creation.cylinder(radius=0.5, height=3.0, sections=12)
    count = len(mesh.vertices)
    uv = np.array(mesh.vertices[:, :2]) + 0.5
    joints = np.zeros((count, 4), np.uint16)
    joints[mesh.vertices[:, 2] > 0, 0] = 1
    weights = np.zeros((count, 4), np.float32)
    weights[:, 0] = 1.0
    generic = {21: joints, 22: weights} if with_skin else None
    data = DracoPy.encode(
        mesh.vertices.astype(np.float32),
        mesh.faces.astype(np.uint32),
        quantization_bits=16,
        preserve_order=True,
        tex_coord=uv,
        normals=np.array(mesh.vertex_normals),
        generic_attributes=generic,
    )
    kinds = {each["attribute_type"]: each["unique_id"] for each in DracoPy.decode(data).attributes}
    kind = DracoPy.AttributeType
    ids = {"POSITION": kinds[kind.POSITION], "NORMAL": kinds[kind.NORMAL], "TEXCOORD_0": kinds[kind.TEX_COORD]}
    declared = {"POSITION": (5126, "VEC3"), "NORMAL": (5126, "VEC3"), "TEXCOORD_0": (5126, "VEC2")}
    if with_skin:
        ids |= {"JOINTS_0": 21, "WEIGHTS_0": 22}
        declared |= {"JOINTS_0": (5123, "VEC4"), "WEIGHTS_0": (5126, "VEC4")}
    accessors = [{"componentType": code, "type": width, "count": count} for code, width in declared.values()]
    accessors.append({"componentType": 5123, "type": "SCALAR", "count": mesh.faces.size})
    primitive = {
        "attributes": {name: k for k, name in enumerate(declared)},
        "indices": len(declared),
        "extensions": {_DRACO: {"bufferView": 0, "attributes": ids}},
    }
    header = {
        "asset": {"version": "2.0"},
        "extensionsUsed": [_DRACO],
        "extensionsRequired": [_DRACO],
        "scenes": [{"nodes": [0]}],
        "nodes": [{"mesh": 0}],
        "meshes": [{"primitives": [primitive]}],
        "accessors": accessors,
        "bufferViews": [{"buffer": 0, "byteOffset": 0, "byteLength": len(data)}],
        "buffers": [{"byteLength": len(data)}],
    }
    return header, data, mesh


def _write(path: Path, header: dict[str, Any], data: bytes) -> Path:
    if path.suffix == ".gltf":
        header["buffers"][0]["uri"] = "packed.bin"
        (path.parent / "packed.bin").write_bytes(data)
        path.write_text(json.dumps(header))
        return path
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 4)
    data += b"\0" * (-len(data) % 4)
    head = struct.pack("<4sIIII", b"glTF", 2, 28 + len(text) + len(data), len(text), 0x4E4F534A)
    path.write_bytes(head + text + struct.pack("<II", len(data), 0x004E4942) + data)
    return path


def _with_image(header: dict[str, Any], data: bytes, image: bytes, texture: dict[str, Any], mime: str) -> bytes:
    """Give the packed mesh a base-colour image, and return the longer buffer."""
    data += b"\0" * (-len(data) % 4)
    header["bufferViews"].append({"buffer": 0, "byteOffset": len(data), "byteLength": len(image)})
    header["images"] = [{"bufferView": 1, "mimeType": mime}]
    header["textures"] = [texture]
    header["materials"] = [{"name": "skin", "pbrMetallicRoughness": {"baseColorTexture": {"index": 0}}}]
    header["meshes"][0]["primitives"][0]["material"] = 0
    header["buffers"][0]["byteLength"] = len(data) + len(image)
    return data + image


@pytest.mark.parametrize("suffix", [".glb", ".gltf"])
def test_draco_opens_as_the_mesh_that_was_packed(suffix: str, tmp_path: Path) -> None:
    """Positions, normals, texture coordinates and triangles come back within the quantisation."""
    header, data, mesh = _packed_cylinder()
    rest = load_rest_shape(_write(tmp_path / f"packed{suffix}", header, data))
    assert rest.solid
    assert len(rest.faces) == len(mesh.faces)
    expected = mesh.vertices[np.lexsort(np.round(mesh.vertices, 3).T)]
    np.testing.assert_allclose(_file_points(rest), expected, atol=1e-4)
    (part,) = rest.render_parts
    original = part.vertices @ rest.unit_to_file[:3, :3].T + rest.unit_to_file[:3, 3]
    index = np.linalg.norm(original[:, None] - mesh.vertices, axis=2).argmin(axis=1)
    normals = part.normals @ rest.unit_to_file[:3, :3].T
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    assert np.einsum("vi,vi->v", normals, mesh.vertex_normals[index]).min() > 0.99
    assert rest.report.notes == ()


def test_skin_packed_with_draco_follows_its_joints(tmp_path: Path) -> None:
    """Joints and weights are found by their ids, whatever width the decoder gives them."""
    header, data, mesh = _packed_cylinder(with_skin=True)
    header["nodes"] = [{"mesh": 0, "skin": 0}, {}, {"translation": [0.0, 0.0, 2.0]}]
    header["scenes"] = [{"nodes": [0, 1, 2]}]
    header["skins"] = [{"joints": [1, 2]}]
    rest = load_rest_shape(_write(tmp_path / "packed.glb", header, data))
    moved = mesh.vertices + np.where(mesh.vertices[:, 2:] > 0, (0.0, 0.0, 2.0), 0.0)
    np.testing.assert_allclose(_file_points(rest), moved[np.lexsort(np.round(moved, 3).T)], atol=1e-4)


def test_two_primitives_may_share_one_packed_mesh(tmp_path: Path) -> None:
    """Primitives over the same compressed data are both opened."""
    header, data, mesh = _packed_cylinder()
    (primitive,) = header["meshes"][0]["primitives"]
    header["meshes"].append({"primitives": [json.loads(json.dumps(primitive))]})
    header["nodes"] = [{"mesh": 0}, {"mesh": 1, "translation": [5.0, 0.0, 0.0]}]
    header["scenes"] = [{"nodes": [0, 1]}]
    rest = load_rest_shape(_write(tmp_path / "packed.glb", header, data))
    assert rest.report.components == 2
    assert len(rest.faces) == 2 * len(mesh.faces)


def test_missing_decoder_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the decoder the file is refused with its name and the command that helps."""
    header, data, _ = _packed_cylinder()
    path = _write(tmp_path / "packed.glb", header, data)
    monkeypatch.setitem(sys.modules, "DracoPy", None)
    with pytest.raises(MeshError, match=r"packed\.glb.*pip install 'DracoPy"):
        load_rest_shape(path)


def test_plain_copy_beside_draco_needs_no_decoder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that holds its geometry plainly too opens where the decoder is missing."""
    path = tmp_path / "both.glb"
    trimesh.creation.box().export(path)
    raw = path.read_bytes()
    (size,) = struct.unpack_from("<I", raw, 12)
    header = json.loads(raw[20 : 20 + size])
    header["extensionsUsed"] = [_DRACO]
    packed = {"bufferView": 0, "attributes": {"POSITION": 0}}
    header["meshes"][0]["primitives"][0]["extensions"] = {_DRACO: packed}
    monkeypatch.setitem(sys.modules, "DracoPy", None)
    assert load_rest_shape(_write(path, header, raw[28 + size :])).solid


@pytest.mark.parametrize("damage", ["cut", "noise", "cloud"])
def test_damaged_draco_is_refused(damage: str, tmp_path: Path) -> None:
    """Compressed data that are cut off, foreign or without triangles are refused by file name."""
    header, data, mesh = _packed_cylinder()
    if damage == "cloud":
        data = DracoPy.encode(mesh.vertices.astype(np.float32))
    else:
        data = data[: len(data) // 2] if damage == "cut" else b"noise" * 40
    header["bufferViews"][0]["byteLength"] = header["buffers"][0]["byteLength"] = len(data)
    with pytest.raises(MeshError, match=r"packed\.glb.*Draco"):
        load_rest_shape(_write(tmp_path / "packed.glb", header, data))


def test_webp_texture_is_read(tmp_path: Path) -> None:
    """A texture stored as WebP reaches the render part."""
    header, data, _ = _packed_cylinder()
    stream = io.BytesIO()
    Image.new("RGB", (4, 3), (10, 200, 30)).save(stream, "WEBP", lossless=True)
    texture = {"extensions": {"EXT_texture_webp": {"source": 0}}}
    data = _with_image(header, data, stream.getvalue(), texture, "image/webp")
    header["extensionsRequired"].append("EXT_texture_webp")
    rest = load_rest_shape(_write(tmp_path / "packed.glb", header, data))
    (part,) = rest.render_parts
    assert part.texture is not None
    np.testing.assert_array_equal(part.texture[0, 0, :3], (10, 200, 30))
    assert rest.report.notes == ()


@pytest.mark.parametrize("mime", ["image/ktx2", "image/png", "cut"])
def test_unreadable_texture_is_noted(mime: str, tmp_path: Path) -> None:
    """A texture that cannot be read is left out with a note, and the geometry opens."""
    header, data, _ = _packed_cylinder()
    image, texture = b"\xabKTX 20\xbb\r\n\x1a\n" + bytes(64), {"source": 0}
    if mime == "image/ktx2":
        texture = {"extensions": {"KHR_texture_basisu": {"source": 0}}}
        header["extensionsRequired"].append("KHR_texture_basisu")
    elif mime == "cut":
        stream = io.BytesIO()
        Image.fromarray(np.random.default_rng(0).integers(0, 255, (32, 32, 3), np.uint8)).save(stream, "PNG")
        image = stream.getvalue()[:500]
    data = _with_image(header, data, image, texture, "image/png" if mime == "cut" else mime)
    rest = load_rest_shape(_write(tmp_path / "packed.glb", header, data))
    assert rest.solid
    assert rest.report.textures == 0
    (note,) = rest.report.notes
    assert "image" in note
    assert "left out" in note
