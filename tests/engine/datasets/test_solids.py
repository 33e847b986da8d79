"""Procedural solids: closed, in one piece, of the promised size, and the same for the same seed."""

import numpy as np
import pytest
import trimesh

from engine.datasets.shapes.implicit import ellipsoid, surface_of
from engine.datasets.shapes.lofts import loft
from engine.datasets.shapes.solids import HARD, SOFT, SOLIDS

SEEDS = (0, 7)
ALL = SOLIDS | HARD


def test_there_are_enough_solids() -> None:
    """The table keeps at least eighteen kinds."""
    assert len(SOLIDS) >= 18
    assert not SOFT.keys() & HARD.keys()
    assert SOLIDS.keys() <= SOFT.keys() | HARD.keys()


@pytest.mark.parametrize("name", ALL)
def test_solid_is_one_closed_welded_surface(name: str) -> None:
    """Every edge has two triangles of one winding, normals point outwards, 600 to 3,000 vertices are in one piece."""
    for seed in SEEDS:
        mesh = ALL[name](np.random.default_rng(seed))
        assert np.isfinite(mesh.vertices).all()
        assert 600 <= len(mesh.vertices) <= 3000
        assert np.ptp(mesh.faces) == len(mesh.vertices) - 1
        assert len(np.unique(np.round(mesh.vertices, 9), axis=0)) == len(mesh.vertices)
        assert mesh.is_watertight
        assert mesh.is_winding_consistent
        assert mesh.volume > 0
        label = trimesh.graph.connected_component_labels(mesh.edges, len(mesh.vertices))
        assert len(np.unique(label)) == 1
        lengths = mesh.edges_unique_length
        assert lengths.max() < 5.0 * np.median(lengths)


@pytest.mark.parametrize("name", ALL)
def test_same_seed_gives_the_same_solid(name: str) -> None:
    """A solid is a function of the generator's state, bit for bit."""
    first, second = (ALL[name](np.random.default_rng(3)) for _ in range(2))
    np.testing.assert_array_equal(first.vertices, second.vertices)
    np.testing.assert_array_equal(first.faces, second.faces)


def test_implicit_ball_has_the_volume_of_a_ball() -> None:
    """The mesh of an implicit ball of radius 1 has its volume within two percent and about the wanted vertices."""
    mesh = surface_of(ellipsoid((0.1, 0, 0), (1, 1, 1)), (-1.3, -1.3, -1.3), (1.3, 1.3, 1.3), count=2000)
    assert mesh.volume == pytest.approx(4 / 3 * np.pi, rel=0.02)
    assert len(mesh.vertices) == pytest.approx(2000, rel=0.2)


def test_empty_implicit_solid_is_refused() -> None:
    """A box without surface in it says so."""
    with pytest.raises(ValueError, match="empty"):
        surface_of(ellipsoid((9, 0, 0), (1, 1, 1)), (-1, -1, -1), (1, 1, 1))


def test_looped_loft_is_a_torus() -> None:
    """A circle of radius 1 with cross-section radius 0.25 has a torus's volume within three percent and its genus."""
    t = np.linspace(0, 2 * np.pi, 300)
    mesh = loft(np.column_stack((np.cos(t), np.sin(t), 0 * t)), np.full((300, 2), 0.25), count=2500, looped=True)
    assert mesh.volume == pytest.approx(2 * np.pi**2 * 0.25**2, rel=0.03)
    assert mesh.euler_number == 0
