"""Small motions with exact answers, shared by the tests of the dataset."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import trimesh
from scipy.spatial.transform import Rotation

from engine.datasets.motion import Motion

# Models and motions of others, which no test needs but some use where they are there.
DATA = Path(os.environ.get("NEUROK_DATA", Path(__file__).resolve().parents[3].parent / "shared" / "data"))


def hinge_motion(*, frames: int = 6, family: str = "articulated/hinge", tumbling: bool = False) -> Motion:
    """Return two boxes on a hinge that opens by 15 degrees a frame; tumbling, the whole is moved as well."""
    lower = trimesh.creation.box((1.0, 1.0, 0.2)).subdivide().subdivide()
    upper = lower.copy()
    upper.apply_translation((0, 0, 0.21))
    rest = np.concatenate([lower.vertices, upper.vertices])
    faces = np.concatenate([lower.faces, upper.faces + len(lower.vertices)]).astype(np.int32)
    part = np.repeat([0, 1], len(lower.vertices))
    axis_point = np.array([0.0, 0.5, 0.1])
    positions = np.zeros((frames, len(rest), 3), dtype=np.float32)
    rotations = np.zeros((frames, len(rest), 4), dtype=np.float32)
    for i in range(frames):
        opened = Rotation.from_rotvec([-np.deg2rad(15) * i, 0, 0])
        moved = rest.copy()
        moved[part == 1] = opened.apply(rest[part == 1] - axis_point) + axis_point
        whole = Rotation.from_rotvec(np.array([0.3, -0.2, 0.5]) * i * tumbling)
        positions[i] = whole.apply(moved) + np.array([5.0, 0, 1.0]) * i * tumbling
        rotations[i, part == 0] = whole.as_quat(scalar_first=True)
        rotations[i, part == 1] = (whole * opened).as_quat(scalar_first=True)
    return Motion(family, faces, part.astype(np.int32), positions, rotations, part=part.astype(np.int32), name="hinge")


def rigid_motion(*, frames: int = 4) -> Motion:
    """Return a box that moves as a whole."""
    box = trimesh.creation.box((1.0, 0.6, 0.4)).subdivide()
    rest = np.asarray(box.vertices)
    positions = np.zeros((frames, len(rest), 3), dtype=np.float32)
    rotations = np.zeros((frames, len(rest), 4), dtype=np.float32)
    for i in range(frames):
        turn = Rotation.from_rotvec([0.4 * i, 0.1 * i, 0])
        positions[i] = turn.apply(rest) + i
        rotations[i] = turn.as_quat(scalar_first=True)
    component = np.zeros(len(rest), dtype=np.int32)
    return Motion("rigid/box", np.asarray(box.faces, np.int32), component, positions, rotations, part=component)
