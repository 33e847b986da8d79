"""Robot descriptions: exact sweeps of tiny MJCF and URDF files, and refusals that say why."""

import tarfile
from pathlib import Path

import numpy as np
import pytest
import trimesh
from scipy.spatial.transform import Rotation

pytest.importorskip("mujoco", reason="the data extra (MuJoCo) is not installed")

from engine.datasets.imported.descriptions import motions_of_description, still_of_description
from engine.datasets.imported.refusal import ImportRefused
from engine.datasets.imported.thinning import MAX_VERTICES, snapped, thinned
from tests.engine.datasets.moving import DATA

METAWORLD = DATA / "metaworld_objects.tar.gz"

MJCF = """<mujoco><compiler angle="radian"/><worldbody>
<geom type="plane" size="5 5 1"/>
<body name="table" pos="3 0 0"><geom type="box" size="1 1 .1"/></body>
<body name="base" pos="0 0 1">
  <geom type="box" size=".5 .5 .1"/>
  <body name="arm" pos="0 0 .2">
    <joint type="hinge" axis="0 1 0" range="-.3 1.2" limited="true"/>
    <geom type="box" size=".1 .1 .4" pos="0 0 .4" group="2" contype="0" conaffinity="0"/>
    <geom type="sphere" size="2" group="3"/>
    <body name="knob" pos="0 0 .8"><geom type="box" size=".15 .15 .15"/></body>
    <body name="rod" pos="0 0 .9">
      <joint type="slide" axis="0 0 1" range="0 .5" limited="true"/><geom type="box" size=".05 .05 .3"/>
    </body>
  </body>
</body></worldbody></mujoco>"""

URDF = """<robot name="lamp">
<link name="base"><visual><geometry><mesh filename="package://lamp/meshes/box.obj" scale="1 1 .2"/></geometry></visual>
<collision><geometry><sphere radius="9"/></geometry></collision></link>
<link name="arm"><visual><origin xyz="0 0 .5"/><geometry><box size=".2 .2 1"/></geometry></visual></link>
<joint name="j" type="{kind}"><parent link="base"/><child link="arm"/><origin xyz="0 0 .1"/><axis xyz="1 0 0"/>
<limit lower="-.5" upper="1" effort="1" velocity="1"/></joint></robot>"""


def _lamp(folder: Path, *, kind: str = "revolute", mesh: bool = True) -> Path:
    (folder / "lamp" / "urdf").mkdir(parents=True)
    (folder / "lamp" / "meshes").mkdir()
    if mesh:
        trimesh.creation.box((1, 1, 1)).export(folder / "lamp" / "meshes" / "box.obj")
    file = folder / "lamp" / "urdf" / "lamp.urdf"
    file.write_text(URDF.format(kind=kind))
    return file


def _written(folder: Path, text: str) -> Path:
    file = folder / "scene.xml"
    file.write_text(text)
    return file


def _one(path, **options):
    (motion,) = motions_of_description(path, rng=np.random.default_rng(3), **options)
    return motion


def _fitted(motion, frame):
    """The rotation and residual of each part by Kabsch's least-squares fit, from the positions alone."""
    turns, worst = [], 0.0
    for part in range(motion.part.max() + 1):
        mine = motion.part == part
        rest, now = (motion.positions[k, mine].astype(float) for k in (0, frame))
        turn, _ = Rotation.align_vectors(now - now.mean(0), rest - rest.mean(0))
        worst = max(worst, float(np.abs(turn.apply(rest - rest.mean(0)) + now.mean(0) - now).max()))
        turns.append(turn)
    return turns, worst


def test_parts_move_rigidly_by_the_rotations_that_are_given(tmp_path):
    """Every part of every frame is the rest part turned by its rotation, to 1e-5 of the object's size."""
    motion = _one(_written(tmp_path, MJCF))
    size = np.linalg.norm(np.ptp(motion.positions[0], axis=0))
    for frame in range(len(motion.positions)):
        turns, residual = _fitted(motion, frame)
        assert residual < 1e-5 * size
        for part, turn in enumerate(turns):
            given = Rotation.from_quat(motion.rotations[frame, motion.part == part][0], scalar_first=True)
            assert (given * turn.inv()).magnitude() < 1e-4


def test_a_scene_keeps_the_mechanism_and_what_is_meant_to_be_seen(tmp_path):
    """Plane, table and collision sphere are left out; the knob without a joint belongs to the arm."""
    motion = _one(_written(tmp_path, MJCF))
    assert motion.family == "articulated/scene" and motion.name == "scene" and motion.kind == "articulated"
    assert motion.fixed and motion.positions.shape == (32, 4 * 8, 3)
    assert np.bincount(motion.part).tolist() == [8, 16, 8]
    assert motion.component.max() == 3
    np.testing.assert_allclose(motion.positions[0].min(0), (-0.5, -0.5, 0.9), atol=1e-6)
    np.testing.assert_allclose(motion.positions[0].max(0), (0.5, 0.5, 2.4), atol=1e-6)


def test_joints_stay_within_limits_and_reach_them(tmp_path):
    """The hinge turns about Y between -0.3 and 1.2, the slide moves between 0 and 0.5 along the turned arm."""
    motion = _one(_written(tmp_path, MJCF))
    angles, slides = [], []
    for frame in range(len(motion.positions)):
        turn = Rotation.from_quat(motion.rotations[frame, motion.part == 2][0], scalar_first=True)
        angles.append(turn.as_rotvec())
        pivot = np.array([0, 0, 1.2])
        centre = motion.positions[frame, motion.part == 2].mean(0).astype(float)
        slides.append(turn.inv().apply(centre - pivot)[2] - 0.9)
    angles, slides = np.array(angles), np.array(slides)
    assert np.abs(angles[:, [0, 2]]).max() < 1e-6
    assert -0.3 - 1e-5 <= angles[:, 1].min() < -0.2 and 1.1 < angles[:, 1].max() <= 1.2 + 1e-5
    assert -1e-5 <= slides.min() < 0.03 and 0.47 < slides.max() <= 0.5 + 1e-5
    alone = (np.abs(angles[1:, 1]) < 1e-6) != (np.abs(slides[1:]) < 1e-6)
    assert 8 <= alone.sum() <= 16


def test_equal_seeds_give_equal_motions(tmp_path):
    """The sweep is the same bit for bit from one seed, and another from another."""
    path = _written(tmp_path, MJCF)
    one, two = (_one(path, frames=9) for _ in range(2))
    assert one.positions.tobytes() == two.positions.tobytes() and one.rotations.tobytes() == two.rotations.tobytes()
    (other,) = motions_of_description(path, frames=9, rng=np.random.default_rng(4))
    assert np.abs(other.positions - one.positions).max() > 0.01


def test_a_chain_never_turns_further_than_150_degrees(tmp_path):
    """Three unlimited hinges about one axis are held back together, so that no part hides a full circle."""
    inner = '<body pos="0 0 1"><joint axis="0 1 0"/><geom type="box" size=".1 .1 .5"/>'
    text = f"<mujoco><worldbody>{inner * 3}{'</body>' * 3}</worldbody></mujoco>"
    motion = _one(_written(tmp_path, text), frames=64)
    turn = Rotation.from_quat(motion.rotations.reshape(-1, 4), scalar_first=True).magnitude()
    assert np.deg2rad(120) < turn.max() <= np.deg2rad(150) + 1e-5


def test_a_free_body_is_not_fixed_and_its_ball_joint_obeys_its_cone(tmp_path):
    """A free joint stays at rest, and a ball joint turns at most by its limit about changing axes."""
    text = """<mujoco><compiler angle="radian"/><worldbody><body><freejoint/><geom type="box" size=".3 .3 .3"/>
    <body pos="0 0 .5"><joint type="ball" range="0 .7" limited="true"/><geom type="box" size=".1 .1 .2"/></body>
    </body></worldbody></mujoco>"""
    motion = _one(_written(tmp_path, text))
    assert not motion.fixed
    assert not np.ptp(motion.positions[:, motion.part == 0], axis=0).any()
    turn = Rotation.from_quat(motion.rotations[:, motion.part == 1][:, 0], scalar_first=True).as_rotvec()
    assert 0.6 < np.linalg.norm(turn, axis=1).max() <= 0.7 + 1e-5
    assert np.linalg.matrix_rank(turn, tol=0.1) == 3


def test_a_urdf_is_read_with_its_package_paths(tmp_path):
    """The mesh is found by its package, the fixed base stays a part, and the hinge keeps its limits."""
    motion = _one(_lamp(tmp_path), pack="lamps")
    assert motion.family == "articulated/lamps" and motion.name == "lamp"
    assert np.bincount(motion.part).tolist() == [8, 8]
    np.testing.assert_allclose(np.ptp(motion.positions[0, motion.part == 0], axis=0), (1, 1, 0.2), atol=1e-6)
    angle = Rotation.from_quat(motion.rotations[:, motion.part == 1][:, 0], scalar_first=True).as_rotvec()[:, 0]
    assert -0.5 - 1e-5 <= angle.min() < -0.4 and 0.9 < angle.max() <= 1 + 1e-5


def test_a_joint_that_follows_another_keeps_its_ratio(tmp_path):
    """A URDF mimic joint turns by half of what its leader turns."""
    file = _lamp(tmp_path)
    tip = """<link name="tip"><visual><geometry><box size=".3 .3 .1"/></geometry></visual></link>
    <joint name="k" type="revolute"><parent link="arm"/><child link="tip"/><origin xyz="0 0 1"/><axis xyz="1 0 0"/>
    <limit lower="-3" upper="3" effort="1" velocity="1"/><mimic joint="j" multiplier=".5"/></joint></robot>"""
    file.write_text(file.read_text().replace("</robot>", tip))
    motion = _one(file)
    arm, tip = (
        Rotation.from_quat(motion.rotations[:, motion.part == p][:, 0], scalar_first=True).as_rotvec()[:, 0]
        for p in (1, 2)
    )
    np.testing.assert_allclose(tip, 1.5 * arm, atol=1e-5)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("<mujoco><worldbody><geom type='box' size='1 1 1'/></worldbody></mujoco>", "no hinge"),
        ("<mujoco><asset><mesh name='a' file='gone.stl'/></asset></mujoco>", r"mesh gone\.stl .* missing"),
        ("<mujoco><asset><mesh name='a' file='arm.dae'/></asset></mujoco>", r"arm\.dae is DAE"),
        ("<mujocoinclude/>", "does not read it"),
        ("no description", "does not read it"),
        (
            MJCF.replace("</worldbody>", "</worldbody><equality><connect body1='rod' anchor='0 0 0'/></equality>"),
            "loop",
        ),
        (
            "<mujoco><worldbody><body><joint/><inertial pos='0 0 0' mass='1'/></body></worldbody></mujoco>",
            "none of its",
        ),
    ],
)
def test_a_description_that_cannot_be_swept_is_refused_with_its_reason(tmp_path, text, reason):
    """No joint, no mesh file, unknown formats, fragments and closed loops are named in the refusal."""
    with pytest.raises(ImportRefused, match=reason):
        list(motions_of_description(_written(tmp_path, text), rng=np.random.default_rng(0)))


def test_a_urdf_without_its_mesh_or_without_joints_is_refused(tmp_path):
    """The refusal names the mesh that is missing, and says when only fixed joints were found."""
    with pytest.raises(ImportRefused, match=r"box\.obj that it names is missing"):
        _one(_lamp(tmp_path / "a", mesh=False))
    with pytest.raises(ImportRefused, match="no hinge"):
        _one(_lamp(tmp_path / "b", kind="fixed"))


def test_a_description_without_joints_gives_a_still_shape(tmp_path):
    """A lone box of the world is returned as eight welded corners at its place."""
    file = _written(tmp_path, "<mujoco><worldbody><geom type='box' size='1 2 3' pos='0 0 3'/></worldbody></mujoco>")
    vertices, faces = still_of_description(file)
    assert len(vertices) == 8 and len(faces) == 12
    np.testing.assert_allclose((vertices.min(0), vertices.max(0)), ((-1, -2, 0), (1, 2, 6)), atol=1e-12)


def test_thinning_leaves_small_surfaces_alone_and_keeps_the_shape_of_large_ones():
    """A ball of 40,962 vertices becomes one below the limit whose vertices lie on the ball, one of 162 is untouched."""
    small, large = (trimesh.creation.icosphere(subdivisions=s) for s in (2, 6))
    arrays = [(np.asarray(m.vertices, float), np.asarray(m.faces, np.int64)) for m in (small, large)]
    assert thinned(arrays[:1])[0] is arrays[0]
    vertices, faces = thinned(arrays)[1]
    assert 1000 < len(vertices) <= MAX_VERTICES // 2 and faces.max() == len(vertices) - 1
    radius = np.linalg.norm(snapped(*arrays[1], 5000)[0], axis=1)
    assert 0.99 < radius.min() and radius.max() <= 1 + 1e-9


@pytest.mark.skipif(not METAWORLD.exists(), reason="the shared data folder is not on this machine")
def test_every_articulated_metaworld_object_is_imported(tmp_path):
    """Fourteen of the pack's objects have joints, and all fourteen come in."""
    with tarfile.open(METAWORLD) as tar:
        tar.extractall(tmp_path, filter="data")
    names, refusals = [], []
    for path in sorted((tmp_path / "main").glob("*.xml")):
        try:
            names += [m.name for m in motions_of_description(path, frames=4, rng=np.random.default_rng(0))]
        except ImportRefused as refusal:
            refusals.append(refusal.reason)
    assert len(names) == 14 and all("no hinge" in reason for reason in refusals)
