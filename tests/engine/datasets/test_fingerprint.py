"""A shape is recognised after every change that leaves it the same, and after none that does not."""

import numpy as np
import pytest
import trimesh
from scipy.spatial.transform import Rotation

from engine.datasets.fingerprint import (
    GALLERY,
    TOLERANCE,
    Fingerprint,
    ForbiddenShapes,
    KnownShapes,
    geometry_hash,
)
from engine.datasets.shapes.packaged import HELD_OUT_GARMENTS
from engine.datasets.shapes.solids import SOLIDS
from engine.geometry.mesh_reader import load_rest_shape
from tests.engine.datasets.moving import DATA

FAMILIES = ("bar", "blob", "plush", "ring", "supershape", "tentacled")


def _solid(name="plush", seed=1):
    mesh = SOLIDS[name](np.random.default_rng(seed))
    return np.asarray(mesh.vertices, float), np.asarray(mesh.faces, np.int64)


def _moved(vertices, rng):
    turn = Rotation.random(rng=rng)
    return rng.uniform(0.01, 50.0) * (turn.apply(np.array(vertices)) + rng.normal(size=3) * 3)


def _shuffled(vertices, faces, rng):
    order = rng.permutation(len(vertices))
    number = np.argsort(order)
    turned = np.take_along_axis(number[faces], (np.arange(3) + rng.integers(3, size=(len(faces), 1))) % 3, axis=1)
    return vertices[order], turned[rng.permutation(len(faces))]


def _unwelded(vertices, faces):
    return vertices[faces].reshape(-1, 3), np.arange(faces.size).reshape(-1, 3)


@pytest.mark.parametrize("name", FAMILIES)
def test_a_twin_has_the_same_fingerprint(name):
    """Moved, turned, rescaled, shuffled, unwelded, mirrored and stored in float32 with noise: still the same."""
    rng = np.random.default_rng(5)
    vertices, faces = _solid(name)
    mark = Fingerprint.of(vertices, faces)
    size = float(np.ptp(vertices, axis=0).max())
    twins = {
        "moved": (_moved(vertices, rng), faces),
        "shuffled": _shuffled(_moved(vertices, rng), faces, rng),
        "unwelded": _unwelded(_moved(vertices, rng), faces),
        "mirrored": (vertices * (1, -1, 1), faces[:, ::-1]),
        "reversed": (vertices, faces[:, ::-1]),
        "noisy": ((vertices + rng.normal(0, 1e-6 * size, vertices.shape)).astype(np.float32), faces),
        "quantised": (np.round(vertices / size * 2**14) / 2**14, faces),
    }
    for change, twin in twins.items():
        other = Fingerprint.of(*twin)
        assert mark.matches(other), change
        assert other.bucket in mark.buckets and mark.bucket in other.buckets
    for change in ("moved", "shuffled", "unwelded", "mirrored", "reversed"):
        np.testing.assert_allclose(Fingerprint.of(*twins[change]).values, mark.values, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", FAMILIES)
def test_seeds_of_one_family_differ(name):
    """Six seeds of one procedural family have six fingerprints and forty hashes."""
    marks = [Fingerprint.of(*_solid(name, seed)) for seed in range(6)]
    assert not any(a.matches(b) for k, a in enumerate(marks) for b in marks[:k])
    assert len({geometry_hash(*_solid(name, seed)) for seed in range(6)}) == 6


@pytest.mark.parametrize("name", FAMILIES)
def test_a_deformation_of_three_percent_is_another_shape(name):
    """A bend, a stretch, a twist and a bump, each moving vertices by at most 3 % of the size, are told apart."""
    vertices, faces = _solid(name)
    low, size = vertices.min(0), float(np.ptp(vertices, axis=0).max())
    x, y, z = ((vertices - low) / size).T
    zero = np.zeros_like(x)
    shifts = {
        "stretch": np.stack((x, zero, zero), -1),
        "bend": np.stack((zero, zero, (2 * x - x.max()) ** 2), -1),
        "shear": np.stack((zero, z, zero), -1),
        "wave": np.stack((zero, np.sin(6 * x + 4 * z), zero), -1),
        "bump": np.exp(-30 * ((x - x[0]) ** 2 + (y - y[0]) ** 2 + (z - z[0]) ** 2))[:, None] * (0.6, 0.6, 0.5),
    }
    mark = Fingerprint.of(vertices, faces)
    for change, shift in shifts.items():
        shift = shift * 0.03 * size / np.linalg.norm(shift, axis=1).max()
        assert not mark.matches(Fingerprint.of(vertices + shift, faces)), change


def test_known_shapes_are_found_on_either_side_of_a_border():
    """A shape whose values lie within the tolerance of a bin's border is found under every key it may have."""
    vertices, faces = _solid()
    values = Fingerprint.of(vertices, faces).values.copy()
    values[[0, 1, 3, 12]] = 0.05 * np.ceil(values[[0, 1, 3, 12]] / 0.05)
    one, two = Fingerprint(values - 0.4 * TOLERANCE), Fingerprint(values + 0.4 * TOLERANCE)
    assert one.bucket != two.bucket and one.matches(two) and two.bucket in one.buckets
    known = KnownShapes()
    known.add("toy", vertices, faces)
    assert known.names_like(*_unwelded(vertices, faces)) == "toy"
    assert known.names_like(*_solid(seed=2)) is None


def test_every_object_of_the_gallery_is_forbidden_in_any_place():
    """Each gallery file is found again after a move, and the solids of the generators are not taken for one."""
    rng = np.random.default_rng(0)
    forbidden = ForbiddenShapes()
    files = sorted(GALLERY.glob("*.glb"))
    assert files and forbidden.names == [f.stem for f in files]
    for file in files:
        shape = load_rest_shape(file)
        assert forbidden.names_like(shape.vertices, shape.faces) == file.stem
        moved = _moved(shape.vertices, rng).astype(np.float32)
        assert forbidden.names_like(*_shuffled(moved, shape.faces, rng)) == file.stem
        assert forbidden.names_like(*_unwelded(moved, shape.faces)) == file.stem
    assert not [name for name in FAMILIES for seed in range(2) if forbidden.names_like(*_solid(name, seed))]


def test_a_folder_adds_its_held_out_files(tmp_path):
    """A scan kept for judging is forbidden once its folder is given, another file of the folder is not."""
    for name in ("spot", "chair"):
        mesh = trimesh.creation.annulus(0.3, 0.5 if name == "spot" else 0.8, 1.0)
        mesh.export(tmp_path / f"{name}.ply")
    forbidden = ForbiddenShapes(extra=tmp_path)
    spot, chair = (load_rest_shape(tmp_path / f"{name}.ply") for name in ("spot", "chair"))
    assert forbidden.names_like(7 * spot.vertices, spot.faces) == "spot"
    assert forbidden.names_like(chair.vertices, chair.faces) is None


@pytest.mark.skipif(not DATA.is_dir(), reason="the shared data folder is not on this machine")
def test_the_shared_folder_forbids_scans_and_held_out_garments():
    """The scans, the three animals and both held-out garments of the folder are named."""
    names = set(ForbiddenShapes(extra=DATA).names)
    assert {"ycb_Banana", "sfm_owl", "scan_hammer", "spot", "koala", "cat", *HELD_OUT_GARMENTS} <= names


@pytest.mark.parametrize("bad", [np.nan, 0.0])
def test_a_surface_without_finite_area_is_refused(bad):
    """Points that are not finite, or all in one place, have no fingerprint."""
    with pytest.raises(ValueError, match="finite area"):
        Fingerprint.of(np.full((3, 3), bad), np.array([[0, 1, 2]]))
