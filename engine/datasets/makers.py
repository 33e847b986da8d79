"""Who makes the motions of a dataset: one table of generators, simulators and importers, with how much each makes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from importlib import metadata
from pathlib import Path

import numpy as np
import trimesh

from engine.datasets.motion import Motion
from engine.datasets.shapes.packaged import PackagedShape, packaged_shapes

Rng = np.random.Generator

FRAMES = 28
_MANY = "pybullet_random"
_RIGID_SHARE = 0.4
KEEP = 20


@dataclass(frozen=True, slots=True)
class Item:
    """What a maker makes one or more motions of.

    Attributes:
        label: unique among the maker's items; the item's random numbers follow from it.
        extra: folder of the shapes of others, or None.
    """

    label: str
    extra: Path | None = None


@dataclass(frozen=True, slots=True)
class Maker:
    """A way of making motions.

    Attributes:
        make: returns the motions of an item.
        count: most items of a full dataset (0: as many as there are files).
        packages: distributions whose versions the card names.
        keep: most states kept of an object.
        job_size: items of one job.
    """

    make: Callable[[Item, Rng], Iterator[Motion]]
    count: int
    packages: tuple[str, ...] = ()
    keep: int = KEEP
    job_size: int = 40

    def versions(self) -> dict[str, str]:
        """Return the versions of the packages that make the motions."""
        return {name: metadata.version(name) for name in ("numpy", "trimesh", *self.packages)}


def _articulated(_: Item, rng: Rng) -> Iterator[Motion]:
    from engine.datasets.articulated.assembly import sweep
    from engine.datasets.articulated.families import FAMILIES
    from engine.datasets.articulated.welding import sweep_welded

    name = str(rng.choice(list(FAMILIES)))
    assembly = FAMILIES[name].make(rng)
    yield sweep(assembly, rng, frames=FRAMES, family=name)
    if rng.random() < 0.35 and not assembly.slides:
        yield sweep_welded(assembly, rng, frames=FRAMES, family=name)


def _modal_solid(_: Item, rng: Rng) -> Iterator[Motion]:
    from engine.datasets.modal import soft_body

    yield soft_body(rng, frames=FRAMES)


def _modal_cloth(_: Item, rng: Rng) -> Iterator[Motion]:
    from engine.datasets.modal import sheet

    yield sheet(rng, frames=FRAMES)


def _flex_solid(_: Item, rng: Rng) -> Iterator[Motion]:
    from engine.datasets.simulated.flex_solid import soft_solid

    yield soft_solid(rng, frames=FRAMES)


def _flex_cloth(_: Item, rng: Rng) -> Iterator[Motion]:
    from engine.datasets.simulated.flex_cloth import cloth

    yield cloth(rng, frames=FRAMES)


def _rigid(_: Item, rng: Rng) -> Iterator[Motion]:
    from engine.datasets.simulated.rigid_body import rigid_body

    yield rigid_body(rng, frames=8)


def _continuum(_: Item, rng: Rng) -> Iterator[Motion]:
    from engine.datasets.simulated.continuum import continuum

    yield continuum(rng, frames=64)


@cache
def _packaged(extra: Path | None) -> dict[str, PackagedShape]:
    return {f"{s.family}-{s.name}".replace("/", "-"): s for s in packaged_shapes(extra=extra)}


def _packaged_shape(item: Item, rng: Rng) -> Iterator[Motion]:
    from engine.datasets.modal import soft_body
    from engine.datasets.simulated.flex_cloth import cloth
    from engine.datasets.simulated.flex_solid import soft_solid
    from engine.datasets.simulated.rigid_body import rigid_body

    shape = _packaged(item.extra)[item.label]
    # A copy that may be written to; the loader keeps its own.
    vertices, faces = (np.array(array) for array in shape.load())
    draw = rng.random()
    hard = shape.hard or draw < _RIGID_SHARE
    # A lump of fifty vertices cannot bend before its triangles turn over.
    while not (shape.sheet or hard) and len(vertices) < 500:
        vertices, faces = (np.asarray(array) for array in trimesh.remesh.subdivide(vertices, faces)[:2])
    arrays = vertices, faces
    if shape.sheet:
        motion = cloth(rng, frames=FRAMES, shape=arrays)
    elif hard:
        motion = rigid_body(rng, frames=8, shape=arrays)
    elif draw < 0.7:
        motion = soft_body(rng, frames=FRAMES, shape=arrays)
    else:
        motion = soft_solid(rng, frames=FRAMES, shape=arrays)
    # One garment at two resolutions (skirt1252, skirt3448) is one object.
    name = re.split(r"\d", shape.name)[0] if shape.sheet else shape.name
    yield replace(motion, family=f"{motion.kind}/{shape.family}", name=name, source=shape.source)


def _imported(item: Item, rng: Rng) -> Iterator[Motion]:
    from engine.datasets.imported.collection import collected, contributed_motions

    if item.extra is None:
        raise ValueError(f"{item.label} lies in no folder")
    path, contribution = collected(item.extra)[item.label]
    yield from contributed_motions(path, contribution, frames=120, rng=rng)


MAKERS: dict[str, Maker] = {
    "articulated": Maker(_articulated, 1100),
    "modal_solid": Maker(_modal_solid, 600),
    "modal_cloth": Maker(_modal_cloth, 300),
    "flex_solid": Maker(_flex_solid, 420, ("mujoco",), job_size=20),
    "flex_cloth": Maker(_flex_cloth, 400, ("mujoco",), job_size=20),
    "rigid": Maker(_rigid, 600, ("mujoco",)),
    "continuum": Maker(_continuum, 96, ("newton", "warp-lang"), keep=48, job_size=4),
    "packaged": Maker(_packaged_shape, 420, ("mujoco",)),
    "imported": Maker(_imported, 0, ("mujoco",), keep=240, job_size=6),
}


def items_of(maker: str, *, share: float, extra: Path | None) -> list[Item]:
    """Return what a maker makes motions of: numbers for a generator, shapes or files for the others.

    Args:
        maker: a name of `MAKERS`.
        share: share of the full dataset.
        extra: folder of the shapes and motions of others, or None.
    """
    most = MAKERS[maker].count
    if maker == "packaged":
        items = [Item(label, extra=extra) for label in _packaged(extra)]
        # A thousand small lumps of one collection would drown the rest: all else, and as many of them as there is room.
        few, many = ([i for i in items if i.label.startswith(_MANY) == there] for there in (False, True))
        items = few + [many[int(i)] for i in np.linspace(0, len(many) - 1, min(len(many), most - len(few)))]
    elif maker == "imported":
        from engine.datasets.imported.collection import collected

        items = [] if extra is None else [Item(label, extra=extra) for label in collected(extra)]
    else:
        return [Item(f"{i:06d}") for i in range(max(1, round(most * share)))]
    return items[: max(1, round(len(items) * share))] if items else []
