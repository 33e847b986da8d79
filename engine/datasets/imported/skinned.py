"""Meshes carried by bones: checked weights, welding that tears no skin, linear blend skinning, turned joints.

Source of the skinning: Magnenat-Thalmann et al., "Joint-dependent local deformations", 1988. The local rotation of a
vertex is the rotation nearest to its blended matrix.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int
from scipy.sparse import csr_matrix
from scipy.spatial import KDTree
from scipy.spatial.transform import Rotation

from engine.datasets.alignment import aligned
from engine.datasets.imported.frames import (
    check_mesh,
    diverse,
    plausible,
    sample,
    size_of,
    tidy,
)
from engine.datasets.imported.refusal import ImportRefused
from engine.geometry.modes import polar_rotation
from engine.geometry.welding import weld

# Weights that differ by less than this in all, over all bones, are the same up to how exporters round.
_SAME_WEIGHTS = 0.02
_SUM_TOLERANCE = 0.02
# Most vertices without any weight, as a fraction, that are taken for slips of the brush and not for a broken skin.
_BARE = 0.03


@dataclass(frozen=True, slots=True)
class Skinned:
    """A welded mesh and what carries it.

    Attributes:
        points: vertices in the space that the bones' matrices start from, shape (n, 3).
        faces: triangles.
        weights: weight of each bone for each vertex, sparse (n, b); rows sum to one.
        deltas: change of the points by each morph target, shape (t, n, 3).
    """

    points: Float[np.ndarray, "n 3"]
    faces: Int[np.ndarray, "m 3"]
    weights: csr_matrix
    deltas: Float[np.ndarray, "t n 3"]


def bone_weights(
    bones: Int[np.ndarray, "n k"],
    weights: Float[np.ndarray, "n k"],
    points: Float[np.ndarray, "n 3"],
    *,
    count: int,
    file: Path,
) -> csr_matrix:
    """Return checked weights as a sparse matrix (n, count) whose rows sum to one.

    A few vertices that were never painted (exporters divide their zeros by their sum of zero) take the weights of the
    nearest vertex that was.

    Raises:
        ImportRefused: a weight is negative or no number, a bone does not exist, or weights do not sum to one.
    """
    bare = np.isnan(weights).all(1) | (weights == 0).all(1)
    if 0 < np.count_nonzero(bare) <= _BARE * len(points) and np.isfinite(points).all():
        given = np.flatnonzero(~bare)
        nearest = given[KDTree(points[given]).query(points[bare])[1]]
        bones, weights = bones.copy(), weights.copy()
        bones[bare], weights[bare] = bones[nearest], weights[nearest]
    if not np.isfinite(weights).all() or (weights < 0).any():
        message = "it has skin weights that are negative or no numbers; normalise them and export it again."
        raise ImportRefused(file, message)
    total = weights.sum(1)
    wrong = int(np.count_nonzero(np.abs(total - 1.0) > _SUM_TOLERANCE))
    if wrong:
        message = f"it has skin weights that do not sum to one at {wrong} of {len(total)} vertices; normalise them."
        raise ImportRefused(file, message)
    # An index beside a weight of zero means nothing, and some exporters leave anything there.
    outside = (weights > 0) & ((bones < 0) | (bones >= count))
    if outside.any():
        message = f"it weights a vertex by joint {bones[outside][0]}, but its skin has {count} joints."
        raise ImportRefused(file, message)
    row = np.repeat(np.arange(len(bones)), bones.shape[1])
    used = weights.ravel() > 0
    values = (weights / total[:, None]).ravel()[used]
    return csr_matrix((values, (row[used], bones.ravel()[used])), shape=(len(bones), count))


def welded(skin: Skinned, rest: Float[np.ndarray, "n 3"], carriers: csr_matrix, *, file: Path) -> Skinned:
    """Join vertices that coincide in the rest pose, are carried alike and morph alike.

    Args:
        skin: as read, with a vertex for every normal and texture coordinate.
        rest: its vertices in the rest pose.
        carriers: weight of whatever moves the vertices, sparse (n, anything): equal rows move alike.
        file: what to name in a refusal.

    Raises:
        ImportRefused: no triangle is left, or something of `check_mesh`.
    """
    check_mesh(rest, skin.faces, file=file)
    size = size_of(rest)
    label = weld(rest, 1e-6 * size)[0]
    key = np.full(len(rest), -1)
    morph = skin.deltas.transpose(1, 0, 2).reshape(len(rest), -1)
    scale = float(np.abs(morph).max(initial=0.0))
    left = np.arange(len(rest))
    while len(left):
        # Those of a place that are like the first one there are joined; the others try again among themselves.
        _, first, inverse = np.unique(label[left], return_index=True, return_inverse=True)
        leader = left[first][inverse]
        difference = np.asarray(abs(carriers[left] - carriers[leader]).sum(1)).ravel()
        alike = difference <= _SAME_WEIGHTS
        if scale > 0:
            alike &= np.abs(morph[left] - morph[leader]).max(1) <= 1e-4 * scale
        key[left[alike]] = leader[alike]
        left = left[~alike]
    kept, faces = tidy(rest, key[skin.faces])
    if len(faces) == 0:
        message = "it has no triangle with an area."
        raise ImportRefused(file, message)
    return Skinned(skin.points[kept], faces, skin.weights[kept], skin.deltas[:, kept])


def blend(
    skin: Skinned, matrices: Float[np.ndarray, "f b 4 4"], morph: Float[np.ndarray, "f t"], only: Int[np.ndarray, " s"]
) -> tuple[Float[np.ndarray, "f s 3"], Float[np.ndarray, "f s 3 3"]]:
    """Return the positions of the vertices ``only`` and the linear part of their blended matrices, frame by frame."""
    count = len(matrices)
    weights, points, deltas = skin.weights[only], skin.points[only], skin.deltas[:, only]
    positions = np.zeros((count, len(only), 3))
    linear = np.zeros((count, len(only), 3, 3))
    for k in range(count):
        mixed = np.asarray(weights @ matrices[k, :, :3].reshape(-1, 12)).reshape(-1, 3, 4)
        shaped = points + np.einsum("t,tnd->nd", morph[k], deltas) if morph.shape[1] else points
        linear[k] = mixed[:, :, :3]
        positions[k] = np.einsum("nij,nj->ni", linear[k], shaped) + mixed[:, :, 3]
    return positions, linear


def bake(
    skin: Skinned,
    matrices: Float[np.ndarray, "c b 4 4"],
    *,
    frames: int,
    file: Path,
    morph: Float[np.ndarray, "c t"] | None = None,
) -> tuple[Float[np.ndarray, "f n 3"], Float[np.ndarray, "f n 4"] | None]:
    """Choose diverse frames among candidate poses and pose every vertex in them.

    Args:
        skin: the welded mesh.
        matrices: of each bone in each candidate pose, from the points to the world; the first is the rest pose.
        frames: how many frames at most.
        file: what to name in a refusal.
        morph: weights of the morph targets in each candidate pose.

    Returns:
        Positions and local rotations (w, x, y, z) from the rest pose; no rotations where morph targets move the mesh.

    Raises:
        ImportRefused: nothing moves, or no pose is usable.
    """
    amounts = np.zeros((len(matrices), len(skin.deltas))) if morph is None else morph
    shapes = blend(skin, matrices, amounts, sample(len(skin.points)))[0]
    if not (np.isfinite(matrices).all() and np.isfinite(shapes).all()):
        message = "it moves to positions that are not finite; its animation is damaged. Export it again."
        raise ImportRefused(file, message)
    if np.abs(shapes - shapes[0]).max() <= 1e-9 * size_of(shapes[0]):
        message = f"it holds no motion: its {len(shapes) - 1} other frames equal the rest pose."
        raise ImportRefused(file, message)
    used = np.unique(skin.weights.indices)
    if (np.linalg.svd(matrices[0, used, :3, :3], compute_uv=False)[:, 2] <= 0).any():
        raise ImportRefused(file, "a bone or node flattens what it carries in the rest pose, so nothing can be posed.")
    from_rest = matrices[:, used] @ np.linalg.inv(matrices[0, used])
    sized, near = plausible(from_rest[:, :, :3, :3], aligned(shapes)[1])
    usable = np.flatnonzero(sized & near)
    if len(usable) < 2:
        message = (
            f"it holds no usable motion: of {len(matrices) - 1} poses, {np.count_nonzero(~sized)} scale a part out "
            f"of sight and {np.count_nonzero(~near)} turn one by more than 150 degrees from the rest pose."
        )
        raise ImportRefused(file, message)
    chosen = usable[diverse(shapes[usable], frames, file=file)]
    positions, linear = blend(skin, matrices[chosen], amounts[chosen], np.arange(len(skin.points)))
    if np.ptp(amounts[chosen], axis=0).max(initial=0.0) > 0:
        return positions, None
    turn = polar_rotation(linear @ np.linalg.inv(linear[0]))
    return positions, Rotation.from_matrix(turn.reshape(-1, 3, 3)).as_quat(canonical=True, scalar_first=True).reshape(
        *turn.shape[:2], 4
    )


def rigid_parts(carriers: csr_matrix) -> Int[np.ndarray, " n"] | None:
    """Return the one bone that carries each vertex, or nothing where a vertex has two."""
    if (np.diff(carriers.indptr) != 1).any():
        return None
    return np.unique(carriers.indices, return_inverse=True)[1].astype(np.int32)


def turned_tree(
    heads: Float[np.ndarray, "j 3"], parents: Int[np.ndarray, " j"], turns: Float[np.ndarray, "c j 3 3"]
) -> Float[np.ndarray, "c j 4 4"]:
    """Return each joint's map from the rest pose when every joint turns about its head, parents carrying children.

    Args:
        heads: where the joints are in the rest pose, in the world.
        parents: of each joint, before it in order; -1 for none.
        turns: rotation of each joint against its parent, written in the world's axes of the rest pose.
    """
    maps = np.zeros((*turns.shape[:2], 4, 4))
    for joint, parent in enumerate(parents):
        own = np.tile(np.eye(4), (len(turns), 1, 1))
        own[:, :3, :3] = turns[:, joint]
        own[:, :3, 3] = heads[joint] - turns[:, joint] @ heads[joint]
        maps[:, joint] = own if parent < 0 else maps[:, parent] @ own
    return maps


def random_turns(
    heads: Float[np.ndarray, "j 3"], parents: Int[np.ndarray, " j"], count: int, rng: np.random.Generator
) -> Float[np.ndarray, "c j 3 3"]:
    """Draw turns of the joints within 60 degrees; the first pose is the rest pose.

    A joint bends about the direction that is square to its bone and lies in the plane in which the skeleton is spread
    most, as the fingers of a hand do, and a little sideways. The root does not turn, and bones that fan out from it, as
    those inside the palm, hardly.
    """
    joints = len(heads)
    flat = np.linalg.svd(heads - heads.mean(0))[2][2]
    children = np.bincount(parents[parents >= 0], minlength=joints)
    turns = np.zeros((count, joints, 3))
    # One draw for the whole pose makes fists and open hands; one for each joint makes all between.
    together = rng.uniform(-0.5, 1.0, count)
    for joint, parent in enumerate(parents):
        below = np.flatnonzero(parents == joint)
        bone = heads[below].mean(0) - heads[joint] if len(below) else heads[joint] - heads[parent]
        side = np.cross(flat, bone)
        length = np.linalg.norm(side)
        if parent < 0 or length <= 0:
            continue
        reach = np.deg2rad(60.0) * (0.1 if parents[parent] < 0 and children[parent] > 2 else 1.0)
        angle = np.clip(together + rng.normal(0, 0.35, count), -1.0, 1.0) * reach
        aside = rng.uniform(-0.12, 0.12, count) * reach
        turns[:, joint] = angle[:, None] * (side / length) + aside[:, None] * flat
        norm = np.linalg.norm(turns[:, joint], axis=1, keepdims=True)
        turns[:, joint] *= np.minimum(1.0, reach / np.maximum(norm, 1e-12))
    turns[0] = 0.0
    return Rotation.from_rotvec(turns.reshape(-1, 3)).as_matrix().reshape(count, joints, 3, 3)
