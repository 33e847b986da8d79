"""The motions of others in a folder of files: which there are, of whom, and under which licence."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from engine.datasets.imported.files import motions_of, unpack
from engine.datasets.imported.gltf_animation import gltf_motion
from engine.datasets.imported.refusal import ImportRefused
from engine.datasets.motion import Motion, Source
from engine.datasets.shapes.packaged import is_never_trained


@dataclass(frozen=True, slots=True)
class Contribution:
    """Motions of one maker.

    Attributes:
        pattern: of the files below the folder.
        source: maker and licence.
        rig: archive of the rigged mesh that the files' motion capture moves, below the folder; "" for none.
        pose_at_random: turn the joints of models that have no clip.
        loosened: add frames with joints turned at random to those of the clips. A hand pulls one limb alone, which
            no clip does.
        family: replaces the families of the files; "" keeps them.
    """

    pattern: str
    source: Source
    rig: str = ""
    pose_at_random: bool = False
    loosened: bool = False
    family: str = ""


CONTRIBUTIONS = (
    Contribution("cc0_animated/*.glb", Source("Quaternius animated models", "CC0-1.0", "Quaternius"), loosened=True),
    Contribution("kaykit_mannequin.tar.gz", Source("KayKit mannequin", "CC0-1.0", "Kay Lousberg")),
    # MakeHuman's mesh and rig are CC0; the motions beside them name another licence and are left out.
    Contribution(
        "bvh_motions.tar.gz",
        Source(
            "MakeHuman, moved by AnimatedDrawings and CMU motion capture", "MIT", "Meta Platforms; mocap.cs.cmu.edu"
        ),
        rig="makehuman_cc0.tar.gz",
    ),
    Contribution(
        "khronos_MorphStressTest.gltf",
        Source("Khronos sample assets", "CC-BY-4.0", "Analytical Graphics; model by Ed Mackey"),
    ),
    Contribution("webxr_hand_left.glb", Source("WebXR input profiles", "MIT", "Amazon"), pose_at_random=True),
    Contribution("diffcloth_tshirt_iter0.npz", Source("DiffCloth", "MIT", "Yifei Li and the DiffCloth authors")),
    Contribution("dmcontrol_rodent_rig.npz", Source("dm_control rodent", "Apache-2.0", "DeepMind")),
    Contribution(
        "metaworld_objects.tar.gz",
        Source("Meta-World", "MIT", "The Meta-World authors"),
        family="articulated/metaworld",
    ),
)


def collected(folder: Path) -> dict[str, tuple[Path, Contribution]]:
    """Return the files of a folder whose motion may be trained on, by a label that is unique, in a fixed order."""
    found: dict[str, tuple[Path, Contribution]] = {}
    for contribution in CONTRIBUTIONS:
        for path in sorted(folder.glob(contribution.pattern)):
            label = path.name.removesuffix(".gz").removesuffix(path.suffix).removesuffix(".tar")
            if not is_never_trained(label):
                found[label] = (path, contribution)
    return found


def contributed_motions(
    path: Path, contribution: Contribution, *, frames: int, rng: np.random.Generator
) -> Iterator[Motion]:
    """Yield the motions of one file.

    Raises:
        ImportRefused: it cannot be imported, or, after all that could be was yielded, a part of it.
    """
    with tempfile.TemporaryDirectory() as temporary:
        rig = None
        if contribution.rig:
            rig = Path(temporary) / contribution.rig.partition(".")[0]
            unpack(path.parent / contribution.rig, rig)
        for motion in motions_of(
            path,
            frames=frames,
            rng=rng,
            source=contribution.source,
            rig=rig,
            pose_at_random=contribution.pose_at_random,
        ):
            family = contribution.family or motion.family
            if contribution.loosened:
                motion = _loosened(motion, path, frames=frames, rng=rng)
            yield replace(motion, family=family, source=contribution.source)


def _loosened(motion: Motion, path: Path, *, frames: int, rng: np.random.Generator) -> Motion:
    """Return the motion with further frames, in which the joints of the model are turned at random."""
    try:
        loose = gltf_motion(
            path, frames=frames, rng=rng, pack="", name=motion.name, pose_at_random=True, use_clips=False
        )
    except ImportRefused:
        # Nothing but moving nodes: there is no joint to turn.
        return motion
    return replace(
        motion,
        positions=np.concatenate((motion.positions, loose.positions[1:])),
        rotations=np.concatenate((motion.rotations, loose.rotations[1:])),
    )
