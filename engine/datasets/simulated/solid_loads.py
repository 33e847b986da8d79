"""Five loads on an elastic solid of size 1. Each chooses the stiffness for which it bends the solid visibly.

The modulus follows from the response of the cage's softest modes: thick and thin shapes deform alike, and the pace of
the motion, and with it stiff and soft materials, stay random.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from scipy.spatial.transform import Rotation

from engine.datasets.shapes.primitives import Rng
from engine.datasets.simulated.elastic_cage import ElasticCage, Response
from engine.datasets.simulated.mujoco_model import Material

GRAVITY = 9.81
STEPS = 250
EVERY = 3
Snapshots = Float[np.ndarray, "s c 3"]


def _material(rng: Rng, young: float) -> Material:
    """Return a material of a given modulus, its other properties random."""
    return Material(
        young=young,
        poisson=rng.uniform(0.05, 0.4),
        damping=10 ** rng.uniform(-3.0, -1.7),
        friction=rng.uniform(0.2, 1.0),
    )


def _size(field: Float[np.ndarray, "c 3"]) -> float:
    """Return the length that all but a twentieth of the vectors stay below."""
    return max(float(np.quantile(np.linalg.norm(field, axis=1), 0.95)), 1e-9)


def _change(cage: ElasticCage, field: Float[np.ndarray, "c 3"]) -> float:
    """Return the root mean square of a displacement without the small rigid motion nearest to it."""
    x = cage.nodes - cage.nodes.mean(0)
    turns = np.cross(np.eye(3)[:, None], x[None])
    shifts = np.broadcast_to(np.eye(3)[:, None], turns.shape)
    rigid = np.concatenate((shifts, turns)).reshape(6, -1).T
    left = field.ravel() - rigid @ np.linalg.lstsq(rigid, field.ravel(), rcond=None)[0]
    return max(float(np.linalg.norm(left)) / float(np.sqrt(len(field))), 1e-9)


def _end(cage: ElasticCage, rng: Rng, *, hanging: float = 0.5) -> Int[np.ndarray, " p"]:
    """Return the nodes of one end of the cage in a random direction, of a random depth.

    The end looks up with probability ``hanging``.
    """
    direction = rng.normal(size=3) * np.where(rng.random(3) < 0.4, 0.1, 1.0)
    direction[2] = np.abs(direction[2]) * (1.0 if rng.random() < hanging else -1.0)
    along = cage.nodes @ direction / np.linalg.norm(direction)
    depth = max(rng.uniform(0.05, 0.25) * float(np.ptp(along)), 0.6 * cage.cage.pitch)
    return np.union1d(np.flatnonzero(along > along.max() - depth), np.argsort(along)[-4:])


def free(cage: ElasticCage, rng: Rng) -> Snapshots:
    """Let go with velocities that twist, bend, stretch or shear the body; no gravity."""
    response = cage.response()
    pace = rng.uniform(5.0, 15.0)
    young = (pace / response.frequency()) ** 2
    x = cage.nodes - cage.nodes.mean(0)
    velocities = np.zeros_like(x)
    for kind in rng.choice(4, int(rng.integers(1, 4)), replace=False):
        a, b = Rotation.random(rng=rng).as_matrix()[:2]
        s = (x @ a)[:, None]
        fields = (np.cross(a, x) * s, b * s**2, a * s - 0.5 * (x - a * s), b * s)
        velocities += fields[kind] * rng.normal()
    change = _change(cage, response.swing(velocities)) / np.sqrt(young)
    velocities *= min(rng.uniform(0.06, 0.16) / change, 5.0 / _size(velocities))
    velocities -= np.average(velocities, axis=0, weights=cage.masses)
    body = cage.body(_material(rng, young), gravity=0.0)
    body.set_velocities(velocities)
    return body.run(STEPS, every=EVERY)


def _sag(response: Response) -> Float[np.ndarray, "c 3"]:
    """Return how gravity moves the body, the modulus being 1."""
    forces = np.zeros((len(response.masses), 3))
    forces[:, 2] = -GRAVITY * response.masses
    return response.displacement(forces)


def pinned(cage: ElasticCage, rng: Rng) -> Snapshots:
    """Hold one end in gravity, with a push at the start."""
    # A soft body on a foot collapses: most hang or stand out.
    held = _end(cage, rng, hanging=0.85)
    sag = _sag(cage.response(held))
    young = max(_change(cage, sag) / rng.uniform(0.05, 0.15), _size(sag) / 0.7)
    body = cage.body(_material(rng, young), pinned=held)
    body.set_velocities(np.tile(rng.normal(size=3) * (1.0, 1.0, 0.3), (len(cage.nodes), 1)))
    return body.run(STEPS, every=EVERY)


def dropped(cage: ElasticCage, rng: Rng) -> Snapshots:
    """Throw it on the floor."""
    nodes = cage.nodes
    foot = np.flatnonzero(nodes[:, 2] < nodes[:, 2].min() + 0.6 * cage.cage.pitch)
    height, speed = rng.uniform(0.02, 0.15), rng.uniform(1.5, 4.0)
    # A body that stands on its foot sags by g / w^2, and lands as far as v / w.
    change = rng.uniform(0.06, 0.18)
    young = _change(cage, _sag(cage.response(foot))) * max(speed**2 / GRAVITY / change**2, 1.0 / change)
    floor = float(nodes[:, 2].min()) - height
    world = f'<geom type="plane" size="20 20 1" pos="0 0 {floor:.9g}" friction="{rng.uniform(0.2, 1.0):.9g}"/>'
    body = cage.body(_material(rng, young), surroundings=world)
    spin, push = rng.normal(0, 1.0, 3), rng.normal(0, 0.5, 2)
    body.set_velocities(np.cross(spin, nodes - nodes.mean(0)) + np.array([*push, -speed]))
    return body.run(STEPS, every=EVERY)


def pulled(cage: ElasticCage, rng: Rng) -> Snapshots:
    """Hold one end and pull at one or two points, or pull a free body at two, then let go; no gravity."""
    nodes = cage.nodes
    held = _end(cage, rng) if rng.random() < 0.6 else None
    response = cage.response(held)
    count = 2 if held is None else int(rng.integers(1, 3))
    points: list[int] = []
    away = rng.choice(len(nodes), 1) if held is None else held
    for _ in range(count):
        distance = np.linalg.norm(nodes - nodes[away].mean(0), axis=1) ** 4
        distance[[] if held is None else held] = 0.0
        points.append(int(rng.choice(len(nodes), p=distance / distance.sum())))
        away = np.array(points[-1:])
    pulls = rng.normal(size=(count, 3))
    pulls *= rng.uniform(0.3, 0.7, (count, 1)) / np.linalg.norm(pulls, axis=1, keepdims=True)
    if held is None:
        pulls[1] = -pulls[0]
    grips, gives = np.zeros((count, len(nodes))), np.zeros(count)
    for i, point in enumerate(points):
        grips[i] = np.exp(-0.5 * (np.linalg.norm(nodes - nodes[point], axis=1) / 0.08) ** 2)
        grips[i, [] if held is None else held] = 0.0
        grips[i] /= grips[i].sum()
        load = grips[i][:, None] * pulls[i] / np.linalg.norm(pulls[i])
        gives[i] = float(np.sum(response.displacement(load) * load))
    pace = rng.uniform(3.0, 8.0)
    young = min((pace / response.frequency()) ** 2, (3.0 * pace) ** 2 * response.mass * float(gives.max()))
    body = cage.body(_material(rng, young), pinned=held, gravity=0.0)
    # Several times as stiff as the body, yet slow beside the step, for these forces are integrated explicitly.
    carried = 1.0 / np.sum(grips**2 / cage.masses, axis=1)
    springs = np.minimum(8.0 * young / np.maximum(gives, 1e-12), carried * 140.0**2)
    release = rng.uniform(0.7, 1.3)

    def force(now: float, x: Float[np.ndarray, "c 3"], v: Float[np.ndarray, "c 3"]) -> Float[np.ndarray, "c 3"]:
        progress = np.sin(0.5 * np.pi * min(now / 0.6, 1.0)) ** 2
        wanted = nodes[points] + progress * pulls - grips @ x
        return (now < release) * grips.T @ (springs[:, None] * (wanted - 0.01 * (grips @ v)))

    return body.run(STEPS, every=EVERY, force=force)


def squeezed(cage: ElasticCage, rng: Rng) -> Snapshots:
    """Squeeze it between a floor and a ceiling that come together, slide and part again; no gravity."""
    low, high = float(cage.nodes[:, 2].min()), float(cage.nodes[:, 2].max())
    heights = np.array([low, high]) + np.array([-0.005, 0.005])
    friction = rng.uniform(0.1, 1.0)
    world = "".join(
        f'<body mocap="true" pos="0 0 {z:.9g}" euler="{turn} 0 0">'
        f'<geom type="plane" size="20 20 1" friction="{friction:.9g}"/></body>'
        for z, turn in zip(heights, (0, 180), strict=True)
    )
    young = (rng.uniform(6.0, 15.0) / cage.response().frequency()) ** 2
    body = cage.body(_material(rng, young), surroundings=world, gravity=0.0)
    share = rng.uniform(0.2, 0.8)
    way = rng.uniform(0.25, 0.5) * (high - low) * np.array([share, share - 1.0])
    slide = rng.normal(0, 0.15, 2) * (rng.random() < 0.6)
    closing = rng.uniform(0.5, 0.8)

    def move(now: float, data: Any) -> None:
        progress = np.sin(0.5 * np.pi * min(now / closing, 1.0)) ** 2 * np.clip(5.0 - 4.0 * now, 0.0, 1.0)
        data.mocap_pos[:, 2] = heights + way * progress
        data.mocap_pos[1, :2] = slide * progress

    return body.run(STEPS, every=EVERY, before_step=move)


LOADS: dict[str, Callable[[ElasticCage, Rng], Snapshots]] = {
    f.__name__: f for f in (free, pinned, dropped, pulled, squeezed)
}
