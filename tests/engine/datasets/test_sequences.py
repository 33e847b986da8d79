"""Tests of the importer of vertex sequences, and of the door that sorts files, folders and archives."""

from __future__ import annotations

import io
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trimesh

from engine.datasets.imported.files import ImportRefused, motions_of
from engine.datasets.imported.sequences import read_obj

# A sheet of 3 x 3 points, 2 x 2, whose far edge is lifted frame by frame; Y up.
_GRID = np.array([[x, 0.0, z] for x in (0.0, 1.0, 2.0) for z in (0.0, 1.0, 2.0)])
_FACES = np.array(
    [[[k, k + 1, k + 3], [k + 1, k + 4, k + 3]] for k in (0, 1, 3, 4)],
).reshape(-1, 3)


def lifted(height: float) -> np.ndarray:
    """Return the sheet with its far edge at a height."""
    points = _GRID.copy()
    points[6:, 1] = height
    return points


def write_obj(path: Path, points: np.ndarray, faces: np.ndarray = _FACES) -> None:
    """Write an OBJ file."""
    lines = [f"v {x} {y} {z}" for x, y, z in points] + [f"f {a + 1} {b + 1} {c + 1}" for a, b, c in faces]
    path.write_text("\n".join(lines))


def imported(path: Path, **options: Any) -> Any:
    """Return all motions of a path."""
    return list(motions_of(path, frames=6, rng=np.random.default_rng(0), **options))


def sequence(folder: Path, heights: tuple[float, ...] = (0.0, 0.1, 0.2, 0.5, 0.8)) -> Path:
    """Write a folder of OBJ frames whose numbers sort other than their names."""
    folder.mkdir()
    for k, height in enumerate(heights):
        write_obj(folder / f"frame{k + 8}.obj", lifted(height))
    return folder


def test_obj_folder_is_one_motion(tmp_path: Path) -> None:
    """Frames are sorted by their numbers, the first is at rest, and Y up becomes Z up exactly."""
    (motion,) = imported(sequence(tmp_path / "flag"))
    assert motion.family == "imported/flag" and not motion.fixed
    np.testing.assert_allclose(motion.positions[0], np.stack((_GRID[:, 0], -_GRID[:, 2], _GRID[:, 1]), 1), atol=1e-7)
    # Farthest points: the most lifted frame comes second, the one half-way between third.
    np.testing.assert_allclose(motion.positions[:3, 8, 2], [0.0, 0.8, 0.5], atol=1e-7)
    assert len(motion.positions) == 5


def test_ply_folder_keeps_z_up(tmp_path: Path) -> None:
    """PLY files have Z up and are taken as they are."""
    folder = tmp_path / "scan"
    folder.mkdir()
    for k, height in enumerate((0.0, 1.0)):
        trimesh.Trimesh(lifted(height), _FACES, process=False).export(folder / f"{k}.ply")
    (motion,) = imported(folder)
    np.testing.assert_allclose(motion.positions, [lifted(0.0), lifted(1.0)], atol=1e-6)


def test_npz_sequence(tmp_path: Path) -> None:
    """Arrays (T, V, 3) and (M, 3) are found whatever their names; copies of a vertex are joined."""
    points = np.array([lifted(h) for h in (0.0, 0.5, 1.0)], np.float32)
    doubled = np.concatenate((points, points[:, :1]), 1)
    faces = _FACES.copy()
    faces[0, 0] = 9
    np.savez(tmp_path / "sheet.npz", xyz=doubled, tri=faces.astype(np.int32))
    (motion,) = imported(tmp_path / "sheet.npz")
    assert motion.positions.shape == (3, 9, 3) and motion.component.max() == 0


def test_changed_topology_is_refused(tmp_path: Path) -> None:
    """Another number of vertices, or other triangles, in a later frame is told by that frame's name."""
    folder = sequence(tmp_path / "flag")
    write_obj(folder / "frame10.obj", lifted(0.3)[:8], _FACES[:4])
    with pytest.raises(ImportRefused, match=r"frame10.obj.*topology changes: 8 vertices, but 9 in frame8.obj"):
        imported(folder)
    write_obj(folder / "frame10.obj", lifted(0.3), _FACES[::-1])
    with pytest.raises(ImportRefused, match=r"frame10.obj.*topology changes: its triangles"):
        imported(folder)


def test_still_and_infinite_sequences_are_refused(tmp_path: Path) -> None:
    """Equal frames are no motion, and a frame with infinite positions is told by its number."""
    with pytest.raises(ImportRefused, match=r"no motion"):
        imported(sequence(tmp_path / "still", (0.0, 0.0, 0.0)))
    points = np.array([lifted(h) for h in (0.0, 0.5, np.inf)])
    np.savez(tmp_path / "burst.npz", V=points, F=_FACES)
    with pytest.raises(ImportRefused, match=r"burst.npz.*frame 2.*not finite"):
        imported(tmp_path / "burst.npz")


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("notes.txt", b"hello", "no format of motion"),
        ("one.obj", b"v 0 0 0", "one shape is no motion"),
        ("walk.bvh", b"HIERARCHY", "no mesh; say which rig"),
        ("bad.npz", b"not a zip", "cannot be read as NPZ"),
        ("bad.zip", b"not a zip", "cannot be unpacked"),
        ("bad.glb", b"not a glb", "does not begin like a GLB"),
    ],
)
def test_what_is_no_motion_is_refused(tmp_path: Path, name: str, content: bytes, reason: str) -> None:
    """Files of other kinds and damaged ones are told by name and reason."""
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ImportRefused, match=f"{name} is not imported: .*{reason}"):
        imported(tmp_path / name)
    with pytest.raises(ImportRefused, match="no such file"):
        imported(tmp_path / "nowhere.glb")


def test_arrays_of_other_shapes_are_listed(tmp_path: Path) -> None:
    """An NPZ without a sequence says what it needs and what it holds."""
    np.savez(tmp_path / "flat.npz", V=np.zeros((4, 3)), F=np.zeros((2, 3), int))
    with pytest.raises(ImportRefused, match=r"needs positions \(T, V, 3\).*V \(4, 3\) float64"):
        imported(tmp_path / "flat.npz")


def test_archives_are_unpacked(tmp_path: Path) -> None:
    """A TAR and a ZIP of a sequence give the motion of their folder, under the archive's name."""
    folder = sequence(tmp_path / "flag")
    with tarfile.open(tmp_path / "banner.tar.gz", "w:gz") as archive:
        archive.add(folder, "flag")
    with zipfile.ZipFile(tmp_path / "banner.zip", "w") as archive:
        for file in sorted(folder.iterdir()):
            archive.write(file, f"flag/{file.name}")
    (expected,) = imported(folder)
    for name in ("banner.tar.gz", "banner.zip"):
        (motion,) = imported(tmp_path / name)
        np.testing.assert_array_equal(motion.positions, expected.positions)
        assert motion.family == "imported/banner" and motion.name == "flag"


def test_archive_that_reaches_outside_is_refused(tmp_path: Path) -> None:
    """A TAR with an entry above its folder is not unpacked."""
    with tarfile.open(tmp_path / "trap.tar", "w") as archive:
        entry = tarfile.TarInfo("../outside.obj")
        entry.size = 4
        archive.addfile(entry, io.BytesIO(b"v 0 "))
    with pytest.raises(ImportRefused, match=r"trap.tar.*cannot be unpacked"):
        imported(tmp_path / "trap.tar")
    assert not (tmp_path / "outside.obj").exists()


def test_a_collection_yields_what_it_can_and_tells_the_rest(tmp_path: Path) -> None:
    """Of a folder with a good and a bad file the good motion comes first, then one error names the bad file."""
    np.savez(tmp_path / "good.npz", V=np.array([lifted(0.0), lifted(1.0)]), F=_FACES)
    np.savez(tmp_path / "poor.npz", V=np.zeros(3))
    motions = motions_of(tmp_path, frames=4, rng=np.random.default_rng(0))
    assert next(motions).name == "good"
    with pytest.raises(ImportRefused, match=r"1 of 2 objects were refused. poor.npz"):
        next(motions)


def test_obj_polygons_and_groups(tmp_path: Path) -> None:
    """Polygons are cut into fans, negative numbers count from the end, and groups are kept."""
    (tmp_path / "a.obj").write_text(
        "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\ng lid\nf 1/1 2/2 3/3 4/4\ng base\nf -4//1 -3 -2\n"
    )
    points, faces, groups = read_obj(tmp_path / "a.obj")
    assert points.shape == (4, 3)
    np.testing.assert_array_equal(faces, [[0, 1, 2], [0, 2, 3], [0, 1, 2]])
    assert groups == ["lid", "lid", "base"]
