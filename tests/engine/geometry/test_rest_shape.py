"""Rest shapes made of arrays: unit frame, cleaning, welding, winding."""

from __future__ import annotations

import numpy as np
import pytest
import trimesh

from engine.geometry.rest_shape import MeshError, RestShape, UpAxis, rest_shape_from_arrays


def _box(extents: tuple[float, float, float] = (1.0, 2.0, 3.0)) -> tuple[np.ndarray, np.ndarray]:
    box = trimesh.creation.box(extents=extents)
    return np.asarray(box.vertices), np.asarray(box.faces)


def _volume(rest: RestShape) -> float:
    a, b, c = (rest.vertices[rest.faces[:, k]] for k in range(3))
    return float(np.einsum("md,md->", a, np.cross(b, c)) / 6.0)


def test_unit_frame_is_centred_with_half_extent_one() -> None:
    """The unit frame is centred on the bounding box and its largest half-extent is 1."""
    vertices, faces = _box()
    rest = rest_shape_from_arrays(vertices + 7.0, faces)
    np.testing.assert_allclose(rest.vertices.max(axis=0), (1 / 3, 2 / 3, 1.0), atol=1e-12)
    np.testing.assert_allclose(rest.vertices.min(axis=0), (-1 / 3, -2 / 3, -1.0), atol=1e-12)
    assert rest.size == pytest.approx(2 * np.sqrt(14) / 3)
    assert rest.report.extents == pytest.approx((1.0, 2.0, 3.0))


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_moved_and_scaled_input_gives_the_same_unit_frame(scale: float) -> None:
    """Position and unit of the input do not matter."""
    vertices, faces = _box()
    reference = rest_shape_from_arrays(vertices, faces)
    moved = rest_shape_from_arrays(scale * (vertices + np.array([3.0, -40.0, 8.0])), faces)
    np.testing.assert_allclose(moved.vertices, reference.vertices, atol=1e-12)
    np.testing.assert_array_equal(moved.faces, reference.faces)


@pytest.mark.parametrize("up", list(UpAxis))
def test_unit_to_file_leads_back_to_the_input(up: UpAxis) -> None:
    """The stored matrix maps every unit-frame vertex to where it was read, without mirroring."""
    vertices, faces = _box()
    vertices = 0.03 * vertices + (1.0, 2.0, 3.0)
    rest = rest_shape_from_arrays(vertices, faces, up=up)
    back = rest.vertices @ rest.unit_to_file[:3, :3].T + rest.unit_to_file[:3, 3]
    np.testing.assert_allclose(back, vertices, atol=1e-14)
    assert np.linalg.det(rest.unit_to_file[:3, :3]) > 0


def test_y_up_input_is_turned_to_z_up() -> None:
    """What points along Y in a Y-up mesh points along Z in the unit frame."""
    vertices, faces = _box()
    rest = rest_shape_from_arrays(vertices, faces, up=UpAxis.Y)
    np.testing.assert_allclose(np.ptp(rest.vertices, axis=0), (2 / 3, 2.0, 4 / 3), atol=1e-12)
    assert rest.vertices[np.argmax(vertices[:, 1]), 2] > 0


def test_clean_input_keeps_its_numbering() -> None:
    """A mesh that needs no repair keeps the order of its vertices and triangles."""
    sphere = trimesh.creation.icosphere(subdivisions=2)
    rest = rest_shape_from_arrays(sphere.vertices, sphere.faces)
    np.testing.assert_array_equal(rest.faces, sphere.faces)
    np.testing.assert_array_equal(rest.render_parts[0].faces, sphere.faces)
    np.testing.assert_array_equal(rest.render_parts[0].sim_index, np.arange(len(sphere.vertices)))


def test_triangle_soup_welds_into_a_closed_surface() -> None:
    """Triangles that share no vertices become one closed mesh, even if corners differ a bit."""
    vertices, faces = _box()
    rng = np.random.default_rng(0)
    soup = vertices[faces].reshape(-1, 3) + rng.uniform(-2e-6, 2e-6, (3 * len(faces), 3))
    rest = rest_shape_from_arrays(soup, np.arange(len(soup)).reshape(-1, 3))
    assert len(rest.vertices) == 8
    assert rest.solid
    assert rest.report.vertices_welded == 28


def test_render_vertices_equal_their_simulation_vertices() -> None:
    """Every render vertex lies exactly on the simulation vertex that drives it."""
    vertices, faces = _box()
    part = rest_shape_from_arrays(vertices, faces).render_parts[0]
    rest = rest_shape_from_arrays(vertices, faces)
    np.testing.assert_array_equal(part.vertices, rest.vertices[part.sim_index].astype(np.float32))
    np.testing.assert_array_equal(part.sim_index[part.faces], rest.faces)


def test_box_without_normals_gets_hard_edges() -> None:
    """A mesh without normals is split at creases: a box is drawn with 24 corners and flat sides."""
    part = rest_shape_from_arrays(*_box()).render_parts[0]
    assert len(part.vertices) == 24
    np.testing.assert_allclose(np.abs(part.normals).max(axis=1), 1.0, atol=1e-6)


def test_useless_triangles_and_vertices_are_removed() -> None:
    """Degenerate and repeated triangles and unused vertices go, and the report counts them."""
    vertices, faces = _box()
    vertices = np.concatenate((vertices, [(50.0, 50.0, 50.0), (np.nan, 0.0, 0.0)]))
    extra = [[0, 0, 1], faces[0][::-1].tolist(), faces[1].tolist()]
    rest = rest_shape_from_arrays(vertices, np.concatenate((faces, extra)))
    report = rest.report
    assert (report.degenerate_faces, report.duplicate_faces, report.vertices_unused) == (1, 2, 2)
    assert (len(rest.vertices), len(rest.faces)) == (8, 12)
    assert rest.solid


def test_components_and_open_edges_are_counted() -> None:
    """Two pieces are two components; a missing triangle leaves three open edges and no solid."""
    vertices, faces = _box()
    both = np.concatenate((vertices, vertices + 9.0))
    rest = rest_shape_from_arrays(both, np.concatenate((faces, faces[1:] + 8)))
    assert rest.report.components == 2
    np.testing.assert_array_equal(rest.component, np.repeat((0, 1), 8))
    assert not rest.solid
    assert (rest.report.open_edges, rest.report.crowded_edges) == (3, 0)


def test_winding_is_made_consistent_and_outward() -> None:
    """Turned triangles are turned back, in the simulation mesh and in what is drawn."""
    vertices, faces = _box()
    mixed = faces.copy()
    mixed[[0, 3, 4, 5, 7, 9, 11]] = mixed[[0, 3, 4, 5, 7, 9, 11], ::-1]
    for wrong, turned in ((mixed, 7), (faces[:, ::-1], 12)):
        rest = rest_shape_from_arrays(vertices, wrong)
        assert rest.report.flipped_faces == turned
        assert _volume(rest) == pytest.approx(_volume(rest_shape_from_arrays(vertices, faces)))
        part = rest.render_parts[0]
        np.testing.assert_array_equal(part.sim_index[part.faces], rest.faces)


def test_cavity_stays_a_cavity() -> None:
    """A closed piece facing inward inside another one bounds a cavity and is left alone."""
    vertices, faces = _box()
    hollow = np.concatenate((vertices, 0.5 * vertices))
    rest = rest_shape_from_arrays(hollow, np.concatenate((faces, faces[:, ::-1] + 8)))
    assert rest.report.flipped_faces == 0


def test_moebius_strip_is_left_as_it_is() -> None:
    """A surface that cannot be oriented keeps its winding."""
    turns = np.linspace(0, 2 * np.pi, 24, endpoint=False)
    rim = [
        (
            (1 + s * np.cos(t / 2)) * np.cos(t),
            (1 + s * np.cos(t / 2)) * np.sin(t),
            s * np.sin(t / 2),
        )
        for t in turns
        for s in (-0.3, 0.3)
    ]
    quads = [(2 * k, 2 * k + 1, 2 * k + 3, 2 * k + 2) for k in range(23)] + [(46, 47, 0, 1)]
    faces = np.array([f for a, b, c, d in quads for f in ((a, b, c), (a, c, d))])
    assert rest_shape_from_arrays(rim, faces).report.flipped_faces == 0


def test_arrays_are_read_only() -> None:
    """Nothing in a rest shape can be written."""
    rest = rest_shape_from_arrays(*_box())
    part = rest.render_parts[0]
    arrays = (rest.vertices, rest.faces, rest.component, rest.unit_to_file)
    for array in (*arrays, part.vertices, part.faces, part.normals, part.sim_index):
        assert not array.flags.writeable
    assert rest.vertices.dtype == np.float64
    assert rest.faces.dtype == rest.component.dtype == part.sim_index.dtype == np.int32


def test_result_does_not_change_between_runs() -> None:
    """The same arrays give the same bits."""
    vertices, faces = _box()
    one, two = (rest_shape_from_arrays(vertices, faces) for _ in range(2))
    assert one.vertices.tobytes() == two.vertices.tobytes()
    assert one.render_parts[0].normals.tobytes() == two.render_parts[0].normals.tobytes()
    assert one.report == two.report


@pytest.mark.parametrize(
    ("vertices", "faces", "said"),
    [
        (np.zeros((4, 3)), [[0, 1, 2]], "no size"),
        (np.zeros((0, 3)), np.zeros((0, 3)), "no triangles"),
        ([[0, 0, 0], [1, 0, 0], [2, 0, 0]], [[0, 1, 2]], "area"),
        ([[0, 0, 0], [1, 0, 0], [0, np.inf, 0]], [[0, 1, 2]], "not finite"),
        ([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 3]], "not there"),
        ([[0, 0], [1, 0], [0, 1]], [[0, 1, 2]], "shape"),
        ([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2, 0]], "shape"),
    ],
)
def test_arrays_without_a_surface_are_refused(vertices: object, faces: object, said: str) -> None:
    """Arrays that hold no surface are refused with the reason."""
    with pytest.raises(MeshError, match=said):
        rest_shape_from_arrays(vertices, faces)
