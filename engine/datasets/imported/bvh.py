"""Motion capture (BVH) onto rigged meshes.

Method: every joint of the rig that has a counterpart takes over how its counterpart turned in the world since a pose in
which both skeletons look alike; the others follow their parents. That pose is the zero pose of the BVH file, or the
frame most like the rig's rest pose where the zero pose is a mere convention. What is left of the difference, such as
arms held out in one and down in the other, is taken out bone by bone, along the shortest arc.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int
from scipy.spatial.transform import Rotation

from engine.datasets.imported.joint_names import counterparts
from engine.datasets.imported.refusal import ImportRefused
from engine.datasets.imported.rigs import Rig
from engine.geometry.modes import polar_rotation

_MOST_POSES = 300
# Mean angle between bones up to which the zero pose counts as looking like the rig's rest pose.
_ALIKE = np.deg2rad(35.0)
_Z_UP = np.array([[1.0, 0, 0], [0, 0, -1], [0, 1, 0]])


@dataclass(frozen=True, slots=True)
class Bvh:
    """A skeleton's motion.

    Attributes:
        file: where it was read from.
        names: of the joints, parents before children.
        parents: of the joints, -1 for the root.
        offsets: of each joint from its parent in the zero pose, in the file's frame and unit.
        turns: rotation of each joint from the zero pose, in the file's frame.
        root: position of the root.
        period: time between frames [s].
    """

    file: Path
    names: list[str]
    parents: Int[np.ndarray, " j"]
    offsets: Float[np.ndarray, "j 3"]
    turns: Float[np.ndarray, "f j 3 3"]
    root: Float[np.ndarray, "f 3"]
    period: float

    def heads(self, turns: Float[np.ndarray, "j 3 3"]) -> Float[np.ndarray, "j 3"]:
        """Return where the joints are for rotations from the zero pose, the root at its offset."""
        heads = self.offsets.copy()
        for joint, parent in enumerate(self.parents):
            if parent >= 0:
                heads[joint] = heads[parent] + turns[parent] @ self.offsets[joint]
        return heads


def read_bvh(path: Path) -> Bvh:
    """Read a BVH file: hierarchy, channels in any order, frames.

    Raises:
        ImportRefused: the file is cut off or breaks the format, or a value is not finite.
    """
    words = path.read_text(encoding="utf-8", errors="replace").split()
    names: list[str] = []
    parents: list[int] = []
    offsets: list[list[float]] = []
    channels: list[tuple[int, str]] = []
    try:
        if words[0] != "HIERARCHY":
            raise ImportRefused(path, "it does not begin with HIERARCHY, as BVH files do.")
        open_joints, at, ending = [-1], 1, False
        while words[at] != "MOTION":
            word = words[at]
            if word in ("ROOT", "JOINT"):
                names.append(words[at + 1])
                parents.append(open_joints[-1])
                offsets.append([0.0, 0.0, 0.0])
                at += 2
            elif word == "End":
                ending = True
                at += 2
            elif word == "{":
                open_joints.append(open_joints[-1] if ending else len(names) - 1)
                at += 1
            elif word == "}":
                open_joints.pop()
                ending = False
                at += 1
            elif word == "OFFSET":
                if not ending:
                    offsets[open_joints[-1]] = [float(value) for value in words[at + 1 : at + 4]]
                at += 4
            elif word == "CHANNELS":
                count = int(words[at + 1])
                channels += [(open_joints[-1], kind.lower()) for kind in words[at + 2 : at + 2 + count]]
                at += 2 + count
            else:
                raise ImportRefused(path, f"its hierarchy has the word {word!r}, which BVH does not know.")
        frames, period = int(words[at + 2]), float(words[at + 5])
        values = np.array(words[at + 6 :], float)
    except (IndexError, ValueError) as error:
        if isinstance(error, ImportRefused):
            raise
        raise ImportRefused(path, f"it is cut off or breaks the rules of BVH ({error}).") from error
    if not names or frames < 1 or values.size != frames * len(channels):
        raise ImportRefused(path, f"it has {values.size} values for {frames} frames of {len(channels)} channels.")
    if not np.isfinite(values).all() or not np.isfinite(offsets).all():
        raise ImportRefused(path, "it has values that are not finite; export it again.")
    turns, root = _integrate(values.reshape(frames, -1), channels, parents, offsets[0])
    return Bvh(path, names, np.array(parents), np.array(offsets), turns, root, period)


def bvh_poses(rig: Rig, motion: Bvh, rng: np.random.Generator) -> Float[np.ndarray, "c b 4 4"]:
    """Return the rig's bones' matrices in frames spread over a motion.

    Args:
        rig: what is to move.
        motion: how; its up axis, heading and size are found by comparing the skeletons.
        rng: where between the evenly spaced frames the first one lies.

    Raises:
        ImportRefused: the skeletons have fewer than two joints in common.
    """
    pairs = counterparts(rig.names, motion.names)
    if len(pairs) < 2:
        known = ", ".join(motion.names[:6])
        raise ImportRefused(motion.file, f"its joints ({known}, ...) have no counterparts in {rig.file.name}.")
    mine, theirs = np.array(sorted(pairs.items())).T
    children = _bones(rig.parents, set(mine.tolist()))
    turns, look, rest_turns = _alike(rig, motion, mine, theirs, children)
    step = max(1.0, len(motion.turns) / _MOST_POSES)
    offset = rng.uniform(0, step - 1.0) if step > 1.0 else 0.0
    picked = np.unique((offset + np.arange(min(len(motion.turns), _MOST_POSES)) * step).astype(int))
    since = np.einsum("ab,cjbd,ed->cjae", look, motion.turns[picked] @ rest_turns.transpose(0, 2, 1), look)
    absolute = np.tile(np.eye(3), (len(picked), len(rig.names), 1, 1))
    other = dict(zip(mine.tolist(), theirs.tolist(), strict=True))
    for joint, parent in enumerate(rig.parents):
        if joint in other:
            absolute[:, joint] = since[:, other[joint]] @ turns[joint]
        elif parent >= 0:
            absolute[:, joint] = absolute[:, parent]
    heads = motion.heads(rest_turns)[theirs]
    scale = np.linalg.norm(rig.heads[mine] - rig.heads[mine].mean(0)) / np.linalg.norm(heads - heads.mean(0))
    shift = scale * (motion.root[picked] - motion.root[picked[0]]) @ look.T
    return rig.carry(_maps(rig, absolute, shift))


def _integrate(
    values: Float[np.ndarray, "f c"], channels: list[tuple[int, str]], parents: list[int], start: list[float]
) -> tuple[Float[np.ndarray, "f j 3 3"], Float[np.ndarray, "f 3"]]:
    """Return each joint's rotation from the zero pose, and the root's positions.

    Rotations act in the order of their channels, the first outermost. Positions of joints other than the root are left
    out: the rig has its own bone lengths.
    """
    frames = len(values)
    turns = np.tile(np.eye(3), (frames, len(parents), 1, 1))
    root = np.tile(np.array(start), (frames, 1))
    for column, (joint, kind) in enumerate(channels):
        axis = "xyz".find(kind[0])
        if kind.endswith("rotation"):
            turn = Rotation.from_rotvec(np.deg2rad(values[:, column, None]) * np.eye(3)[axis]).as_matrix()
            turns[:, joint] = turns[:, joint] @ turn
        elif joint == 0:
            root[:, axis] = values[:, column]
    for joint, parent in enumerate(parents):
        if parent >= 0:
            turns[:, joint] = turns[:, parent] @ turns[:, joint]
    return turns, root


def _bones(parents: Int[np.ndarray, " j"], mapped: set[int]) -> dict[int, list[int]]:
    """Return, for each joint with a counterpart, those below it that have no other one between."""
    children: dict[int, list[int]] = {joint: [] for joint in mapped}
    for joint in sorted(mapped):
        above = int(parents[joint])
        while above >= 0 and above not in mapped:
            above = int(parents[above])
        if above >= 0:
            children[above].append(joint)
    return children


def _alike(
    rig: Rig,
    motion: Bvh,
    mine: Int[np.ndarray, " p"],
    theirs: Int[np.ndarray, " p"],
    children: dict[int, list[int]],
) -> tuple[dict[int, Float[np.ndarray, "3 3"]], Float[np.ndarray, "3 3"], Float[np.ndarray, "j 3 3"]]:
    """Find the pose of the motion that looks like the rig's rest pose.

    Returns:
        The turn that brings each of the rig's bones into that pose, the rotation from the file's frame to the world,
        and the rotations of the motion's joints in that pose.
    """
    zero = np.tile(np.eye(3), (len(motion.names), 1, 1))
    step = max(1, len(motion.turns) // 100)
    other = dict(zip(mine.tolist(), theirs.tolist(), strict=True))
    single = {joint: below[0] for joint, below in children.items() if len(below) == 1}
    best: tuple[float, Float[np.ndarray, "3 3"], Float[np.ndarray, "j 3 3"]] | None = None
    for pose in (zero, *motion.turns[::step]):
        heads = motion.heads(pose)
        look = _frame_between(heads[theirs], rig.heads[mine])
        angles = [
            _angle(rig.heads[below] - rig.heads[joint], look @ (heads[other[below]] - heads[other[joint]]))
            for joint, below in single.items()
        ]
        difference = float(np.mean(angles)) if angles else 0.0
        if best is None or difference < best[0]:
            best = difference, look, pose
        if pose is zero and difference < _ALIKE:
            break
    assert best is not None
    _, look, pose = best
    heads = motion.heads(pose)
    turns = {joint: np.eye(3) for joint in children}
    for joint in sorted(children):
        if joint in single:
            below = single[joint]
            turns[joint] = _arc(rig.heads[below] - rig.heads[joint], look @ (heads[other[below]] - heads[other[joint]]))
        for below in children[joint]:
            # A hand has no bone to compare, and keeps to its arm.
            if not children[below]:
                turns[below] = turns[joint]
    return turns, look, pose


def _frame_between(source: Float[np.ndarray, "p 3"], target: Float[np.ndarray, "p 3"]) -> Float[np.ndarray, "3 3"]:
    """Return the rotation from the file's frame to the world, under which the joints agree best and an axis is up."""
    one, two = source - source.mean(0), target - target.mean(0)
    covariance = two.T @ one
    singular = np.linalg.svd(covariance, compute_uv=False)
    if singular[1] < 1e-6 * singular[0]:
        # Joints in a line say nothing about the turn about it: the two usual frames are tried.
        return max((np.eye(3), _Z_UP), key=lambda turn: round(float(np.sum(covariance * turn)) / singular[0], 6))
    turn = polar_rotation(covariance)
    up = turn[2]
    axis = np.sign(up[np.abs(up).argmax()]) * np.eye(3)[np.abs(up).argmax()]
    return _arc(turn @ axis, np.array([0.0, 0.0, 1.0])) @ turn


def _angle(one: Float[np.ndarray, "3"], two: Float[np.ndarray, "3"]) -> float:
    return float(np.arctan2(np.linalg.norm(np.cross(one, two)), one @ two))


def _arc(one: Float[np.ndarray, "3"], two: Float[np.ndarray, "3"]) -> Float[np.ndarray, "3 3"]:
    """Return the shortest rotation from one direction to another; none for directions without length."""
    axis = np.cross(one, two)
    length = float(np.linalg.norm(axis))
    if length < 1e-9 * max(float(np.linalg.norm(one) * np.linalg.norm(two)), 1e-300):
        return np.eye(3)
    return Rotation.from_rotvec(axis / length * _angle(one, two)).as_matrix()


def _maps(
    rig: Rig, absolute: Float[np.ndarray, "c j 3 3"], shift: Float[np.ndarray, "c 3"]
) -> Float[np.ndarray, "c j 4 4"]:
    """Return the joints' motions in the world from their rotations since the rest pose and the root's shift."""
    maps = np.tile(np.eye(4), (*absolute.shape[:2], 1, 1))
    maps[..., :3, :3] = absolute
    for joint, parent in enumerate(rig.parents):
        head = rig.heads[joint]
        now = head + shift
        if parent >= 0:
            now = np.einsum("cij,j->ci", maps[:, parent, :3, :3], head) + maps[:, parent, :3, 3]
        maps[:, joint, :3, 3] = now - np.einsum("cij,j->ci", absolute[:, joint], head)
    return maps
