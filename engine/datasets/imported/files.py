"""One door for other people's motion: files, folders and archives in, motions out."""

from __future__ import annotations

import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from engine.datasets.imported.bvh import bvh_poses, read_bvh
from engine.datasets.imported.frames import motion_of
from engine.datasets.imported.gltf_animation import gltf_motion
from engine.datasets.imported.gltf_scene import read_scene
from engine.datasets.imported.refusal import ImportRefused
from engine.datasets.imported.rigs import Rig, gltf_rig, hinged_poses, is_hinged_rig, makehuman_rig
from engine.datasets.imported.sequences import SUFFIXES, natural, npz_motion, sequence_motion
from engine.datasets.imported.skinned import bake, random_turns, turned_tree
from engine.datasets.motion import Motion, Source

__all__ = ["ImportRefused", "motions_of"]

_GLTF = (".glb", ".gltf")
_DESCRIPTIONS = (".xml", ".urdf")
_ARCHIVES = (".zip", ".tar", ".tgz", ".gz")
# What an archive may hold once unpacked [bytes]: more is a slip or a trap.
_MOST_BYTES = 2_000_000_000
_MOST_ENTRIES = 20_000


def motions_of(
    path: Path,
    *,
    frames: int = 24,
    rng: np.random.Generator,
    source: Source | None = None,
    rig: Path | None = None,
    pose_at_random: bool = False,
) -> Iterator[Motion]:
    """Yield the motions of a file, a folder or an archive: one for each object, its frames chosen over all its clips.

    A folder is a MakeHuman rig with BVH files, a glTF model with clips or BVH files beside it, a sequence of OBJ or PLY
    files, or a collection of such things. Of a collection everything that can be imported is yielded first; what was
    refused is raised at the end, in one error. The family is "imported/<pack>", where the pack is what stands before
    "__" in a file's name, or else the name of its folder or archive; motion capture belongs to the pack of its rig.

    Args:
        path: .glb, .gltf, .npz, .bvh, .xml, .urdf, .zip, .tar, .tar.gz, or a folder.
        frames: frames of each motion, at most; fewer where more would repeat those chosen.
        rng: draws times of clips, and poses.
        source: where it comes from; without it the licence is said to be unknown.
        rig: mesh with a skeleton (.glb, .gltf or a MakeHuman folder) that BVH files move.
        pose_at_random: turn the joints of skinned models that have no clip.

    Raises:
        ImportRefused: nothing can be imported, or a part of a collection cannot; the message says why.
    """
    yield from _motions(path, frames=frames, rng=rng, source=source, rig=rig, pose_at_random=pose_at_random, pack=None)


def _motions(
    path: Path,
    *,
    frames: int,
    rng: np.random.Generator,
    source: Source | None,
    rig: Path | None,
    pose_at_random: bool,
    pack: str | None,
) -> Iterator[Motion]:
    if not path.exists():
        raise ImportRefused(path, "there is no such file or folder.")
    suffix = path.suffix.lower()
    if path.is_dir():
        yield from _folder(
            path, frames=frames, rng=rng, source=source, rig=rig, pose_at_random=pose_at_random, pack=pack
        )
        return
    if suffix in _ARCHIVES:
        with tempfile.TemporaryDirectory() as temporary:
            stem = path.name.removesuffix(suffix).removesuffix(".tar")
            inside = Path(temporary) / stem
            unpack(path, inside)
            yield from _folder(
                inside, frames=frames, rng=rng, source=source, rig=rig, pose_at_random=pose_at_random, pack=pack or stem
            )
        return
    head, mark, tail = path.stem.partition("__")
    if mark:
        pack, name = head, tail
    else:
        pack, name = pack or path.resolve().parent.name, path.stem
    if suffix in _GLTF:
        yield gltf_motion(
            path, frames=frames, rng=rng, pack=pack, name=name, source=source, pose_at_random=pose_at_random
        )
    elif suffix == ".npz":
        yield _npz(path, frames=frames, rng=rng, pack=pack, name=name, source=source)
    elif suffix == ".bvh":
        if rig is None:
            raise ImportRefused(path, "a BVH file holds a skeleton's motion and no mesh; say which rig it moves.")
        yield _captured(_rig(rig), [path], frames=frames, rng=rng, name=name, source=source, pack=_pack(rig))
    elif suffix in _DESCRIPTIONS:
        # MuJoCo is loaded for descriptions only.
        from engine.datasets.imported.descriptions import motions_of_description

        yield from motions_of_description(path, frames=frames, rng=rng, source=source)
    elif suffix in SUFFIXES:
        raise ImportRefused(path, "one shape is no motion; give the folder that holds the whole sequence.")
    else:
        raise ImportRefused(path, f"{suffix or 'a file without an extension'} is no format of motion known here.")


def _folder(
    folder: Path,
    *,
    frames: int,
    rng: np.random.Generator,
    source: Source | None,
    rig: Path | None,
    pose_at_random: bool,
    pack: str | None,
) -> Iterator[Motion]:
    files = sorted((file for file in folder.rglob("*") if file.is_file()), key=lambda file: natural(file))
    captured = [file for file in files if file.suffix.lower() == ".bvh"]
    models = [file for file in files if file.suffix.lower() in _GLTF]
    pack, name = pack or folder.resolve().name, folder.resolve().name
    if any(file.suffix.lower() == ".mhskel" for file in files):
        human = makehuman_rig(folder)
        yield _captured(human, captured, frames=frames, rng=rng, pack=pack, name=name, source=source)
        return
    if rig is not None and captured:
        yield _captured(_rig(rig), captured, frames=frames, rng=rng, pack=_pack(rig), name=name, source=source)
        return
    refused: list[ImportRefused] = []
    found = 0
    for part in _parts(files, models, captured):
        try:
            if isinstance(part, list):
                where = part[0].parent
                motions: Iterator[Motion] = iter(
                    [sequence_motion(part, frames=frames, pack=pack, name=where.name, source=source)]
                )
            elif part in models:
                motions = _model(
                    part, models, captured, frames=frames, rng=rng, source=source, random=pose_at_random, pack=pack
                )
            else:
                motions = _motions(
                    part, frames=frames, rng=rng, source=source, rig=rig, pose_at_random=pose_at_random, pack=pack
                )
            for motion in motions:
                found += 1
                yield motion
        except ImportRefused as error:
            refused.append(error)
    if refused:
        reasons = " ".join(str(error) for error in refused[:20])
        raise ImportRefused(folder, f"{len(refused)} of {len(refused) + found} objects were refused. {reasons}")
    if not found:
        hint = " Its BVH files need a rig." if captured else ""
        raise ImportRefused(folder, f"it holds no model, sequence or description that moves.{hint}")


def _parts(files: list[Path], models: list[Path], captured: list[Path]) -> list[Path | list[Path]]:
    """Return the objects of a collection: single files, and the frames of each folder that holds a sequence."""
    parts: list[Path | list[Path]] = []
    without_mesh = [] if len(models) < 2 else [model for model in models if not read_scene(model).parts]
    # Files of clips alone move the models beside them.
    parts += [model for model in models if model not in without_mesh or len(without_mesh) == len(models)]
    parts += [file for file in files if file.suffix.lower() in (".npz", *_DESCRIPTIONS)]
    shapes: dict[tuple[Path, str], list[Path]] = {}
    for file in files:
        if file.suffix.lower() in SUFFIXES:
            shapes.setdefault((file.parent, file.suffix.lower()), []).append(file)
    # Frames of one sequence differ in their numbers only; meshes that belong to descriptions or rigs do not.
    for frames in shapes.values():
        stems = {"".join(c for c in frame.stem if not c.isdigit()) for frame in frames}
        if len(frames) > 1 and len(stems) == 1:
            parts.append(frames)
    return parts


def _model(
    path: Path,
    models: list[Path],
    captured: list[Path],
    *,
    frames: int,
    rng: np.random.Generator,
    source: Source | None,
    random: bool,
    pack: str,
) -> Iterator[Motion]:
    """Yield the motion of one glTF model of a folder, with the clips of files that hold nothing else."""
    head, mark, tail = path.stem.partition("__")
    pack, name = (head, tail) if mark else (pack, path.stem)
    scene = read_scene(path)
    clips = [] if scene.clips else [other for other in models if other != path and not read_scene(other).parts]
    if not scene.clips and not clips and captured:
        yield _captured(gltf_rig(path), captured, frames=frames, rng=rng, pack=pack, name=name, source=source)
        return
    yield gltf_motion(
        path, frames=frames, rng=rng, pack=pack, name=name, source=source, clips_from=clips, pose_at_random=random
    )


def _rig(path: Path) -> Rig:
    return makehuman_rig(path) if path.is_dir() else gltf_rig(path)


def _pack(rig: Path) -> str:
    """Return the pack of a rig: the same mesh belongs to one family, whatever moves it."""
    head, mark, _ = rig.stem.partition("__")
    return head if mark else (rig if rig.is_dir() else rig.parent).resolve().name


def _captured(
    rig: Rig,
    files: list[Path],
    *,
    frames: int,
    rng: np.random.Generator,
    pack: str,
    name: str,
    source: Source | None,
) -> Motion:
    """Return the motion of a rig that all BVH files move in turn; without any its joints turn at random."""
    count = len(rig.heads)
    rest = rig.carry(np.tile(np.eye(4), (1, count, 1, 1)))
    poses = [rest, *[bvh_poses(rig, read_bvh(file), rng) for file in files]]
    if not files:
        turns = random_turns(rig.heads, rig.parents, 4 * frames, rng)
        poses.append(rig.carry(turned_tree(rig.heads, rig.parents, turns)))
    positions, rotations = bake(rig.skin, np.concatenate(poses), frames=frames, file=files[0] if files else rig.file)
    return motion_of(positions, rig.skin.faces, pack=pack, name=name, source=source, rotations=rotations)


def _npz(path: Path, *, frames: int, rng: np.random.Generator, pack: str, name: str, source: Source | None) -> Motion:
    try:
        hinged = is_hinged_rig(path)
    except (OSError, ValueError, TypeError, EOFError, zipfile.BadZipFile) as error:
        raise ImportRefused(path, f"it cannot be read as NPZ ({error}).") from error
    if not hinged:
        return npz_motion(path, frames=frames, pack=pack, name=name, source=source)
    skin, matrices = hinged_poses(path, 4 * frames, rng)
    positions, rotations = bake(skin, matrices, frames=frames, file=path)
    return motion_of(positions, skin.faces, pack=pack, name=name, source=source, rotations=rotations)


def unpack(path: Path, folder: Path) -> None:
    """Unpack an archive whose entries stay inside the folder.

    Raises:
        ImportRefused: it is no archive, is damaged, too large, or reaches outside.
    """
    folder.mkdir()
    try:
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                _check_size(path, [entry.file_size for entry in archive.infolist()])
                archive.extractall(folder)  # It drops leading slashes and "..".
        else:
            with tarfile.open(path) as archive:
                _check_size(path, [entry.size for entry in archive.getmembers()])
                archive.extractall(folder, filter="data")
    except (OSError, EOFError, tarfile.TarError, zipfile.BadZipFile) as error:
        raise ImportRefused(path, f"it cannot be unpacked ({error}); give a ZIP or TAR archive of motion.") from error


def _check_size(path: Path, sizes: list[int]) -> None:
    if len(sizes) > _MOST_ENTRIES or sum(sizes) > _MOST_BYTES:
        reason = f"it unpacks to {len(sizes)} files of {sum(sizes)} bytes; unpack it yourself and give the folder."
        raise ImportRefused(path, reason)
