"""Cloths and garments, simulated as thin elastic shells in MuJoCo 4."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int

from engine.datasets.motion import Motion, Source
from engine.datasets.shapes.cloths import CLOTHS
from engine.datasets.shapes.primitives import Rng
from engine.datasets.simulated.cloth_loads import LOADS, place, standing
from engine.datasets.simulated.frame_choice import chosen_frames
from engine.datasets.simulated.mujoco_model import FlexBody, Material
from engine.geometry.surface import face_normals_and_areas
from engine.geometry.welding import edges_of, vertex_components

Mesh = tuple[Float[np.ndarray, "n 3"], Int[np.ndarray, "m 3"]]
LARGEST_STRETCH = 1.35


def cloth(
    rng: Rng,
    *,
    frames: int = 24,
    shape: Mesh | None = None,
    name: str = "",
    source: Source | None = None,
    load: str = "",
) -> Motion:
    """Simulate a cloth or garment of random weight and stiffness under a random load.

    Args:
        rng: generator of all that is random.
        frames: at most so many, the undeformed shape first.
        shape: vertices and triangles of an open surface, any unit, a garment's up along Z; a random one of `CLOTHS`
            where None. It is scaled to a longest side of 1.
        name: what the shape is called; without a shape, one of `CLOTHS`.
        source: where the shape comes from.
        load: one of `LOADS`, a random one where empty: "edge" (hung by one edge), "corners" (by two corners),
            "corner" (by one), "draped" (dropped on a ball, box, cylinder or capsule), "wind" (held by an edge or two
            corners in gusts).

    Raises:
        ValueError: the motion did not work out (exploded, torn open by more than `LARGEST_STRETCH`, did not move).
    """
    if shape is None:
        name = name or str(rng.choice(sorted(CLOTHS)))
        made = CLOTHS[name](rng)
        shape = np.asarray(made.vertices), np.asarray(made.faces)
    load = load or str(rng.choice(LOADS))
    faces = np.asarray(shape[1])
    vertices = standing(np.asarray(shape[0], dtype=np.float64), rng)
    areas = face_normals_and_areas(vertices, faces)[1]
    mass = 0.2 * float(areas.sum())
    masses = np.zeros(len(vertices))
    np.add.at(masses, faces.ravel(), np.repeat(0.2 * areas / 3, 3))
    if masses.min() <= 0.0:
        raise ValueError("a vertex of the cloth belongs to no triangle with an area")
    scene = place(vertices, faces, load, mass, rng)
    body = FlexBody(
        scene.vertices,
        faces,
        masses,
        _fabric(rng),
        pinned=scene.pinned,
        surroundings=scene.surroundings,
        step=scene.step,
        radius=0.008,
        tolerance=1e-5,
        iterations=40,
    )
    # Large cloths are stepped for a shorter time: a step costs about 12 microseconds a vertex.
    steps = int(np.clip(130000 / len(vertices), 55, 105))
    body.set_velocities(scene.velocities)
    snapshots = body.run(steps, force=scene.force)
    snapshots = snapshots[_whole(scene.vertices, snapshots, faces)]
    if len(snapshots) < 0.3 * steps:
        raise ValueError(f"edges are stretched beyond {LARGEST_STRETCH} in {steps - len(snapshots)} of {steps} steps")
    positions, rotations = chosen_frames(scene.vertices, snapshots, faces, frames, least_change=0.02)
    return Motion(
        f"cloth/{name or 'cloth'}",
        faces.astype(np.int32),
        vertex_components(faces, len(vertices)),
        positions,
        rotations,
        fixed=load != "draped",
        source=source or Source("MuJoCo 4 flex"),
        name=name,
    )


def _fabric(rng: Rng) -> Material:
    """Return a random fabric, for a cloth of 0.2 kg per square unit.

    A shell stretches by E t and bends by E t^3 / 12; both are drawn, and E and t follow.
    """
    stretching, bending = 10 ** rng.uniform(2.2, 2.8), 10 ** rng.uniform(-5.0, -2.8)
    thickness = float(np.sqrt(12 * bending * (1 - 0.3**2) / stretching))
    return Material(
        young=stretching / thickness,
        damping=10 ** rng.uniform(-3.0, -2.0),
        thickness=thickness,
        friction=rng.uniform(0.3, 1.2),
    )


def _whole(
    rest: Float[np.ndarray, "n 3"], snapshots: Float[np.ndarray, "s n 3"], faces: Int[np.ndarray, "m 3"]
) -> Int[np.ndarray, " g"]:
    """Return the snapshots in which all but one in a hundred edges keep their length within `LARGEST_STRETCH`."""
    edges = edges_of(faces)
    length = np.linalg.norm(rest[edges[:, 0]] - rest[edges[:, 1]], axis=1)
    good: list[int] = []
    for i, x in enumerate(snapshots):
        stretch = np.linalg.norm(x[edges[:, 0]] - x[edges[:, 1]], axis=1) / length
        if np.quantile(stretch, 0.99) < LARGEST_STRETCH:
            good.append(i)
    return np.array(good, dtype=int)
