"""A state is found from places and velocities of particles: what it was comes back, and little is added to it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from engine.dynamics.anchoring import Base
from engine.dynamics.evaluation_point import Evaluation, Pose, evaluate, surface_rows
from engine.dynamics.initial_state import state_from_particles
from engine.dynamics.mechanics import Mechanics
from engine.dynamics.state import Loads, State, SurfacePoint
from engine.geometry.mesh_reader import load_rest_shape
from engine.kinematics.object_kinematics import ObjectKinematics
from engine.model.checkpoint import Checkpoint
from engine.scenes.material import MATERIALS, Anchor

BEAR = Path(__file__).resolve().parents[3] / "assets" / "objects" / "plush_bear.glb"


@pytest.fixture(scope="module")
def free_bean(bean_kinematics: ObjectKinematics) -> Mechanics:
    """The bean in empty space."""
    return Mechanics(bean_kinematics, material=MATERIALS["elastic"], anchor=Anchor.FREE, gravity=0.0, floor=False)


@pytest.fixture(scope="module")
def free_bear(checkpoint: Checkpoint) -> Mechanics:
    """The gallery's bear in empty space."""
    kinematics = ObjectKinematics(load_rest_shape(BEAR), checkpoint)
    return Mechanics(kinematics, material=MATERIALS["elastic"], anchor=Anchor.FREE, gravity=0.0, floor=False)


def random_points(mechanics: Mechanics, count: int, seed: int) -> list[SurfacePoint]:
    """Return points all over the surface."""
    rng = np.random.default_rng(seed)
    faces = rng.integers(len(mechanics.kinematics.rest.faces), size=count)
    corners = rng.dirichlet(np.ones(3), size=count)
    return [
        SurfacePoint(int(face), (float(a), float(b), float(c))) for face, (a, b, c) in zip(faces, corners, strict=True)
    ]


def highest_point(mechanics: Mechanics) -> SurfacePoint:
    """Return the middle of the highest face."""
    heights = np.asarray(mechanics.kinematics.rest.vertices)[np.asarray(mechanics.kinematics.rest.faces), 2].mean(1)
    return SurfacePoint(int(np.argmax(heights)), (1 / 3, 1 / 3, 1 / 3))


def random_state(mechanics: Mechanics, seed: int) -> State:
    """Return a state anywhere in space, halfway to the end of the learned range, that moves in all its coordinates."""
    rng = np.random.default_rng(seed)
    k = mechanics.body.k_q
    q = rng.normal(size=k)
    q *= 0.5 * mechanics.body.range_radius / (mechanics.kinematics.reduction.unit * np.linalg.norm(q))
    turn = Rotation.random(rng=rng).as_matrix()
    p, v, w = rng.normal(size=(3, 3))
    return replace(mechanics.rest_state(), p=p, R=turn, q=q, v=v, w=w, qd=5.0 * rng.normal(size=k))


def rates(state: State) -> np.ndarray:
    """Return the generalized velocity."""
    return np.concatenate((state.v, state.w, state.qd))


def read(mechanics: Mechanics, state: State, points: list[SurfacePoint]) -> tuple[np.ndarray, np.ndarray, Evaluation]:
    """Return places and velocities of particles, and the object at its pose."""
    e = evaluate(mechanics.body, Pose(state.p, state.R, state.q), surface_rows(mechanics.body, points))
    weights = np.array([point.barycentric for point in points])
    velocities = np.tensordot(rates(state), e.points_jacobian, 1)
    corners = [np.einsum("nk,nkd->nd", weights, x.reshape(-1, 3, 3)) for x in (e.points_at, velocities)]
    return corners[0], corners[1], e


def rms(vectors: np.ndarray) -> float:
    """Return the root of the mean squared length."""
    return float(np.sqrt((vectors**2).sum(-1).mean()))


@pytest.mark.parametrize("name", ["free_bean", "free_bear"])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_state_comes_back_from_its_particles(name: str, seed: int, request: pytest.FixtureRequest) -> None:
    """Places come back to a thousandth of size and velocities to a hundredth of their RMS, as the errors say."""
    mechanics: Mechanics = request.getfixturevalue(name)
    points = random_points(mechanics, 150, seed)
    x, v, _ = read(mechanics, random_state(mechanics, seed), points)
    found = state_from_particles(mechanics, points, x, v)
    x_found, v_found, _ = read(mechanics, found.state, points)
    assert rms(x_found - x) < 1e-3 * mechanics.size
    assert rms(v_found - v) < 1e-2 * rms(v)
    assert found.position_error == pytest.approx(rms(x_found - x), rel=1e-3, abs=1e-9)
    assert found.velocity_error == pytest.approx(rms(v_found - v), rel=1e-3, abs=1e-9)


def test_particles_of_a_held_object_come_back_with_its_base_at_home(free_bear: Mechanics) -> None:
    """Where a standing bear leans, its particles are met to a thousandth of size, and its base has not moved."""
    mechanics = free_bear.with_anchor(Anchor.STANDING)
    points = random_points(mechanics, 150, 0)
    home = mechanics.rest_state()
    bent = replace(home, q=np.eye(len(home.q))[0] * 2.0)
    base = Base(mechanics.kinematics, mechanics.body.shape, mechanics.anchor, mechanics.metres_per_unit)
    # The answer to particles that also drag the base along: bent, and as the anchor allows.
    leaning = state_from_particles(mechanics, points, read(mechanics, bent, points)[0], None).state
    x = read(mechanics, leaning, points)[0]
    found = state_from_particles(mechanics, points, x, None)
    after, _, e = read(mechanics, found.state, points)
    assert rms(x - read(mechanics, home, points)[0]) > 0.01 * mechanics.size
    assert rms(after - x) < 1e-3 * mechanics.size
    assert np.abs(base.rows @ (e.samples_at - base.home).ravel()).max() < 1e-6 * mechanics.size


@pytest.mark.parametrize("name", ["free_bean", "free_bear"])
def test_a_rigid_motion_is_a_motion_of_the_root(name: str, request: pytest.FixtureRequest) -> None:
    """Velocities of a translation and a spin give back both, and the shape stays still."""
    mechanics: Mechanics = request.getfixturevalue(name)
    points = random_points(mechanics, 100, 3)
    home = mechanics.rest_state()
    v, w = np.array([0.4, -0.7, 0.2]), np.array([1.0, 2.0, -1.5])
    moving = replace(home, v=v, w=w)
    found = state_from_particles(mechanics, points, None, read(mechanics, moving, points)[1]).state
    assert np.abs(found.v - v).max() < 1e-6
    assert np.abs(found.w - w).max() < 1e-6
    assert np.abs(found.qd).max() < 1e-5
    assert np.array_equal(found.p, home.p) and np.array_equal(found.q, home.q)


@pytest.mark.parametrize("name", ["free_bean", "free_bear"])
@pytest.mark.parametrize("seed", range(4))
def test_one_particle_takes_little_along(name: str, seed: int, request: pytest.FixtureRequest) -> None:
    """One particle moves as asked, with no more energy than if the whole object moved at its speed."""
    mechanics: Mechanics = request.getfixturevalue(name)
    points = random_points(mechanics, 1, seed)
    wanted = np.random.default_rng(seed).normal(size=(1, 3))
    found = state_from_particles(mechanics, points, None, wanted)
    _, v, e = read(mechanics, found.state, points)
    u = rates(found.state)
    assert np.abs(v - wanted).max() < 1e-6
    assert found.velocity_error < 1e-6
    assert 0.0 < 0.5 * u @ e.mass_matrix @ u < 0.5 * mechanics.mass * float((wanted**2).sum())


@pytest.mark.parametrize("anchor", [Anchor.STANDING, Anchor.FIXED])
def test_the_base_of_a_held_object_stands_still(free_bear: Mechanics, anchor: Anchor) -> None:
    """When the head of a held bear moves, place and turn of its base do not."""
    mechanics = free_bear.with_anchor(anchor)
    point, wanted = highest_point(mechanics), np.array([[1.0, 0.5, 0.0]])
    found = state_from_particles(mechanics, [point], None, wanted)
    _, v, e = read(mechanics, found.state, [point])
    base = Base(mechanics.kinematics, mechanics.body.shape, anchor, mechanics.metres_per_unit)
    moving = base.rows @ np.tensordot(rates(found.state), e.samples_jacobian, 1).ravel()
    speed = float(np.linalg.norm(wanted))
    assert np.abs(v - wanted).max() < 1e-6 * speed
    assert np.linalg.norm(moving) < 1e-3 * speed


def test_a_particle_within_the_base_does_not_shake_the_object(free_bear: Mechanics) -> None:
    """Asked to move what the anchor holds, the rest of the object does not get a thousand times the whole's energy."""
    mechanics = free_bear.with_anchor(Anchor.STANDING)
    low = np.asarray(mechanics.kinematics.rest.vertices)[np.asarray(mechanics.kinematics.rest.faces), 2].mean(1)
    point = SurfacePoint(int(np.argmin(low)), (1 / 3, 1 / 3, 1 / 3))
    found = state_from_particles(mechanics, [point], None, np.array([[0.0, 0.0, 1.0]]))
    u = rates(found.state)
    assert u @ read(mechanics, found.state, [point])[2].mass_matrix @ u < 1e3 * mechanics.mass


@pytest.mark.parametrize("name", ["free_bean", "free_bear"])
def test_a_step_goes_on_with_the_velocity(name: str, request: pytest.FixtureRequest) -> None:
    """In empty space the first step moves the particles by their velocity times h."""
    mechanics: Mechanics = request.getfixturevalue(name)
    points = random_points(mechanics, 60, 4)
    h = 1.0 / 1000.0
    moving = replace(random_state(mechanics, 4), q=np.zeros(mechanics.body.k_q))
    x, v, _ = read(mechanics, moving, points)
    start = state_from_particles(mechanics, points, x, v).state
    after, report = mechanics.step(start, Loads(), h)
    assert report.message == ""
    gone = (read(mechanics, after, points)[0] - read(mechanics, start, points)[0]) / h
    assert rms(gone - v) < 0.05 * rms(v)


def test_few_places_move_and_turn_the_object_no_more_than_they_must(free_bean: Mechanics) -> None:
    """One place is reached by a shift; two, by the least turn; neither leaves the learned range."""
    points, home = random_points(free_bean, 2, 5), free_bean.rest_state()
    x = read(free_bean, home, points)[0]
    one = state_from_particles(free_bean, points[:1], x[:1] + np.array([[0.3, 0.0, 0.1]]), None)
    assert np.allclose(one.state.R, np.eye(3)) and np.allclose(one.state.q, 0.0)
    assert np.allclose(one.state.p, home.p + np.array([0.3, 0.0, 0.1]), atol=1e-6)
    # Both turned about a horizontal axis square to their line: no smaller turn does it.
    axis = np.cross(x[1] - x[0], [0.0, 0.0, 1.0])
    turn = Rotation.from_rotvec(0.8 * axis / np.linalg.norm(axis)).as_matrix()
    two = state_from_particles(free_bean, points, x @ turn.T, None)
    assert two.position_error < 1e-4 * free_bean.size
    assert np.allclose(two.state.R, turn, atol=1e-4)


def test_places_out_of_reach_leave_the_object_in_its_range(free_bean: Mechanics) -> None:
    """Places three times as far apart as they can be are missed, and the state stays where the barrier is zero."""
    points = random_points(free_bean, 6, 6)
    x = read(free_bean, free_bean.rest_state(), points)[0]
    found = state_from_particles(free_bean, points, 3.0 * x, None)
    kinematics = free_bean.kinematics
    radius = np.linalg.norm(kinematics.prior_offset + kinematics.reduction.unit * found.state.q)
    assert found.position_error > 0.05 * free_bean.size
    assert radius <= free_bean.body.range_radius
    assert np.array_equal(found.state.stuck, found.state.q)


def test_particles_without_weight_do_not_matter(free_bean: Mechanics) -> None:
    """A particle of weight zero is not listened to, however wrong it is."""
    points = random_points(free_bean, 30, 7)
    home = free_bean.rest_state()
    x = read(free_bean, home, points)[0]
    v = np.tile([0.2, 0.0, 0.0], (30, 1))
    x[0], v[0] = x[0] + 5.0, 100.0
    weights = np.ones(30)
    weights[0] = 0.0
    found = state_from_particles(free_bean, points, x, v, weights=weights)
    assert found.position_error < 1e-4 * free_bean.size
    assert np.allclose(found.state.v, [0.2, 0.0, 0.0], atol=1e-4)


def test_a_rigid_object_has_a_root_and_nothing_else(free_bean: Mechanics) -> None:
    """A rigid bean is placed and moved as a whole, free and held; held, it does not move."""
    mechanics = free_bean.with_material(MATERIALS["rigid"])
    points = random_points(mechanics, 20, 8)
    state = random_state(free_bean, 8)
    state = replace(state, q=np.zeros(0), qd=np.zeros(0), stuck=np.zeros(0))
    x, v, _ = read(mechanics, state, points)
    found = state_from_particles(mechanics, points, x, v).state
    assert np.allclose(found.R, state.R, atol=1e-5) and np.allclose(found.p, state.p, atol=1e-5)
    assert np.allclose(found.w, state.w, atol=1e-4) and np.allclose(found.v, state.v, atol=1e-4)
    held = state_from_particles(mechanics.with_anchor(Anchor.FIXED), points, x, v).state
    assert np.allclose(held.R, np.eye(3)) and np.abs(rates(held)).max() < 1e-9


def test_nothing_asked_is_the_home_state(free_bean: Mechanics) -> None:
    """Without places and velocities the object is at home and at rest, with no error."""
    found = state_from_particles(free_bean, random_points(free_bean, 2, 0), None, None)
    home = free_bean.rest_state()
    assert np.array_equal(found.state.p, home.p) and not rates(found.state).any()
    assert found.position_error == found.velocity_error == 0.0


POINT = SurfacePoint(0, (0.2, 0.3, 0.5))
REFUSED: list[tuple[Callable[[Mechanics], object], str]] = [
    (lambda m: state_from_particles(m, [], None, None), "no particles were given: name at least one"),
    (lambda m: state_from_particles(m, [replace(POINT, face=10**6)], None, None), "give a face from 0 to"),
    (lambda m: state_from_particles(m, [replace(POINT, face=-1)], None, None), "give a face from 0 to"),
    (lambda m: state_from_particles(m, [SurfacePoint(0, (0.5, 0.5, 0.5))], None, None), "finite numbers of sum one"),
    (lambda m: state_from_particles(m, [SurfacePoint(0, (np.nan, 0.5, 0.5))], None, None), "numbers of sum one"),
    (lambda m: state_from_particles(m, [POINT], np.zeros((2, 3)), None), r"give an array of shape \(1, 3\)"),
    (lambda m: state_from_particles(m, [POINT], None, np.zeros(3)), r"velocities have shape \(3,\)"),
    (lambda m: state_from_particles(m, [POINT], np.full((1, 3), np.nan), None), "positions of particle 0 are not fin"),
    (lambda m: state_from_particles(m, [POINT], None, np.full((1, 3), np.inf)), "leave the particle out"),
    (lambda m: state_from_particles(m, [POINT], None, None, weights=np.ones(2)), "one number for each of the 1"),
    (lambda m: state_from_particles(m, [POINT], None, None, weights=np.array([-1.0])), "finite and not negative"),
    (lambda m: state_from_particles(m, [POINT], None, None, weights=np.zeros(1)), "a weight above 0"),
]


@pytest.mark.parametrize(("ask", "sentence"), REFUSED)
def test_unusable_particles_are_refused(
    free_bean: Mechanics, ask: Callable[[Mechanics], object], sentence: str
) -> None:
    """What cannot be used is refused with a sentence that says what to do."""
    with pytest.raises(ValueError, match=sentence):
        ask(free_bean)
