"""Rigid parts in a tree of joints, and the frames that sweeping the joints gives.

Lengths are arbitrary; Z is up.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
import trimesh
from jaxtyping import Float
from scipy.spatial.transform import Rotation

from engine.datasets.motion import Motion
from engine.datasets.shapes.primitives import Rng

X, Y, Z = np.eye(3)
MAX_TURN = np.deg2rad(150.0)
FEWEST_VERTICES = 300


class Layout(StrEnum):
    """How the joints of an object hang together."""

    SINGLE = "single"
    PARALLEL = "parallel"
    CHAIN = "chain"
    TREE = "tree"
    GRIPPER = "gripper"


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
    """Parts (each of one or several closed meshes), their parents (-1: the base) and joints.

    ``fixed`` says whether the world holds the base; what is not fixed is also moved and turned as a whole. ``fleshy``
    parts grow into their parents: a common skin joins them wherever they touch, not at the joint's axis alone.
    """

    fixed: bool = False
    fleshy: bool = False
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

    @property
    def limits(self) -> Float[np.ndarray, "2 j"]:
        """Lowest and highest values of the joint coordinates."""
        return np.array([[j.low, j.high] for part in self.joints for j in part]).reshape(-1, 2).T

    @property
    def slides(self) -> bool:
        """Whether any of the joints is a slide."""
        return any(j.slides for part in self.joints for j in part)

    @property
    def extent(self) -> float:
        """Diagonal of the bounding box in the rest pose."""
        bounds = np.concatenate([mesh.bounds for group in self.parts for mesh in group])
        return float(np.linalg.norm(np.ptp(bounds, axis=0)))

    def poses(self, coordinates: Float[np.ndarray, "f j"]) -> Float[np.ndarray, "f p 4 4"]:
        """Return the pose of every part, from rest to world, for many sets of joint coordinates."""
        result = np.tile(np.eye(4), (len(coordinates), len(self.parts), 1, 1))
        cursor = 0
        for part, (parent, joints) in enumerate(zip(self.parents, self.joints, strict=True)):
            pose = result[:, parent] if parent >= 0 else np.tile(np.eye(4), (len(coordinates), 1, 1))
            for joint in joints:
                local = np.tile(np.eye(4), (len(coordinates), 1, 1))
                amount = coordinates[:, cursor, None] * joint.axis
                if joint.slides:
                    local[:, :3, 3] = amount
                else:
                    local[:, :3, :3] = Rotation.from_rotvec(amount).as_matrix()
                    local[:, :3, 3] = joint.origin - local[:, :3, :3] @ joint.origin
                pose = pose @ local
                cursor += 1
            result[:, part] = pose
        return result

    def transforms(self, coordinates: Float[np.ndarray, " j"]) -> Float[np.ndarray, "p 4 4"]:
        """Return the pose of every part for one set of joint coordinates."""
        return self.poses(coordinates[None])[0]


@dataclass(frozen=True, slots=True)
class Family:
    """A kind of object: its maker, how its joints hang together, and whether it is mostly made of boxes."""

    make: Callable[[Rng], Assembly]
    layout: Layout
    boxy: bool


def draw_coordinates(
    assembly: Assembly, rng: Rng, *, frames: int, start: Float[np.ndarray, " j"] | None = None
) -> Float[np.ndarray, "f j"]:
    """Return joint coordinates within the limits: frame 0 is ``start`` (rest if None), the others in random order.

    Every joint stands alone near one of its limits in some frame if there are three more frames than joints; half of
    the remaining frames move all joints, the others some. Frames in which a part would turn by more than 150 degrees
    from frame 0 are drawn back towards it.
    """
    low, high = assembly.limits
    n = len(low)
    start = np.zeros(n) if start is None else start
    result = np.tile(start, (frames, 1))
    alone = rng.permutation(n)[: max(min(n, frames - 4), 0)]
    for i, joint in enumerate(alone, start=1):
        far = high[joint] if high[joint] - start[joint] > start[joint] - low[joint] else low[joint]
        result[i, joint] = start[joint] + rng.uniform(0.92, 1.0) * (far - start[joint])
    for i in range(1 + len(alone), frames):
        moved = rng.random(n) < (1.0 if rng.random() < 0.5 else 0.4)
        moved[rng.integers(n)] = True
        # A beta law reaches the limits: joints that stop are learned from the frames that stand there.
        result[i] = np.where(moved, low + (high - low) * rng.beta(0.7, 0.7, n), start)
    result[1:] = start + _largest_share(assembly, result[1:] - start, start)[:, None] * (result[1:] - start)
    return np.concatenate((result[:1], rng.permutation(result[1:])))


def _largest_share(
    assembly: Assembly, steps: Float[np.ndarray, "f j"], start: Float[np.ndarray, " j"]
) -> Float[np.ndarray, " f"]:
    """Return the largest share of each step up to which no part has turned by more than ``MAX_TURN``.

    The way there is followed, since a turn by 200 degrees looks like one by 160 when only its end is seen.
    """
    shares = np.arange(1, 17) / 16
    many = (start + shares[:, None, None] * steps).reshape(-1, len(start))
    turn = assembly.poses(many)[..., :3, :3] @ assembly.poses(start[None])[..., :3, :3].swapaxes(-1, -2)
    cosine = 0.5 * (np.trace(turn, axis1=-2, axis2=-1) - 1)
    within = (cosine >= np.cos(MAX_TURN) - 1e-9).all(-1).reshape(len(shares), len(steps))
    return np.cumprod(within, axis=0).sum(0) / len(shares)


def world_motion(assembly: Assembly, rng: Rng, *, frames: int) -> Float[np.ndarray, "f 4 4"]:
    """Return a rigid motion of the whole for each frame: none where the base is fixed, else a small tumble."""
    result = np.tile(np.eye(4), (frames, 1, 1))
    if assembly.fixed:
        return result
    centre = np.mean([mesh.bounds.mean(0) for group in assembly.parts for mesh in group], axis=0)
    size = assembly.extent
    for i in range(1, frames):
        if rng.random() < 0.75:
            turn = Rotation.from_rotvec(rng.normal(0, 0.25, 3)).as_matrix()
            result[i, :3, :3] = turn
            result[i, :3, 3] = centre - turn @ centre + rng.normal(0, 0.1 * size, 3)
    return result


def sweep(assembly: Assembly, rng: Rng, *, frames: int, family: str) -> Motion:
    """Return frames with the joints moved one by one and together, within their limits."""
    meshes = _refined([(part, mesh) for part, group in enumerate(assembly.parts) for mesh in group])
    counts = [len(mesh.vertices) for _, mesh in meshes]
    offsets = np.concatenate(([0], np.cumsum(counts)[:-1]))
    faces = np.concatenate([mesh.faces + o for (_, mesh), o in zip(meshes, offsets, strict=True)])
    component = np.repeat(np.arange(len(meshes)), counts)
    part_of = np.repeat([part for part, _ in meshes], counts)
    rest = np.concatenate([mesh.vertices for _, mesh in meshes])
    coordinates = draw_coordinates(assembly, rng, frames=frames)
    poses = world_motion(assembly, rng, frames=frames)[:, None] @ assembly.poses(coordinates)
    quaternions = Rotation.from_matrix(poses[..., :3, :3].reshape(-1, 3, 3)).as_quat(scalar_first=True)
    quaternions = quaternions.reshape(frames, -1, 4).astype(np.float32)
    positions = np.zeros((frames, len(rest), 3), dtype=np.float32)
    for part in range(len(assembly.parts)):
        rows = part_of == part
        pose = poses[:, part]
        positions[:, rows] = rest[rows] @ pose[:, :3, :3].swapaxes(1, 2) + pose[:, None, :3, 3]
    return Motion(
        f"articulated/{family}",
        faces.astype(np.int32),
        component.astype(np.int32),
        positions,
        quaternions[:, part_of],
        fixed=assembly.fixed,
        part=part_of.astype(np.int32),
    )


def _refined(meshes: list[tuple[int, trimesh.Trimesh]]) -> list[tuple[int, trimesh.Trimesh]]:
    """Return the meshes, each triangle cut in four as often as it takes to have enough vertices."""
    while sum(len(mesh.vertices) for _, mesh in meshes) < FEWEST_VERTICES:
        meshes = [(part, mesh.subdivide()) for part, mesh in meshes]
    return meshes
