"""Tests of the importer of animated glTF models: exact answers on tiny files, VTK's answers on real ones."""

from __future__ import annotations

import base64
import json
import os
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from engine.datasets.imported.files import ImportRefused, motions_of
from engine.datasets.imported.gltf_animation import AnimatedModel
from engine.datasets.imported.gltf_curves import Curve, evaluate

_KINDS = {"f": 5126, "B": 5121, "H": 5123, "I": 5125}
_TYPES = {1: "SCALAR", 2: "VEC2", 3: "VEC3", 4: "VEC4", 16: "MAT4"}


class Glb:
    """A glTF file put together array by array."""

    def __init__(self) -> None:
        self.header: dict[str, Any] = {
            "asset": {"version": "2.0"},
            "accessors": [],
            "bufferViews": [],
            "buffers": [{"byteLength": 0}],
            "scenes": [{"nodes": [0]}],
            "scene": 0,
        }
        self.binary = b""

    def view(self, array: np.ndarray) -> int:
        """Store bytes and return the number of their buffer view."""
        self.binary += b"\0" * (-len(self.binary) % 4)
        self.header["bufferViews"].append({"buffer": 0, "byteOffset": len(self.binary), "byteLength": array.nbytes})
        self.binary += array.tobytes()
        return len(self.header["bufferViews"]) - 1

    def array(self, values: Any, kind: str = "f", **more: Any) -> int:
        """Store an array and return the number of its accessor."""
        rows = np.asarray(values, kind)
        rows = rows.reshape(len(rows), -1)
        accessor = {"componentType": _KINDS[kind], "count": len(rows), "type": _TYPES[rows.shape[1]], **more}
        if "sparse" not in more:
            accessor["bufferView"] = self.view(rows)
        self.header["accessors"].append(accessor)
        return len(self.header["accessors"]) - 1

    def write(self, path: Path) -> Path:
        """Write a .glb, or a .gltf with its buffer inside."""
        self.header["buffers"][0]["byteLength"] = len(self.binary)
        if path.suffix == ".gltf":
            uri = "data:application/octet-stream;base64," + base64.b64encode(self.binary).decode()
            self.header["buffers"][0]["uri"] = uri
            path.write_text(json.dumps(self.header))
            return path
        text = json.dumps(self.header).encode()
        text += b" " * (-len(text) % 4)
        body = self.binary + b"\0" * (-len(self.binary) % 4)
        head = struct.pack("<4sIIII", b"glTF", 2, 28 + len(text) + len(body), len(text), 0x4E4F534A)
        path.write_bytes(head + text + struct.pack("<II", len(body), 0x004E4942) + body)
        return path


# A strip along X from 0 to 2 in four pieces; its left half hangs on the first bone, the right one on the second.
_ROW = np.linspace(0.0, 2.0, 5)
STRIP = np.array([[x, y, 0.0] for x in _ROW for y in (0.0, 0.5)])
STRIP_FACES = np.array([[[2 * k, 2 * k + 2, 2 * k + 1], [2 * k + 1, 2 * k + 2, 2 * k + 3]] for k in range(4)]).reshape(
    -1, 3
)


def strip(turn_degrees: float = 90.0, *, clip: bool = True) -> Glb:
    """Return a strip on two bones, the second of which sits at x = 1 and turns about the file's Z in one second."""
    glb = Glb()
    second = (STRIP[:, 0] >= 1.0).astype(int)
    inverse = np.tile(np.eye(4), (2, 1, 1))
    inverse[1, 0, 3] = -1.0
    glb.header["meshes"] = [
        {
            "primitives": [
                {
                    "attributes": {
                        "POSITION": glb.array(STRIP, min=[0, 0, 0], max=[2, 0.5, 0]),
                        "JOINTS_0": glb.array(np.stack((second, *[0 * second] * 3), 1), "B"),
                        "WEIGHTS_0": glb.array(np.tile([1.0, 0, 0, 0], (10, 1))),
                    },
                    "indices": glb.array(STRIP_FACES.reshape(-1, 1), "H"),
                }
            ]
        }
    ]
    glb.header["nodes"] = [
        {"children": [1, 3]},
        {"children": [2], "name": "lower"},
        {"translation": [1, 0, 0], "name": "upper"},
        {"mesh": 0, "skin": 0},
    ]
    glb.header["skins"] = [{"joints": [1, 2], "inverseBindMatrices": glb.array(inverse.transpose(0, 2, 1))}]
    if clip:
        turn = Rotation.from_euler("z", [[0.0], [turn_degrees]], degrees=True).as_quat()
        glb.header["animations"] = [animation(glb, 2, "rotation", [0.0, 1.0], turn)]
    return glb


def animation(glb: Glb, node: int, path: str, times: list[float], values: Any, how: str = "LINEAR") -> dict[str, Any]:
    """Return an animation of one channel."""
    sampler = {"input": glb.array(np.array(times)[:, None]), "output": glb.array(values), "interpolation": how}
    return {"channels": [{"sampler": 0, "target": {"node": node, "path": path}}], "samplers": [sampler]}


def imported(path: Path, **options: Any) -> Any:
    """Return the one motion of a file."""
    (motion,) = motions_of(path, frames=8, rng=np.random.default_rng(0), **options)
    return motion


def test_bent_strip_has_exact_positions(tmp_path: Path) -> None:
    """A strip whose second bone turns by 90 degrees stands where the turn about x = 1 puts it, with Z up."""
    model = AnimatedModel(strip().write(tmp_path / "strip.glb"))
    (clip,) = model.scene.clips
    half, end = model.posed(clip, np.array([0.5, 1.0]))
    for result, angle in ((half, np.pi / 4), (end, np.pi / 2)):
        x, y = STRIP[:, 0] - 1, STRIP[:, 1]
        far = STRIP[:, 0] >= 1.0
        expected = np.stack(
            (
                np.where(far, 1 + np.cos(angle) * x - np.sin(angle) * y, STRIP[:, 0]),
                np.zeros(10),
                np.where(far, np.sin(angle) * x + np.cos(angle) * y, STRIP[:, 1]),
            ),
            1,
        )
        np.testing.assert_allclose(result, expected, atol=1e-6)


def test_motion_of_the_strip_starts_at_rest_and_knows_its_turns(tmp_path: Path) -> None:
    """The motion begins with the bind pose, its rotations are those of the bones, and its rigid parts are two."""
    motion = imported(strip().write(tmp_path / "pack__Strip.glb"))
    assert motion.family == "imported/pack" and motion.name == "Strip" and motion.kind == "imported"
    np.testing.assert_allclose(motion.positions[0], np.stack((STRIP[:, 0], 0 * STRIP[:, 0], STRIP[:, 1]), 1), atol=1e-6)
    np.testing.assert_array_equal(motion.part, (STRIP[:, 0] >= 1).astype(int))
    # The file's turn about +Z is one about -Y once Z is up.
    angle = 2 * np.arctan2(-motion.rotations[:, -1, 2], motion.rotations[:, -1, 0])
    across = motion.positions[:, -1] - motion.positions[:, -2]
    np.testing.assert_allclose(np.arctan2(-across[:, 0], across[:, 2]), angle, atol=1e-5)
    np.testing.assert_allclose(np.abs(motion.rotations[:, 0, 0]), 1.0, atol=1e-6)
    assert angle.max() > np.deg2rad(80)


def test_same_seed_gives_the_same_motion(tmp_path: Path) -> None:
    """Two imports with one seed agree bit for bit."""
    path = strip().write(tmp_path / "strip.glb")
    one, two = imported(path), imported(path)
    np.testing.assert_array_equal(one.positions, two.positions)
    np.testing.assert_array_equal(one.rotations, two.rotations)


def test_morph_target_with_a_sparse_accessor(tmp_path: Path) -> None:
    """A morph target that stores one vertex sparsely moves that vertex by its weight and no other."""
    glb = Glb()
    rows, values = glb.view(np.array([3], "<u2")), glb.view(np.array([[0, 2, 0]], "<f4"))
    sparse = {
        "count": 1,
        "indices": {"bufferView": rows, "componentType": 5123},
        "values": {"bufferView": values},
    }
    target = glb.array(np.zeros((4, 3)), sparse=sparse)
    primitive = {
        "attributes": {"POSITION": glb.array([[0, 0, 0], [1, 0, 0], [0, 0, 1], [1, 0, 1]])},
        "indices": glb.array([[0], [1], [2], [2], [1], [3]], "I"),
        "targets": [{"POSITION": target}],
    }
    glb.header["meshes"] = [{"primitives": [primitive], "weights": [0.0]}]
    glb.header["nodes"] = [{"mesh": 0}]
    glb.header["animations"] = [animation(glb, 0, "weights", [0.0, 2.0], [[0.0], [1.0]])]
    model = AnimatedModel(glb.write(tmp_path / "morph.gltf"))
    moved = model.posed(model.scene.clips[0], np.array([1.5]))[0]
    np.testing.assert_allclose(moved, [[0, 0, 0], [1, 0, 0], [0, -1, 0], [1, -1, 1.5]], atol=1e-6)
    assert imported(tmp_path / "morph.gltf").positions[1:, 3, 2].max() > 1.5


def test_curves_are_interpolated_as_appendix_c_says() -> None:
    """A cubic spline through a parabola's values and slopes is the parabola; steps hold; turns take the short way."""
    keys = np.array([0.0, 1.0, 3.0])
    triples = np.array([[[2 * t], [t**2], [2 * t]] for t in keys]).reshape(-1, 1)
    times = np.array([-1.0, 0.25, 1.0, 2.5, 9.0])
    spline = evaluate(Curve(0, "weights", keys, triples, "CUBICSPLINE"), times)
    np.testing.assert_allclose(spline[:, 0], np.clip(times, 0, 3) ** 2, atol=1e-12)
    step = evaluate(Curve(0, "weights", keys, np.array([[1.0], [2.0], [3.0]]), "STEP"), times)
    np.testing.assert_array_equal(step[:, 0], [1, 1, 2, 2, 3])
    ends = Rotation.from_euler("y", [[0.0], [120.0]], degrees=True).as_quat() * [[1.0], [-1.0]]
    half = evaluate(Curve(0, "rotation", np.array([0.0, 1.0]), ends, "LINEAR"), np.array([0.25]))
    np.testing.assert_allclose(Rotation.from_quat(half[0]).as_rotvec(degrees=True), [0, 30, 0], atol=1e-9)


def test_rigid_nodes_move_without_a_skin(tmp_path: Path) -> None:
    """Two meshes under nodes, one of which slides, give two rigid parts at exact places."""
    glb = Glb()
    square = glb.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]])
    indices = glb.array([[0], [1], [2], [0], [2], [3]], "H")
    glb.header["meshes"] = [{"primitives": [{"attributes": {"POSITION": square}, "indices": indices}]}]
    glb.header["nodes"] = [{"mesh": 0, "children": [1]}, {"mesh": 0, "translation": [3, 0, 0]}]
    glb.header["animations"] = [animation(glb, 1, "translation", [0.0, 1.0], [[3, 0, 0], [5, 0, 0]])]
    motion = imported(glb.write(tmp_path / "slide.glb"))
    np.testing.assert_array_equal(motion.part, [0, 0, 0, 0, 1, 1, 1, 1])
    assert motion.component.max() == 1
    np.testing.assert_allclose(motion.positions[:, :4], np.tile(motion.positions[0, :4], (len(motion.positions), 1, 1)))
    np.testing.assert_allclose(motion.positions[:, 4:, 0].max(), 6.0, atol=1e-6)


def test_vertices_of_other_weights_are_not_joined(tmp_path: Path) -> None:
    """Two triangles that touch but hang on different bones come apart; those of one bone share their vertices."""
    for joint, count in ((1, 6), (0, 4)):
        glb = Glb()
        points = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]]
        joints = [[0, 0, 0, 0]] * 3 + [[joint, 0, 0, 0]] * 3
        attributes = {
            "POSITION": glb.array(points),
            "JOINTS_0": glb.array(joints, "H"),
            "WEIGHTS_0": glb.array([[1, 0, 0, 0]] * 6),
        }
        glb.header["meshes"] = [{"primitives": [{"attributes": attributes}]}]
        glb.header["nodes"] = [{"children": [1, 2, 3]}, {}, {}, {"mesh": 0, "skin": 0}]
        glb.header["skins"] = [{"joints": [1, 2]}]
        glb.header["animations"] = [animation(glb, 2 - (joint == 0), "translation", [0, 1], [[0, 0, 0], [0, 0, 2]])]
        assert imported(glb.write(tmp_path / f"{joint}.glb")).positions.shape[1] == count


def test_joints_turn_at_random_where_there_is_no_clip(tmp_path: Path) -> None:
    """A skin without clips is refused, and gives turns within 60 degrees when random poses are asked for."""
    path = strip(clip=False).write(tmp_path / "still.glb")
    with pytest.raises(ImportRefused, match=r"still.glb.*no motion.*no clip"):
        imported(path)
    motion = imported(path, pose_at_random=True)
    turn = 2 * np.arccos(np.clip(np.abs(motion.rotations[..., 0]), 0, 1))
    assert len(motion.positions) > 3 and np.deg2rad(10) < turn.max() <= np.deg2rad(60.01)


def _without_weights(glb: Glb) -> None:
    del glb.header["meshes"][0]["primitives"][0]["attributes"]["WEIGHTS_0"]


def _half_weights(glb: Glb) -> None:
    attributes = glb.header["meshes"][0]["primitives"][0]["attributes"]
    attributes["WEIGHTS_0"] = glb.array(np.tile([0.5, 0, 0, 0], (10, 1)))


def _unknown_joint(glb: Glb) -> None:
    attributes = glb.header["meshes"][0]["primitives"][0]["attributes"]
    attributes["JOINTS_0"] = glb.array(np.tile([7, 0, 0, 0], (10, 1)), "B")


def _infinite(glb: Glb) -> None:
    attributes = glb.header["meshes"][0]["primitives"][0]["attributes"]
    attributes["POSITION"] = glb.array(np.where(STRIP == 2.0, np.inf, STRIP))


def _infinite_clip(glb: Glb) -> None:
    glb.header["animations"] = [animation(glb, 2, "translation", [0, 1], [[1, 0, 0], [np.nan, 0, 0]])]


def _no_mesh(glb: Glb) -> None:
    glb.header["nodes"][3] = {}


def _still(glb: Glb) -> None:
    glb.header["animations"] = [animation(glb, 2, "translation", [0, 1], [[1, 0, 0], [1, 0, 0]])]


def _vanishing(glb: Glb) -> None:
    glb.header["animations"] = [animation(glb, 2, "scale", [0, 1], [[1e-3] * 3, [1e-3] * 3])]


def _stray_node(glb: Glb) -> None:
    glb.header["animations"] = [animation(glb, 9, "translation", [0, 1], [[1, 0, 0], [1, 0, 0]])]


def _cut_off(glb: Glb) -> None:
    glb.header["accessors"][0]["count"] = 10_000


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (_without_weights, "no joints and weights"),
        (_half_weights, "do not sum to one"),
        (_unknown_joint, "joint 7.*2 joints"),
        (_infinite, "not finite"),
        (_infinite_clip, "clip 0 holds values that are not finite"),
        (_no_mesh, "holds no mesh"),
        (_still, "no motion"),
        (_vanishing, "out of sight"),
        (_stray_node, "node 9, which is not there"),
        (_cut_off, "ends outside its buffer"),
    ],
)
def test_broken_files_are_refused_with_a_reason(tmp_path: Path, damage: Any, reason: str) -> None:
    """Each fault is told by the file's name and words that say what it is."""
    glb = strip()
    damage(glb)
    with pytest.raises(ImportRefused, match=f"broken.glb is not imported: .*{reason}"):
        imported(glb.write(tmp_path / "broken.glb"))


def _models() -> Path:
    root = Path(__file__).resolve().parents[3]
    folder = Path(os.environ.get("NEUROK_DATA", root.parent / "shared" / "data")) / "cc0_animated"
    if not folder.is_dir():
        pytest.skip(f"the animated models are not in {folder}; NEUROK_DATA names the folder of data")
    return folder


@pytest.mark.parametrize(
    "name",
    [
        "animals__Stag",
        "cute_fish__Koi",
        "dinosaurs__Velociraptor",
        "platformer_game__Chest",
        "single_knight__KnightCharacter",
    ],
)
def test_skinned_models_agree_with_vtk(name: str) -> None:
    """Each vertex is where VTK's own reader puts it, within 1e-4 of the model's size."""
    from vtkmodules.util.numpy_support import vtk_to_numpy
    from vtkmodules.vtkIOGeometry import vtkGLTFReader

    path = _models() / f"{name}.glb"
    model = AnimatedModel(path)
    number = len(model.scene.clips) // 2
    clip = model.scene.clips[number]
    time = 0.37 * clip.span[1]
    reader = vtkGLTFReader()
    reader.SetFileName(str(path))
    reader.ApplyDeformationsToGeometryOn()
    reader.UpdateInformation()
    for k in range(reader.GetNumberOfAnimations()):
        (reader.EnableAnimation if k == number else reader.DisableAnimation)(k)
    reader.UpdateInformation()
    reader.UpdateTimeStep(time)

    def leaves(block: Any) -> list[np.ndarray]:
        if block is None:
            return []
        if not block.IsA("vtkMultiBlockDataSet"):
            return [vtk_to_numpy(block.GetPoints().GetData()).astype(float)]
        return [array for k in range(block.GetNumberOfBlocks()) for array in leaves(block.GetBlock(k))]

    theirs = np.concatenate(leaves(reader.GetOutput()))
    theirs = np.stack((theirs[:, 0], -theirs[:, 2], theirs[:, 1]), 1)
    mine = model.posed(clip, np.array([time]))[0]
    np.testing.assert_allclose(mine, theirs, atol=1e-4 * np.linalg.norm(np.ptp(theirs, axis=0)))


def test_flat_shaded_animal_is_welded() -> None:
    """A horse of 4,400 render vertices is one closed piece of 1,093 points, and all its clips give 24 frames."""
    (motion,) = motions_of(_models() / "animals__Horse.glb", frames=24, rng=np.random.default_rng(0))
    assert motion.positions.shape == (24, 1093, 3)
    assert motion.component.max() == 0 and motion.family == "imported/animals"
    edges = np.sort(np.concatenate((motion.faces[:, :2], motion.faces[:, 1:], motion.faces[:, ::2])), axis=1)
    counts = np.unique(edges, axis=0, return_counts=True)[1]
    assert np.mean(counts == 2) > 0.99
