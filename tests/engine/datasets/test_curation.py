"""Each fault of a frame is found and counted, and what is kept differs from frame to frame."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from engine.datasets.curation import Reason, Rejected, curate
from engine.datasets.intersection import buried_share, piercing_share
from tests.engine.datasets.moving import hinge_motion, rigid_motion


def test_good_frames_are_kept_in_order_with_the_rest_first() -> None:
    """A hinge's frames all differ: all are kept, nothing is counted."""
    motion, counts = hinge_motion(tumbling=True), Counter[str]()
    kept = curate(motion, keep=20, counts=counts)
    np.testing.assert_array_equal(kept.positions, motion.positions)
    assert not counts


def test_states_are_chosen_by_shape_and_not_by_place() -> None:
    """Of frames that differ by a rigid motion alone, one is kept."""
    motion = hinge_motion()
    moved = motion.positions + np.array([3, 0, 0], np.float32)
    doubled = replace(
        motion,
        positions=np.concatenate([motion.positions, moved]),
        rotations=np.concatenate([motion.rotations, motion.rotations]),
    )
    counts = Counter[str]()
    kept = curate(doubled, keep=20, counts=counts)
    assert len(kept.positions) == len(motion.positions)
    assert counts == {Reason.DUPLICATE: len(motion.positions)}


def test_more_states_than_are_kept_are_counted_apart() -> None:
    """With room for three states, the rest and the two farthest from it and one another stay."""
    counts = Counter[str]()
    kept = curate(hinge_motion(frames=7), keep=3, counts=counts)
    assert len(kept.positions) == 3
    assert counts == {Reason.SURPLUS: 4}
    np.testing.assert_array_equal(kept.positions[2], hinge_motion(frames=7).positions[6])


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (lambda x: np.where(np.arange(len(x))[:, None] == 3, np.nan, x), Reason.NON_FINITE),
        (lambda x: x * 8.0, Reason.EXPLODED),
        (lambda x: x * np.array([1, 1, -1]), Reason.INVERTED),
    ],
    ids=["non-finite", "exploded", "inverted"],
)
def test_a_bad_frame_is_left_out_and_counted(fault, reason: Reason) -> None:
    """Each fault of one frame is found by its name; the other frames stay."""
    motion = hinge_motion()
    positions = motion.positions.copy()
    positions[2] = fault(positions[2])
    counts = Counter[str]()
    kept = curate(replace(motion, positions=positions), keep=20, counts=counts)
    assert counts == {reason: 1}
    assert len(kept.positions) == len(motion.positions) - 1


def test_a_part_drawn_through_another_is_self_penetrating() -> None:
    """A lid pushed halfway into its box is found; closed on it, it is not."""
    motion = hinge_motion()
    positions = motion.positions.copy()
    lid = motion.part == 1
    positions[3, lid] = positions[0, lid] + np.array([0.13, 0.07, -0.11], np.float32)
    vertices = np.arange(len(motion.component))
    assert buried_share(motion.positions[0].astype(float), motion.faces, motion.component, vertices) == 0.0
    # What is buried by definition: of each box's vertices, those within the bounds of the other box.
    expected = 0
    for part in (0, 1):
        own, other = positions[3, motion.part == part], positions[3, motion.part != part]
        expected += ((own > other.min(0)) & (own < other.max(0))).all(-1).sum()
    share = buried_share(positions[3].astype(float), motion.faces, motion.component, vertices)
    assert share == expected / len(vertices) > 0.08
    counts = Counter[str]()
    curate(replace(motion, positions=positions), keep=20, counts=counts)
    assert counts[Reason.PIERCING] == 1


def test_a_surface_folded_through_itself_is_found_by_its_edges() -> None:
    """Of two crossed sheets, the edges that cross are those on both sides of the other sheet's plane."""
    n = 9
    u, v = np.meshgrid(np.linspace(-1, 1, n), np.linspace(-1, 1, n), indexing="ij")
    index = np.arange(n * n).reshape(n, n)
    a, b, c, d = (x.ravel() for x in (index[:-1, :-1], index[1:, :-1], index[1:, 1:], index[:-1, 1:]))
    faces = np.concatenate([np.stack((a, b, c), -1), np.stack((a, c, d), -1)])
    one = np.stack((u, v, 0 * u), -1).reshape(-1, 3)
    two = np.stack((0 * u + 0.03, u * 0.9 + 0.017, v * 0.9 + 0.02), -1).reshape(-1, 3)
    points = np.concatenate([one, two])
    both = np.concatenate([faces, faces + len(one)])
    edges = np.unique(np.sort(both[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1), axis=0)
    crossing = 0
    for start, end in edges:
        axis, bound = (2, 1) if start >= len(one) else (0, 0.9)
        offset = 0.0 if start >= len(one) else 0.03
        p, q = points[start], points[end]
        if (p[axis] - offset) * (q[axis] - offset) < 0:
            at = p + (q - p) * (offset - p[axis]) / (q[axis] - p[axis])
            crossing += bool((np.abs(np.delete(at - (0 if bound == 1 else [0, 0.017, 0.02]), axis)) < bound).all())
    assert piercing_share(points, both, edges) == crossing / len(edges) > 0


def test_what_hardly_moves_is_rejected_but_for_rigid_bodies() -> None:
    """A body that only tumbles is refused as elastic and kept as rigid, in a few states."""
    body = rigid_motion(frames=8)
    with pytest.raises(Rejected) as refusal:
        curate(replace(body, family="elastic/box"), keep=20, counts=Counter())
    assert refusal.value.reason == Reason.STILL
    assert len(curate(body, keep=20, counts=Counter()).positions) == 3


def test_a_motion_without_a_usable_rest_shape_is_rejected() -> None:
    """A rest shape of no extent, of no triangles or not finite has nothing to sample."""
    motion = hinge_motion()
    flat = motion.positions.copy()
    flat[0] = 0
    broken = motion.positions.copy()
    broken[0, 0] = np.inf
    for bad in (
        replace(motion, positions=flat),
        replace(motion, positions=broken),
        replace(motion, faces=motion.faces[:0]),
    ):
        with pytest.raises(Rejected) as refusal:
            curate(bad, keep=20, counts=Counter())
        assert refusal.value.reason == Reason.EMPTY
