"""``dataset preview``: see what a dataset holds, as a contact sheet and a moving picture of each kind of motion."""

from __future__ import annotations

import io
import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image

from app.commands.refusal import Refused
from engine.clips.replacing import replacing
from engine.datasets.motion import KINDS
from engine.datasets.shards import SPLITS, DatasetError, read_split

if TYPE_CHECKING:
    from app.commands.preview_figures import Moving
    from app.render.contact_sheet import Strip, Studio
    from engine.datasets.sampling import SampledMotion

logger = logging.getLogger(__name__)

_STATES = 4
_COLUMNS = 3
_MOVING, _MOVING_COLUMNS = 12, 4
_FPS, _PICTURES, _STOPS = 20, 80, 8
_LARGEST = 3_000_000
_QUALITIES = ((128, 1.0), (64, 1.0), (48, 0.85), (32, 0.75), (32, 0.6))
# Levels of the greys in a GIF, close to one another where shadows fade into white, and how far channels of one differ.
_GREYS = (255, 252, 250, 247, 243, 239, 234, 228, 221, 213, 204, 194, 182, 168, 140, 110, 75, 40)
_GREY = 14
_OVERVIEW_COLUMNS = 6
_PLURALS = {"object": "objects", "family": "families", "state": "states"}
_NOTE = (
    "Rest shape first, then states far from it. Colours tell rigid parts apart, or, where there are none, how far a "
    "point has moved, from blue to red. Dots: samples, where no mesh of the state is kept."
)
_MOVING_NOTE = "Walks through up to 8 states of each object. In-betweens are drawn by interpolation."
_OVERVIEW_NOTE = "Of each object the rest shape, and the state farthest from it."


@dataclass(frozen=True, slots=True)
class Entry:
    """An object that could be drawn.

    Attributes:
        key, family, split: as `ObjectRecord`.
        states: number of its states.
        meshes: whether the dataset keeps the meshes of all states.
    """

    key: str
    family: str
    split: str
    states: int
    meshes: bool

    @property
    def kind(self) -> str:
        """The kind of motion, one of `KINDS`."""
        return self.family.split("/")[0]


def preview_dataset(folder: Path, output: Path, *, objects: int = 24, seed: int = 0) -> list[Path]:
    """Draw a contact sheet (PNG) and a moving picture (GIF) of each kind of motion, and an overview of all (PNG).

    Args:
        folder: of the dataset; see `engine.datasets.shards`.
        output: folder of the pictures; it is made where it is missing.
        objects: most objects on a sheet; the moving picture has up to 12 of them.
        seed: draws the objects.

    Returns:
        The files written: the overview, then sheet and moving picture of each kind.

    Raises:
        Refused: the folder holds no dataset, or no object; a picture cannot be written.
    """
    from app.commands.preview_figures import moving
    from app.render.contact_sheet import Strip, Studio, draw_heading, draw_page, stacked

    try:
        entries = list_entries(folder)
    except DatasetError as problem:
        raise Refused(str(problem)) from problem
    kinds = {kind: [e for e in entries if e.kind == kind] for kind in KINDS}
    rng = np.random.default_rng(seed)
    chosen = {kind: choose_entries(found, objects, rng) for kind, found in kinds.items() if found}
    if not chosen:
        raise Refused(f"{folder} holds no object to draw: its shards are missing, or all its objects are excluded")
    motions = _read_chosen(folder, chosen)
    output.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    overview: list[Image.Image] = []
    with Studio() as studio:
        for kind, some in chosen.items():
            logger.info("%s: drawing %d objects", kind, len(some))
            drawn = {entry.key: moving(motions.pop(entry.key)) for entry in some}
            strips = {key: _strip(studio, what) for key, what in drawn.items()}
            title = f"{kind.capitalize()}: {_amounts(kinds[kind])}"
            by_family = sorted(some, key=lambda entry: (entry.family, entry.key))
            page = draw_page(
                [strips[entry.key] for entry in by_family], columns=_COLUMNS, width=_STATES, title=title, note=_NOTE
            )
            written.append(_save(page, output / f"sheet_{kind}.png"))
            film = _film(studio, kind, [drawn[entry.key] for entry in some[:_MOVING]])
            written.append(save_gif(film, output / f"motion_{kind}.gif"))
            pairs = [Strip(strips[e.key].pictures[:2], strips[e.key].caption) for e in some[:_OVERVIEW_COLUMNS]]
            overview.append(draw_page(pairs, columns=_OVERVIEW_COLUMNS, width=2, title=title))
    head = draw_heading(f"A dataset of moving meshes: {_amounts(entries)}", _OVERVIEW_NOTE, overview[0].width)
    return [_save(stacked([head, *overview]), output / "overview.png"), *written]


def list_entries(folder: Path) -> list[Entry]:
    """Return the objects of a dataset, without the coarser copies of others.

    Raises:
        DatasetError: the folder is no dataset, or a shard is damaged.
    """
    return [
        Entry(m.record.key, m.record.family, split, len(m.points), len(m.vertices) == len(m.points))
        for split in SPLITS
        for m in read_split(folder, split)
        if m.record.variant == "original"
    ]


def choose_entries(entries: Sequence[Entry], count: int, rng: np.random.Generator) -> list[Entry]:
    """Choose objects in turn from all families, those with the meshes of all states before the others.

    Args:
        entries: of one kind.
        count: most objects.
        rng: shuffles families and objects.

    Returns:
        The objects; any first few of them are of as many families as can be.
    """
    shuffled = [entries[i] for i in rng.permutation(len(entries))]
    chosen: list[Entry] = []
    taken: Counter[str] = Counter()
    for meshes in (True, False):
        left = [entry for entry in shuffled if entry.meshes == meshes]
        while left and len(chosen) < count:
            # The first of those whose family has been taken least.
            entry = min(left, key=lambda e: taken[e.family])
            left.remove(entry)
            taken[entry.family] += 1
            chosen.append(entry)
    return chosen


def _read_chosen(folder: Path, chosen: dict[str, list[Entry]]) -> dict[str, SampledMotion]:
    """Return the chosen objects by their keys; splits without any are not read again."""
    wanted = {entry.key: entry.split for some in chosen.values() for entry in some}
    return {
        motion.record.key: motion
        for split in sorted(set(wanted.values()))
        for motion in read_split(folder, split)
        if wanted.get(motion.record.key) == split
    }


def _strip(studio: Studio, what: Moving) -> Strip:
    from app.render.contact_sheet import Strip

    return Strip(studio.pictures(*what.spread(_STATES)), what.caption)


def _film(studio: Studio, kind: str, objects: Sequence[Moving]) -> list[Image.Image]:
    from app.render.contact_sheet import Strip, draw_film

    strips = [Strip(studio.pictures(o.walk(stops=_STOPS, pictures=_PICTURES)), o.name) for o in objects]
    return draw_film(strips, columns=_MOVING_COLUMNS, title=kind.capitalize(), note=_MOVING_NOTE)


def _amounts(entries: Sequence[Entry]) -> str:
    states, families = sum(entry.states for entry in entries), len({entry.family for entry in entries})
    parts = ((len(entries), "object"), (families, "family"), (states, "state"))
    texts = [f"{n:,} {word if n == 1 else _PLURALS[word]}" for n, word in parts]
    return f"{texts[0]} of {texts[1]} in {texts[2]}"


def _save(page: Image.Image, path: Path) -> Path:
    with replacing(path) as part:
        page.save(part, format="PNG")
    return path


def save_gif(pages: Sequence[Image.Image], path: Path, *, largest: int = _LARGEST) -> Path:
    """Write pictures as an endless GIF at 20 per second, with fewer colours and pixels until it is small enough.

    Args:
        pages: of one size.
        path: target; written beside it and renamed when it is whole.
        largest: most bytes; the smallest attempt is kept where none is that small.
    """
    data = b""
    for colors, scale in _QUALITIES:
        data = _encoded(pages, colors, scale)
        if len(data) <= largest:
            break
    with replacing(path) as part:
        part.write_bytes(data)
    return path


def _encoded(pages: Sequence[Image.Image], colors: int, scale: float) -> bytes:
    size = (round(pages[0].width * scale), round(pages[0].height * scale))
    scaled = [page if scale == 1.0 else page.resize(size, Image.Resampling.LANCZOS) for page in pages]
    palette = _palette(scaled[:: max(1, len(scaled) // 8)], colors)
    pictures = [page.quantize(palette=palette, dither=Image.Dither.NONE) for page in scaled]
    stream = io.BytesIO()
    pictures[0].save(
        stream,
        format="GIF",
        save_all=True,
        append_images=pictures[1:],
        duration=1000 // _FPS,
        loop=0,
        optimize=True,
    )
    return stream.getvalue()


def _palette(pages: Sequence[Image.Image], colors: int) -> Image.Image:
    """Return one palette for all pictures, or colours would flicker.

    The greys of paper, letters and shadows are given. The others count by the root of how often they are seen, or small
    red spots would turn grey.
    """
    pixels = np.concatenate([np.asarray(page).reshape(-1, 3) for page in pages]).astype(np.uint32)
    colored = pixels[pixels.max(1) - pixels.min(1) > _GREY]
    bins, counts = np.unique((colored >> 2) @ np.array((1 << 12, 1 << 6, 1), np.uint32), return_counts=True)
    seen = np.repeat(bins, np.ceil(np.sqrt(counts)).astype(int))
    looks = np.stack(((seen >> 12) & 63, (seen >> 6) & 63, seen & 63), -1).astype(np.uint8) * 4 + 2
    given = [channel for level in _GREYS for channel in (level, level, level)]
    if not len(looks):
        found: list[int] = []
    else:
        image = Image.fromarray(looks[None]).quantize(colors - len(_GREYS), method=Image.Quantize.MEDIANCUT)
        found = list(image.getpalette() or [])[: 3 * (colors - len(_GREYS))]
    palette = Image.new("P", (1, 1))
    palette.putpalette(given + found)
    return palette
