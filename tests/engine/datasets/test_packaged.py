"""Still meshes of packages and of a folder: found, welded, upright, credited, and none that is kept for judging."""

import sys
import tarfile

import numpy as np
import pytest
import trimesh

from engine.datasets.motion import Source
from engine.datasets.shapes.packaged import (
    HELD_OUT_GARMENTS,
    PackagedShape,
    is_never_trained,
    packaged_shapes,
    read_garment,
)
from tests.engine.datasets.moving import DATA

needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="the shared data folder is not on this machine")


def _grid():
    return trimesh.creation.box((1.0, 2.0, 0.5))


def _folder(tmp_path, *, packed):
    """A folder as `extra`: garments, packed or not, one of them held out, and files that must not be used."""
    garments = tmp_path / "diffcloth_garments"
    garments.mkdir()
    for name in ("vest", HELD_OUT_GARMENTS[0]):
        _grid().export(garments / f"{name}.obj")
    if packed:
        with tarfile.open(tmp_path / "diffcloth_garments.tar.gz", "w:gz") as tar:
            for file in garments.glob("*.obj"):
                tar.add(file, arcname=file.name)
        for file in garments.glob("*"):
            file.unlink()
        garments.rmdir()
    (tmp_path / "cc0_animated").mkdir()
    for name in ("animals__Cow", "ycb_Cow"):
        _grid().export(tmp_path / "cc0_animated" / f"{name}.glb")
    return tmp_path


@pytest.mark.parametrize("packed", [False, True])
def test_a_folder_gives_its_permissive_shapes_and_none_held_out(tmp_path, packed):
    """Archive and unpacked folder give the same garment; held-out garments and scans are not in the list."""
    before = {s.name for s in packaged_shapes()}
    added = [s for s in packaged_shapes(extra=_folder(tmp_path, packed=packed)) if s.name not in before]
    assert [(s.name, s.family, s.sheet, s.source.licence) for s in added] == [
        ("vest", "diffcloth", True, "MIT"),
        ("animals__Cow", "quaternius_animals", False, "CC0-1.0"),
    ]
    for shape in added:
        vertices, faces = shape.load()
        assert vertices.shape == (8, 3) and faces.shape == (12, 3)
        # The files have Y up, so that their longest side stands.
        np.testing.assert_allclose(np.ptp(vertices, axis=0), (1.0, 0.5, 2.0), atol=1e-6)


def test_a_folder_without_anything_adds_nothing(tmp_path):
    """An empty folder is no error, and a garment that it lacks is None."""
    assert [s.path for s in packaged_shapes(extra=tmp_path)] == [s.path for s in packaged_shapes()]
    assert read_garment(tmp_path, "vest") is None


def test_shapes_of_a_package_are_found_without_importing_it(tmp_path, monkeypatch):
    """A folder called pybullet_data on the path gives its random objects; the package is never run."""
    if "pybullet_data" in sys.modules:
        pytest.skip("pybullet_data was imported by something else")
    package = tmp_path / "pybullet_data"
    (package / "random_urdfs" / "007").mkdir(parents=True)
    (package / "__init__.py").write_text("raise RuntimeError('imported')")
    _grid().export(package / "random_urdfs" / "007" / "007.obj")
    monkeypatch.syspath_prepend(str(tmp_path))
    (shape,) = [s for s in packaged_shapes() if s.family == "pybullet_random"]
    assert shape.name == "random_007" and shape.source.licence == "Zlib" and not shape.sheet
    np.testing.assert_allclose(np.ptp(shape.load()[0], axis=0), (1.0, 2.0, 0.5), atol=1e-6)


def test_pyvista_examples_stand_upright():
    """Ant, aeroplane and nut come welded and Z up: each is lower than it is wide."""
    shapes = {s.name: s for s in packaged_shapes() if s.family == "pyvista"}
    if not shapes:
        pytest.skip("this PyVista ships no examples")
    assert set(shapes) <= {"ant", "airplane", "nut"}
    for shape in shapes.values():
        vertices, faces = shape.load()
        assert 400 < len(vertices) < 2000 and faces.max() == len(vertices) - 1
        assert np.ptp(vertices[:, 2]) == np.ptp(vertices, axis=0).min()


@pytest.mark.parametrize("stem", ["ycb_Banana", "sfm_owl", "scan_hammer", "spot", "koala", "cat"])
def test_what_the_network_is_judged_on_is_never_trained(stem):
    """Every scan and model of the list is recognised, longer names are not."""
    assert is_never_trained(stem) and not is_never_trained(f"a_{stem}") and not is_never_trained("catfish")


def test_a_loader_that_fails_says_why(tmp_path):
    """A mesh without area is refused with a ValueError when it is loaded, not when it is listed."""
    folder = tmp_path / "diffcloth_garments"
    folder.mkdir()
    (folder / "line.obj").write_text("v 0 0 0\nv 1 0 0\nv 2 0 0\nf 1 2 3\n")
    (shape,) = [s for s in packaged_shapes(extra=tmp_path) if s.family == "diffcloth"]
    assert isinstance(shape, PackagedShape) and isinstance(shape.source, Source)
    with pytest.raises(ValueError, match="area"):
        shape.load()


@needs_data
def test_the_shared_folder_gives_garments_characters_and_parts():
    """Eight garments, the animated characters, the linkage: licensed, of usable size, none of them held out."""
    shapes = [s for s in packaged_shapes(extra=DATA) if DATA in s.path.parents]
    assert sum(s.family == "diffcloth" for s in shapes) == 8
    assert sum(s.family.startswith("quaternius_") for s in shapes) >= 50
    assert not {s.name for s in shapes} & set(HELD_OUT_GARMENTS)
    assert not [s.name for s in shapes if is_never_trained(s.name)]
    assert {s.source.licence for s in shapes} <= {"MIT", "CC0-1.0"}
    by_family = {s.family: s for s in shapes}
    for shape in by_family.values():
        vertices, faces = shape.load()
        assert 50 <= len(vertices) <= 20_000 and faces.max() == len(vertices) - 1
        assert np.abs(vertices).max() == pytest.approx(1.0, abs=1e-6)
