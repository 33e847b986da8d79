"""Elastic solids, simulated by finite elements in MuJoCo 4.

A surface is wrapped in a voxel cage whose cubes are trilinear elements of one material (Saint Venant-Kirchhoff); the
cage is simulated and carries the surface along.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int
from scipy.spatial.transform import Rotation

from engine.datasets.motion import Motion, Source
from engine.datasets.shapes.primitives import Rng
from engine.datasets.shapes.solids import SOFT
from engine.datasets.simulated.elastic_cage import ElasticCage
from engine.datasets.simulated.frame_choice import chosen_frames
from engine.datasets.simulated.solid_loads import LOADS
from engine.geometry.welding import vertex_components

Mesh = tuple[Float[np.ndarray, "n 3"], Int[np.ndarray, "m 3"]]


def soft_solid(
    rng: Rng,
    *,
    frames: int = 24,
    shape: Mesh | None = None,
    name: str = "",
    source: Source | None = None,
    load: str = "",
) -> Motion:
    """Simulate an elastic solid of random stiffness, damping and orientation under a random load.

    Args:
        rng: generator of all that is random.
        frames: at most so many, the undeformed shape first.
        shape: vertices and triangles, any unit; a random one of `SOFT` where None. It is scaled to a longest side of 1.
        name: what the shape is called; without a shape, one of `SOFT`.
        source: where the shape comes from.
        load: one of `LOADS`, a random one where empty: "free" (velocities that twist, bend or stretch it), "pinned"
            (one end held, in gravity), "dropped" (on a floor), "pulled" (at one or two points, then let go),
            "squeezed" (between a floor and a ceiling).

    Raises:
        ValueError: the motion did not work out (the cage falls apart, elements turned inside out, no change of shape).
    """
    if shape is None:
        name = name or str(rng.choice(sorted(SOFT)))
        solid = SOFT[name](rng)
        shape = np.asarray(solid.vertices), np.asarray(solid.faces)
    load = load or str(rng.choice(list(LOADS)))
    turn = Rotation.random(rng=rng) if rng.random() < 0.6 else Rotation.from_rotvec([0, 0, rng.uniform(0, 2 * np.pi)])
    vertices = turn.apply(np.asarray(shape[0], dtype=np.float64))
    low, high = vertices.min(0), vertices.max(0)
    vertices, faces = (vertices - 0.5 * (low + high)) / float((high - low).max()), np.asarray(shape[1])
    cage = ElasticCage(vertices, faces)
    nodes = LOADS[load](cage, rng)
    good = cage.upright(nodes)
    if len(good) < 0.25 * len(nodes):
        raise ValueError(f"elements turned inside out in {len(nodes) - len(good)} of {len(nodes)} snapshots")
    weights = cage.cage.interpolation()
    snapshots = np.stack([np.asarray(weights @ x) for x in nodes[good]])
    positions, rotations = chosen_frames(vertices, snapshots, faces, frames, least_change=0.02)
    return Motion(
        f"elastic/{name or 'solid'}",
        faces.astype(np.int32),
        vertex_components(faces, len(vertices)),
        positions,
        rotations,
        fixed=bool((np.abs(nodes - cage.nodes).max((0, 2)) < 1e-9).any()),
        source=source or Source("MuJoCo 4 flex"),
        name=name,
    )
