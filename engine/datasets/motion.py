"""One moving mesh: the unit of the 4D dataset, and the shard files that keep many of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int


@dataclass(frozen=True, slots=True)
class Motion:
    """Frames of one mesh with one topology.

    Attributes:
        family: generator of the object, as "kind/name"; the kinds are elastic, cloth, articulated and rigid.
        faces: triangles, shape (m, 3).
        component: connected component of each vertex, shape (n,).
        positions: vertices of each frame, shape (f, n, 3), float32, arbitrary units and pose.
        rotations: local rotation of each vertex from a reference pose common to all frames, unit quaternions
            (w, x, y, z), shape (f, n, 4), float32.
    """

    family: str
    faces: Int[np.ndarray, "m 3"]
    component: Int[np.ndarray, " n"]
    positions: Float[np.ndarray, "f n 3"]
    rotations: Float[np.ndarray, "f n 4"]

    @property
    def kind(self) -> str:
        """The kind of motion: elastic, cloth, articulated or rigid."""
        return self.family.split("/")[0]


def save_shard(motions: list[Motion], path: Path) -> None:
    """Write many motions to one ``.npz`` file: arrays joined end to end, with the lengths beside them."""
    arrays: dict[str, np.ndarray] = {
        "families": np.array([m.family for m in motions]),
        "counts": np.array([(*m.positions.shape[:2], len(m.faces)) for m in motions], dtype=np.int64),
        "faces": np.concatenate([m.faces for m in motions]).astype(np.int32),
        "component": np.concatenate([m.component for m in motions]).astype(np.int32),
        "positions": np.concatenate([m.positions.reshape(-1, 3) for m in motions]).astype(np.float32),
        "rotations": np.concatenate([m.rotations.reshape(-1, 4) for m in motions]).astype(np.float16),
    }
    part = path.with_name(path.name + ".part")
    with part.open("wb") as file:
        np.savez(file, **arrays)  # pyright: ignore[reportArgumentType]
    part.replace(path)


def load_shard(path: Path) -> list[Motion]:
    """Read the motions of one shard file."""
    with np.load(path, allow_pickle=False) as data:
        counts = data["counts"]
        families, faces, component = data["families"], data["faces"], data["component"]
        positions, rotations = data["positions"], data["rotations"].astype(np.float32)
    motions: list[Motion] = []
    face = vertex = sample = 0
    for family, (f, n, m) in zip(families, counts, strict=True):
        motions.append(
            Motion(
                str(family),
                faces[face : face + m],
                component[vertex : vertex + n],
                positions[sample : sample + f * n].reshape(f, n, 3),
                rotations[sample : sample + f * n].reshape(f, n, 4),
            )
        )
        face, vertex, sample = face + m, vertex + n, sample + f * n
    return motions
