"""Tests of motion capture on rigged meshes, against positions worked out by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from scipy.spatial.transform import Rotation

from engine.datasets.imported.bvh import bvh_poses, read_bvh
from engine.datasets.imported.files import ImportRefused, motions_of
from engine.datasets.imported.joint_names import counterparts
from engine.datasets.imported.rigs import Rig, hinged_poses
from engine.datasets.imported.skinned import Skinned, blend
from tests.engine.datasets.test_gltf_animation import strip

_HEAD = """HIERARCHY
ROOT lower
{{
  OFFSET 0 0 0
  CHANNELS 6 Xposition Yposition Zposition {0}
  JOINT upper
  {{
    OFFSET 1 0 0
    CHANNELS 3 {0}
    End Site
    {{
      OFFSET 1 0 0
    }}
  }}
}}
MOTION
Frames: {1}
Frame Time: 0.04
"""
_POINTS = np.array([[0.0, 0, 0], [0.5, 0, 0.2], [1.5, 0, 0], [2.0, 0, 0.2]])


def capture(path: Path, rows: list[list[float]], order: str = "Zrotation Yrotation Xrotation") -> Path:
    """Write a BVH file of two joints along X."""
    path.write_text(_HEAD.format(order, len(rows)) + "\n".join(" ".join(map(str, row)) for row in rows) + "\n")
    return path


def rig(names: tuple[str, str] = ("lower", "upper")) -> Rig:
    """Return four points, two on each of two bones along X that meet at x = 1."""
    weights = csr_matrix(np.array([[1.0, 0], [1, 0], [0, 1], [0, 1]]))
    skin = Skinned(_POINTS, np.array([[0, 1, 2], [1, 3, 2]]), weights, np.zeros((0, 4, 3)))
    heads = np.array([[0.0, 0, 0], [1, 0, 0]])
    return Rig(Path("rig"), skin, list(names), heads, np.array([-1, 0]), lambda maps: maps)


def posed(path: Path, **names: tuple[str, str]) -> np.ndarray:
    """Return the four points in each frame of a BVH file."""
    own = rig(**names)
    matrices = bvh_poses(own, read_bvh(path), np.random.default_rng(0))
    return blend(own.skin, matrices, np.zeros((len(matrices), 0)), np.arange(4))[0]


def test_two_joints_have_exact_positions(tmp_path: Path) -> None:
    """The upper bone turns about its head by its channel, carried by the lower one and the root's path."""
    rows = [[0.0] * 9, [0, 0, 0, 0, 0, 0, 90, 0, 0], [2, 1, 0, 90, 0, 0, 90, 0, 0]]
    still, bent, both = posed(capture(tmp_path / "two.bvh", rows))
    np.testing.assert_allclose(still, _POINTS, atol=1e-12)
    np.testing.assert_allclose(bent, [[0, 0, 0], [0.5, 0, 0.2], [1, 0.5, 0], [1, 1, 0.2]], atol=1e-12)
    # The lower bone points along Y now, its end is at (0, 1), and the upper one points back along -X.
    np.testing.assert_allclose(both, [[2, 1, 0], [2, 1.5, 0.2], [1.5, 2, 0], [1, 2, 0.2]], atol=1e-12)


@pytest.mark.parametrize("order", ["XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX"])
def test_channel_orders(tmp_path: Path, order: str) -> None:
    """Rotations act in the order of the channels, the first outermost, as intrinsic angles do."""
    angles = [20.0, -35.0, 50.0]
    words = " ".join(f"{axis}rotation" for axis in order)
    motion = read_bvh(capture(tmp_path / "order.bvh", [[0, 0, 0, 0, 0, 0, *angles]], words))
    np.testing.assert_allclose(motion.turns[0, 1], Rotation.from_euler(order, angles, degrees=True).as_matrix())
    assert motion.names == ["lower", "upper"] and motion.period == 0.04


def test_joints_are_found_by_name(tmp_path: Path) -> None:
    """Case, prefixes and punctuation do not matter; a skeleton of other names is refused."""
    path = capture(tmp_path / "two.bvh", [[0.0] * 9, [0, 0, 0, 0, 0, 0, 90, 0, 0]])
    np.testing.assert_array_equal(posed(path, names=("mixamorig:Lower", "UPPER")), posed(path))
    with pytest.raises(ImportRefused, match=r"two.bvh.*no counterparts in rig"):
        posed(path, names=("boom", "bucket"))


def test_people_are_matched_by_role() -> None:
    """Joints of a motion-capture skeleton find those of MakeHuman's rig, whatever their order."""
    rig_names = [
        "root",
        "spine05",
        "spine01",
        "neck01",
        "head",
        "clavicle.L",
        "upperarm01.L",
        "lowerarm01.L",
        "wrist.L",
    ]
    rig_names += ["upperleg01.L", "lowerleg01.L", "foot.L", "upperleg01.R"]
    cmu = ["Hips", "LHipJoint", "LeftHip", "LeftKnee", "LeftAnkle", "RightHip", "lowerback", "Chest", "Neck", "Head"]
    cmu += ["LeftCollar", "LeftShoulder", "LeftElbow", "LeftWrist", "lhand"]
    pairs = {rig_names[a]: cmu[b] for a, b in counterparts(rig_names, cmu).items()}
    assert pairs == {
        "root": "Hips",
        "spine05": "lowerback",
        "spine01": "Chest",
        "neck01": "Neck",
        "head": "Head",
        "clavicle.L": "LeftCollar",
        "upperarm01.L": "LeftShoulder",
        "lowerarm01.L": "LeftElbow",
        "wrist.L": "LeftWrist",
        "upperleg01.L": "LeftHip",
        "lowerleg01.L": "LeftKnee",
        "foot.L": "LeftAnkle",
        "upperleg01.R": "RightHip",
    }


def test_bvh_moves_a_gltf_rig(tmp_path: Path) -> None:
    """A skinned file without clips is moved by a BVH file whose joints have its joints' names."""
    model = strip(clip=False).write(tmp_path / "pack__strip.glb")
    path = capture(tmp_path / "two.bvh", [[0.0] * 9, [0, 0, 0, 0, 0, 0, 90, 0, 0], [0, 0, 0, 0, 0, 0, 45, 0, 0]])
    (motion,) = motions_of(path, frames=8, rng=np.random.default_rng(0), rig=model)
    # The farthest corner (2, 0.5) of the strip turns about the joint at x = 1.
    assert motion.family == "imported/pack" and motion.name == "two"
    corner = motion.positions[:, np.argmax(motion.positions[0].sum(1))]
    np.testing.assert_allclose(np.linalg.norm(corner - [1, 0, 0], axis=1), np.hypot(1, 0.5), atol=1e-6)
    turn = 2 * np.arccos(np.clip(np.abs(motion.rotations[:, -1, 0]), 0, 1))
    np.testing.assert_allclose(np.sort(turn), np.deg2rad([0, 45, 90]), atol=1e-5)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("JOINT a", "does not begin with HIERARCHY"),
        ("HIERARCHY ROOT a { OFFSET 0 0", "cut off"),
        ("HIERARCHY ROOT a { SPRING 3 } MOTION Frames: 1 Frame Time: 1 0", "'SPRING'"),
        ("HIERARCHY ROOT a { OFFSET 0 0 0 CHANNELS 1 Xrotation } MOTION Frames: 2 Frame Time: 1 0", "1 values for 2"),
        ("HIERARCHY ROOT a { OFFSET 0 0 0 CHANNELS 1 Xrotation } MOTION Frames: 1 Frame Time: 1 nan", "not finite"),
    ],
)
def test_broken_files_are_refused_with_a_reason(tmp_path: Path, text: str, reason: str) -> None:
    """Each fault is told by the file's name and words that say what it is."""
    (tmp_path / "broken.bvh").write_text(text)
    with pytest.raises(ImportRefused, match=f"broken.bvh is not imported: .*{reason}"):
        read_bvh(tmp_path / "broken.bvh")


def test_hinges_turn_within_their_ranges(tmp_path: Path) -> None:
    """A rig of two bodies and a hinge at x = 1 turns its points about that hinge, by no more than its range."""
    path = tmp_path / "hinge.npz"
    np.savez(
        path,
        V=_POINTS,
        X_rest=_POINTS,
        F=np.array([[0, 1, 2], [1, 3, 2]]),
        wi=np.array([[0], [0], [1], [1]]),
        w=np.ones((4, 1)),
        bindpos=np.array([[0.0, 0, 0], [1, 0, 0]]),
        bindquat=np.tile([1.0, 0, 0, 0], (2, 1)),
        bone_bodyid=np.array([1, 2]),
        body_parent=np.array([0, 0, 1]),
        body_pos=np.array([[0.0, 0, 0], [0, 0, 0], [1, 0, 0]]),
        body_quat=np.tile([1.0, 0, 0, 0], (3, 1)),
        jnt_body=np.array([2]),
        jnt_axis=np.array([[0.0, 0, 2]]),
        jnt_pos=np.zeros((1, 3)),
        jnt_range=np.array([[0.0, 0.5]]),
    )
    skin, matrices = hinged_poses(path, 50, np.random.default_rng(0))
    points = blend(skin, matrices, np.zeros((50, 0)), np.arange(4))[0]
    np.testing.assert_allclose(points[0], _POINTS, atol=1e-12)
    np.testing.assert_allclose(points[:, :2], np.tile(_POINTS[:2], (50, 1, 1)), atol=1e-12)
    angle = np.arctan2(points[:, 2, 1], points[:, 2, 0] - 1)
    assert angle.min() >= 0 and 0.3 < angle.max() <= 0.5
    np.testing.assert_allclose(np.hypot(points[:, 2, 1], points[:, 2, 0] - 1), 0.5, atol=1e-12)
