"""Cloths: open manifold sheets in one piece with near-uniform triangles."""

import numpy as np
import pytest
import trimesh

from engine.datasets.shapes.cloths import CLOTHS
from engine.datasets.shapes.garments import boundary_vertices
from engine.datasets.shapes.triangulation import fill, zipped

SEEDS = (0, 5)
# How many separate rims a cloth has; a poncho's are its edge and its hole.
RIMS = {"t_shirt": 4, "tank_top": 4, "dress": 4, "trousers": 3, "skirt": 2, "sleeve": 2, "poncho": 2}


def _rims(mesh: trimesh.Trimesh) -> int:
    """Return the number of boundary loops."""
    edges, number = np.unique(np.sort(mesh.edges, axis=1), axis=0, return_counts=True)
    open_edges = edges[number == 1]
    label = trimesh.graph.connected_component_labels(open_edges, len(mesh.vertices))
    return len(np.unique(label[open_edges]))


@pytest.mark.parametrize("name", CLOTHS)
def test_cloth_is_a_manifold_sheet(name: str) -> None:
    """No edge has more than two triangles, windings agree, a rim passes a vertex once, all is one component."""
    for seed in SEEDS:
        mesh = CLOTHS[name](np.random.default_rng(seed))
        count = len(mesh.vertices)
        assert np.isfinite(mesh.vertices).all()
        assert 500 <= count <= 2500
        directed = np.unique(mesh.edges, axis=0)
        assert len(directed) == len(mesh.edges)
        edges, number = np.unique(np.sort(mesh.edges, axis=1), axis=0, return_counts=True)
        assert number.max() == 2
        assert set(np.bincount(edges[number == 1].ravel(), minlength=count)) <= {0, 2}
        assert len(np.unique(trimesh.graph.connected_component_labels(mesh.edges, count))) == 1
        assert _rims(mesh) == RIMS.get(name, 1)


@pytest.mark.parametrize("name", CLOTHS)
def test_cloth_has_near_uniform_triangles(name: str) -> None:
    """Nearly all edges are within a factor of about two of the median, and none is beyond three and a half."""
    for seed in SEEDS:
        lengths = CLOTHS[name](np.random.default_rng(seed)).edges_unique_length
        median = np.median(lengths)
        assert np.quantile(lengths, 0.98) < 2.2 * median
        assert np.quantile(lengths, 0.02) > median / 2.2
        assert lengths.max() < 3.5 * median


@pytest.mark.parametrize("name", CLOTHS)
def test_same_seed_gives_the_same_cloth(name: str) -> None:
    """A cloth is a function of the generator's state, bit for bit."""
    first, second = (CLOTHS[name](np.random.default_rng(3)) for _ in range(2))
    np.testing.assert_array_equal(first.vertices, second.vertices)
    np.testing.assert_array_equal(first.faces, second.faces)


def test_filled_square_with_a_hole_covers_its_area() -> None:
    """The triangles of a unit square less a hole of a quarter have exactly three quarters of its area."""
    side = np.arange(20) / 20
    zero, one = np.zeros(20), np.ones(20)
    square = np.concatenate([np.stack(p, 1) for p in ((side, zero), (one, side), (1 - side, one), (zero, 1 - side))])
    hole = 0.25 + 0.5 * square[::2][::-1]
    points, faces = fill([square, hole], 0.05, np.random.default_rng(0))
    u, v = points[faces[:, 1]] - points[faces[:, 0]], points[faces[:, 2]] - points[faces[:, 0]]
    areas = 0.5 * (u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0])
    assert areas.min() > 0
    assert areas.sum() == pytest.approx(0.75, rel=1e-9)


@pytest.mark.parametrize(("a", "b"), [(6, 6), (5, 9), (12, 7), (1, 6)])
def test_zipped_rings_make_a_band(a: int, b: int) -> None:
    """A band between two rings has a triangle per edge of either ring, and only the rings as its boundary."""
    faces = zipped(np.arange(a), a + np.arange(b))
    assert len(faces) == (a + b if min(a, b) > 1 else b)
    assert boundary_vertices(faces, a + b).sum() == (a + b if min(a, b) > 1 else b)
