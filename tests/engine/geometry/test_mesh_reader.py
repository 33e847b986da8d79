"""Reading mesh files: formats, up axes, materials, scenes and refusals."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import numpy as np
import pytest
import trimesh
from PIL import Image

from engine.geometry.mesh_reader import FORMATS, MeshError, UpAxis, load_rest_shape

_SEAM_OBJ = """mtllib look.mtl
v 0 0 0
v 1 0 0
v 1 1 0
v 0 1 0
vt 0 0
vt 1 0
vt 1 1
vt 0 1
vt 0.5 0.5
usemtl skin
f 1/1 2/2 3/3
f 1/5 3/3 4/4
"""


def _write_seam(folder: Path, *, image: bool = True) -> Path:
    (folder / "look.mtl").write_text("newmtl skin\nKd 0.5 0.5 0.5\nmap_Kd paint.png\n")
    if image:
        pixels = np.zeros((2, 3, 3), np.uint8)
        pixels[0] = (255, 0, 0)
        Image.fromarray(pixels).save(folder / "paint.png")
    path = folder / "seam.obj"
    path.write_text(_SEAM_OBJ)
    return path


def _two_materials() -> trimesh.Scene:
    scene = trimesh.Scene()
    for k, color in enumerate(((255, 0, 0, 255), (0, 0, 255, 255))):
        box = trimesh.creation.box(extents=(1, 1, 1))
        box.apply_translation((k, 0, 0))
        # The shared wall goes, so that the two halves are one closed surface over two materials.
        keep = ~np.all(np.abs(box.vertices[box.faces][:, :, 0] - 0.5) < 1e-9, axis=1)
        box.update_faces(keep)
        box.visual = trimesh.visual.TextureVisuals(
            material=trimesh.visual.material.PBRMaterial(
                name=f"m{k}", baseColorFactor=color, metallicFactor=0.25, roughnessFactor=0.75
            )
        )
        scene.add_geometry(box)
    return scene


@pytest.mark.parametrize("extension", sorted(FORMATS))
def test_every_format_gives_the_same_solid(extension: str, tmp_path: Path) -> None:
    """A capsule written in each format is read as one closed piece of the same shape."""
    capsule = trimesh.creation.capsule(height=2.0, radius=0.5, count=[12, 12])
    if FORMATS[extension] is UpAxis.Y:
        capsule.apply_transform(trimesh.transformations.rotation_matrix(-np.pi / 2, (1, 0, 0)))
    path = tmp_path / f"capsule{extension}"
    if extension == ".gltf":
        for name, data in trimesh.exchange.gltf.export_gltf(trimesh.Scene(capsule)).items():
            (tmp_path / name).write_bytes(data)
        (tmp_path / "model.gltf").rename(path)
    else:
        capsule.export(path)
    rest = load_rest_shape(path)
    assert rest.solid
    assert rest.report.components == 1
    assert len(rest.vertices) == len(capsule.vertices)
    np.testing.assert_allclose(np.ptp(rest.vertices, axis=0), (2 / 3, 2 / 3, 2.0), atol=1e-5)
    assert rest.report.format == extension[1:]
    assert extension[1:].upper() in rest.report.up_reason


def test_up_axis_can_be_chosen(tmp_path: Path) -> None:
    """The caller's axis wins over the format's habit, and the report says so."""
    path = tmp_path / "box.stl"
    trimesh.creation.box(extents=(1, 2, 3)).export(path)
    rest = load_rest_shape(path, up=UpAxis.Y)
    np.testing.assert_allclose(np.ptp(rest.vertices, axis=0), (2 / 3, 2.0, 4 / 3), atol=1e-6)
    assert rest.report.up is UpAxis.Y
    assert "chosen" in rest.report.up_reason
    json.dumps(rest.report.as_dict())


def test_texture_seam_welds_and_texture_survives(tmp_path: Path) -> None:
    """Vertices split by texture coordinates weld for physics and stay split for drawing."""
    rest = load_rest_shape(_write_seam(tmp_path))
    (part,) = rest.render_parts
    assert len(rest.vertices) == 4
    assert len(part.vertices) == 5
    assert part.uv is not None
    assert part.texture is not None
    assert part.texture.shape == (2, 3, 3)
    np.testing.assert_array_equal(part.texture[0, 0], (255, 0, 0))
    assert part.base_color == pytest.approx((0.5, 0.5, 0.5, 1.0), abs=0.01)
    corner = np.flatnonzero((part.uv == (0.0, 1.0)).all(axis=1))
    file_point = rest.unit_to_file @ (*rest.vertices[part.sim_index[corner[0]]], 1.0)
    np.testing.assert_allclose(file_point[:3], (0, 1, 0), atol=1e-6)
    assert rest.report.textures == 1
    assert rest.report.notes == ()


def test_missing_image_is_noted(tmp_path: Path) -> None:
    """An OBJ whose image is missing opens without it, and the report names the image."""
    rest = load_rest_shape(_write_seam(tmp_path, image=False))
    assert rest.render_parts[0].texture is None
    assert any("paint.png" in note for note in rest.report.notes)


def test_two_materials_are_driven_by_one_mesh(tmp_path: Path) -> None:
    """Two materials give two render parts over one closed simulation mesh."""
    path = tmp_path / "pair.glb"
    _two_materials().export(path)
    rest = load_rest_shape(path)
    assert len(rest.render_parts) == 2
    assert len(rest.vertices) == 12
    assert rest.solid
    assert rest.report.components == 1
    assert rest.report.materials == ("m0", "m1")
    red, blue = rest.render_parts
    assert red.base_color == pytest.approx((1.0, 0.0, 0.0, 1.0))
    assert blue.base_color == pytest.approx((0.0, 0.0, 1.0, 1.0))
    assert (red.metallic, red.roughness) == (0.25, 0.75)
    assert np.intersect1d(red.sim_index, blue.sim_index).size == 4


def test_vertex_colors_survive(tmp_path: Path) -> None:
    """Colours of vertices arrive unchanged from PLY."""
    box = trimesh.creation.box()
    colors = np.random.default_rng(1).integers(0, 256, (8, 4), np.uint8)
    colors[:, 3] = 255
    box.visual = trimesh.visual.ColorVisuals(box, vertex_colors=colors)
    path = tmp_path / "colors.ply"
    box.export(path)
    part = load_rest_shape(path).render_parts[0]
    assert part.colors is not None
    np.testing.assert_array_equal(part.colors, colors[part.sim_index])


def test_scene_transforms_are_baked_and_mirrors_keep_facing_outward(tmp_path: Path) -> None:
    """Instances stand where the scene puts them; a mirrored one still faces outward."""
    scene = trimesh.Scene()
    box = trimesh.creation.box(extents=(1, 1, 1))
    scene.add_geometry(box, geom_name="box")
    mirror = np.diag((-1.0, 2.0, 1.0, 1.0))
    mirror[0, 3] = 4.0
    scene.add_geometry(box, geom_name="other", transform=mirror)
    path = tmp_path / "mirror.glb"
    scene.export(path)
    rest = load_rest_shape(path)
    assert rest.report.components == 2
    assert rest.report.extents == pytest.approx((5.0, 2.0, 1.0))
    assert rest.report.flipped_faces == 0
    for part in rest.render_parts:
        a, b, c = (part.vertices[part.faces[:, k]] for k in range(3))
        cross = np.cross(b - a, c - a)
        assert np.einsum("md,md->", a - part.vertices.mean(axis=0), cross) > 0
        assert (np.einsum("md,mkd->mk", cross, part.normals[part.faces]) > 0).all()


def _skinned(folder: Path) -> Path:
    """Write a strip of two quads whose upper half follows a joint that is turned and moved."""
    points = np.array([(x, y, 0) for y in range(3) for x in range(2)], "<f4")
    faces = np.array([(0, 1, 3), (0, 3, 2), (2, 3, 5), (2, 5, 4)], "<u2")
    joints = np.repeat(np.array([(0, 0, 0, 0), (0, 0, 0, 0), (1, 0, 0, 0)], "u1"), 2, axis=0)
    weights = np.tile(np.array((255, 0, 0, 0), "u1"), (6, 1))
    inverse = np.tile(np.eye(4, dtype="<f4").reshape(-1), (2, 1))
    inverse[1, 13] = -2.0
    blocks = [points, faces, joints, weights, inverse]
    views, data = [], b""
    for block in blocks:
        views.append({"buffer": 0, "byteOffset": len(data), "byteLength": block.nbytes})
        data += block.tobytes() + b"\0" * (-block.nbytes % 4)
    kinds = [
        (5126, "VEC3", 6),
        (5123, "SCALAR", 12),
        (5121, "VEC4", 6),
        (5121, "VEC4", 6),
        (5126, "MAT4", 2),
    ]
    accessors = [
        {"bufferView": k, "componentType": code, "type": kind, "count": count}
        for k, (code, kind, count) in enumerate(kinds)
    ]
    accessors[3]["normalized"] = True
    attributes = {"POSITION": 0, "JOINTS_0": 2, "WEIGHTS_0": 3}
    half = float(np.sqrt(0.5))
    header = {
        "asset": {"version": "2.0"},
        "scenes": [{"nodes": [0, 1]}],
        "nodes": [
            {"mesh": 0, "skin": 0, "translation": [100.0, 0.0, 0.0]},
            {"children": [2]},
            {"translation": [5.0, 2.0, 0.0], "rotation": [0.0, 0.0, half, half]},
        ],
        "skins": [{"joints": [1, 2], "inverseBindMatrices": 4}],
        "meshes": [{"primitives": [{"attributes": attributes, "indices": 1}]}],
        "accessors": accessors,
        "bufferViews": views,
        "buffers": [{"byteLength": len(data), "uri": "skin.bin"}],
    }
    (folder / "skin.bin").write_bytes(data)
    path = folder / "skin.gltf"
    path.write_text(json.dumps(header))
    return path


def test_skinned_mesh_stands_in_the_pose_of_its_joints(tmp_path: Path) -> None:
    """A skinned mesh follows its joints at rest and not the node that it hangs on."""
    rest = load_rest_shape(_skinned(tmp_path))
    found = rest.vertices @ rest.unit_to_file[:3, :3].T + rest.unit_to_file[:3, 3]
    corners = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0), (5, 2, 0), (5, 3, 0)]
    order = np.lexsort(np.round(found, 6).T)
    expected = np.array(corners, float)
    np.testing.assert_allclose(found[order], expected[np.lexsort(expected.T)], atol=1e-6)


def test_missing_buffer_is_named(tmp_path: Path) -> None:
    """A glTF whose buffer file is missing is refused with the name of that file."""
    path = _skinned(tmp_path)
    (tmp_path / "skin.bin").unlink()
    with pytest.raises(MeshError, match=r"skin\.bin"):
        load_rest_shape(path)


def test_names_in_other_scripts_and_spaces_open(tmp_path: Path) -> None:
    """A path with accents, other scripts and spaces opens, in folder and file name."""
    folder = tmp_path / "é 模型"
    folder.mkdir()
    rest = load_rest_shape(_write_seam(folder).rename(folder / "жук ñ.obj"))
    assert rest.name == "жук ñ"
    assert rest.render_parts[0].texture is not None
    glb = folder / "куб.glb"
    trimesh.creation.box().export(glb)
    assert load_rest_shape(glb).solid


def test_extension_in_capitals_opens(tmp_path: Path) -> None:
    """The extension may be written in capitals."""
    path = tmp_path / "BOX.STL"
    path.write_bytes(trimesh.creation.box().export(file_type="stl"))
    assert load_rest_shape(path).solid


def test_reading_twice_gives_the_same_bits(tmp_path: Path) -> None:
    """Reading a file with several materials twice gives the same arrays in the same order."""
    path = tmp_path / "pair.glb"
    _two_materials().export(path)
    one, two = load_rest_shape(path), load_rest_shape(path)
    assert one.vertices.tobytes() == two.vertices.tobytes()
    for left, right in zip(one.render_parts, two.render_parts, strict=True):
        assert left.sim_index.tobytes() == right.sim_index.tobytes()
    assert one.report == two.report


def _glb(header: dict[str, object]) -> bytes:
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 4)
    return struct.pack("<4sIIII", b"glTF", 2, 20 + len(text), len(text), 0x4E4F534A) + text


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("mesh.fbx", b"x", "unknown extension"),
        ("mesh", b"x", "no extension"),
        ("empty.obj", b"", "empty"),
        ("words.obj", b"this is not a mesh\n", "triangles|could not be read"),
        ("words.ply", b"this is not a mesh\n", "could not be read"),
        ("words.stl", b"this is not a mesh\n", "triangles|could not be read"),
        ("words.off", b"this is not a mesh\n", "could not be read"),
        ("words.gltf", b"this is not a mesh\n", "no readable glTF"),
        ("words.glb", b"this is not a mesh, but it is long\n", "does not begin like a GLB"),
        ("list.gltf", b"[1, 2]", "not glTF"),
        ("bare.gltf", b'{"asset": {"version": "2.0"}}', "no triangles"),
        ("broken.gltf", b'{"asset": {"version": "2.0"}, "meshes": [{}]}', "rules of glTF"),
        ("points.obj", b"v 0 0 0\nv 1 0 0\nv 0 1 0\n", "triangles|could not be read"),
        ("far.obj", b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 9\n", "not there|could not be read"),
        ("nan.obj", b"v 0 0 0\nv 1 0 nan\nv 0 1 0\nf 1 2 3\n", "not finite"),
        ("dot.obj", b"v 1 1 1\nv 1 1 1\nv 1 1 1\nf 1 2 3\n", "no size"),
    ],
)
def test_unusable_files_are_refused(name: str, data: bytes, said: str, tmp_path: Path) -> None:
    """Each unusable file is refused with what was wrong, and the message names the file."""
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(MeshError, match=said) as caught:
        load_rest_shape(path)
    assert name in str(caught.value)


def test_missing_file_and_folder_are_refused(tmp_path: Path) -> None:
    """A path that does not exist and a folder are refused as such."""
    with pytest.raises(MeshError, match="does not exist"):
        load_rest_shape(tmp_path / "nothing.obj")
    folder = tmp_path / "folder.obj"
    folder.mkdir()
    with pytest.raises(MeshError, match="folder"):
        load_rest_shape(folder)


def test_point_cloud_is_refused(tmp_path: Path) -> None:
    """A PLY of points alone is refused with the advice to build a surface."""
    path = tmp_path / "cloud.ply"
    trimesh.PointCloud(np.random.default_rng(0).random((20, 3))).export(path)
    with pytest.raises(MeshError, match="points without triangles"):
        load_rest_shape(path)


@pytest.mark.parametrize("extension", [".ply", ".stl", ".glb", ".off"])
def test_truncated_files_are_refused(extension: str, tmp_path: Path) -> None:
    """A file cut in the middle is refused instead of opened in part."""
    path = tmp_path / f"cut{extension}"
    trimesh.creation.icosphere(subdivisions=2).export(path)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(MeshError):
        load_rest_shape(path)


def _text(mesh: trimesh.Trimesh, kind: str) -> bytes:
    data = mesh.export(file_type=kind, **({"encoding": "ascii"} if kind == "ply" else {}))
    return data if isinstance(data, bytes) else data.encode()


@pytest.mark.parametrize("kind", ["ply", "off", "stl", "stl_ascii"])
@pytest.mark.parametrize("share", [0.2, 0.5, 0.9, 0.99])
def test_files_that_state_their_length_are_not_opened_in_part(kind: str, share: float, tmp_path: Path) -> None:
    """A file cut anywhere is called cut off, although its beginning could be read as a smaller mesh."""
    data = _text(trimesh.creation.icosphere(subdivisions=2), kind)
    path = tmp_path / f"cut.{kind[:3]}"
    path.write_bytes(data)
    assert len(load_rest_shape(path).faces) == 320
    path.write_bytes(data[: int(share * len(data))])
    with pytest.raises(MeshError, match=r"cut\.\w+ is cut off"):
        load_rest_shape(path)


@pytest.mark.parametrize("header", [b"solid by a program", b"made by a program"])
def test_bytes_after_the_last_triangle_of_an_stl_are_noted(header: bytes, tmp_path: Path) -> None:
    """What some programs append to a binary STL is left out with a note, whatever word the file begins with."""
    data = _text(trimesh.creation.icosphere(subdivisions=2), "stl")
    path = tmp_path / "tail.stl"
    path.write_bytes(header.ljust(80) + data[80:] + b"left over")
    rest = load_rest_shape(path)
    assert len(rest.faces) == 320
    assert "9 bytes after the last triangle were left out." in rest.report.notes


@pytest.mark.parametrize(
    "text",
    [
        "OFF 3 1 0\n0 0 0 # corner\n1 0 0\n\n0 1 0\n3 0 1 2\n",
        "# made by hand\nOFF\n# counts\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2",
    ],
)
def test_comments_and_empty_lines_of_an_off_do_not_count(text: str, tmp_path: Path) -> None:
    """A whole OFF file opens whether its counts stand beside the word or below it, between comments and empty lines."""
    path = tmp_path / "hand.off"
    path.write_text(text)
    assert len(load_rest_shape(path).faces) == 1


@pytest.mark.parametrize(
    "extension",
    ["EXT_meshopt_compression", "KHR_meshopt_compression"],
)
@pytest.mark.parametrize("suffix", [".glb", ".gltf"])
def test_compressed_gltf_is_refused(extension: str, suffix: str, tmp_path: Path) -> None:
    """Required encodings that cannot be decoded are refused by name, before anything is read."""
    header = {"asset": {"version": "2.0"}, "extensionsRequired": [extension]}
    path = tmp_path / f"packed{suffix}"
    path.write_bytes(_glb(header) if suffix == ".glb" else json.dumps(header).encode())
    with pytest.raises(MeshError, match=f"{extension}.*[Ee]xport"):
        load_rest_shape(path)
