"""The gallery's list and files: present, small, closed where they should be, and of the expected pieces."""

import json
from pathlib import Path

import numpy as np
import pytest
import trimesh

OBJECTS = Path(__file__).parents[2] / "assets" / "objects"
ENTRIES = {entry["name"]: entry for entry in json.loads((OBJECTS / "gallery.json").read_text())}
COMPONENTS = {
    "plush_bear": 4,
    "gummy_ring": 1,
    "octopus": 5,
    "cloth_on_rail": 4,
    "laptop": 2,
    "cabinet": 7,
    "desk_lamp": 4,
    "snake": 11,
    "box": 1,
}
OPEN = {"cloth_on_rail"}


def welded(path: Path) -> trimesh.Trimesh:
    """Return all triangles of a file as one mesh whose vertices at equal positions are one."""
    pieces = trimesh.load_scene(path, process=False).to_mesh()
    points, index = np.unique(np.asarray(pieces.vertices), axis=0, return_inverse=True)
    return trimesh.Trimesh(points, index.reshape(-1)[pieces.faces], process=False)


def test_list_holds_the_nine_objects() -> None:
    """The list names each object once, with a known anchor and material and words for people."""
    assert set(ENTRIES) == set(COMPONENTS)
    for entry in ENTRIES.values():
        assert entry["title"] and entry["description"]
        assert entry["anchor"] in {"free", "standing", "fixed", "hanging"}
        assert entry["material"] in {"elastic", "jelly", "rubber", "cloth", "articulated", "rigid"}


@pytest.mark.parametrize("name", COMPONENTS)
def test_files_exist_and_are_small(name: str) -> None:
    """The object is under 400 KB and its thumbnail exists."""
    assert 0 < (OBJECTS / ENTRIES[name]["file"]).stat().st_size < 400_000
    assert (OBJECTS / ENTRIES[name]["thumbnail"]).stat().st_size > 0


@pytest.mark.parametrize("name", COMPONENTS)
def test_object_is_closed_and_of_the_expected_pieces(name: str) -> None:
    """Welded by position, materials join into whole pieces; only the cloth's sheet is open."""
    pieces = welded(OBJECTS / ENTRIES[name]["file"]).split(only_watertight=False)
    assert len(pieces) == COMPONENTS[name]
    assert sum(not piece.is_watertight for piece in pieces) == (1 if name in OPEN else 0)
