"""Articulated objects: parts that stay rigid, joints that are where they should be, and skins over all of them."""

from __future__ import annotations

import numpy as np
import pytest
import trimesh
from scipy.spatial.transform import Rotation

from engine.datasets.articulated.assembly import (
    MAX_TURN,
    Assembly,
    Joint,
    Layout,
    X,
    Y,
    Z,
    draw_coordinates,
    sweep,
)
from engine.datasets.articulated.families import FAMILIES
from engine.datasets.articulated.mesh_field import surface_of_part
from engine.datasets.articulated.welding import sweep_welded
from engine.datasets.motion import Motion
from engine.datasets.shapes.primitives import box, cylinder, placed

FRAMES = 24


def _angles(rotations: np.ndarray) -> np.ndarray:
    return 2 * np.arccos(np.clip(np.abs(rotations[..., 0]), 0, 1))


def _fitted_error(motion: Motion) -> float:
    """Return the largest distance of a vertex from where the best rigid motion of its part puts it."""
    assert motion.part is not None
    worst = 0.0
    rest = motion.positions[0].astype(np.float64)
    for part in np.unique(motion.part[motion.part >= 0]):
        rows = motion.part == part
        x = rest[rows] - rest[rows].mean(0)
        for frame in motion.positions[1::5].astype(np.float64):
            y = frame[rows] - frame[rows].mean(0)
            u, _, vt = np.linalg.svd(x.T @ y)
            flip = np.diag([1, 1, np.sign(np.linalg.det(u @ vt))])
            worst = max(worst, float(np.abs(x @ u @ flip @ vt - y).max()))
    return worst


def _two_boxes(*, slides: bool = False) -> Assembly:
    assembly = Assembly(fixed=True)
    base = assembly.add(box((1, 1, 1)))
    assembly.add(placed(box((1, 1, 1)), (0, 0, 1.001)), base, Joint(X, np.array([0, 0.5, 0.5]), -1.0, 0.0, slides))
    return assembly


def test_there_are_many_families_in_every_layout_and_most_are_round() -> None:
    """The table has at least 30 families, all five layouts, and more round families than boxy ones."""
    assert len(FAMILIES) >= 30
    assert {family.layout for family in FAMILIES.values()} == set(Layout)
    assert len(Layout) >= 5
    assert sum(not family.boxy for family in FAMILIES.values()) >= len(FAMILIES) / 2


def test_joint_counts_go_from_one_to_twenty() -> None:
    """Objects have between 1 and 20 joint coordinates, and both ends occur."""
    counts = {FAMILIES[name].make(np.random.default_rng(seed)).joint_count for name in FAMILIES for seed in range(4)}
    assert min(counts) == 1
    assert max(counts) == 20


@pytest.mark.parametrize("name", FAMILIES)
def test_parts_are_closed_and_touch_their_parents(name: str) -> None:
    """Every mesh is a closed solid, and each part comes within one percent of the size to its parent."""
    for seed in range(2):
        rng = np.random.default_rng(seed)
        assembly = FAMILIES[name].make(rng)
        assert all(mesh.is_watertight and mesh.volume > 0 for group in assembly.parts for mesh in group)
        size = assembly.extent
        surfaces = [surface_of_part(group, rng, pitch=0.02 * size) for group in assembly.parts]
        for part, parent in enumerate(assembly.parents):
            if parent >= 0:
                there = surfaces[parent].distance(surfaces[part].points)[0].min()
                back = surfaces[part].distance(surfaces[parent].points)[0].min()
                assert min(there, back) < 0.01 * size, (part, parent)


@pytest.mark.parametrize("name", FAMILIES)
def test_a_sweep_moves_rigid_parts_within_the_bounds(name: str) -> None:
    """Parts stay rigid to 1e-5 of the size, the stated rotations are theirs, and frame 0 is the rest pose."""
    rng = np.random.default_rng(7)
    assembly = FAMILIES[name].make(rng)
    motion = sweep(assembly, rng, frames=FRAMES, family=name)
    assert motion.family == f"articulated/{name}"
    assert motion.fixed == assembly.fixed
    assert motion.part is not None
    assert 300 <= motion.positions.shape[1] <= 20_000
    assert _fitted_error(motion) < 1e-5 * assembly.extent
    rest = np.concatenate([mesh.vertices.mean(0, keepdims=True) for group in assembly.parts for mesh in group])
    assert np.abs(motion.positions[0].mean(0) - rest.mean(0)).max() < assembly.extent
    assert np.allclose(motion.rotations[0], (1, 0, 0, 0))
    for part in range(len(assembly.parts)):
        rows = np.flatnonzero(motion.part == part)
        turn = Rotation.from_quat(motion.rotations[:, rows[0]], scalar_first=True)
        span = (motion.positions[0, rows[-1]] - motion.positions[0, rows[0]]).astype(float)
        now = motion.positions[:, rows[-1]] - motion.positions[:, rows[0]]
        assert np.allclose(turn.apply(span), now, atol=2e-5 * assembly.extent)
    assert np.linalg.norm(np.ptp(motion.positions, axis=0), axis=1).max() > 0.02 * assembly.extent


@pytest.mark.parametrize("name", FAMILIES)
def test_every_joint_comes_near_a_limit_alone(name: str) -> None:
    """Each joint stands alone within a tenth of a limit in some frame, and no part turns by more than 150 degrees."""
    rng = np.random.default_rng(3)
    assembly = FAMILIES[name].make(rng)
    coordinates = draw_coordinates(assembly, rng, frames=FRAMES)
    low, high = assembly.limits
    assert (coordinates >= low - 1e-12).all()
    assert (coordinates <= high + 1e-12).all()
    assert not coordinates[0].any()
    alone = coordinates[(coordinates != 0).sum(1) == 1]
    share = np.abs(alone) / np.maximum(-low, high)
    assert (share.max(0) > 0.9).all()
    if len(low) > 1:
        assert ((coordinates != 0).sum(1) > 1).sum() >= 2
    turns = assembly.poses(coordinates)[..., :3, :3].reshape(-1, 3, 3)
    assert Rotation.from_matrix(turns).magnitude().max() <= MAX_TURN + 1e-6


@pytest.mark.parametrize("name", FAMILIES)
def test_a_seed_gives_one_object_and_one_motion(name: str) -> None:
    """The same seed gives the same bytes."""
    first, second = (
        sweep(FAMILIES[name].make(rng), rng, frames=6, family=name)
        for rng in (np.random.default_rng(5), np.random.default_rng(5))
    )
    assert first.positions.tobytes() == second.positions.tobytes()
    assert first.rotations.tobytes() == second.rotations.tobytes()
    assert first.faces.tobytes() == second.faces.tobytes()


def test_a_hinge_turns_about_its_axis_and_a_slide_goes_along_it() -> None:
    """A hinge carries (0, 1, 0) by 90 degrees about X through (0, 1, 1) to (0, 2, 1) less its arm; a slide adds."""
    hinge = _two_boxes()
    pose = hinge.transforms(np.array([-0.5 * np.pi]))[1]
    assert np.allclose(pose @ [0, -0.5, 0.5, 1], [0, 0.5, 1.5, 1])
    slide = _two_boxes(slides=True)
    assert np.allclose(slide.transforms(np.array([-0.4]))[1] @ [1, 2, 3, 1], [0.6, 2, 3, 1])


def test_turns_that_would_add_up_are_drawn_back() -> None:
    """In a chain whose joints allow 40 degrees each, no link ever turns by more than 150 on its way."""
    assembly, parent = Assembly(), -1
    for i in range(12):
        link = placed(cylinder(0.2, 1.0, sections=8), (0, 0, i))
        joints = [Joint(Y, np.array([0, 0, i - 0.5]), 0.0, 0.7)] if i else []
        parent = assembly.add(link, parent, *joints)
    coordinates = draw_coordinates(assembly, np.random.default_rng(0), frames=40)
    assert coordinates.sum(1).max() <= MAX_TURN + 1e-9
    assert coordinates.sum(1).max() > 0.8 * MAX_TURN


def test_only_what_is_not_fixed_tumbles() -> None:
    """The base of a fixed object stays where it is; that of a loose one is moved and turned."""
    for fixed in (True, False):
        assembly = _two_boxes()
        assembly.fixed = fixed
        motion = sweep(assembly, np.random.default_rng(0), frames=8, family="boxes")
        assert motion.part is not None
        base = motion.positions[:, motion.part == 0]
        assert np.allclose(base, base[0]) == fixed


@pytest.mark.parametrize("name", FAMILIES)
def test_a_welded_object_is_one_closed_skin_that_moves(name: str) -> None:
    """The skin is one closed component that follows the parts; slides are refused, and three tries are enough."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        assembly = FAMILIES[name].make(rng)
        if assembly.slides:
            with pytest.raises(ValueError, match="slides cannot be welded"):
                sweep_welded(assembly, rng, frames=FRAMES, family=name)
            return
        try:
            motion = sweep_welded(assembly, rng, frames=FRAMES, family=name)
        except ValueError:
            continue
        break
    else:
        pytest.fail("no skin in three tries")
    mesh = trimesh.Trimesh(motion.positions[0], motion.faces, process=False)
    assert mesh.is_watertight
    assert mesh.volume > 0
    assert trimesh.graph.connected_component_labels(mesh.edges, len(mesh.vertices)).max() == 0
    assert not motion.component.any()
    assert 400 <= len(mesh.vertices) <= 8_000
    assert np.isfinite(motion.positions).all()
    assert np.allclose(np.linalg.norm(motion.rotations, axis=-1), 1, atol=1e-5)
    assert _fitted_error(motion) < 0.02 * mesh.scale
    edges = motion.positions[:, mesh.edges_unique[:, 0]] - motion.positions[:, mesh.edges_unique[:, 1]]
    lengths = np.linalg.norm(edges, axis=-1)
    assert (lengths[1:] / np.median(lengths[0]) > 5).mean() < 0.01
    assert motion.part is not None
    assert len(np.unique(motion.part[motion.part >= 0])) >= 0.5 * len(assembly.parts)
    assert np.linalg.norm(np.ptp(motion.positions, axis=0), axis=1).max() > 0.02 * mesh.scale


def test_a_welded_lid_is_joined_at_its_hinge_alone() -> None:
    """Two boxes on a hinge become one skin whose boxes turn against each other by the joint's angle."""
    rng = np.random.default_rng(0)
    motion = sweep_welded(_two_boxes(), rng, frames=16, family="boxes")
    assert motion.part is not None
    angles = _angles(motion.rotations)
    assert angles[:, motion.part == 0].max() < 1e-3
    assert 0.5 < angles[:, motion.part == 1].max() < 1.0
    assert (motion.part == 1).sum() > 100
    turn = Rotation.from_quat(motion.rotations[:, motion.part == 1][:, 0], scalar_first=True).as_rotvec()
    assert np.abs(turn @ np.stack((Y, Z), 1)).max() < 1e-3


def test_a_welded_skin_is_the_same_for_the_same_seed() -> None:
    """The same seed gives the same bytes, grid and samples included."""
    first, second = (
        sweep_welded(FAMILIES["octopus"].make(rng), rng, frames=4, family="octopus")
        for rng in (np.random.default_rng(1), np.random.default_rng(1))
    )
    assert first.positions.tobytes() == second.positions.tobytes()
    assert first.faces.tobytes() == second.faces.tobytes()
