"""A small clip with known motion: a box whose one handle slides while the root turns about the vertical."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import trimesh
from scipy.spatial.transform import Rotation

from engine.clips.clip import Clip, ClipFacts, ClipInputs
from engine.scenes.material import MATERIALS, Anchor

SLIDE = 0.3
"""Speed of the second handle along x [unit frame/s]."""
SPIN = 1.0
"""Speed of the root about z [rad/s]."""


def make_clip(*, steps: int = 60, rate: float = 60.0, box: trimesh.Trimesh | None = None) -> Clip:
    """Return a clip of ``steps`` steps; the lower half rests, the upper one slides."""
    box = trimesh.creation.box((2.0, 1.0, 1.0)) if box is None else box
    vertices = np.array(box.vertices, float)
    f = steps + 1
    times = np.arange(f) / rate
    handles = np.zeros((f, 2, 8), np.float32)
    handles[:, :, 0] = 1.0
    handles[:, 1, 5] = 0.5 * SLIDE * times
    weights = np.stack((vertices[:, 2] < 0, vertices[:, 2] >= 0), -1).astype(np.float32)
    nothing = np.full((f, 3), np.nan)
    return Clip(
        times=times,
        p=np.tile((0.0, 0.0, 0.25), (f, 1)) + times[:, None] * (0.2, 0.0, 0.0),
        R=Rotation.from_rotvec(SPIN * times[:, None] * (0.0, 0.0, 1.0)).as_matrix(),
        q=times[:, None].copy(),
        qd=np.ones((f, 1)),
        handles=handles,
        inputs=ClipInputs(
            face=np.full(f, -1, np.int32),
            barycentric=nothing.copy(),
            point=nothing.copy(),
            target=nothing.copy(),
            force=nothing.copy(),
            pins=np.zeros((f, 0, 3)),
        ),
        vertex_weights=weights,
        rest_vertices=vertices,
        rest_faces=np.array(box.faces),
        unit_to_file=np.diag((10.0, 10.0, 10.0, 1.0)) + np.array(((0, 0, 0, 5.0), *((0.0,) * 4,) * 3)),
        origin=np.array((0.0, 0.0, 0.25)),
        metres_per_unit=0.5,
        facts=ClipFacts(name="box", material=MATERIALS["elastic"], anchor=Anchor.FREE, steps_per_second=rate),
    )


def expected(clip: Clip, time: float) -> np.ndarray:
    """Return the vertices that the motion has at a time, world [m], from its definition."""
    local = np.array(clip.rest_vertices)
    local[:, 0] += SLIDE * time * (local[:, 2] >= 0)
    turn = Rotation.from_rotvec((0.0, 0.0, SPIN * time)).as_matrix()
    return np.array((0.2 * time, 0.0, 0.25)) + 0.5 * local @ turn.T


@pytest.fixture
def clip() -> Clip:
    """One second at 60 steps per second."""
    return make_clip()


@pytest.fixture
def clip_maker() -> Callable[..., Clip]:
    """Clips of other lengths, rates and meshes."""
    return make_clip


@pytest.fixture
def exact() -> Callable[[Clip, float], np.ndarray]:
    """The motion, from its definition."""
    return expected
