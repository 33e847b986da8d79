"""States found from particles: round trips, rigid motions, least energy, anchors, refusals, and going on from there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from engine.dynamics.anchoring import Base
from engine.dynamics.evaluation_point import Pose, evaluate, joined, surface_rows
from engine.dynamics.initial_state import state_from_particles
from engine.dynamics.mechanics import Mechanics
from engine.dynamics.state import Loads, State, SurfacePoint
from engine.kinematics.object_kinematics import ObjectKinematics
from engine.scenes.material import MATERIALS, Anchor

CENTRE = (1 / 3, 1 / 3, 1 / 3)


@pytest.fixture(scope="module")
def free(bean_kinematics: ObjectKinematics) -> Mechanics:
    """The bean, afloat without gravity or floor."""
    return Mechanics(bean_kinematics, material=MATERIALS["elastic"], anchor=Anchor.FREE, gravity=0.0, floor=False)


def many_points(mechanics: Mechanics) -> list[SurfacePoint]:
    """Return 80 face centres, spread over the surface."""
    faces = np.linspace(0, len(mechanics.kinematics.rest.faces) - 1, 80).astype(int)
    return [SurfacePoint(int(f), CENTRE) for f in faces]


def motion(mechanics: Mechanics, state: State, points: list[SurfacePoint]) -> tuple[np.ndarray, np.ndarray]:
    """Return places and velocities of particles, and nothing else."""
    body = mechanics.body
    e = evaluate(body, Pose(state.p, state.R, state.q), joined([surface_rows(body, points)], body))
    u = np.concatenate((state.v, state.w, state.qd))
    velocities = np.einsum("j,jed->ed", u, e.points_jacobian)
    return e.points_at.reshape(-1, 3, 3).mean(1), velocities.reshape(-1, 3, 3).mean(1)


def rms(vectors: np.ndarray) -> float:
    """Return the root of the mean squared length."""
    return float(np.sqrt((vectors**2).sum(-1).mean()))


def test_round_trip(free: Mechanics) -> None:
    """Many particles of a bent, turned, moving bean give its pose and motion back."""
    rng = np.random.default_rng(0)
    r = free.body.k_q
    state = replace(
        free.rest_state(),
        p=np.array([0.4, -0.7, 1.2]),
        R=Rotation.from_rotvec([0.5, -1.1, 0.8]).as_matrix(),
        q=0.7 * rng.normal(size=r),
        v=rng.normal(size=3),
        w=rng.normal(size=3),
        qd=rng.normal(size=r),
    )
    points = many_points(free)
    x, v = motion(free, state, points)
    found = state_from_particles(free, points, x, v)
    x_found, v_found = motion(free, found.state, points)
    print("round trip", rms(x_found - x) / free.size, rms(v_found - v) / rms(v))
    assert rms(x_found - x) < 1e-3 * free.size
    assert rms(v_found - v) < 1e-2 * rms(v)
    assert found.position_error == pytest.approx(rms(x_found - x), abs=1e-6)
    assert found.velocity_error == pytest.approx(rms(v_found - v), abs=1e-6)


def test_rigid_motion_comes_back(free: Mechanics) -> None:
    """A translation with a spin of all particles is found as such, with next to no deformation."""
    points, home = many_points(free), free.rest_state()
    v, w = np.array([0.3, -0.2, 0.5]), np.array([1.0, -2.0, 0.5])
    x, _ = motion(free, home, points)
    found = state_from_particles(free, points, None, v + np.cross(w, x - home.p)).state
    print("rigid", found.v - v, found.w - w, np.abs(found.qd).max())
    assert np.allclose(found.v, v, atol=1e-3) and np.allclose(found.w, w, atol=1e-2)
    assert np.linalg.norm(found.qd) < 1e-2


def test_one_particle_takes_the_least_energy(free: Mechanics) -> None:
    """One particle moves as asked, at no more energy than the whole would need at that speed."""
    point = [SurfacePoint(0, CENTRE)]
    asked = np.array([[0.4, 0.3, -0.2]])
    found = state_from_particles(free, point, None, asked).state
    _, v = motion(free, found, point)
    e = evaluate(free.body, Pose(found.p, found.R, found.q), joined([], free.body))
    u = np.concatenate((found.v, found.w, found.qd))
    assert np.allclose(v, asked, atol=1e-6)
    assert u @ e.mass_matrix @ u <= free.mass * (asked**2).sum()


def test_one_particle_moved_takes_the_object_along(free: Mechanics) -> None:
    """One particle's place is met, though it leaves nearly all of the pose open."""
    point = [SurfacePoint(0, CENTRE)]
    place = motion(free, free.rest_state(), point)[0] + 0.2
    assert state_from_particles(free, point, place, None).position_error < 1e-3 * free.size


def test_the_base_of_a_standing_object_stays(bean_kinematics: ObjectKinematics) -> None:
    """The top of a standing bean is sent off; its base moves a thousand times slower at most."""
    mechanics = Mechanics(bean_kinematics, material=MATERIALS["elastic"], anchor=Anchor.STANDING)
    rest = bean_kinematics.rest
    top = int(np.argmax(np.asarray(rest.vertices)[np.asarray(rest.faces)].mean(1)[:, 2]))
    found = state_from_particles(mechanics, [SurfacePoint(top, CENTRE)], None, np.array([[1.0, 0.0, 0.0]]))
    state, base = found.state, Base(bean_kinematics, mechanics.body.shape, Anchor.STANDING, mechanics.metres_per_unit)
    e = evaluate(mechanics.body, Pose(state.p, state.R, state.q), joined([], mechanics.body))
    u = np.concatenate((state.v, state.w, state.qd))
    moved = base.rows @ (e.samples_jacobian.reshape(len(u), -1).T @ u)
    print("base", np.abs(moved).max(), found.velocity_error)
    assert np.abs(moved).max() < 1e-3
    assert found.velocity_error < 1e-3


def test_what_makes_no_sense_is_refused(free: Mechanics) -> None:
    """Every bad input is refused with a sentence that says what to do."""
    point, good = [SurfacePoint(0, CENTRE)], np.zeros((1, 3))
    with pytest.raises(ValueError, match="at least one surface point"):
        state_from_particles(free, [], None, None)
    with pytest.raises(ValueError, match="does not exist: choose one"):
        state_from_particles(free, [SurfacePoint(10**6, CENTRE)], good, None)
    with pytest.raises(ValueError, match="whose sum is 1"):
        state_from_particles(free, [SurfacePoint(0, (1.0, 1.0, 0.0))], good, None)
    for bad, sentence in ((np.zeros((2, 3)), "one row of three"), (np.full((1, 3), np.nan), "finite numbers")):
        with pytest.raises(ValueError, match=f"positions.*{sentence}"):
            state_from_particles(free, point, bad, None)
        with pytest.raises(ValueError, match=f"velocities.*{sentence}"):
            state_from_particles(free, point, None, bad)


def test_the_motion_goes_on(free: Mechanics) -> None:
    """The first step carries the particles on with the velocity asked of them, within 5 percent."""
    points, home, h = many_points(free), free.rest_state(height=1.0), 1e-3
    x, _ = motion(free, home, points)
    asked = np.array([0.3, -0.2, 0.5]) + np.cross([1.0, -2.0, 0.5], x - home.p)
    state = state_from_particles(free, points, x, asked).state
    after, _ = free.step(state, Loads(), h)
    moved = (motion(free, after, points)[0] - motion(free, state, points)[0]) / h
    print("going on", rms(moved - asked) / rms(asked))
    assert rms(moved - asked) < 0.05 * rms(asked)
