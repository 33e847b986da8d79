"""Laws of the dynamics on real objects with the shipped network: mass matrix, momentum, grab, floor, pins, energy."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from engine.dynamics.evaluation_point import Pose, evaluate, joined
from engine.dynamics.mechanics import Mechanics
from engine.dynamics.state import Loads, Pin, State, StepStatus, SurfacePoint
from engine.geometry.rest_shape import RestShape
from engine.kinematics.object_kinematics import ObjectKinematics
from engine.model.checkpoint import Checkpoint
from engine.scenes.material import MATERIALS, Anchor

H = 1.0 / 60.0
CENTRE = (1 / 3, 1 / 3, 1 / 3)


def floating(kinematics: ObjectKinematics, material: str) -> Mechanics:
    """Return an object without gravity or floor."""
    return Mechanics(kinematics, material=MATERIALS[material], anchor=Anchor.FREE, gravity=0.0, floor=False)


def face_towards(shape: RestShape, direction: tuple[float, float, float]) -> int:
    """Return the face farthest along a direction."""
    return int(np.argmax(np.asarray(shape.vertices)[np.asarray(shape.faces)].mean(1) @ np.array(direction)))


def momenta(mechanics: Mechanics, state: State) -> tuple[np.ndarray, np.ndarray]:
    """Return linear and angular momentum about the centre of mass."""
    e = evaluate(mechanics.body, Pose(state.p, state.R, state.q), joined([], mechanics.body))
    u = np.concatenate((state.v, state.w, state.qd))
    v, m, x = (e.masses_jacobian.T @ u).reshape(-1, 3), mechanics.body.masses, e.masses_at
    centre, drift = m @ x / m.sum(), m @ v / m.sum()
    return m @ v, np.cross(x - centre, m[:, None] * (v - drift)).sum(0)


def kinetic_energies(mechanics: Mechanics, state: State) -> tuple[float, float]:
    """Return the kinetic energy of the mass points, and the part of it that is motion of the whole."""
    e = evaluate(mechanics.body, Pose(state.p, state.R, state.q), joined([], mechanics.body))
    v = (e.masses_jacobian.T @ np.concatenate((state.v, state.w, state.qd))).reshape(-1, 3)
    m, x = mechanics.body.masses, e.masses_at
    arms = x - m @ x / m.sum()
    inertia = np.einsum("m,md,md->", m, arms, arms) * np.eye(3) - np.einsum("m,mi,mj->ij", m, arms, arms)
    linear, angular = momenta(mechanics, state)
    whole = 0.5 * float(linear @ linear / m.sum() + angular @ np.linalg.solve(inertia, angular))
    return 0.5 * float(np.einsum("m,md,md->", m, v, v)), whole


def test_a_hung_object_stays_at_its_top(bean_kinematics: ObjectKinematics) -> None:
    """Hung by its top above the floor, a soft object neither falls nor lets go: within a second its top stays."""
    mechanics = Mechanics(bean_kinematics, material=MATERIALS["cloth"], anchor=Anchor.HANGING)
    state = mechanics.rest_state()
    start = mechanics.decode(state)
    assert start[:, 2].min() > 0.1 * mechanics.size
    for _ in range(60):
        state, _ = mechanics.step(state, Loads(), H)
    top = start[:, 2] > start[:, 2].max() - 0.05 * mechanics.size
    assert np.abs((mechanics.decode(state) - start)[top]).max() < 0.01 * mechanics.size


def test_mass_matrix_is_symmetric_positive_and_well_conditioned(bean_kinematics: ObjectKinematics) -> None:
    """Over 100 random states M is symmetric and positive, with a condition number below 1e6 when dimensionless."""
    mechanics = floating(bean_kinematics, "elastic")
    rng = np.random.default_rng(0)
    scale = np.concatenate(([mechanics.size] * 3, np.ones(3 + mechanics.body.k_q)))
    for _ in range(100):
        q = rng.normal(size=mechanics.body.k_q)
        matrix = evaluate(mechanics.body, Pose(np.zeros(3), np.eye(3), q), joined([], mechanics.body)).mass_matrix
        matrix = matrix * np.outer(scale, scale) / mechanics.mass
        assert np.abs(matrix - matrix.T).max() < 1e-9 * np.abs(matrix).max()
        values = np.linalg.eigvalsh(matrix)
        assert values[0] > 0
        assert values[-1] / values[0] < 1e6


@pytest.mark.parametrize("material", ["elastic", "rigid"])
def test_free_flight_keeps_momentum_and_spin(bean_kinematics: ObjectKinematics, material: str) -> None:
    """Ten seconds of free flight keep linear momentum to 1e-6 and angular to 1e-3; a rigid spin of 2 rev/s keeps 99 %.

    A soft body widens as it spins, and turns the slower for it.
    """
    mechanics = floating(bean_kinematics, material)
    start = mechanics.rest_state(height=1.0)
    # About the axis of greatest inertia, which is stable.
    arms = mechanics.body.combination @ bean_kinematics.sample_points
    arms = arms - bean_kinematics.mass_points.mass @ arms
    inertia = np.einsum("m,md,md->", mechanics.body.masses, arms, arms) * np.eye(3)
    inertia = inertia - np.einsum("m,mi,mj->ij", mechanics.body.masses, arms, arms)
    axis = np.linalg.eigh(inertia)[1][:, 2]
    state = replace(start, v=np.array([0.3, -0.2, 0.5]), w=axis * 4.0 * np.pi)
    linear, angular = momenta(mechanics, state)
    for _ in range(600):
        state, report = mechanics.step(state, Loads(), H)
        assert report.status is StepStatus.CONVERGED
    linear_after, angular_after = momenta(mechanics, state)
    assert np.linalg.norm(linear_after - linear) < 1e-6 * np.linalg.norm(linear)
    assert np.linalg.norm(angular_after - angular) < 1e-3 * np.linalg.norm(angular)
    if material == "rigid":
        assert state.w @ axis > 0.99 * 4.0 * np.pi


def test_grab_gives_no_kick(bean: RestShape, bean_kinematics: ObjectKinematics) -> None:
    """With the cursor still, the first step after a grab moves nothing by more than 1e-6 of size."""
    mechanics = Mechanics(bean_kinematics, material=MATERIALS["elastic"], anchor=Anchor.STANDING)
    state = mechanics.rest_state()
    for _ in range(240):
        state, _ = mechanics.step(state, Loads(), H)
    grab = mechanics.begin_grab(state, SurfacePoint(face_towards(bean, (0, 0, 1)), CENTRE))
    assert np.allclose(grab.target, mechanics.point_position(state, grab.point), atol=1e-9)
    with_grab, _ = mechanics.step(state, Loads(grab=grab), H)
    without, _ = mechanics.step(state, Loads(), H)
    moved = np.abs(mechanics.decode(with_grab) - mechanics.decode(without)).max()
    assert moved < 1e-6 * mechanics.size


def test_held_drag_settles(bean: RestShape, bean_kinematics: ObjectKinematics) -> None:
    """A held pull comes to rest within 3 s with the point near the cursor."""
    mechanics = Mechanics(bean_kinematics, material=MATERIALS["elastic"], anchor=Anchor.STANDING)
    state = mechanics.rest_state()
    grab = mechanics.begin_grab(state, SurfacePoint(face_towards(bean, (0, 0, 1)), CENTRE))
    grab = replace(grab, target=grab.target + np.array([0.08, 0.0, 0.0]) * mechanics.size)
    for i in range(180):
        state, report = mechanics.step(state, Loads(grab=replace(grab, age=i * H)), H)
    assert report.kinetic / mechanics.mass < 1e-4
    assert report.grab_point is not None
    assert np.linalg.norm(report.grab_point - grab.target) < 0.15 * mechanics.size
    assert np.linalg.norm(report.grab_point - mechanics.rest_state().p) > 0


def test_density_does_not_change_the_feel(bean: RestShape, bean_kinematics: ObjectKinematics) -> None:
    """At a fixed frequency, 1,024 times the density gives the same motion under the same drag.

    A power of two scales every force and inertia without rounding, so nothing but a true dependence on density can part
    the two motions: not even how steps that are hard to solve are cut off.
    """
    tracks: list[np.ndarray] = []
    for density in (150.0, 1024.0 * 150.0):
        material = MATERIALS["elastic"].model_copy(update={"density": density})
        mechanics = Mechanics(bean_kinematics, material=material, anchor=Anchor.STANDING)
        state = mechanics.rest_state()
        grab = mechanics.begin_grab(state, SurfacePoint(face_towards(bean, (0, 0, 1)), CENTRE))
        grab = replace(grab, target=grab.target + np.array([0.1, 0.05, 0.0]))
        for i in range(40):
            state, _ = mechanics.step(state, Loads(grab=replace(grab, age=i * H)), H)
        tracks.append(mechanics.decode(state))
    assert np.abs(tracks[0] - tracks[1]).max() < 1e-6 * mechanics.size


def test_grab_refuses_to_throw(bean: RestShape, bean_kinematics: ObjectKinematics) -> None:
    """A cursor a hundred sizes away pulls no harder than five times the weight."""
    mechanics = Mechanics(bean_kinematics, material=MATERIALS["elastic"], anchor=Anchor.FREE)
    state = mechanics.rest_state()
    grab = mechanics.begin_grab(state, SurfacePoint(face_towards(bean, (0, 0, 1)), CENTRE))
    grab = replace(grab, target=grab.target + 100.0 * mechanics.size, age=1.0)
    state, report = mechanics.step(state, Loads(grab=grab), H)
    assert report.grab_force is not None
    assert np.linalg.norm(report.grab_force) < 5.5 * 9.81 * mechanics.mass


def test_dropped_block_lands_and_settles(block: RestShape, checkpoint: Checkpoint) -> None:
    """A tilted box falls, tumbles, and comes to rest without sinking by 1 percent of size."""
    mechanics = Mechanics(ObjectKinematics(block, checkpoint), material=MATERIALS["rigid"], anchor=Anchor.FREE)
    state = replace(mechanics.rest_state(height=0.6), w=np.array([2.0, 1.0, 0.5]))
    lowest = 0.0
    for _ in range(480):
        state, report = mechanics.step(state, Loads(), H)
        lowest = min(lowest, float(mechanics.decode(state)[:, 2].min()))
    assert report.kinetic / mechanics.mass < 1e-4
    assert lowest > -0.01 * mechanics.size
    assert report.contacts >= 3


def test_pin_holds_its_point(bean: RestShape, bean_kinematics: ObjectKinematics) -> None:
    """A body hung by one pin swings, and the pin drifts by less than 0.1 percent of size."""
    mechanics = Mechanics(bean_kinematics, material=MATERIALS["elastic"], anchor=Anchor.FREE, floor=False)
    state = mechanics.rest_state(height=1.0)
    point = SurfacePoint(face_towards(bean, (1, 0, 0)), CENTRE)
    target = mechanics.point_position(state, point)
    start, worst = state.p, 0.0
    moved = 0.0
    for _ in range(120):
        state, report = mechanics.step(state, Loads(pins=(Pin(point, target),)), H)
        assert report.status in (StepStatus.CONVERGED, StepStatus.FALLBACK)
        worst = max(worst, float(np.linalg.norm(mechanics.point_position(state, point) - target)))
        moved = max(moved, float(np.linalg.norm(state.p - start)))
    assert worst < 1e-3 * mechanics.size
    assert moved > 0.1 * mechanics.size


def test_damped_energy_decays(bean_kinematics: ObjectKinematics) -> None:
    """Left alone after a knock, the total energy stays below the knock's and falls after the scheme's first steps."""
    mechanics = floating(bean_kinematics, "elastic")
    rest = mechanics.rest_state(height=1.0)
    state = replace(rest, qd=50.0 * np.random.default_rng(0).normal(size=len(rest.q)))
    knock, flight = kinetic_energies(mechanics, state)
    energies: list[float] = []
    for _ in range(120):
        state, report = mechanics.step(state, Loads(), H)
        energies.append(report.kinetic + report.elastic)
    assert max(energies) < knock
    assert all(later < 1.005 * earlier for earlier, later in pairwise(energies[4:]))
    # What the knock made fly and spin goes on; what it made wobble has died away.
    assert energies[-1] - kinetic_energies(mechanics, state)[1] < 0.05 * (knock - flight)


def test_non_finite_load_returns_the_old_state(bean: RestShape, bean_kinematics: ObjectKinematics) -> None:
    """A target that is not a number is refused by the step, which gives the old state back with a reason."""
    mechanics = Mechanics(bean_kinematics, material=MATERIALS["elastic"], anchor=Anchor.FREE)
    state = mechanics.rest_state()
    grab = mechanics.begin_grab(state, SurfacePoint(face_towards(bean, (0, 0, 1)), CENTRE))
    after, report = mechanics.step(state, Loads(grab=replace(grab, target=np.full(3, np.nan))), H)
    assert report.status is StepStatus.NOT_FINITE
    assert after is state
    assert report.message
