"""Solids of plasticine, jelly and sand, pressed, dropped and sheared: Newton's implicit material point method.

Particles fill the object and move; the surface follows them by moving least squares. The object is simulated with a
longest side of one metre, in SI units, with Z up and the ground at zero, and is scaled back at the end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from importlib.metadata import version
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from scipy.spatial.transform import Rotation

from engine.datasets.motion import Motion, Source
from engine.datasets.shapes.primitives import Rng
from engine.datasets.shapes.solids import SOFT
from engine.datasets.simulated.frame_choice import chosen_frames
from engine.datasets.simulated.particle_surface import carrier_of, check_sound, fill_with_particles
from engine.geometry.welding import vertex_components

Arrays = tuple[Float[np.ndarray, "n 3"], Int[np.ndarray, "m 3"]]

# A plate that sticks holds up to this tension [Pa]: one that never let go would draw spikes out of a narrow contact.
ADHESION = 2e4
DENSITY = 1000.0
MOST_VERTICES = 20_000
# A shape that changed by less than this part of its size is no example of a soft one.
LEAST_CHANGE = 0.015


class Material(StrEnum):
    """What the object is made of."""

    PLASTICINE = "plasticine"
    JELLY = "jelly"
    SAND_BAG = "sand_bag"


class Load(StrEnum):
    """What is done to the object."""

    PRESSED = "pressed"
    DROPPED = "dropped"
    SHEARED = "sheared"


@dataclass(frozen=True, slots=True)
class Tool:
    """What moves an object: a rigid collider moved on rails, and how long the load lasts.

    Attributes:
        ball: radius of a ball [m]; 0 is a wide plate.
        path: centre of the ball, or of the lower face of the plate, at a time [s], in metres.
        friction: of the collider and of the ground.
        velocity: of the object at the start [m/s].
        spin: angular velocity of the object at the start [rad/s].
        duration: [s].
        sticks_until: when collider and ground stop holding what touches them [s]; 0 if they never do.
        time_step: [s].
        steps: time steps from one snapshot to the next.
    """

    ball: float
    path: Callable[[float], Float[np.ndarray, "3"]]
    friction: float
    velocity: Float[np.ndarray, "3"]
    spin: Float[np.ndarray, "3"]
    duration: float
    sticks_until: float = 0.0
    time_step: float = 0.0125
    steps: int = 2


def continuum(
    rng: Rng,
    *,
    frames: int = 32,
    shape: Arrays | None = None,
    name: str = "",
    source: Source | None = None,
    material: Material | None = None,
    load: Load | None = None,
    particles: int = 1000,
) -> Motion:
    """Simulate one solid under one load and return its most different shapes, in the order of time.

    Args:
        rng: draws the solid, its attitude, the material's constants and the load.
        frames: how many frames to keep; the first is the rest shape.
        shape: vertices and faces of a closed surface; a random solid of `SOFT` if None.
        name: what the object is called.
        source: where the shape comes from; the simulator, as procedural, if None.
        material: drawn if None.
        load: drawn if None.
        particles: about how many particles to fill the solid with.

    Raises:
        ValueError: the surface encloses too little, or it was torn, turned inside out or hardly deformed.
    """
    if frames < 2:
        raise ValueError(f"two frames at least were wanted, got {frames}")
    if shape is None:
        mesh = SOFT[str(rng.choice(list(SOFT)))](rng)
        shape = np.asarray(mesh.vertices, dtype=np.float64), np.asarray(mesh.faces)
    vertices, faces = np.asarray(shape[0], dtype=np.float64), np.asarray(shape[1])
    if len(vertices) > MOST_VERTICES:
        raise ValueError(f"at most {MOST_VERTICES} vertices were wanted, got {len(vertices)}")
    material = Material(rng.choice(list(Material))) if material is None else material
    load = Load(rng.choice(list(Load))) if load is None else load
    scale = float(np.ptp(vertices, axis=0).max())
    if not scale > 0:
        raise ValueError("the object has no size")
    rest = _draw_attitude(load, rng, vertices / scale)
    rest -= [*(0.5 * (rest.min(0) + rest.max(0)))[:2], rest[:, 2].min()]
    grains, spacing = fill_with_particles(rest, faces, particles, rng)
    bagged = material is Material.SAND_BAG
    carrier = carrier_of(rest, faces, grains, spacing, count=24 if bagged else 12, smoothings=8 if bagged else 3)
    tool = _draw_tool(load, material, rest, rng)
    states = simulate(grains, spacing, draw_material(material, rng), tool)
    if not np.isfinite(states).all() or np.abs(states - states.mean(1, keepdims=True)).max() > 5.0:
        raise ValueError(f"{material} {load}: the particles flew apart")
    carried = [carrier.carry(state) for state in states]
    snapshots = np.stack([vertices for vertices, _ in carried])
    check_sound(np.concatenate((rest[None], snapshots)), faces, np.stack([gradient for _, gradient in carried]))
    # What creeps passes through many states that differ little: they are what there is to learn.
    positions, rotations = chosen_frames(rest, snapshots, faces, frames, least_change=LEAST_CHANGE, least_step=0.015)
    return Motion(
        f"continuum/{material}",
        faces.astype(np.int32),
        vertex_components(faces, len(vertices)),
        (positions * scale).astype(np.float32),
        rotations,
        source=Source(name=f"Newton {version('newton')} implicit MPM") if source is None else source,
        name=name,
    )


def _draw_attitude(load: Load, rng: Rng, vertices: Float[np.ndarray, "n 3"]) -> Float[np.ndarray, "n 3"]:
    """Turn the vertices: about Z, or any way. What is pressed or sheared lies low, else it only topples."""
    turns = [Rotation.from_euler("z", rng.uniform(0, 2 * np.pi)), *Rotation.random(4, rng=rng)]
    turned = [turn.apply(vertices) for turn in turns]
    if load is Load.DROPPED:
        return turned[int(rng.integers(2))]
    return min(turned, key=lambda v: float(np.ptp(v[:, 2])))


def draw_material(material: Material, rng: Rng) -> dict[str, float]:
    """Draw Newton's material constants, in SI units. An object of one metre weighs some 5 kPa on its lower half."""
    if material is Material.PLASTICINE:
        return {
            "young_modulus": 6e5 * rng.uniform(0.5, 1.5),
            "poisson_ratio": 0.35,
            "yield_stress": 1.2e4 * rng.uniform(0.6, 1.6),
            "friction": 0.0,
            "tensile_yield_ratio": 1.0,
        }
    if material is Material.JELLY:
        return {
            "young_modulus": 5e4 * float(np.exp(rng.uniform(-0.6, 0.6))),
            "poisson_ratio": 0.42,
            "damping": 0.01,
            "yield_stress": 1e12,
            "friction": 0.0,
            "tensile_yield_ratio": 1.0,
        }
    return {
        "young_modulus": 1e6,
        "poisson_ratio": 0.3,
        "yield_stress": 1.5e3 * rng.uniform(0.5, 2.0),
        "yield_pressure": 1e7,
        "tensile_yield_ratio": 1e-3,
        "friction": rng.uniform(0.4, 0.7),
    }


def _draw_tool(load: Load, material: Material, vertices: Float[np.ndarray, "n 3"], rng: Rng) -> Tool:
    """Draw a load on an object [m] that stands on the ground."""
    still, height = np.zeros(3), float(vertices[:, 2].max())
    if load is Load.DROPPED:
        fall = rng.uniform(0.3, 1.0) if material is Material.JELLY else rng.uniform(1.0, 3.0)
        velocity = np.array([*rng.normal(0, 0.6, 2), -np.sqrt(2 * 9.81 * fall)])
        away = np.array([0.0, 0.0, 50.0])
        # The impact of what stays flat is over in a tenth of a second; jelly rebounds and wobbles.
        friction, spin = rng.uniform(0.4, 1.0), rng.normal(0, 1.0, 3)
        if material is Material.JELLY:
            return Tool(0.0, lambda _: away, friction, velocity, spin, 1.1)
        return Tool(0.0, lambda _: away, friction, velocity, spin, 0.75, time_step=0.0075, steps=1)
    if load is Load.PRESSED and rng.random() < 0.5:
        ball = float(rng.uniform(0.2, 0.45))
        aim = vertices[int(rng.integers(len(vertices))), :2]
        under = np.linalg.norm(vertices[:, :2] - aim, axis=1) < 0.6 * ball
        top = float(vertices[under, 2].max())
        depth = top * rng.uniform(0.4, 0.7)
        # It starts above the highest point, so that it comes down on the object wherever it is let down.
        keys = np.array([[*aim, height + ball], [*aim, top + ball - depth]])
        times = [0.0, 0.5]
    else:
        ball = 0.0
        depth = height * (rng.uniform(0.2, 0.35) if load is Load.SHEARED else rng.uniform(0.35, 0.65))
        keys = np.array([[0.0, 0.0, height], [0.0, 0.0, height - depth]])
        times = [0.0, 0.3 if load is Load.SHEARED else 0.5]
        if load is Load.SHEARED:
            angle, reach = rng.uniform(0, 2 * np.pi), height * rng.uniform(0.4, 0.9)
            keys = np.vstack((keys, keys[-1] + [reach * np.cos(angle), reach * np.sin(angle), 0.0]))
            times.append(0.8)
    keys = np.vstack((keys, keys[-1], keys[-1] + [0.0, 0.0, depth + 1.0]))
    times += [times[-1] + 0.1, times[-1] + 0.4]

    def path(time: float) -> Float[np.ndarray, "3"]:
        return np.array([np.interp(time, times, keys[:, d]) for d in range(3)])

    end = times[-1] + 0.25
    if load is Load.SHEARED:
        return Tool(ball, path, 1.0, still, still, end, sticks_until=times[-2])
    return Tool(ball, path, rng.uniform(0.3, 0.8), still, still, end)


def simulate(
    grains: Float[np.ndarray, "p 3"], spacing: float, constants: dict[str, float], tool: Tool
) -> Float[np.ndarray, "f p 3"]:
    """Return the particles [m] at each snapshot, on one core of the CPU."""
    import warp as wp

    wp.config.log_level = wp.LOG_ERROR
    import newton
    from newton.solvers import SolverImplicitMPM

    with wp.ScopedDevice("cpu"):
        builder = newton.ModelBuilder(up_axis=newton.Axis.Z, gravity=(0.0, 0.0, -9.81))
        SolverImplicitMPM.register_custom_attributes(builder)
        surface = newton.ModelBuilder.ShapeConfig(density=0.0, mu=tool.friction)
        builder.add_ground_plane(cfg=surface)
        body = builder.add_body(is_kinematic=True)
        if tool.ball > 0:
            builder.add_shape_sphere(body, radius=tool.ball, cfg=surface)
        else:
            lifted = wp.transform(wp.vec3(0.0, 0.0, 0.2), wp.quat_identity())
            builder.add_shape_box(body, xform=lifted, hx=2.5, hy=2.5, hz=0.2, cfg=surface)
        start = tool.velocity + np.cross(tool.spin, grains - grains.mean(0))
        count = len(grains)
        builder.add_particles(
            pos=[wp.vec3(*p) for p in grains],
            vel=[wp.vec3(*v) for v in start],
            mass=[DENSITY * spacing**3] * count,
            radius=[0.5 * spacing] * count,
        )
        model: Any = builder.finalize(device="cpu")
        for key, value in constants.items():
            getattr(model.mpm, key).fill_(value)
        config = SolverImplicitMPM.Config(
            voxel_size=2.0 * spacing,
            grid_type="dense",
            strain_basis="P0",
            max_iterations=50,
            tolerance=1e-4,
            air_drag=0.0,
            carry_residual_strain="none",
        )
        state: Any = model.state()
        solver = SolverImplicitMPM(model, config)
        dt = tool.time_step
        result = np.zeros((round(tool.duration / dt) // tool.steps, count, 3))
        for i in range(len(result) * tool.steps):
            now, then = tool.path(i * dt), tool.path((i + 1) * dt)
            for collider in range(2):
                sticks = i * dt < tool.sticks_until
                solver.collider_materials(collider)["adhesion"].fill_(ADHESION if sticks else 0.0)
            state.body_q.assign(np.array([[*now, 0, 0, 0, 1]], dtype=np.float32))
            state.body_qd.assign(np.array([[*((then - now) / dt), 0, 0, 0]], dtype=np.float32))
            solver.step(state, state, None, None, dt)  # pyright: ignore[reportArgumentType]
            solver.project_outside(state, state, dt)
            result[i // tool.steps] = state.particle_q.numpy()
    return result
