"""Rigid parts in a tree of joints, and the frames that sweeping the joints gives.

Lengths are arbitrary; Z is up.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import trimesh
from jaxtyping import Float
from scipy.spatial.transform import Rotation

from engine.datasets.motion import Motion
from engine.datasets.shapes.primitives import Rng

X, Y, Z = np.eye(3)
MAX_TURN = np.deg2rad(150.0)


@dataclass(frozen=True, slots=True)
class Joint:
    """A hinge, or a slide, that moves a part and all that hangs on it.

    Attributes:
        axis: unit direction in the rest pose.
        origin: a point of the hinge axis in the rest pose.
        low, high: limits [rad, or length units for a slide]; zero is the rest pose.
        slides: a slide instead of a hinge.
    """

    axis: Float[np.ndarray, "3"]
    origin: Float[np.ndarray, "3"]
    low: float
    high: float
    slides: bool = False


@dataclass(slots=True)
class Assembly:
    """Parts (each of one or several closed meshes), their parents (-1: the base) and joints."""

    parts: list[list[trimesh.Trimesh]] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    joints: list[list[Joint]] = field(default_factory=list)

    def add(self, meshes: trimesh.Trimesh | list[trimesh.Trimesh], parent: int = -1, *joints: Joint) -> int:
        """Append a part and return its number. Several joints act in the given order, the last one nearest the part."""
        self.parts.append(meshes if isinstance(meshes, list) else [meshes])
        self.parents.append(parent)
        self.joints.append(list(joints))
        return len(self.parts) - 1

    @property
    def joint_count(self) -> int:
        """Number of joint coordinates."""
        return sum(len(j) for j in self.joints)

    def transforms(self, coordinates: Float[np.ndarray, " j"]) -> Float[np.ndarray, "p 4 4"]:
        """Return the pose of every part for one set of joint coordinates."""
        result = np.tile(np.eye(4), (len(self.parts), 1, 1))
        cursor = 0
        for part, (parent, joints) in enumerate(zip(self.parents, self.joints, strict=True)):
            pose = result[parent].copy() if parent >= 0 else np.eye(4)
            for joint in joints:
                local = np.eye(4)
                if joint.slides:
                    local[:3, 3] = joint.axis * coordinates[cursor]
                else:
                    local[:3, :3] = Rotation.from_rotvec(joint.axis * coordinates[cursor]).as_matrix()
                    local[:3, 3] = joint.origin - local[:3, :3] @ joint.origin
                pose = pose @ local
                cursor += 1
            result[part] = pose
        return result


def sweep(assembly: Assembly, rng: Rng, *, frames: int, family: str) -> Motion:
    """Return frames with the joints moved together and one by one, within their limits."""
    joints = [j for part in assembly.joints for j in part]
    low, high = np.array([j.low for j in joints]), np.array([j.high for j in joints])
    coordinates = np.zeros((frames, len(joints)))
    for i in range(1, frames):
        moved = rng.random(len(joints)) < (1.0 if rng.random() < 0.5 else 0.4)
        moved[rng.integers(len(joints))] = True
        # A beta law reaches the limits: joints that stop are learned from the frames that stand there.
        coordinates[i] = np.where(moved, low + (high - low) * rng.beta(0.7, 0.7, len(joints)), coordinates[i - 1])
    meshes = [(part, mesh) for part, group in enumerate(assembly.parts) for mesh in group]
    counts = [len(mesh.vertices) for _, mesh in meshes]
    offsets = np.concatenate(([0], np.cumsum(counts)[:-1]))
    faces = np.concatenate([mesh.faces + o for (_, mesh), o in zip(meshes, offsets, strict=True)])
    component = np.repeat(np.arange(len(meshes)), counts)
    part_of = np.repeat([part for part, _ in meshes], counts)
    rest = np.concatenate([mesh.vertices for _, mesh in meshes])
    positions = np.zeros((frames, len(rest), 3), dtype=np.float32)
    rotations = np.zeros((frames, len(rest), 4), dtype=np.float32)
    for i in range(frames):
        poses = assembly.transforms(coordinates[i])
        quaternions = Rotation.from_matrix(poses[:, :3, :3]).as_quat(scalar_first=True)
        positions[i] = np.einsum("nij,nj->ni", poses[part_of, :3, :3], rest) + poses[part_of, :3, 3]
        rotations[i] = quaternions[part_of]
    return Motion(f"articulated/{family}", faces.astype(np.int32), component.astype(np.int32), positions, rotations)
