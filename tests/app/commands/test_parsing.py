"""What the words of the command line mean, and which are refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import trimesh
import typer

from app.commands.gallery_choice import gallery_choice
from app.commands.parsing import PictureSize, check_targets, parse_camera, parse_pull, parse_size
from app.commands.resolution import with_vertices
from engine.scenes.material import Anchor


@pytest.mark.parametrize(
    "text", ["0.4,0.9,0;1,0,0.5;25;0.3;1.3", "0.4,0.9,0,1,0,0.5,25,0.3,1.3", " 0.4, .9,0;1,0,.5;25;.3;1.3"]
)
def test_pull_forms(text: str) -> None:
    """The grouped form and the plain one mean the same force."""
    force = parse_pull(text)
    assert force.point == (0.4, 0.9, 0.0)
    assert force.direction == (1.0, 0.0, 0.5)
    assert (force.newtons, force.start, force.end) == (25.0, 0.3, 1.3)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1,2,3", "nine numbers"),
        ("1,2;3,4,5,6;7;8;9", "nine numbers"),
        ("a,b,c;1,0,0;5;0;1", "takes numbers"),
        ("0,0,0;nan,0,0;5;0;1", "finite"),
        ("0,0,0;0,0,0;5;0;1", "direction"),
        ("0,0,0;1,0,0;5;2;1", "end after its start"),
    ],
)
def test_pull_refusals(text: str, words: str) -> None:
    """A pull that means nothing is a usage error that says why."""
    with pytest.raises(typer.BadParameter, match=words):
        parse_pull(text)


def test_size_and_camera() -> None:
    """Sizes are WIDTHxHEIGHT; cameras are two or three numbers."""
    assert parse_size("641x481") == PictureSize(641, 481)
    assert parse_camera("30,10").distance == 1.0
    assert parse_camera("30,10,2").distance == 2.0
    for text in ("640", "0x0", "640x", "99999x20"):
        with pytest.raises(typer.BadParameter):
            parse_size(text)
    for text in ("30", "30,95", "30,10,0", "x,y"):
        with pytest.raises(typer.BadParameter):
            parse_camera(text)


def test_targets_need_a_known_extension() -> None:
    """An extension that names no format is refused before anything is computed."""
    with pytest.raises(typer.BadParameter, match=r"\.mp4, \.npz, \.neurok"):
        check_targets([Path("a.mp4"), Path("b.avi")])


def test_gallery_knows_its_objects(tmp_path: Path) -> None:
    """The list beside a mesh says how it is held; without one, or with a broken one, nothing is said."""
    assert gallery_choice(tmp_path / "a.obj") == (None, None)
    (tmp_path / "gallery.json").write_text('[{"file": "a.obj", "anchor": "fixed", "material": "cloth"}]')
    assert gallery_choice(tmp_path / "a.obj") == (Anchor.FIXED, "cloth")
    assert gallery_choice(tmp_path / "b.obj") == (None, None)
    (tmp_path / "gallery.json").write_text("[{")
    assert gallery_choice(tmp_path / "a.obj") == (None, None)


@pytest.mark.parametrize("count", [50, 300, 2000])
def test_mesh_of_a_wanted_size(count: int) -> None:
    """Refining and thinning give the number of vertices and keep the surface closed and in place."""
    sphere = trimesh.creation.icosphere(2)
    vertices, faces = with_vertices(np.array(sphere.vertices), np.array(sphere.faces), count=count)
    made = trimesh.Trimesh(vertices, faces, process=False)
    assert abs(len(vertices) - count) <= 0.05 * count + 2
    assert made.is_watertight
    assert made.is_winding_consistent
    assert made.volume == pytest.approx(sphere.volume, rel=0.12)
