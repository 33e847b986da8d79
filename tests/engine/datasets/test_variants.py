"""Coarser copies of a moving surface move as it does, and are clean surfaces themselves."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import trimesh
from scipy.spatial.transform import Rotation

from engine.datasets.motion import Motion
from engine.datasets.variants import VARIANTS, carried, cluster, decimate, make_variant
from engine.geometry.welding import has_area
from tests.engine.datasets.moving import hinge_motion

# Half axes of the bar, an ellipsoid.
AXES = np.array([0.3, 0.3, 1.3])


def twisting_bar() -> Motion:
    """Return a slender ellipsoid that twists about its length by 20 degrees a frame, end to end."""
    bar = trimesh.creation.icosphere(subdivisions=4)
    rest = bar.vertices * AXES
    positions, rotations = [], []
    for i in range(4):
        turn = Rotation.from_rotvec(np.deg2rad(20 * i) * rest[:, 2:] * [[0, 0, 0.5]])
        positions.append(turn.apply(rest))
        rotations.append(turn.as_quat(scalar_first=True))
    component = np.zeros(len(rest), dtype=np.int32)
    faces = np.asarray(bar.faces, dtype=np.int32)
    return Motion("elastic/bar", faces, component, np.float32(positions), np.float32(rotations))


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_coarser_copy_twists_as_the_bar_does(variant: str) -> None:
    """Every vertex of the copy is where the exact twist puts it, within a hundredth of the bar's length."""
    bar = twisting_bar()
    copy = make_variant(bar, variant, np.random.default_rng(0))
    assert len(copy.faces) < len(bar.faces)
    rest = copy.positions[0].astype(float)
    for i in range(4):
        turn = Rotation.from_rotvec(np.deg2rad(20 * i) * rest[:, 2:] * [[0, 0, 0.5]])
        assert np.abs(turn.apply(rest) - copy.positions[i]).max() < 0.026
        stated = Rotation.from_quat(copy.rotations[i], scalar_first=True)
        assert np.rad2deg((turn.inv() * stated).magnitude()).max() < 3.0


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_coarser_copy_has_no_triangle_without_area(variant: str) -> None:
    """Boxes of few triangles, which collapse easily, give copies whose triangles all have area and three corners."""
    for seed in range(6):
        copy = make_variant(hinge_motion(), variant, np.random.default_rng(seed))
        rest = copy.positions[0].astype(float)
        assert has_area(rest, copy.faces, float(np.linalg.norm(np.ptp(rest, 0)))).all()
        assert set(np.unique(copy.faces)) == set(range(len(rest)))


def test_parts_stay_apart_in_a_coarser_copy() -> None:
    """Lid and box of a hinge lie close together: no triangle of a copy joins them, and each keeps its part."""
    hinge = hinge_motion()
    copy = make_variant(hinge, "remeshed", np.random.default_rng(1))
    assert copy.part is not None
    assert (copy.part[copy.faces] == copy.part[copy.faces[:, :1]]).all()
    assert set(copy.part) == {0, 1}


def test_a_copy_keeps_to_the_surface() -> None:
    """Decimated and clustered vertices of an ellipsoid lie within a tenth of its radius of its surface."""
    bar = twisting_bar()
    rest = bar.positions[0].astype(float)
    for points, _ in (decimate(rest, bar.faces, 400), cluster(rest, bar.faces, np.random.default_rng(0), cells=24)):
        assert np.abs(np.linalg.norm(points / AXES, axis=1) - 1.0).max() < 0.1


def test_carrying_the_same_surface_changes_nothing() -> None:
    """A copy with the original's own vertices moves exactly as the original."""
    bar = twisting_bar()
    copy = carried(bar, bar.positions[0].astype(float), bar.faces)
    np.testing.assert_allclose(copy.positions, bar.positions, atol=2e-6)


def test_too_little_surface_is_refused() -> None:
    """A tetrahedron cannot be made coarser."""
    tetrahedron = trimesh.creation.icosphere(subdivisions=0).convex_hull
    motion = replace(
        twisting_bar(),
        faces=np.asarray(tetrahedron.faces[:4], dtype=np.int32),
        component=np.zeros(12, dtype=np.int32),
        positions=np.float32([tetrahedron.vertices] * 2),
        rotations=np.tile(np.float32([1, 0, 0, 0]), (2, 12, 1)),
    )
    with pytest.raises(ValueError, match="triangles"):
        make_variant(motion, "decimated", np.random.default_rng(0))
