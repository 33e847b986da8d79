"""Still meshes that others ship: in installed Python packages, and in a folder of files with permissive licences.

Nothing here depends on a package: what is not installed is left out. What must never be trained on is named here too.
"""

from __future__ import annotations

import importlib.util
import io
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
import trimesh
from jaxtyping import Float, Int

from engine.datasets.motion import Source
from engine.geometry.mesh_reader import UpAxis, load_rest_shape, rest_shape_from_arrays

Arrays = tuple[Float[np.ndarray, "_ 3"], Int[np.ndarray, "_ 3"]]

# Scans and models that the trained network is judged on.
NEVER_TRAINED = ("ycb_*", "sfm_*", "scan_hammer", "spot", "koala", "cat")
# Both dresses of the collection: each resembles the other, and nothing else in it resembles them.
HELD_OUT_GARMENTS = ("dress-handsup-drape", "dress-v5k-f10k")

_GARMENTS = "diffcloth_garments"
_PYVISTA = {"ant": UpAxis.Y, "airplane": UpAxis.Z, "nut": UpAxis.Y}
# Beside the random objects only what is plainly the authors' own work: no scans, film characters or brands.
_PYBULLET = (
    "objects/mug.obj",
    "torus/torus_textured.obj",
    "tray/tray_textured.obj",
    "toys/concave_box.obj",
    "toys/cylinder.obj",
    "toys/prism.obj",
    "toys/shape_sorter.obj",
)
_METAWORLD = (
    "assembly_peg basketball basketballhoop box club hammer peg_block plug puck_goal shelf shelfb soccer_ball "
    "soccer_goal"
).split()
_KLANN = tuple(f"klann-{part}" for part in ("base", "base2", "brown", "distal", "gold", "purple", "red", "top"))

_HARD_FAMILIES = frozenset({"pybullet_random", "pybullet_things", "pyvista", "klann", "metaworld"})


@dataclass(frozen=True, slots=True)
class PackagedShape:
    """A mesh that somebody ships, not read yet.

    Attributes:
        name: the file's stem, with its folder where stems repeat.
        family: the collection; shapes of one family are of one maker and style.
        path: the file, or the archive that holds it.
        source: origin and licence.
        loader: reads it; `load` is what to call.
        sheet: a thin open surface (a garment, a flag) rather than a solid.
    """

    name: str
    family: str
    path: Path
    source: Source
    loader: Callable[[], Arrays]
    sheet: bool = False

    @property
    def hard(self) -> bool:
        """Whether nobody expects it to bend: things, parts of machines, and the many faceted lumps."""
        return self.family in _HARD_FAMILIES

    def load(self) -> Arrays:
        """Return welded vertices (n, 3), Z up, largest half-extent 1, and triangles (m, 3).

        Raises:
            ValueError: the file holds no usable surface.
        """
        return self.loader()


def packaged_shapes(*, extra: Path | None = None) -> list[PackagedShape]:
    """Return the shapes of the packages that are installed and of a folder of files, in a fixed order.

    Args:
        extra: a folder with archives and models of others (diffcloth garments, Klann linkage, Meta-World objects,
            CC0 characters, a hand); a file or archive that it lacks is left out, and so is what must not be trained on.
    """
    shapes = [*_of_pybullet(), *_of_pyvista()]
    if extra is not None:
        shapes += [*_of_garments(extra), *_of_linkage(extra), *_of_metaworld(extra), *_of_models(extra)]
    return [s for s in shapes if not is_never_trained(s.name) and s.name not in HELD_OUT_GARMENTS]


def is_never_trained(stem: str) -> bool:
    """Return whether a file of this stem is kept for judging the network."""
    return any(stem == name or (name.endswith("*") and stem.startswith(name[:-1])) for name in NEVER_TRAINED)


def read_garment(folder: Path, name: str) -> Arrays | None:
    """Return a diffcloth garment from the folder's archive or from its unpacked copy, None where it has neither."""
    archive = _archive(folder, _GARMENTS, f"{name}.obj")
    return None if archive is None else _read_member(archive, f"{name}.obj")


def _package(name: str) -> Path | None:
    """Return the folder of an installed package without importing it."""
    found = importlib.util.find_spec(name)
    places = None if found is None else found.submodule_search_locations
    return Path(next(iter(places))) if places else None


def _of_pybullet() -> Iterator[PackagedShape]:
    if (folder := _package("pybullet_data")) is None:
        return
    source = Source(name="pybullet_data", licence="Zlib", credit="Erwin Coumans and Yunfei Bai, PyBullet")
    for file in sorted((folder / "random_urdfs").glob("*/*.obj")):
        yield PackagedShape(f"random_{file.stem}", "pybullet_random", file, source, partial(_read_file, file, UpAxis.Z))
    for file in (folder / name for name in _PYBULLET):
        if file.is_file():
            yield PackagedShape(file.stem, "pybullet_things", file, source, partial(_read_file, file, UpAxis.Z))


def _of_pyvista() -> Iterator[PackagedShape]:
    if (folder := _package("pyvista")) is None:
        return
    source = Source(name="PyVista examples", licence="MIT", credit="The PyVista Developers")
    for name, up in _PYVISTA.items():
        file = folder / "examples" / f"{name}.ply"
        if file.is_file():
            yield PackagedShape(name, "pyvista", file, source, partial(_read_file, file, up))


def _of_garments(folder: Path) -> Iterator[PackagedShape]:
    source = Source(name="DiffCloth", licence="MIT", credit="Yifei Li and the DiffCloth authors")
    for name in _stems(folder, _GARMENTS):
        archive = _archive(folder, _GARMENTS, f"{name}.obj")
        if archive is not None:
            read = partial(_read_member, archive, f"{name}.obj")
            yield PackagedShape(name, "diffcloth", archive, source, read, sheet=True)


def _of_linkage(folder: Path) -> Iterator[PackagedShape]:
    source = Source(name="neural-physics-subspaces", licence="MIT", credit="Nicholas Sharp and co-authors")
    for name in _KLANN:
        archive = _archive(folder, "linkages_nps", f"{name}.obj")
        if archive is not None:
            yield PackagedShape(name, "klann", archive, source, partial(_read_member, archive, f"{name}.obj"))


def _of_metaworld(folder: Path) -> Iterator[PackagedShape]:
    archive = folder / "metaworld_objects.tar.gz"
    # These are descriptions put together of several files, which only MuJoCo reads.
    if not archive.is_file() or importlib.util.find_spec("mujoco") is None:
        return
    source = Source(name="Meta-World", licence="MIT", credit="The Meta-World authors and the Farama Foundation")
    for name in _METAWORLD:
        yield PackagedShape(name, "metaworld", archive, source, partial(_read_description, archive, name))


def _of_models(folder: Path) -> Iterator[PackagedShape]:
    source = Source(name="Quaternius animated models", licence="CC0-1.0", credit="Quaternius")
    for file in sorted((folder / "cc0_animated").glob("*.glb")):
        family = f"quaternius_{file.stem.split('__')[0]}"
        yield PackagedShape(file.stem, family, file, source, partial(_read_file, file, UpAxis.Y))
    if (hand := folder / "webxr_hand_left.glb").is_file():
        made = Source(name="WebXR input profiles", licence="MIT", credit="Amazon")
        yield PackagedShape(hand.stem, "webxr_hand", hand, made, partial(_read_file, hand, UpAxis.Y))


def _archive(folder: Path, stem: str, member: str) -> Path | None:
    """Return the unpacked folder or the archive that has a file, None where there is neither."""
    if (folder / stem / member).is_file():
        return folder / stem
    packed = folder / f"{stem}.tar.gz"
    if not packed.is_file():
        return None
    with tarfile.open(packed) as tar:
        return packed if member in tar.getnames() else None


def _stems(folder: Path, stem: str) -> list[str]:
    """Return the stems of all OBJ files of an archive and of its unpacked folder, sorted."""
    names = {file.name for file in (folder / stem).glob("*.obj")}
    if (packed := folder / f"{stem}.tar.gz").is_file():
        with tarfile.open(packed) as tar:
            names.update(tar.getnames())
    return sorted(name.removesuffix(".obj") for name in names if name.endswith(".obj"))


def _read_file(file: Path, up: UpAxis) -> Arrays:
    shape = load_rest_shape(file, up=up)
    return shape.vertices, shape.faces


def _read_member(archive: Path, member: str) -> Arrays:
    """Return a Y-up OBJ of an archive or folder."""
    if archive.is_dir():
        return _read_file(archive / member, UpAxis.Y)
    with tarfile.open(archive) as tar:
        stream = tar.extractfile(member)
        if stream is None:
            message = f"{member} in {archive.name} is no file; it is damaged, fetch it again."
            raise ValueError(message)
        data = stream.read()
    # trimesh is typed in parts only.
    load = cast("Any", trimesh.load_mesh)
    mesh = load(io.BytesIO(data), file_type="obj", process=False, skip_materials=True)
    shape = rest_shape_from_arrays(mesh.vertices, mesh.faces, name=Path(member).stem, up=UpAxis.Y)
    return shape.vertices, shape.faces


def _read_description(archive: Path, name: str) -> Arrays:
    from engine.datasets.imported.descriptions import still_of_description

    with tempfile.TemporaryDirectory() as folder, tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")
        shape = rest_shape_from_arrays(*still_of_description(Path(folder) / "main" / f"{name}.xml"), name=name)
    return shape.vertices, shape.faces
