"""The variational integrator against exact solutions, and on a real object: order, energy, momentum, rigid motion."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation
from scipy.special import ellipj, ellipk

from engine.dynamics.body import Body, describe_shape, generalized_jacobian
from engine.dynamics.evaluation_point import Pose
from engine.dynamics.variational import (
    ElasticBody,
    IntegratorVariational,
    MovingPoints,
    NotSolved,
    RollOut,
    StepTooLong,
    VariationalState,
)
from engine.geometry.rest_shape import RestShape
from engine.kinematics.object_kinematics import ObjectKinematics
from engine.model.checkpoint import Checkpoint
from engine.scenes.material import MATERIALS

GRAVITY, LENGTH, MASS = 9.81, 0.5, 2.0
# Of the pendulum's small swings [rad/s]; the tests have it swing up to 1.5 rad: sin(angle/2) = K sn(RATE t | K^2).
RATE, K = np.sqrt(GRAVITY / LENGTH), np.sin(0.75)


def still(q: np.ndarray) -> Pose:
    """Return a pose whose root is at the origin."""
    return Pose(np.zeros(3), np.eye(3), q)


@dataclass
class Toy:
    """An object whose decoder is a formula."""

    masses: np.ndarray
    forces: np.ndarray
    positions_and_jacobian: Callable[[Pose], tuple[np.ndarray, np.ndarray]]
    potential: Callable[[np.ndarray], tuple[float, np.ndarray, np.ndarray]]
    idle_mass: float = 0.0
    size: float = 1.0
    free_root: bool = False


def pendulum(*, by_potential: bool = False) -> Toy:
    """Return a point on a circle, its root held; its weight is a force on it, or a potential of the angle."""
    weight = MASS * GRAVITY

    def on_circle(pose: Pose) -> tuple[np.ndarray, np.ndarray]:
        sine, cosine = np.sin(pose.q[0]), np.cos(pose.q[0])
        return LENGTH * np.array([[sine, 0.0, -cosine]]), LENGTH * np.array([[cosine, 0.0, sine]])

    def potential(q: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        strength = weight * LENGTH if by_potential else 0.0
        return -strength * float(np.cos(q[0])), strength * np.sin(q), strength * np.cos(q)[:, None]

    force = np.array([[0.0, 0.0, 0.0 if by_potential else -weight]])
    return Toy(np.array([MASS]), force, on_circle, potential, size=LENGTH)


def spring(stiffness: float) -> Toy:
    """Return a point on a line, drawn back to its origin."""
    line = np.array([[1.0, 0.0, 0.0]])
    return Toy(
        np.array([1.5]),
        np.zeros((1, 3)),
        lambda pose: (pose.q[0] * line, line),
        lambda q: (0.5 * stiffness * float(q @ q), stiffness * q, stiffness * np.eye(1)),
        idle_mass=0.3,
    )


def free_body(*, breathes: bool = False, gravity: float = 0.0) -> Toy:
    """Return eight points of different mass, the root away from their centre; with one coordinate q they breathe."""
    masses = np.linspace(0.5, 1.2, 8)
    local = np.random.default_rng(4).normal(size=(8, 3)) * np.array([0.5, 0.3, 0.2]) + np.array([0.1, 0.0, 0.05])

    def placed(pose: Pose) -> tuple[np.ndarray, np.ndarray]:
        arms = (local * np.exp(pose.q.sum())) @ pose.R.T
        return pose.p + arms, generalized_jacobian(arms, arms[None][: int(breathes)])

    def potential(q: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        return 20.0 * float(q @ q), 40.0 * q, 40.0 * np.eye(len(q))

    return Toy(masses, masses[:, None] * np.array([0.0, 0.0, -gravity]), placed, potential, free_root=True)


@pytest.fixture(scope="module")
def exact_bean(bean: RestShape, checkpoint: Checkpoint) -> ObjectKinematics:
    """The bean in double precision."""
    return ObjectKinematics(bean, checkpoint, dtype=torch.float64)


def bean_body(kinematics: ObjectKinematics, material: str) -> Body:
    """Return the bean with a material."""
    return Body(kinematics, describe_shape(kinematics), MATERIALS[material], 0.5)


def wobbling_bean(kinematics: ObjectKinematics) -> tuple[IntegratorVariational, VariationalState]:
    """Return the elastic bean, thrown, turning and knocked along every coordinate, with steps of 2 ms."""
    body = bean_body(kinematics, "elastic")
    knock = 2.0 * np.random.default_rng(0).normal(size=body.k_q)
    velocity = np.concatenate(([0.02, -0.03, 0.01], [0.1, 0.3, -0.2], knock))
    integrator = IntegratorVariational(ElasticBody(body, gravity=0.0), 2e-3)
    return integrator, integrator.start(Pose(np.array([0.0, 0.0, 1.0]), np.eye(3), np.zeros(body.k_q)), velocity)


def assert_energy_is_kept(motion: RollOut, ground: float, *, trend: float = 0.1) -> None:
    """Within 1 % of the energy above the ground state, its trend a small share of the oscillation (1: all is trend)."""
    off = (motion.energy - motion.energy[0]) / (motion.energy[0] - ground)
    drift = np.polyfit(motion.times, off, 1)[0] * motion.times[-1]
    print(f"energy: off by {np.abs(off).max():.2e}, swings by {np.ptp(off):.2e}, drift over the run {drift:.2e}")
    assert np.abs(off).max() < 0.01
    assert abs(drift) < trend * np.ptp(off) + 1e-9


def momenta(points: MovingPoints, state: VariationalState) -> tuple[np.ndarray, np.ndarray]:
    """Return linear momentum and angular momentum about the world's origin, from the points' velocities."""
    impulses = points.masses[:, None] * (state.jacobian.T @ state.velocity).reshape(-1, 3)
    return impulses.sum(0), np.cross(state.positions, impulses).sum(0)


def assert_momenta_are_kept(integrator: IntegratorVariational, first: VariationalState, last: VariationalState) -> None:
    """Linear and angular momentum to 1e-9, as shares of what they were."""
    for before, after in zip(momenta(integrator.points, first), momenta(integrator.points, last), strict=True):
        print(f"momentum off by {np.linalg.norm(after - before) / np.linalg.norm(before):.1e}")
        assert np.linalg.norm(after - before) < 1e-9 * np.linalg.norm(before)


def swing(toy: Toy, steps_per_period: int) -> tuple[IntegratorVariational, VariationalState]:
    """Return a pendulum at its bottom, swinging up to 1.5 rad."""
    integrator = IntegratorVariational(toy, 4.0 * ellipk(K**2) / RATE / steps_per_period)
    return integrator, integrator.start(still(np.zeros(1)), np.array([2.0 * K * RATE]))


@pytest.mark.parametrize("by_potential", [False, True])
def test_a_pendulum_shows_second_order(by_potential: bool) -> None:
    """Halving the step divides the distance from the exact swing by four, over two and a half periods."""
    toy, errors = pendulum(by_potential=by_potential), []
    assert isinstance(toy, MovingPoints)
    for steps_per_period in (50, 100, 200, 400):
        integrator, state = swing(toy, steps_per_period)
        motion = integrator.roll_out(state, 5 * steps_per_period // 2)
        exact = 2.0 * np.arcsin(K * ellipj(RATE * motion.times, K**2)[0])
        errors.append(np.abs(motion.q[:, 0] - exact).max())
    ratios = np.array(errors[:-1]) / np.array(errors[1:])
    print(errors, ratios)
    assert ((ratios > 3.7) & (ratios < 4.3)).all()


@pytest.mark.parametrize("by_potential", [False, True])
def test_a_pendulum_keeps_its_energy(by_potential: bool) -> None:
    """Over 10,000 steps, 50 a period: within 1 % and without a trend."""
    integrator, state = swing(pendulum(by_potential=by_potential), 50)
    motion = integrator.roll_out(state, 10_000)
    assert_energy_is_kept(motion, -MASS * GRAVITY * LENGTH)


def test_a_spring_keeps_its_energy_to_rounding() -> None:
    """Of a harmonic oscillator the scheme is the midpoint rule, which keeps the energy exactly and turns a bit slow."""
    toy = spring(40.0)
    rate = np.sqrt(40.0 / (toy.masses[0] + toy.idle_mass))
    integrator = IntegratorVariational(toy, 2.0 * np.pi / rate / 20.0)
    motion = integrator.roll_out(integrator.start(still(np.array([0.2])), np.zeros(1)), 2000)
    assert np.abs(motion.energy / motion.energy[0] - 1.0).max() < 1e-10
    turn = 2.0 * np.arctan(0.5 * rate * integrator.h) / integrator.h
    assert np.abs(motion.q[:, 0] - 0.2 * np.cos(turn * motion.times)).max() < 1e-9


@pytest.mark.parametrize("breathes", [False, True])
def test_free_flight_keeps_both_momenta(breathes: bool) -> None:
    """A body thrown and spun keeps its momenta, whether or not it breathes, through 2,000 steps."""
    points = free_body(breathes=breathes)
    turned = Rotation.from_rotvec([0.3, 0.5, -0.2]).as_matrix()
    integrator = IntegratorVariational(points, 5e-3)
    velocity = np.array([0.4, 0.1, -0.3, 1.0, -2.0, 1.5, 0.5])[: 6 + int(breathes)]
    state = integrator.start(Pose(np.array([0.3, -0.2, 1.0]), turned, np.full(int(breathes), 0.1)), velocity)
    motion = integrator.roll_out(state, 2000)
    assert_momenta_are_kept(integrator, state, motion.last)
    assert_energy_is_kept(motion, 0.0)


def test_a_falling_body_falls_as_it_should() -> None:
    """Under its weight the centre of mass is on the exact parabola, whatever the body's spin."""
    points = free_body(gravity=GRAVITY)
    integrator = IntegratorVariational(points, 5e-3)
    velocity = np.array([0.5, 0.0, 2.0, 1.0, -2.0, 1.5])
    state = integrator.start(still(np.zeros(0)), velocity)
    last = integrator.roll_out(state, 400).last
    share = points.masses / points.masses.sum()
    centre = share @ state.positions
    drift = velocity[:3] + np.cross(velocity[3:], centre)
    exact = centre + drift * last.time - np.array([0.0, 0.0, 0.5 * GRAVITY * last.time**2])
    assert np.linalg.norm(share @ last.positions - exact) < 1e-9


def euler_top(inertia: np.ndarray, spin: np.ndarray, end: float) -> np.ndarray:
    """Return the orientation of a free rigid body after a time: inertia and spin in its own axes at the start."""

    def rates(_: float, y: np.ndarray) -> np.ndarray:
        turn, w = y[:9].reshape(3, 3), y[9:]
        cross = np.array([[0.0, -w[2], w[1]], [w[2], 0.0, -w[0]], [-w[1], w[0], 0.0]])
        return np.concatenate(((turn @ cross).ravel(), np.linalg.solve(inertia, np.cross(inertia @ w, w))))

    start = np.concatenate((np.eye(3).ravel(), spin))
    return solve_ivp(rates, (0.0, end), start, method="DOP853", rtol=1e-12, atol=1e-13).y[:9, -1].reshape(3, 3)


def assert_turns_as_euler_says(points: MovingPoints) -> None:
    """Spun at 2 rad/s off the principal axes, it is within 1e-3 rad of the exact orientation after 10 s at 1 ms."""
    x, _ = points.positions_and_jacobian(still(np.zeros(0)))
    share = points.masses / points.masses.sum()
    arms = x - share @ x
    inertia = np.einsum("m,md,md->", points.masses, arms, arms) * np.eye(3)
    inertia -= np.einsum("m,mi,mj->ij", points.masses, arms, arms)
    spin = 2.0 * np.linalg.eigh(inertia)[1] @ np.array([0.5, 0.7, np.sqrt(1.0 - 0.74)])
    integrator = IntegratorVariational(points, 1e-3)
    state = integrator.start(still(np.zeros(0)), np.concatenate((np.cross(share @ x, spin), spin)))
    motion = integrator.roll_out(state, 10_000, every=100)
    exact = euler_top(inertia, spin, 10.0)
    off = Rotation.from_matrix(exact.T @ motion.last.pose.R).magnitude()
    print(f"turned wrong by {off:.2e} rad")
    assert off < 1e-3
    assert np.abs(share @ motion.last.positions - share @ x).max() < 1e-9
    assert np.abs(motion.energy / motion.energy[0] - 1.0).max() < 1e-5


def test_a_rigid_body_turns_as_euler_says() -> None:
    """Eight points, against the exact Euler top."""
    assert_turns_as_euler_says(free_body())


def test_a_rigid_bean_turns_as_euler_says(exact_bean: ObjectKinematics) -> None:
    """The bean made rigid, against the exact Euler top."""
    assert_turns_as_euler_says(ElasticBody(bean_body(exact_bean, "rigid"), gravity=0.0))


def test_the_bean_keeps_energy_and_momenta(exact_bean: ObjectKinematics) -> None:
    """The elastic bean over 300 steps, few enough to see two swings."""
    integrator, state = wobbling_bean(exact_bean)
    motion = integrator.roll_out(state, 300)
    assert_energy_is_kept(motion, 0.0, trend=0.5)
    assert_momenta_are_kept(integrator, state, motion.last)


@pytest.mark.slow
def test_the_bean_keeps_energy_and_momenta_for_long(exact_bean: ObjectKinematics) -> None:
    """The same over 10,000 steps."""
    integrator, state = wobbling_bean(exact_bean)
    motion = integrator.roll_out(state, 10_000, every=5)
    assert_energy_is_kept(motion, 0.0)
    assert_momenta_are_kept(integrator, state, motion.last)


def test_the_beans_slope_is_the_derivative_of_its_energy(exact_bean: ObjectKinematics) -> None:
    """Within the learned range and beyond it, the gradient agrees with central differences."""
    points = ElasticBody(bean_body(exact_bean, "elastic"))
    direction = np.random.default_rng(1).normal(size=points.body.k_q)
    for reach in (0.3, 6.0):
        q = reach * direction
        _, slope, _ = points.potential(q)
        ahead, behind = (points.potential(q + s * 1e-5 * direction)[0] for s in (1.0, -1.0))
        assert (ahead - behind) / 2e-5 == pytest.approx(slope @ direction, rel=1e-6)


def test_a_long_step_is_refused() -> None:
    """A step just above a twentieth of the period is refused, and one just below is not; so is a fast spin."""
    toy, longest = pendulum(), 2.0 * np.pi / RATE / 20.0
    pose, velocity = still(np.zeros(1)), np.array([1.0])
    IntegratorVariational(toy, 0.999 * longest).start(pose, velocity)
    with pytest.raises(StepTooLong, match="allows"):
        IntegratorVariational(toy, 1.001 * longest).start(pose, velocity)
    # At rest at the bottom nothing is excited.
    IntegratorVariational(toy, 1.0).start(pose, np.zeros(1))
    with pytest.raises(StepTooLong):
        IntegratorVariational(free_body(), 0.01).start(still(np.zeros(0)), np.array([0.0, 0.0, 0.0, 0.0, 0.0, 40.0]))


def test_what_cannot_be_solved_is_said(bean_kinematics: ObjectKinematics) -> None:
    """A step that is no number, a motion that is no number and kinematics in single precision are refused."""
    with pytest.raises(ValueError, match="step"):
        IntegratorVariational(pendulum(), float("nan"))
    integrator, state = swing(pendulum(), 50)
    for momentum in (1e9, np.nan):
        with pytest.raises(NotSolved):
            integrator.step(replace(state, momentum=np.full(1, momentum), velocity=np.full(1, momentum)))
    with pytest.raises(ValueError, match="double precision"):
        ElasticBody(bean_body(bean_kinematics, "elastic"))
