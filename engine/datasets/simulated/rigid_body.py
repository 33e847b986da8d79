"""Hard objects thrown on a floor and tumbling, simulated in MuJoCo 4."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import trimesh
from jaxtyping import Float, Int
from scipy.spatial.transform import Rotation

from engine.datasets.motion import Motion, Source
from engine.datasets.shapes.primitives import Rng, along, box, cylinder, placed, random_bar, random_lump
from engine.datasets.shapes.solids import HARD
from engine.datasets.simulated.mujoco_model import check_motion, compile_model, mujoco, numbers
from engine.geometry.welding import vertex_components

Mesh = tuple[Float[np.ndarray, "n 3"], Int[np.ndarray, "m 3"]]
Pieces = list[trimesh.Trimesh]
STEP = 0.004
MOST_HULLS = 40
FEWEST = 300


def lump(rng: Rng) -> Pieces:
    """One hard lump."""
    return [random_lump(rng, rng.uniform(0.3, 1.2, 3))]


def bar(rng: Rng) -> Pieces:
    """A rod, stick or plank."""
    return [random_bar(rng, rng.uniform(0.8, 1.5), rng.uniform(0.1, 0.4))]


def hammer(rng: Rng) -> Pieces:
    """A handle and a head across its end."""
    length, head = rng.uniform(0.7, 1.3), rng.uniform(0.12, 0.25)
    across = trimesh.transformations.rotation_matrix(np.pi / 2, [0, 1, 0])
    top = random_bar(rng, rng.uniform(0.3, 0.6), head).apply_transform(across)
    return [random_bar(rng, length, rng.uniform(0.05, 0.1)), placed(top, (0, 0, 0.5 * length))]


def stool(rng: Rng) -> Pieces:
    """A seat on three to five legs."""
    legs, height, radius = int(rng.integers(3, 6)), rng.uniform(0.4, 0.9), rng.uniform(0.25, 0.45)
    thick, splay = rng.uniform(0.03, 0.06), rng.uniform(0.7, 1.3)
    seat = cylinder(radius, rng.uniform(0.05, 0.12), sections=28)
    parts = [placed(seat if rng.random() < 0.6 else box((2 * radius, 2 * radius, 0.08)), (0, 0, height))]
    for angle in 2 * np.pi * np.arange(legs) / legs + np.pi / 4:
        way = 0.65 * radius * np.array([np.cos(angle), np.sin(angle), 0.0])
        top, foot = way + np.array([0, 0, height]), way * splay
        parts.append(along(cylinder(thick, float(np.linalg.norm(top - foot)), sections=10), foot, top))
    return parts


def pile(rng: Rng) -> Pieces:
    """Two to four lumps stuck on one another."""
    parts = [random_lump(rng, rng.uniform(0.3, 0.9, 3)) for _ in range(int(rng.integers(2, 5)))]
    for below, above in pairwise(parts):
        at = below.vertices[rng.integers(len(below.vertices))]
        above.apply_translation(0.8 * (at - below.bounds.mean(0)) + below.bounds.mean(0) - above.bounds.mean(0))
    return parts


def _alone(make: Callable[[Rng], trimesh.Trimesh]) -> Callable[[Rng], Pieces]:
    return lambda rng: [make(rng)]


OBJECTS: dict[str, Callable[[Rng], Pieces]] = {f.__name__: f for f in (lump, bar, hammer, stool, pile)} | {
    name: _alone(make) for name, make in HARD.items()
}


def rigid_body(
    rng: Rng,
    *,
    frames: int = 8,
    shape: Mesh | None = None,
    name: str = "",
    source: Source | None = None,
) -> Motion:
    """Throw a rigid object and let it tumble on a floor.

    Args:
        rng: generator of all that is random.
        frames: evenly spread over the time, the first where it is thrown.
        shape: vertices and triangles, any unit; a random one of `OBJECTS` where None. It is scaled to a longest side
            of 1. Contacts see the convex hull of each connected component.
        name: what the shape is called; without a shape, one of `OBJECTS`.
        source: where the shape comes from.

    Raises:
        ValueError: MuJoCo refused the shape (no volume), or the object flew away or hardly moved.
    """
    if shape is None:
        name = name or str(rng.choice(sorted(OBJECTS)))
        shape = _side_by_side(OBJECTS[name](rng))
    faces = np.asarray(shape[1])
    start = Rotation.random(rng=rng).apply(np.asarray(shape[0], dtype=np.float64))
    start = (start - 0.5 * (start.min(0) + start.max(0))) / float(np.ptp(start, axis=0).max())
    component = vertex_components(faces, len(start))
    floor = float(start[:, 2].min()) - rng.uniform(0.05, 1.0)
    model = compile_model(_scene(start, component, floor, rng))
    data = mujoco.MjData(model)
    data.qvel[:] = (*rng.normal(0, 1.5, 2), rng.normal(0, 1.0), *rng.normal(0, 4.0, 3))
    positions = np.zeros((frames, len(start), 3), dtype=np.float32)
    rotations = np.zeros((frames, len(start), 4), dtype=np.float32)
    total, taken = int(rng.uniform(0.8, 1.8) / STEP), 0
    for i in range(total + 1):
        if i * (frames - 1) >= taken * total:
            turn = Rotation.from_quat(data.qpos[3:7], scalar_first=True)
            positions[taken] = turn.apply(start) + data.qpos[:3]
            rotations[taken] = turn.as_quat(scalar_first=True)
            check_motion(positions[taken])
            taken += 1
        mujoco.mj_step(model, data)
    way = float(np.linalg.norm(positions - positions[0], axis=-1).max())
    if way < 0.05:
        raise ValueError(f"the object hardly moved: {way:.2g} of its size")
    return Motion(
        f"rigid/{name or 'object'}",
        faces.astype(np.int32),
        component.astype(np.int32),
        positions,
        rotations,
        part=np.zeros(len(start), dtype=np.int32),
        source=source or Source("MuJoCo 4"),
        name=name,
    )


def _side_by_side(parts: Pieces) -> Mesh:
    """Return the vertices and faces of several pieces, divided into at least `FEWEST` vertices."""
    while sum(len(part.vertices) for part in parts) < FEWEST:
        parts = [part.subdivide() for part in parts]
    offsets = np.cumsum([0, *(len(part.vertices) for part in parts)])
    faces = np.concatenate([np.asarray(part.faces) + o for part, o in zip(parts, offsets, strict=False)])
    return np.concatenate([np.asarray(part.vertices) for part in parts]), faces


def _scene(points: Float[np.ndarray, "n 3"], component: Int[np.ndarray, " n"], floor: float, rng: Rng) -> str:
    """Return the model file of one free body of convex pieces above a floor; its frame is the world's at the start."""
    assets, geoms = "", ""
    pieces = [points[component == c] for c in range(int(component.max()) + 1)]
    if len(pieces) > MOST_HULLS:
        pieces = [points]
    for i, piece in enumerate(pieces):
        assets += f'<mesh name="m{i}" inertia="convex" vertex="{numbers(piece)}"/>'
        geoms += f'<geom type="mesh" mesh="m{i}" density="{rng.uniform(200, 1000):.9g}"/>'
    contact = f'friction="{rng.uniform(0.2, 1.0):.9g}" solref="0.02 {rng.uniform(0.3, 1.0):.9g}"'
    return f"""<mujoco>
  <option timestep="{STEP:.9g}" integrator="implicitfast"/>
  <compiler boundmass="1e-4" boundinertia="1e-6"/>
  <default><geom {contact}/></default>
  <asset>{assets}</asset>
  <worldbody>
    <geom type="plane" size="50 50 1" pos="0 0 {floor:.9g}"/>
    <body><freejoint/>{geoms}</body>
  </worldbody>
</mujoco>"""
