"""Rigged meshes without a motion of their own: what motion capture, hinge limits and random turns can move."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int
from scipy.sparse import csr_matrix
from scipy.spatial.transform import Rotation

from engine.datasets.imported.gltf_animation import AnimatedModel
from engine.datasets.imported.refusal import ImportRefused
from engine.datasets.imported.sequences import read_obj, z_up
from engine.datasets.imported.skinned import Skinned, bone_weights, welded

_RIG_KEYS = {"X_rest", "F", "wi", "w", "bindpos", "bindquat", "bone_bodyid", "body_parent", "body_pos", "body_quat"}


@dataclass(frozen=True, slots=True)
class Rig:
    """A welded mesh with a skeleton.

    Attributes:
        file: where it was read from.
        skin: the mesh.
        names: of the joints, parents before children.
        heads: where the joints turn, in the rest pose, in the world (Z up).
        parents: of the joints, -1 for none.
        carry: gives the bones' matrices for motions of the joints in the world, shape (c, j, 4, 4), from the rest pose.
    """

    file: Path
    skin: Skinned
    names: list[str]
    heads: Float[np.ndarray, "j 3"]
    parents: Int[np.ndarray, " j"]
    carry: Callable[[Float[np.ndarray, "c j 4 4"]], Float[np.ndarray, "c b 4 4"]]


def gltf_rig(path: Path) -> Rig:
    """Return the rig of a skinned glTF or GLB file; its clips are left alone.

    Raises:
        ImportRefused: the file is damaged, holds no mesh or has no skin.
    """
    model = AnimatedModel(path)
    joints, parents = model.skeleton()
    rest = model.rest_nodes[0]
    return Rig(
        path,
        model.mesh()[0],
        [model.scene.names[joint] for joint in joints],
        rest[joints, :3, 3],
        parents,
        lambda maps: model.turned(joints, maps, rest),
    )


def makehuman_rig(folder: Path) -> Rig:
    """Return the body of MakeHuman's base mesh with its default skeleton [dm].

    Args:
        folder: holds base.obj, and anywhere below a skeleton (.mhskel) with its weights (.mhw).

    Raises:
        ImportRefused: one of the three is missing or does not fit the others.
    """
    files: list[Path] = []
    for pattern in ("base.obj", "*.mhskel", "*.mhw"):
        found = sorted(folder.rglob(pattern))
        if not found:
            raise ImportRefused(folder, f"a MakeHuman rig needs a file {pattern}, which is not in this folder.")
        files.append(found[0])
    points, faces, groups = read_obj(files[0])
    points = z_up(points)
    faces = faces[np.array([group == "body" for group in groups])]
    try:
        skeleton = json.loads(files[1].read_text(encoding="utf-8"))
        painted = json.loads(files[2].read_text(encoding="utf-8"))["weights"]
        bones, places = skeleton["bones"], skeleton["joints"]
        names = _parents_first({name: bone["parent"] for name, bone in bones.items()})
        heads = np.array([points[places[bones[name]["head"]]].mean(0) for name in names])
        number = {name: k for k, name in enumerate(names)}
        parents = np.array([number.get(bones[name]["parent"], -1) for name in names])
        entries = [
            (int(v), number[name], float(w)) for name, rows in painted.items() if name in number for v, w in rows
        ]
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise ImportRefused(files[1], f"skeleton, weights and base.obj do not fit together ({error!r}).") from error
    rows, columns, values = (np.array(column) for column in zip(*entries, strict=True))
    weights = csr_matrix((values, (rows, columns)), shape=(len(points), len(names)))
    total = np.asarray(weights.sum(1)).ravel()
    used = np.unique(faces)
    if not np.isfinite(total).all() or (total[used] <= 0).any():
        raise ImportRefused(files[2], f"{np.count_nonzero(~(total[used] > 0))} vertices of the body have no weight.")
    # The format leaves it to the reader to normalise: painted weights sum to one within a few percent.
    weights = csr_matrix(weights.multiply(1.0 / np.where(total > 0, total, 1.0)[:, None]))
    kept = Skinned(points[used], np.searchsorted(used, faces), weights[used], np.zeros((0, len(used), 3)))
    skin = welded(kept, kept.points, kept.weights, file=files[0])
    return Rig(folder, skin, names, heads, parents, lambda maps: maps)


def is_hinged_rig(path: Path) -> bool:
    """Return whether an NPZ file holds a skin on a tree of hinges, in dm_control's terms."""
    with np.load(path, allow_pickle=False) as file:
        return _RIG_KEYS <= set(file.files)


def hinged_poses(path: Path, count: int, rng: np.random.Generator) -> tuple[Skinned, Float[np.ndarray, "c b 4 4"]]:
    """Return a skin on a tree of hinges, and its bones' matrices with the hinges turned within their ranges.

    The first pose is the rest pose. Keys of the NPZ file (Z up): X_rest, V, F, wi, w: skin at rest and as bound,
    triangles, bones and weights of each vertex; bone_bodyid, bindpos, bindquat: body of each bone and where it was
    bound; body_parent, body_pos, body_quat: tree of bodies; jnt_body, jnt_axis, jnt_pos, jnt_range: hinges [rad].

    Raises:
        ImportRefused: the arrays do not fit together, or the skin is broken.
    """
    with np.load(path, allow_pickle=False) as file:
        data = {key: file[key] for key in file.files}
    try:
        low, high = data["jnt_range"].T.astype(float)
        share = rng.beta(0.7, 0.7, (count, len(low)))
        moved = rng.random((count, len(low))) < rng.choice([0.2, 0.6, 1.0], (count, 1))
        angles = np.where(moved, low + share * (high - low), 0.0)
        angles[0] = 0.0
        bodies = _body_poses(data, angles)
        bind = np.tile(np.eye(4), (len(data["bindpos"]), 1, 1))
        bind[:, :3, :3] = Rotation.from_quat(data["bindquat"], scalar_first=True).as_matrix()
        bind[:, :3, 3] = data["bindpos"]
        matrices = bodies[:, data["bone_bodyid"]] @ np.linalg.inv(bind)
        points, faces = data["V"].astype(float), data["F"].astype(np.int64)
        weights, bones = data["w"].astype(float), data["wi"].astype(np.int64)
    except (KeyError, IndexError, ValueError) as error:
        raise ImportRefused(path, f"its rig's arrays do not fit together ({error!r}).") from error
    checked = bone_weights(bones, weights, points, count=len(bind), file=path)
    skin = Skinned(points, faces, checked, np.zeros((0, len(points), 3)))
    return welded(skin, data["X_rest"].astype(float), checked, file=path), matrices


def _body_poses(data: dict[str, np.ndarray], angles: Float[np.ndarray, "c h"]) -> Float[np.ndarray, "c b 4 4"]:
    """Return the poses of the bodies of a tree of hinges (a body's own hinges act before those of its children)."""
    own = np.tile(np.eye(4), (len(data["body_parent"]), 1, 1))
    own[:, :3, :3] = Rotation.from_quat(data["body_quat"], scalar_first=True).as_matrix()
    own[:, :3, 3] = data["body_pos"]
    poses = np.tile(np.eye(4), (len(angles), len(own), 1, 1))
    for body in range(1, len(own)):
        pose = poses[:, data["body_parent"][body]] @ own[body]
        for hinge in np.flatnonzero(data["jnt_body"] == body):
            axis, at = data["jnt_axis"][hinge].astype(float), data["jnt_pos"][hinge]
            turn = np.tile(np.eye(4), (len(angles), 1, 1))
            turn[:, :3, :3] = Rotation.from_rotvec(angles[:, hinge, None] * axis / np.linalg.norm(axis)).as_matrix()
            turn[:, :3, 3] = at - turn[:, :3, :3] @ at
            pose = pose @ turn
        poses[:, body] = pose
    return poses


def _parents_first(parents: dict[str, str | None]) -> list[str]:
    """Return the names so that each comes after its parent; names whose parents never come are left out."""
    order = [name for name, parent in parents.items() if parent is None]
    for name in order:
        order += [child for child, parent in parents.items() if parent == name]
    return order
