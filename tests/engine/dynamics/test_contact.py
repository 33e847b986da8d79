"""Contact with planes and spheres: bounces as high as asked, slopes that hold or let slide, a ball to lie on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import trimesh

from engine.dynamics.contact import Surfaces, frames_of
from engine.dynamics.mechanics import Mechanics
from engine.dynamics.restitution import approach_speeds, bounced
from engine.dynamics.state import Loads
from engine.geometry.rest_shape import RestShape, rest_shape_from_arrays
from engine.kinematics.object_kinematics import ObjectKinematics
from engine.model.checkpoint import Checkpoint
from engine.scenes.colliders import Plane, Sphere
from engine.scenes.material import MATERIALS, Anchor

H = 1.0 / 60.0
GRAVITY = 9.81


@pytest.fixture(scope="module")
def ball(checkpoint: Checkpoint) -> ObjectKinematics:
    """Return a ball of 642 corners."""
    mesh = trimesh.creation.icosphere(subdivisions=3)
    rest = rest_shape_from_arrays(np.array(mesh.vertices), np.array(mesh.faces), name="ball")
    return ObjectKinematics(rest, checkpoint)


@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
def test_a_ball_bounces_to_the_square_of_its_restitution(ball: ObjectKinematics, share: float) -> None:
    """Dropped from its own size, a rigid ball rises to ``e^2`` of the height, within 10 percent."""
    material = MATERIALS["rigid"].model_copy(update={"restitution": share})
    mechanics = Mechanics(ball, material=material, anchor=Anchor.FREE)
    height = mechanics.size
    state = mechanics.rest_state(height=height)
    ground, highest, fell = mechanics.rest_state().p[2], 0.0, False
    for _ in range(150):
        state, report = mechanics.step(state, Loads(), H)
        fell = fell or report.contacts > 0
        if fell and state.v[2] < 0 and highest > 0:
            break
        if fell:
            highest = max(highest, float(state.p[2] - ground))
    assert highest == pytest.approx(share**2 * height, rel=0.1)


def test_bounces_end(ball: ObjectKinematics) -> None:
    """A ball that gives back nine tenths lies still in the end, and never rises above where it began."""
    material = MATERIALS["rigid"].model_copy(update={"restitution": 0.9})
    mechanics = Mechanics(ball, material=material, anchor=Anchor.FREE)
    state = start = mechanics.rest_state(height=0.5 * mechanics.size)
    for _ in range(900):
        state, report = mechanics.step(state, Loads(), H)
        assert state.p[2] < start.p[2]
    assert report.kinetic / mechanics.mass < 1e-4


@pytest.mark.parametrize(("slope", "slides"), [(20.0, False), (40.0, True)])
def test_a_block_slides_above_the_angle_of_friction_alone(
    block: RestShape, checkpoint: Checkpoint, slope: float, slides: bool
) -> None:
    """With a coefficient of 0.6 (31 degrees) it stays at 20 degrees, and at 40 gathers speed as Coulomb says."""
    angle = np.radians(slope)
    normal = (float(np.sin(angle)), 0.0, float(np.cos(angle)))
    kinematics = ObjectKinematics(block, checkpoint)
    mechanics = Mechanics(
        kinematics, material=MATERIALS["rigid"], anchor=Anchor.FREE, floor=False, colliders=(Plane(normal=normal),)
    )
    flat = mechanics.rest_state()
    turn = np.array([[normal[2], 0, normal[0]], [0, 1, 0], [-normal[0], 0, normal[2]]])
    state = replace(flat, p=flat.p[2] * np.array(normal), R=turn)
    start, downhill = state.p, np.array([np.cos(angle), 0.0, -np.sin(angle)])
    for _ in range(60):
        state, _ = mechanics.step(state, Loads(), H)
    way = float((state.p - start) @ downhill)
    expected = 0.5 * GRAVITY * (np.sin(angle) - 0.6 * np.cos(angle))
    if slides:
        assert way == pytest.approx(expected, rel=0.1)
    else:
        assert abs(way) < 0.01 * mechanics.size


def test_an_object_lies_in_a_corner_and_on_a_ball_without_sinking(block: RestShape, checkpoint: Checkpoint) -> None:
    """Between the floor, a wall and a big ball, a tumbling block settles and goes 1 percent of size deep at most."""
    mechanics = Mechanics(
        ObjectKinematics(block, checkpoint),
        material=MATERIALS["rigid"],
        anchor=Anchor.FREE,
        colliders=(Plane(point=(0.9, 0.0, 0.0), normal=(-1.0, 0.0, 0.0)), Sphere(centre=(-0.9, 0.1, 0.0), radius=0.7)),
    )
    state = replace(mechanics.rest_state(height=0.8), w=np.array([1.0, 2.0, 0.5]))
    worst = 0.0
    for _ in range(600):
        state, report = mechanics.step(state, Loads(), H)
        places = mechanics.decode(state).astype(np.float64)
        into_ball = np.linalg.norm(places - np.array([-0.9, 0.1, 0.0]), axis=1).min() - 0.7
        worst = min(worst, float(places[:, 2].min()), 0.9 - float(places[:, 0].max()), float(into_ball))
    assert worst > -0.01 * mechanics.size
    assert report.kinetic / mechanics.mass < 1e-4


def test_gaps_and_frames_are_those_of_geometry() -> None:
    """A point's gap to a slanted plane and to a sphere is its distance; frames are rotations that end in the normal."""
    surfaces = Surfaces.of(
        (Plane(point=(0, 0, 1), normal=(0, 3, 4)), Sphere(centre=(1, 0, 0), radius=0.5)), friction=0.4
    )
    gap, normal = surfaces.gaps(np.array([[5.0, 5.0, 1.0], [1.0, 0.0, -2.0]]))
    assert np.allclose(gap, [3.0, 1.5])
    assert np.allclose(normal, [[0, 0.6, 0.8], [0, 0, -1]])
    many = np.random.default_rng(0).normal(size=(20, 3))
    many /= np.linalg.norm(many, axis=1, keepdims=True)
    frames = frames_of(np.concatenate((normal, many)))
    assert np.allclose(frames @ frames.transpose(0, 2, 1), np.eye(3))
    assert np.allclose(np.linalg.det(frames), 1.0)
    assert np.allclose(frames[:, 2], np.concatenate((normal, many)))
    assert np.allclose(frames_of(np.array([[0.0, 0.0, 1.0]]))[0], np.eye(3))


def test_a_bounce_is_the_least_change_of_velocity() -> None:
    """A point mass leaves at the speed asked, sideways speed stays; one that leaves already is not touched."""
    mass = np.diag([2.0, 2.0, 2.0])
    rows = np.array([[0.0, 0.0, 1.0]])
    assert np.allclose(bounced(np.array([1.0, 0.0, 0.0]), mass, rows, np.array([3.0])), [1.0, 0.0, 3.0])
    leaving = np.array([0.0, 0.0, 4.0])
    assert bounced(leaving, mass, rows, np.array([3.0])) is leaving
    pressed = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, -1.0]])
    still = np.zeros(3)
    assert np.allclose(bounced(still, mass, pressed, np.array([1.0, 1.0])), still)
    assert np.allclose(approach_speeds(np.array([3.0]), np.array([0.8]), np.array([10.0])), [5.0])
