"""Robot descriptions (MJCF and URDF) as articulated motion: every joint swept within its limits, exact poses.

MuJoCo reads the description and gives the pose of every body (`mj_kinematics`); nothing is simulated. Bodies that no
joint separates are one rigid part. Each tree of bodies below the world that holds a joint is one object: what merely
stands in the scene beside it, such as a table or a wall, is left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int
from scipy.spatial.transform import Rotation

from engine.datasets.imported.description_reader import Data, Model, mj, read_description
from engine.datasets.imported.description_surface import surface_of_bodies
from engine.datasets.imported.refusal import ImportRefused
from engine.datasets.imported.thinning import Arrays
from engine.datasets.motion import Motion, Source
from engine.geometry.welding import vertex_components

MAX_TURN = np.deg2rad(150.0)
# How far a joint without limits goes to either side: a hinge or ball [rad], a slide [sizes of the object].
FREE_TURN, FREE_SLIDE = np.deg2rad(75.0), 0.25
# How far any slide goes from rest at most [sizes of the object]: targets are given a whole table to move on.
MAX_SLIDE = 1.0

_HINGE, _SLIDE = int(mj.mjtJoint.mjJNT_HINGE), int(mj.mjtJoint.mjJNT_SLIDE)
_BALL, _FREE = int(mj.mjtJoint.mjJNT_BALL), int(mj.mjtJoint.mjJNT_FREE)
_CONNECT, _WELD = int(mj.mjtEq.mjEQ_CONNECT), int(mj.mjtEq.mjEQ_WELD)


def motions_of_description(
    path: Path, *, frames: int = 32, rng: np.random.Generator, source: Source | None = None, pack: str | None = None
) -> Iterator[Motion]:
    """Yield one motion for each articulated object of a description.

    Args:
        path: an MJCF (.xml) or URDF (.urdf) file.
        frames: frames of each motion, the first of them at rest.
        rng: draws the joint coordinates.
        source: origin and licence; by default the file's name and no statement about the licence.
        pack: the collection the file belongs to, for the family "articulated/<pack>"; by default the file's stem.

    Raises:
        ImportRefused: the file cannot be read, names a mesh that is missing, or shows nothing that joints move.
    """
    path = Path(path)
    model = read_description(path)
    _refuse_loops(model, path)
    trees = _trees(model, whole=path.suffix.lower() == ".urdf")
    if not trees:
        raise ImportRefused(path, "it has no hinge, slide or ball joint, so nothing of it can be posed.")
    found = 0
    for tree in trees:
        faces, component, positions, rotations, part = _swept(model, tree, path, frames=frames, rng=rng)
        if len(trees) > 1 and not part.any():
            # A puck or a target marker that slides about beside the robot: one rigid body, no mechanism.
            continue
        found += 1
        yield Motion(
            f"articulated/{pack or path.stem}",
            faces,
            component,
            positions,
            rotations,
            fixed=not any(_is_free(model, body) for body in tree),
            part=part,
            source=source or Source(name=path.name, licence="NOASSERTION"),
            name=path.stem if len(trees) == 1 else f"{path.stem}_{_top_name(model, tree)}",
        )
    if not found:
        raise ImportRefused(path, "each of its objects is one rigid body; none has parts that move to one another.")


def still_of_description(path: Path) -> Arrays:
    """Return the welded surface of a whole description at rest [m], Z up: for objects that have no joints.

    Raises:
        ImportRefused: the file cannot be read or shows no surface.
    """
    path = Path(path)
    model = read_description(path)
    data = mj.MjData(model)
    mj.mj_kinematics(model, data)
    surface = surface_of_bodies(model, data, list(range(model.nbody)), path)
    return surface.at(data), surface.faces


def _refuse_loops(model: Model, path: Path) -> None:
    for kind, active in zip(model.eq_type, model.eq_active0, strict=True):
        if active and int(kind) in (_CONNECT, _WELD):
            raise ImportRefused(path, "constraints close a loop of its bodies; only trees of joints are swept.")


def _trees(model: Model, *, whole: bool) -> list[list[int]]:
    """Return the bodies of each articulated object, ascending; ``whole``: the file is one object."""
    jointed = {int(b) for b, kind in zip(model.jnt_bodyid, model.jnt_type, strict=True) if kind != _FREE}
    if whole:
        return [list(range(model.nbody))] if jointed else []
    top = np.arange(model.nbody)
    for body in range(1, model.nbody):
        parent = int(model.body_parentid[body])
        top[body] = body if parent == 0 else top[parent]
    trees: list[list[int]] = []
    for root in np.unique(top[sorted(jointed)]) if jointed else ():
        tree = [int(b) for b in np.flatnonzero(top == root)]
        # A body that a joint ties to the world itself has its frame among the world's geoms, as a cart its rail.
        hung = model.body_weldid[root] != 0 and not _is_free(model, int(root))
        trees.append([0, *tree] if hung else tree)
    return trees


def _top_name(model: Model, tree: list[int]) -> str:
    top = next(b for b in tree if b)
    return model.body(top).name or f"body{top}"


def _is_free(model: Model, body: int) -> bool:
    first, count = int(model.body_jntadr[body]), int(model.body_jntnum[body])
    return count > 0 and bool((model.jnt_type[first : first + count] == _FREE).any())


@dataclass(frozen=True, slots=True)
class _Joints:
    """The joints of one object.

    Attributes:
        index: MuJoCo's numbers of the joints that move freely, shape (j,).
        low, high: reach of each about its rest [rad or m], shape (j,).
        rest: coordinates of the whole model at rest.
        followers: (joint, leader or -1, coefficients of the polynomial) of joints that follow others.
    """

    index: Int[np.ndarray, " j"]
    low: Float[np.ndarray, " j"]
    high: Float[np.ndarray, " j"]
    rest: Float[np.ndarray, " q"]
    followers: list[tuple[int, int, Float[np.ndarray, "5"]]]


def _joints_of(model: Model, tree: list[int], size: float) -> _Joints:
    rest = model.qpos0.copy()
    followers = [
        (int(a), int(b), model.eq_data[e, :5].copy())
        for e, (a, b) in enumerate(zip(model.eq_obj1id, model.eq_obj2id, strict=True))
        if model.eq_active0[e] and model.eq_type[e] == mj.mjtEq.mjEQ_JOINT
    ]
    bound = {joint for joint, _, _ in followers}
    index: list[int] = []
    reach: list[tuple[float, float]] = []
    for joint in range(model.njnt):
        kind = int(model.jnt_type[joint])
        if int(model.jnt_bodyid[joint]) not in tree or kind == _FREE or joint in bound:
            continue
        at, limited = int(model.jnt_qposadr[joint]), bool(model.jnt_limited[joint])
        first, last = (float(x) for x in model.jnt_range[joint])
        if kind == _BALL:
            low, high = 0.0, min(last, MAX_TURN) if limited else FREE_TURN
        elif limited:
            # A rest outside the limits, as some arms have it, is moved to the nearest one.
            rest[at] = np.clip(rest[at], first, last)
            low, high = first - rest[at], last - rest[at]
            most = MAX_TURN if kind == _HINGE else MAX_SLIDE * size
            low, high = max(low, -most), min(high, most)
        else:
            high = FREE_TURN if kind == _HINGE else FREE_SLIDE * size
            low = -high
        if high > low:
            index.append(joint)
            reach.append((low, high))
    bounds = np.array(reach, dtype=np.float64).reshape(-1, 2)
    return _Joints(np.array(index, dtype=np.int64), bounds[:, 0], bounds[:, 1], rest, followers)


def _swept(
    model: Model, tree: list[int], path: Path, *, frames: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return faces, components, positions, rotations and parts of one object with its joints moved."""
    data = mj.MjData(model)
    mj.mj_kinematics(model, data)
    surface = surface_of_bodies(model, data, tree, path)
    joints = _joints_of(model, tree, float(np.linalg.norm(np.ptp(surface.at(data), axis=0))))
    if not len(joints.index):
        raise ImportRefused(path, "the limits of its joints leave no room to move.")
    weld_of = model.body_weldid[surface.body]
    offsets = _offsets(joints, frames, rng)
    axes = _random_axes(rng, (frames, len(joints.index)))
    positions = np.zeros((frames, len(surface.local), 3), dtype=np.float32)
    rotations = np.zeros((frames, len(surface.local), 4), dtype=np.float32)
    rest = np.zeros((model.nbody, 4))
    turn = Rotation.identity(model.nbody)
    for frame in range(frames):
        for shrink in 0.9 ** np.arange(60):
            data.qpos[:] = _coordinates(model, joints, offsets[frame] * shrink, axes[frame])
            mj.mj_kinematics(model, data)
            if frame == 0:
                rest = data.xquat.copy()
            turn = Rotation.from_quat(data.xquat, scalar_first=True) * Rotation.from_quat(rest, scalar_first=True).inv()
            if _largest_turn(model, data, joints, offsets[frame] * shrink, turn) <= MAX_TURN + 1e-6:
                break
        positions[frame] = surface.at(data)
        rotations[frame] = turn.as_quat(canonical=True, scalar_first=True)[surface.body]
    if not np.isfinite(positions).all():
        raise ImportRefused(path, "its poses are not finite numbers.")
    if float(np.abs(positions - positions[0]).max()) < 1e-4 * float(np.ptp(positions[0], axis=0).max()):
        raise ImportRefused(path, "its joints move nothing that can be seen.")
    part = np.unique(weld_of, return_inverse=True)[1].reshape(-1).astype(np.int32)
    faces = surface.faces.astype(np.int32)
    return faces, vertex_components(faces, len(part)), positions, rotations, part


def _offsets(joints: _Joints, frames: int, rng: np.random.Generator) -> Float[np.ndarray, "f j"]:
    """Draw how far each joint stands from rest in each frame: a third of the frames one by one, the others together.

    The values of a joint are spread over its reach and are densest at the limits (arcsine law), where joints stop.
    """
    count, joint_count = frames - 1, len(joints.low)
    share = np.zeros((frames, joint_count))
    order = np.argsort(rng.random((count, joint_count)), axis=0)
    share[1:] = 0.5 - 0.5 * np.cos(np.pi * (order + rng.random((count, joint_count))) / max(count, 1))
    offsets = joints.low + share * (joints.high - joints.low)
    moved = np.ones((frames, joint_count), dtype=bool)
    moved[0] = False
    if joint_count > 1:
        turns = rng.permutation(joint_count)
        for row, frame in enumerate(range(1, 1 + count // 3)):
            moved[frame] = np.arange(joint_count) == turns[row % joint_count]
    return np.where(moved, offsets, 0.0)


def _random_axes(rng: np.random.Generator, shape: tuple[int, ...]) -> Float[np.ndarray, "f j 3"]:
    axes = rng.normal(size=(*shape, 3))
    return axes / np.linalg.norm(axes, axis=-1, keepdims=True)


def _coordinates(
    model: Model, joints: _Joints, offsets: Float[np.ndarray, " j"], axes: Float[np.ndarray, "j 3"]
) -> Float[np.ndarray, " q"]:
    """Return the coordinates of the whole model with its joints moved by ``offsets``, ball joints about ``axes``."""
    result = joints.rest.copy()
    for joint, offset, axis in zip(joints.index, offsets, axes, strict=True):
        at = int(model.jnt_qposadr[joint])
        if model.jnt_type[joint] == _BALL:
            turned = Rotation.from_quat(result[at : at + 4], scalar_first=True) * Rotation.from_rotvec(offset * axis)
            result[at : at + 4] = turned.as_quat(scalar_first=True)
        else:
            result[at] += offset
    for joint, leader, polynomial in joints.followers:
        at, moved = int(model.jnt_qposadr[joint]), 0.0
        if leader >= 0:
            origin = int(model.jnt_qposadr[leader])
            moved = float(result[origin] - model.qpos0[origin])
        result[at] = model.qpos0[at] + float(np.polynomial.polynomial.polyval(moved, polynomial))
    return result


def _largest_turn(model: Model, data: Data, joints: _Joints, offsets: Float[np.ndarray, " j"], turn: Rotation) -> float:
    """Return the largest turn of a body from rest [rad], counted along its chain so that none hides a full circle."""
    chain = np.zeros((model.nbody, 3))
    own = np.zeros((model.nbody, 3))
    for joint, offset in zip(joints.index, offsets, strict=True):
        if model.jnt_type[joint] == _HINGE:
            own[model.jnt_bodyid[joint]] += offset * data.xaxis[joint]
    for body in range(1, model.nbody):
        chain[body] = chain[model.body_parentid[body]] + own[body]
    return max(float(np.linalg.norm(chain, axis=1).max()), float(turn.magnitude().max()))
