"""What holds, carries or blows a cloth of size 1: grips, bodies to drape it on, wind.

The cloth's frame: ``up`` points to the edge that is held when it hangs, ``across`` runs along that edge.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from scipy.spatial.transform import Rotation

from engine.datasets.shapes.primitives import Rng
from engine.datasets.simulated.mujoco_model import Force
from engine.geometry.surface import face_normals_and_areas

LOADS = ("edge", "corners", "corner", "draped", "wind")
GRAVITY = 9.81


@dataclass(frozen=True, slots=True)
class ClothScene:
    """A cloth placed in the world.

    Attributes:
        vertices: at rest, world frame, shape (n, 3).
        pinned: vertices held to the world.
        surroundings: bodies that it falls on, MJCF.
        velocities: at the start, shape (n, 3).
        step: time step that its contacts allow [s].
        force: the air, or None.
    """

    vertices: Float[np.ndarray, "n 3"]
    pinned: Int[np.ndarray, " p"]
    velocities: Float[np.ndarray, "n 3"]
    step: float
    surroundings: str = ""
    force: Force | None = None


def standing(vertices: Float[np.ndarray, "n 3"], rng: Rng) -> Float[np.ndarray, "n 3"]:
    """Return a cloth of size 1 about the origin with up along Z: flat cloths upright, one of their four ways up.

    Garments that are no flat sheets stand already: they are scaled alone.
    """
    x = vertices - 0.5 * (vertices.min(0) + vertices.max(0))
    _, spread, axes = np.linalg.svd(x - x.mean(0), full_matrices=False)
    if spread[2] < 0.12 * spread[0]:
        order = [0, 2, 1] if rng.random() < 0.5 else [1, 2, 0]
        frame = axes[order] * np.array([[1.0], [1.0], [rng.choice([-1.0, 1.0])]])
        frame[1] *= np.sign(np.linalg.det(frame))
        x = x @ frame.T
        x = x - 0.5 * (x.min(0) + x.max(0))
    return x / float(np.ptp(x, axis=0).max())


def _grip(x: Float[np.ndarray, "n 3"], toward: Float[np.ndarray, "3"], radius: float) -> Int[np.ndarray, " p"]:
    """Return the vertices around the one that lies farthest in a direction."""
    tip = x[np.argmax(x @ toward)]
    distance = np.linalg.norm(x - tip, axis=1)
    return np.union1d(np.flatnonzero(distance < radius), np.argsort(distance)[:4])


def place(
    vertices: Float[np.ndarray, "n 3"], faces: Int[np.ndarray, "m 3"], load: str, mass: float, rng: Rng
) -> ClothScene:
    """Hang a standing cloth, lay it over a body or put it into the wind.

    Args:
        vertices: as `standing` gives them.
        faces: triangles.
        load: one of `LOADS`.
        mass: of the cloth [kg].
        rng: generator of all that is random.
    """
    x = vertices
    if load == "draped":
        return _over_a_body(x, rng)
    radius = rng.uniform(0.02, 0.07)
    held = load if load != "wind" else str(rng.choice(["edge", "corners"]))
    if held == "edge":
        pinned = np.flatnonzero(x[:, 2] > x[:, 2].max() - rng.uniform(0.02, 0.06))
    elif held == "corners":
        slant = rng.uniform(0.7, 1.3)
        sides = [_grip(x, np.array([side, 0.0, slant]), radius) for side in (-1.0, 1.0)]
        pinned = np.union1d(*sides)
    else:
        pinned = _grip(x, np.array([rng.choice([-1.0, 1.0]), 0.0, rng.uniform(0.7, 1.3)]), radius)
    # Held cloths start anywhere between hanging and standing out level, and swing down.
    tilt = rng.uniform(0.4, 1.7) if load != "wind" else rng.uniform(0.0, 0.6)
    turn = Rotation.from_euler("z", rng.uniform(0, 2 * np.pi)) * Rotation.from_euler("x", tilt)
    x = turn.apply(x - x[pinned].mean(0))
    force = _wind(x, faces, mass, rng) if load == "wind" else _breeze(x, faces, mass, rng)
    swing = np.cross(rng.normal(0, 1.5, 3), x)
    return ClothScene(x, pinned, swing, 0.015, force=force)


def _over_a_body(x: Float[np.ndarray, "n 3"], rng: Rng) -> ClothScene:
    """Lay a cloth above a ball, box, cylinder or capsule; flat ones lie level."""
    if np.ptp(x[:, 1]) < 0.3:
        x = x @ Rotation.from_euler("x", 90, degrees=True).as_matrix().T
    x = Rotation.from_euler("zx", rng.uniform((0.0, -0.3), (2 * np.pi, 0.3))).apply(x)
    half = 0.5 * np.ptp(x[:, :2], axis=0).min()
    size = rng.uniform(0.35, 0.75) * half
    kind = str(rng.choice(["sphere", "box", "cylinder", "capsule"]))
    sizes = {
        "sphere": [size],
        "box": [*(size * rng.uniform(0.6, 1.1, 2)), size * rng.uniform(0.4, 1.0)],
        "cylinder": [size, size * rng.uniform(0.4, 1.0)],
        "capsule": [0.6 * size, size * rng.uniform(0.4, 1.0)],
    }[kind]
    turn = rng.uniform(0, 90, 3) * (kind in ("capsule", "box") and rng.random() < 0.5)
    reach = float(np.linalg.norm(sizes)) if kind != "capsule" else float(sum(sizes))
    at = np.array([*rng.normal(0, 0.15 * half, 2), 0.0])
    # As close below the cloth as a ball around the body may come; garments may so sit around its top.
    near = np.linalg.norm(x[:, :2] - at[:2], axis=1) < reach
    lowest = float(x[near, 2].min()) if near.any() else float(x[:, 2].min())
    at[2] = lowest - 0.03 - (sizes[-1] if kind in ("box", "cylinder") and not turn.any() else reach)
    world = (
        f'<geom type="{kind}" size="{" ".join(f"{s:.9g}" for s in sizes)}" pos="{at[0]:.9g} {at[1]:.9g} {at[2]:.9g}" '
        f'euler="{turn[0]:.9g} {turn[1]:.9g} {turn[2]:.9g}" friction="{rng.uniform(0.3, 1.2):.9g}"/>'
    )
    fall = np.tile([0.0, 0.0, -rng.uniform(0.3, 1.0)], (len(x), 1))
    return ClothScene(x, np.zeros(0, dtype=int), fall, 0.01, surroundings=world)


def _breeze(x: Float[np.ndarray, "n 3"], faces: Int[np.ndarray, "m 3"], mass: float, rng: Rng) -> Force:
    """Return the force of still air, which brakes a swinging cloth."""
    return _air(faces, np.zeros((1, 3)), mass, _area(x, faces), speed=rng.uniform(3.0, 8.0), swirl=0.0, pace=1.0)


def _wind(x: Float[np.ndarray, "n 3"], faces: Int[np.ndarray, "m 3"], mass: float, rng: Rng) -> Force:
    """Return the force of a gusty wind that is about as strong as the weight."""
    normal = np.linalg.svd(x - x.mean(0), full_matrices=False)[2][2]
    direction = normal * rng.choice([-1.0, 1.0]) + rng.normal(0, 0.5, 3) * (1.0, 1.0, 0.3)
    speed = rng.uniform(2.0, 5.0)
    flow = speed * rng.uniform(0.8, 1.6) * direction / np.linalg.norm(direction)
    return _air(faces, flow[None], mass, _area(x, faces), speed=speed, swirl=0.5, pace=rng.uniform(4.0, 12.0))


def _area(x: Float[np.ndarray, "n 3"], faces: Int[np.ndarray, "m 3"]) -> float:
    return float(face_normals_and_areas(x, faces)[1].sum())


def _air(
    faces: Int[np.ndarray, "m 3"],
    flow: Float[np.ndarray, "1 3"],
    mass: float,
    area: float,
    *,
    speed: float,
    swirl: float,
    pace: float,
) -> Force:
    """Return the pressure of air on each triangle: by the square of its speed through the air along the normal.

    Args:
        faces: triangles.
        flow: velocity of the air.
        mass: of the cloth.
        area: of the cloth.
        speed: at which the pressure on the whole equals the weight.
        swirl: how much gusts, which run along the flow, change it.
        pace: of the gusts [rad/s].
    """
    density = mass * GRAVITY / area / speed**2

    def force(now: float, x: Float[np.ndarray, "n 3"], v: Float[np.ndarray, "n 3"]) -> Float[np.ndarray, "n 3"]:
        normals, areas = face_normals_and_areas(x, faces)
        middle = x[faces].mean(1)
        air = flow
        if swirl:
            phase = pace * now - 5.0 * middle @ np.array([0.8, 0.5, 0.3])
            gust = np.stack((np.sin(phase), np.cos(1.3 * phase), 0.5 * np.sin(1.7 * phase)), 1)
            air = flow + swirl * np.linalg.norm(flow) * gust
        through = np.einsum("md,md->m", air - v[faces].mean(1), normals)
        through = np.clip(through, -3 * speed, 3 * speed)
        push = (density * areas * np.abs(through) * through / 3)[:, None] * normals
        total = np.zeros_like(x)
        for corner in faces.T:
            for d in range(3):
                total[:, d] += np.bincount(corner, weights=push[:, d], minlength=len(x))
        return total

    return force
