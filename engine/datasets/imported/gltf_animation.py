"""Animated glTF and GLB models: skins, morph targets and moving nodes, baked to frames over all clips.

Method: glTF 2.0 specification, section 3.7.3 (skins). The rest pose is the bind pose of the skin, placed where the
nodes put its root; where the skins of a file do not agree on one, it is the pose of the nodes. glTF's Y up becomes
Z up.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from jaxtyping import Float, Int
from scipy.sparse import csr_matrix, vstack
from scipy.spatial.transform import Rotation

from engine.datasets.imported.frames import motion_of
from engine.datasets.imported.gltf_curves import Clip, Curve, evaluate
from engine.datasets.imported.gltf_scene import GltfScene, read_scene
from engine.datasets.imported.refusal import ImportRefused
from engine.datasets.imported.skinned import (
    Skinned,
    bake,
    blend,
    bone_weights,
    random_turns,
    rigid_parts,
    turned_tree,
    welded,
)
from engine.datasets.motion import Motion, Source

_Z_UP = np.array([[1.0, 0, 0, 0], [0, 0, -1, 0], [0, 1, 0, 0], [0, 0, 0, 1]])
_POSES_PER_SECOND = 12.0
_MOST_POSES = 900


class AnimatedModel:
    """A model of a glTF file with the bones that carry it, before vertices are joined.

    A bone is a joint of a skin, or a node that carries a mesh without one. World coordinates have Z up.
    """

    def __init__(self, path: Path) -> None:
        """Read a file.

        Args:
            path: a .glb or .gltf file.

        Raises:
            ImportRefused: the file is damaged, holds no mesh, or its skin is broken.
        """
        self.scene = scene = read_scene(path)
        self.file = path
        if not scene.parts:
            message = "it holds no mesh; open the file that has the model in it."
            raise ImportRefused(self.file, message)
        self._collect_bones()
        rest = self._node_poses(None, np.zeros(1))[0]
        bind = self._bind_pose(rest[0])
        self.rest_nodes = rest if bind is None else bind[None]
        self.rest_morph = self._morph_weights(None, np.zeros(1))

    def _collect_bones(self) -> None:
        scene = self.scene
        self.bone_nodes: list[int] = []
        inverses: list[np.ndarray] = []
        first: dict[int, int] = {}
        for skin, (joints, inverse) in enumerate(zip(scene.joints, scene.inverses, strict=True)):
            first[skin] = len(self.bone_nodes)
            self.bone_nodes += joints
            inverses += list(inverse)
        start = len(self.bone_nodes)
        self.bone_nodes += range(len(scene.names))
        self.inverses = np.array([*inverses, *[np.eye(4)] * len(scene.names)])
        count, columns = len(self.bone_nodes), sum(len(weights) for _, weights in scene.morph.values())
        points, faces, rows, deltas = [], [], [], []
        at = 0
        for part in scene.parts:
            size = len(part.points)
            if part.skin < 0:
                index = np.full(size, start + part.node)
                rows.append(csr_matrix((np.ones(size), (np.arange(size), index)), shape=(size, count)))
            else:
                joints = len(scene.joints[part.skin])
                own = bone_weights(part.bones, part.weights, part.points, count=joints, file=self.file)
                shift = own.indices + first[part.skin]
                rows.append(csr_matrix((own.data, shift, own.indptr), shape=(size, count)))
            spread = np.zeros((columns, size, 3))
            if len(part.deltas):
                column = scene.morph[part.node][0]
                spread[column : column + len(part.deltas)] = part.deltas
            points.append(part.points)
            faces.append(part.faces + at)
            deltas.append(spread)
            at += size
        self.raw = Skinned(
            np.concatenate(points), np.concatenate(faces), csr_matrix(vstack(rows)), np.concatenate(deltas, 1)
        )

    def _bind_pose(self, rest: Float[np.ndarray, "n 4 4"]) -> Float[np.ndarray, "n 4 4"] | None:
        """Return the nodes' world matrices in the bind pose of the skins, or nothing when there is no single one."""
        scene, bound = self.scene, dict[int, np.ndarray]()
        used = sorted({part.skin for part in scene.parts if part.skin >= 0})
        for skin in used:
            joints, inverse = scene.joints[skin], scene.inverses[skin]
            top = next(k for k in scene.order if k in joints)
            place = rest[top] @ inverse[joints.index(top)]
            stretch = np.linalg.svd(place[:3, :3], compute_uv=False)
            if stretch[2] < 0.99 * stretch[0] or (np.abs(np.linalg.det(inverse)) < 1e-12).any():
                return None
            for joint, matrix in zip(joints, place @ np.linalg.inv(inverse), strict=True):
                if not np.allclose(bound.setdefault(joint, matrix), matrix, rtol=1e-3, atol=1e-3 * stretch[0]):
                    return None
        result = rest.copy()
        for node in scene.order:
            parent = scene.parents[node]
            if node in bound:
                result[node] = bound[node]
            elif parent >= 0 and abs(np.linalg.det(rest[parent])) > 1e-12:
                result[node] = result[parent] @ np.linalg.inv(rest[parent]) @ rest[node]
        return result

    def _node_poses(
        self, clip: Clip | None, times: Float[np.ndarray, " t"]
    ) -> tuple[Float[np.ndarray, "t n 4 4"], Float[np.ndarray, "t n 4 4"]]:
        """Return world and local matrices of all nodes at the times of a clip."""
        scene, count = self.scene, len(times)
        tracks = {
            "translation": np.tile(scene.translations, (count, 1, 1)),
            "rotation": np.tile(scene.rotations, (count, 1, 1)),
            "scale": np.tile(scene.scales, (count, 1, 1)),
        }
        moved = set[int]()
        for curve in clip.curves if clip else []:
            if curve.path in tracks:
                tracks[curve.path][:, curve.node] = evaluate(curve, times)
                moved.add(curve.node)
        local = np.zeros((count, len(scene.names), 4, 4))
        norm = np.linalg.norm(tracks["rotation"], axis=2, keepdims=True)
        if (norm < 1e-6).any():
            message = "it has a rotation of length zero; export it again."
            raise ImportRefused(self.file, message)
        turn = Rotation.from_quat((tracks["rotation"] / norm).reshape(-1, 4)).as_matrix().reshape(count, -1, 3, 3)
        local[:, :, :3, :3] = turn * tracks["scale"][:, :, None, :]
        local[:, :, :3, 3] = tracks["translation"]
        local[:, :, 3, 3] = 1.0
        for node, matrix in scene.fixed.items():
            if node not in moved:
                local[:, node] = matrix
        world = np.zeros_like(local)
        for node in scene.order:
            parent = scene.parents[node]
            world[:, node] = (_Z_UP if parent < 0 else world[:, parent]) @ local[:, node]
        return world, local

    def _morph_weights(self, clip: Clip | None, times: Float[np.ndarray, " t"]) -> Float[np.ndarray, "t c"]:
        morph = self.scene.morph
        result = np.zeros((len(times), len(self.raw.deltas)))
        for column, rest in morph.values():
            result[:, column : column + len(rest)] = rest
        for curve in clip.curves if clip else []:
            if curve.path == "weights" and curve.node in morph:
                column, rest = morph[curve.node]
                result[:, column : column + len(rest)] = evaluate(curve, times)
        return result

    def bone_matrices(self, nodes: Float[np.ndarray, "t n 4 4"]) -> Float[np.ndarray, "t b 4 4"]:
        """Return each bone's map from its mesh's space to the world, for world matrices of the nodes."""
        return nodes[:, self.bone_nodes] @ self.inverses

    def posed(self, clip: Clip, times: Float[np.ndarray, " t"]) -> Float[np.ndarray, "t v 3"]:
        """Return every vertex of the file, in its order, at times [s] of a clip; Z up."""
        matrices = self.bone_matrices(self._node_poses(clip, times)[0])
        return blend(self.raw, matrices, self._morph_weights(clip, times), np.arange(len(self.raw.points)))[0]

    def adopted(self, clip: Clip, scene: GltfScene) -> Clip | None:
        """Return a clip of another file for the nodes of the same names here, or nothing where there are none."""
        numbers = {name: k for k, name in enumerate(self.scene.names) if name}
        curves = [
            Curve(numbers[scene.names[c.node]], c.path, c.times, c.values, c.interpolation)
            for c in clip.curves
            if scene.names[c.node] in numbers and c.path != "weights"
        ]
        return Clip(clip.name, curves) if curves else None

    def mesh(self) -> tuple[Skinned, Float[np.ndarray, "n 3"], csr_matrix]:
        """Return the welded mesh, its vertices in the rest pose, and the weight of each node for each vertex."""
        rest_bones = self.bone_matrices(self.rest_nodes)
        raw, every = self.raw, np.arange(len(self.raw.points))
        rest, linear = blend(raw, rest_bones, self.rest_morph, every)
        corner = raw.faces[:, 0]
        mirrored = np.linalg.det(linear[0][corner]) < 0
        faces = np.where(mirrored[:, None], raw.faces[:, ::-1], raw.faces)
        count = len(self.scene.names)
        to_node = csr_matrix(
            (np.ones(len(self.bone_nodes)), (np.arange(len(self.bone_nodes)), self.bone_nodes)),
            shape=(len(self.bone_nodes), count),
        )
        skin = welded(
            Skinned(raw.points, faces, raw.weights, raw.deltas),
            rest[0],
            csr_matrix(raw.weights @ to_node),
            file=self.file,
        )
        every = np.arange(len(skin.points))
        return skin, blend(skin, rest_bones, self.rest_morph, every)[0][0], csr_matrix(skin.weights @ to_node)

    def skeleton(self) -> tuple[list[int], Int[np.ndarray, " j"]]:
        """Return the joints' nodes, parents first, and each joint's parent by its place among them.

        A skeleton whose joints all hang side by side, as hands of WebXR do, is put together by the first words of the
        joints' names: a chain for each word, hung on the joint whose word stands alone.

        Raises:
            ImportRefused: there are no joints.
        """
        scene = self.scene
        used = {node for part in scene.parts if part.skin >= 0 for node in scene.joints[part.skin]}
        joints = [node for node in scene.order if node in used]
        if not joints:
            message = "it has no skin, so it has no joints to turn."
            raise ImportRefused(self.file, message)
        place = {node: k for k, node in enumerate(joints)}
        parents = np.full(len(joints), -1)
        for k, node in enumerate(joints):
            above = scene.parents[node]
            while above >= 0 and above not in place:
                above = scene.parents[above]
            parents[k] = place.get(above, -1)
        if len(joints) > 2 and (parents < 0).all():
            return self._chains(joints)
        return joints, parents

    def turned(
        self, joints: list[int], maps: Float[np.ndarray, "c j 4 4"], rest: Float[np.ndarray, "n 4 4"]
    ) -> Float[np.ndarray, "c b 4 4"]:
        """Return the bones' matrices with joints moved in the world from a rest pose, each carrying what is below it.

        Args:
            joints: nodes of the joints.
            maps: motion of each joint from the rest pose, in the world.
            rest: the nodes' world matrices in the rest pose.
        """
        place = {node: k for k, node in enumerate(joints)}
        nodes = np.tile(rest, (len(maps), 1, 1, 1))
        for node in self.scene.order:
            above = node
            while above >= 0 and above not in place:
                above = self.scene.parents[above]
            if above >= 0:
                nodes[:, node] = maps[:, place[above]] @ rest[node]
        return self.bone_matrices(nodes)

    def _chains(self, joints: list[int]) -> tuple[list[int], Int[np.ndarray, " j"]]:
        words = {node: self.scene.names[node].replace("_", "-").split("-")[0].lower() for node in joints}
        groups = {word: [node for node in joints if words[node] == word] for word in dict.fromkeys(words.values())}
        alone = [nodes[0] for nodes in groups.values() if len(nodes) == 1]
        if len(alone) != 1:
            message = "its joints have no parents and their names give none; export it with a skeleton."
            raise ImportRefused(self.file, message)
        heads = self.rest_nodes[0, :, :3, 3]
        order, parents = [alone[0]], [-1]
        for nodes in groups.values():
            for k, node in enumerate(sorted(nodes, key=lambda n: float(np.linalg.norm(heads[n] - heads[alone[0]])))):
                if node != alone[0]:
                    parents.append(len(order) - 1 if k else 0)
                    order.append(node)
        return order, np.array(parents)


def gltf_motion(
    path: Path,
    *,
    frames: int,
    rng: np.random.Generator,
    pack: str,
    name: str,
    source: Source | None = None,
    clips_from: list[Path] | None = None,
    pose_at_random: bool = False,
    use_clips: bool = True,
) -> Motion:
    """Return one motion of a model, its frames chosen over all its clips.

    Args:
        path: a .glb or .gltf file.
        frames: how many frames at most.
        rng: shifts the times at which clips are looked at, and turns joints.
        pack: collection that the model belongs to.
        name: what the model is called.
        source: where it comes from.
        clips_from: further files whose clips move nodes of the same names.
        pose_at_random: turn the joints within 60 degrees where there is no clip.
        use_clips: False takes the model as if it had none.

    Raises:
        ImportRefused: see `AnimatedModel` and `bake`; or there is no clip.
    """
    model = AnimatedModel(path)
    clips = list(model.scene.clips) if use_clips else []
    for other in clips_from or []:
        scene = read_scene(other)
        clips += [clip for clip in (model.adopted(each, scene) for each in scene.clips) if clip is not None]
    skin, _, carriers = model.mesh()
    rest = model.bone_matrices(model.rest_nodes)
    if clips:
        matrices, morph = _clip_poses(model, clips, rng)
    elif pose_at_random:
        joints, parents = model.skeleton()
        heads = model.rest_nodes[0, joints, :3, 3]
        maps = turned_tree(heads, parents, random_turns(heads, parents, 4 * frames, rng))
        matrices = model.turned(joints, maps, model.rest_nodes[0])
        morph = np.repeat(model.rest_morph, len(matrices), 0)
    else:
        message = "it holds no motion: it has no clip. Joints of a skin can be posed at random instead."
        raise ImportRefused(path, message)
    positions, rotations = bake(
        skin,
        np.concatenate((rest, matrices)),
        frames=frames,
        file=path,
        morph=np.concatenate((model.rest_morph, morph)),
    )
    part = None if len(skin.deltas) else rigid_parts(carriers)
    credit = source or Source(name=pack, licence="NOASSERTION", credit=model.scene.credit)
    return motion_of(positions, skin.faces, pack=pack, name=name, source=credit, rotations=rotations, part=part)


def _clip_poses(
    model: AnimatedModel, clips: list[Clip], rng: np.random.Generator
) -> tuple[Float[np.ndarray, "c b 4 4"], Float[np.ndarray, "c t"]]:
    """Return the bones' matrices and the morph weights at times spread over all clips."""
    counts = np.array([2 + int(np.clip(_POSES_PER_SECOND * (c.span[1] - c.span[0]), 1, 60)) for c in clips])
    if counts.sum() > _MOST_POSES:
        counts = np.maximum(2, counts * _MOST_POSES // counts.sum())
    matrices, morph = [], []
    for clip, count in zip(clips, counts, strict=True):
        start, end = clip.span
        times = np.linspace(start, end, count)
        times[1:-1] += rng.uniform(-0.5, 0.5, count - 2) * (end - start) / (count - 1)
        matrices.append(model.bone_matrices(model._node_poses(clip, times)[0]))
        morph.append(model._morph_weights(clip, times))
    return np.concatenate(matrices), np.concatenate(morph)
