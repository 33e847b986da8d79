"""Figures with exact answers."""

from __future__ import annotations

import numpy as np
import pytest
import trimesh
from scipy.spatial.transform import Rotation

from engine.evaluation.metrics import (
    buried,
    mean_square,
    nearest_of,
    rigid_departure,
    stretch,
    weight_spikes,
)
from engine.evaluation.occupancy import occupancy, volume_iou
from engine.evaluation.surface_distance import TriangleSurface, chamfer, point_triangle_distances, sampling_floor
from engine.geometry.welding import edges_of


def box(extents: tuple[float, float, float], at: tuple[float, float, float] = (0, 0, 0)) -> trimesh.Trimesh:
    """Return a box with its centre at a point."""
    mesh = trimesh.creation.box(extents)
    mesh.apply_translation(at)
    return mesh


def joined(*meshes: trimesh.Trimesh) -> trimesh.Trimesh:
    """Return several meshes as one."""
    offsets = np.cumsum([0, *(len(mesh.vertices) for mesh in meshes)])
    faces = np.concatenate([mesh.faces + offset for mesh, offset in zip(meshes, offsets[:-1], strict=True)])
    return trimesh.Trimesh(np.concatenate([mesh.vertices for mesh in meshes]), faces, process=False)


def test_distances_to_triangles_are_those_of_trimesh() -> None:
    """Long, small and overlapping triangles: no point is farther or nearer than an exhaustive search says."""
    mesh = joined(box((2.0, 1.0, 0.02)), trimesh.creation.icosphere(2, 0.4), box((0.1, 0.1, 1.5)))
    points = np.random.default_rng(0).normal(size=(300, 3))
    found = TriangleSurface(mesh.vertices, mesh.faces).distances(points)
    assert np.abs(found - trimesh.proximity.closest_point_naive(mesh, points)[1]).max() < 1e-12


def test_the_distance_to_one_triangle_is_right_beside_above_and_where_it_has_no_area() -> None:
    """Above the face, beyond an edge, beyond a corner, and for a triangle that is a segment."""
    triangle = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]])
    points = np.array([[0.2, 0.2, 0.5], [0.5, -2.0, 0.0], [-3.0, -4.0, 0.0]])
    assert np.allclose(point_triangle_distances(points, np.repeat(triangle[None], 3, 0)), [0.5, 2.0, 5.0])
    flat = np.array([[[0.0, 0, 0], [1, 0, 0], [2, 0, 0]]])
    assert np.allclose(point_triangle_distances(np.array([[1.5, 0, 1.0]]), flat), 1.0)


def test_the_chamfer_distance_of_parallel_plates_is_their_gap() -> None:
    """A plate lifted by 0.1: both directions give 0.1, without any error of sampling; a plate to itself gives none."""
    plate = np.array([[-1.0, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]])
    faces = np.array([[0, 1, 2], [0, 2, 3]])
    low, high = TriangleSurface(plate, faces), TriangleSurface(plate + np.array([0, 0, 0.1]), faces)
    found = chamfer(low, high, count=2000)
    assert found.distance == pytest.approx(0.1, abs=1e-12)
    assert found.sampling_error < 1e-12
    assert sampling_floor(low, count=2000) < 1e-12


def test_the_chamfer_distance_of_concentric_spheres_is_the_difference_of_their_radii() -> None:
    """Radii 1 and 0.8: 0.2, to what the facets take away."""
    one, two = (trimesh.creation.icosphere(4, radius) for radius in (1.0, 0.8))
    found = chamfer(TriangleSurface(one.vertices, one.faces), TriangleSurface(two.vertices, two.faces), count=2000)
    assert found.distance == pytest.approx(0.2, abs=2e-3)


def test_two_boxes_that_overlap_by_a_half_have_a_third() -> None:
    """Unit boxes half a side apart share 1/2 of 3/2, on a grid that divides them evenly."""
    one, two = box((1, 1, 1)), box((1, 1, 1), (0.5, 0, 0))
    assert volume_iou(one.vertices, two.vertices, one.faces, two.faces, resolution=48) == pytest.approx(1 / 3)
    assert volume_iou(one.vertices, one.vertices, one.faces, one.faces) == 1.0
    apart = box((1, 1, 1), (3, 0, 0))
    assert volume_iou(one.vertices, apart.vertices, one.faces, apart.faces) == 0.0


def test_two_spheres_share_the_lens_that_geometry_says() -> None:
    """Unit spheres at distance 1 share a lens of 5 pi / 12, of 8 pi / 3 less that."""
    one = trimesh.creation.icosphere(5)
    lens = 5 * np.pi / 12
    found = volume_iou(one.vertices, one.vertices + np.array([1.0, 0, 0]), one.faces, one.faces)
    assert found == pytest.approx(lens / (8 * np.pi / 3 - lens), abs=0.01)


def test_pieces_that_overlap_count_once_and_a_cavity_is_outside() -> None:
    """The union of two boxes fills 3/4 of theirs; a box around a smaller one that faces inward is hollow."""
    both = joined(box((1, 1, 1)), box((1, 1, 1), (0.5, 0, 0)))
    low, high = np.array([-0.5, -0.5, -0.5]), np.array([1.5, 0.5, 0.5])
    assert occupancy(both.vertices, both.faces, low, high, resolution=16).mean() == pytest.approx(0.75)
    hole = box((0.5, 0.5, 0.5))
    hole.invert()
    hollow = joined(box((1, 1, 1)), hole)
    low, high = -0.5 * np.ones(3), 0.5 * np.ones(3)
    assert occupancy(hollow.vertices, hollow.faces, low, high, resolution=16).mean() == pytest.approx(7 / 8)


def test_parts_that_moved_rigidly_depart_by_nothing_and_a_stretched_one_by_its_stretch() -> None:
    """Two parts with turns of their own give zero; one that grows by a tenth departs by a tenth of its own spread."""
    rng = np.random.default_rng(0)
    rest = rng.normal(size=(40, 3))
    part = np.repeat([0, 1, -1], [15, 15, 10])
    moved = rng.normal(size=(40, 3))
    for label in (0, 1):
        turn = Rotation.random(rng=rng).as_matrix()
        moved[part == label] = rest[part == label] @ turn.T + rng.normal(size=3)
    total, count = rigid_departure(rest, moved, part)
    assert (total, count) == (pytest.approx(0.0, abs=1e-24), 30)
    grown = rest.copy()
    mine = part == 1
    grown[mine] = 1.1 * rest[mine]
    spread = np.square(rest[mine] - rest[mine].mean(0)).sum()
    assert rigid_departure(rest, grown, part)[0] == pytest.approx(0.01 * spread)


def test_stretch_is_relative_to_the_truth() -> None:
    """Edges decoded at 1.2 times their length where the truth has 1.0 give 1.2; where it has 1.2, one."""
    mesh = trimesh.creation.icosphere(2)
    rest, edges = np.array(mesh.vertices), edges_of(mesh.faces)
    assert len(edges) == 480
    assert stretch(rest, 1.2 * rest, rest, edges) == pytest.approx((1.2, 1.2))
    assert stretch(rest, 1.2 * rest, 1.2 * rest, edges) == pytest.approx((1.0, 1.0))


def test_spikes_are_seen_inside_parts_alone() -> None:
    """Weights that jump where parts meet have none; one vertex whose weights differ shows on its edges."""
    edges = np.stack((np.arange(9), np.arange(1, 10)), -1)
    part = np.repeat([0, 1], 5)
    weights = np.eye(2)[part]
    assert weight_spikes(weights, edges, part) == 0.0
    assert weight_spikes(weights, edges, np.zeros(10, int)) > 1.0
    assert np.isnan(weight_spikes(weights, edges, np.arange(10)))


def test_buried_vertices_are_counted_in_other_components_alone() -> None:
    """A small box inside a large one is buried, all of it; the large one is not."""
    large, small = box((2, 2, 2)), box((1, 1, 1))
    both = joined(large, small)
    component = np.repeat([0, 1], 8)
    assert buried(both.vertices, both.faces, component) == 0.5


def test_the_nearest_candidate_is_found_up_to_a_rigid_motion() -> None:
    """A turned and moved copy is at distance zero; a mirror image is not."""
    rng = np.random.default_rng(1)
    target = rng.normal(size=(1, 20, 3))
    turned = target @ Rotation.random(rng=rng).as_matrix().T + 2.0
    other = rng.normal(size=(1, 20, 3))
    assert nearest_of(np.concatenate((other, turned)), target)[0] == pytest.approx(0.0, abs=1e-12)
    assert nearest_of(target * np.array([1, 1, -1]), target)[0] > 0.1
    shift = target + np.array([0.3, 0, 0])
    assert mean_square(shift, target) == pytest.approx(0.09)
