"""Each augmentation does what it says to a pair, and switched off it does nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.spatial.transform import Rotation

from engine.datasets.augmentation import Augmentation, random_frames, random_stretches, without_a_component
from engine.datasets.motion import Motion
from engine.datasets.pairs import PairBatch, Sampling, draw_batch
from engine.datasets.sampling import SampledMotion, sample_states
from engine.geometry.dual_quaternion import quaternion_rotate, quaternion_to_matrix
from tests.engine.datasets.moving import hinge_motion, rigid_motion

SAMPLING = Sampling(point_count=64, seed_count=6, frames=3)
NONE = Augmentation.none()
PLAIN = Augmentation.plain()


def _sampled(motion: Motion, **changes: str) -> SampledMotion:
    sampled = sample_states(motion, np.random.default_rng(0), key="a", name="a", split="train")
    return replace(sampled, record=replace(sampled.record, **changes))


def _drawn(motion: SampledMotion, augmentation: Augmentation, *, seed: int = 3, count: int = 4) -> PairBatch:
    return draw_batch([motion] * count, np.random.default_rng(seed), SAMPLING, augmentation=augmentation)


def test_without_augmentation_an_object_is_as_it_was_made() -> None:
    """The rest shape is the first state, untouched, and its samples are always the same."""
    hinge = _sampled(hinge_motion())
    one, two = _drawn(hinge, NONE), _drawn(hinge, NONE, seed=4)
    assert torch.equal(one.points, two.points)
    assert torch.equal(one.points[0], one.points[1])
    assert one.noise is None
    whole = torch.from_numpy(hinge.points[0].astype(np.float32))
    nearest = torch.cdist(one.points[0], (whole - 0.5 * (whole.amax(0) + whole.amin(0)))).amin(1)
    assert float(nearest.max()) < 2e-3


def test_plain_pairs_vary_states_and_samples_alone() -> None:
    """Any state may be the rest shape, samples differ, and nothing is turned: the hinge's lower box lies flat."""
    hinge = _sampled(hinge_motion())
    batch = _drawn(hinge, PLAIN)
    assert not torch.equal(batch.points[0], batch.points[1])
    lower = batch.component == 0
    flat = batch.normals[lower].abs().amax(-1)
    torch.testing.assert_close(flat, torch.ones_like(flat), atol=0.01, rtol=0)


def test_frames_are_turned_and_mirrored_in_their_shares() -> None:
    """All frames are orthogonal; up stays up but for the shares of other axes; the share of mirror images is right."""
    rng = np.random.default_rng(0)
    frames = random_frames(4000, Augmentation(sideways=0.3, tumbled=0.1, mirrored=0.4), rng)
    np.testing.assert_allclose(frames @ frames.transpose(0, 2, 1), np.tile(np.eye(3), (4000, 1, 1)), atol=1e-12)
    assert np.mean(np.linalg.det(frames) < 0) == pytest.approx(0.4, abs=0.03)
    up = frames[:, :, 2]
    assert np.mean(np.isclose(up[:, 2], 1.0)) == pytest.approx(0.6, abs=0.03)
    assert np.mean(np.isclose(up[:, 2], 0.0)) == pytest.approx(0.3, abs=0.03)
    np.testing.assert_array_equal(random_frames(3, NONE, rng), np.tile(np.eye(3), (3, 1, 1)))


@pytest.mark.parametrize("canonical", [False, True])
def test_a_turned_pair_is_the_pair_turned(canonical: bool) -> None:
    """Turned, sideways, mirrored or read at its canonical yaw, each part still moves by its own rotation."""
    hinge = _sampled(hinge_motion(tumbling=True))
    augmentation = replace(Augmentation.turns(), tumbled=0.5, sideways=0.3)
    sampling = replace(SAMPLING, canonical=canonical)
    batch = draw_batch([hinge] * 8, np.random.default_rng(5), sampling, augmentation=augmentation)
    _assert_parts_are_rigid(batch)


def _assert_parts_are_rigid(batch: PairBatch) -> None:
    for row in range(len(batch.deformed)):
        rest, component = batch.points[row // batch.frames], batch.component[row // batch.frames]
        for part in component.unique():
            own = component == part
            turned = quaternion_rotate(batch.rotation[row][own], rest[own] - rest[own][:1])
            moved = batch.deformed[row][own] - batch.deformed[row][own][:1]
            torch.testing.assert_close(turned, moved, atol=6e-3, rtol=0)


def _bending(*, bend: float) -> Motion:
    """Return a soft bar along x, bent about z to an arc, with the exact rotation of each vertex."""
    from trimesh.creation import box

    mesh = box((2.0, 0.3, 0.2)).subdivide().subdivide().subdivide()
    rest = np.asarray(mesh.vertices)
    angle = bend * rest[:, 0]
    radius = 1.0 / bend
    arc = np.stack(
        (np.sin(angle) * (radius - rest[:, 1]), radius - np.cos(angle) * (radius - rest[:, 1]), rest[:, 2]), 1
    )
    turns = Rotation.from_rotvec(angle[:, None] * np.array([0.0, 0.0, 1.0])).as_quat(scalar_first=True)
    still = np.tile([1.0, 0.0, 0.0, 0.0], (len(rest), 1))
    positions, rotations = np.stack((rest, arc)).astype(np.float32), np.stack((still, turns)).astype(np.float32)
    component = np.zeros(len(rest), dtype=np.int32)
    return Motion("elastic/bar", np.asarray(mesh.faces, np.int32), component, positions, rotations)


def test_stretches_are_symmetric_and_bounded() -> None:
    """A stretch has its principal factors within bounds, one axis upright, and is given to bodies that may strain."""
    kinds = ["elastic", "articulated", "cloth", "imported", "rigid", "continuum"] * 50
    chosen, stretches = random_stretches(kinds, Augmentation(stretched=1.0, stretch=1.5), np.random.default_rng(0))
    assert {kind for kind, own in zip(kinds, chosen, strict=True) if own} == {"elastic", "rigid", "continuum"}
    np.testing.assert_allclose(stretches, stretches.transpose(0, 2, 1), atol=1e-12)
    factors = np.linalg.eigvalsh(stretches)
    assert factors.min() > 1 / 1.5 - 1e-9
    assert factors.max() < 1.5 + 1e-9
    assert np.ptp(factors) > 0.6
    np.testing.assert_allclose(stretches[:, 2, :2], 0.0, atol=1e-12)
    assert not random_stretches(kinds, NONE, np.random.default_rng(0))[0].any()


def test_a_stretched_body_is_stretched_in_both_states() -> None:
    """Up to a rigid motion, rest and deformed points are one linear map of those of the pair that is not stretched."""
    bar = _sampled(_bending(bend=0.8))
    plain, wide = (_drawn(bar, replace(PLAIN, stretched=share)) for share in (0.0, 1.0))
    row = next(i for i in range(4) if float((plain.points[i] - plain.deformed[3 * i]).abs().max()) > 0.05)
    before, after = plain.points[row].double(), wide.points[row].double()
    centred = after - after.mean(0)
    linear = torch.linalg.lstsq(before - before.mean(0), centred).solution
    torch.testing.assert_close((before - before.mean(0)) @ linear, centred, atol=3e-3, rtol=0)
    factors = torch.linalg.svdvals(linear)
    assert float(factors.max() / factors.min()) > 1.05
    # The state B is stretched by the same map, and then carried back by the rigid fit.
    moved = (plain.deformed[3 * row].double() - plain.deformed[3 * row].double().mean(0)) @ linear
    target = wide.deformed[3 * row].double()
    u, _, vt = torch.linalg.svd(moved.T @ (target - target.mean(0)))
    torch.testing.assert_close(moved @ u @ vt, target - target.mean(0), atol=5e-3, rtol=0)


def test_rotations_of_a_stretched_body_are_those_of_its_pieces() -> None:
    """Two pieces that turned rigidly become affine maps; the rotation that is given is the polar factor of each."""
    pieces = _sampled(hinge_motion(family="elastic/hinge"))
    batch = _drawn(pieces, replace(PLAIN, stretched=1.0, stretch=1.5))
    largest = 0.0
    for row in range(len(batch.deformed)):
        rest, component = batch.points[row // 3].double(), batch.component[row // 3]
        for piece in (0, 1):
            own = component == piece
            before, after = (x[own] - x[own].mean(0) for x in (rest, batch.deformed[row].double()))
            # Rows are points: after = before @ gradient.T
            gradient = torch.linalg.lstsq(before, after).solution.T
            u, _, vt = torch.linalg.svd(gradient)
            turns = quaternion_to_matrix(batch.rotation[row][own].double())
            torch.testing.assert_close(turns, (u @ vt).expand_as(turns), atol=0.005, rtol=0)
            largest = max(largest, float((gradient - u @ vt).abs().max()))
    # The maps are no rotations, or the test would hold without the polar decomposition.
    assert largest > 0.1


def test_a_stretched_rigid_body_stays_rigid() -> None:
    """A body that moves as a whole is another rigid body after the stretch."""
    batch = _drawn(_sampled(rigid_motion()), replace(PLAIN, stretched=1.0))
    still = batch.points.repeat_interleave(batch.frames, 0)
    torch.testing.assert_close(batch.deformed, still, atol=2e-3, rtol=0)
    torch.testing.assert_close(batch.normals.norm(dim=-1), torch.ones(4, 64), atol=0.02, rtol=0)


def test_noise_is_shown_to_the_encoders_alone() -> None:
    """Target and samples are those of the pair without noise; what is seen departs by the given amount."""
    hinge = _sampled(hinge_motion())
    noisy = replace(PLAIN, noisy=1.0, position_noise=0.01, normal_noise=0.1)
    clean, batch = _drawn(hinge, PLAIN), _drawn(hinge, noisy)
    assert batch.noise is not None
    for name in ("points", "normals", "deformed", "rotation"):
        assert torch.equal(getattr(clean, name), getattr(batch, name)), name
    assert float((batch.seen_points - batch.points).std()) == pytest.approx(0.01, rel=0.1)
    assert float((batch.seen_deformed - batch.deformed).std()) == pytest.approx(0.01, rel=0.1)
    torch.testing.assert_close(batch.seen_normals.norm(dim=-1), torch.ones(4, 64))
    assert float((batch.seen_normals - batch.normals).std()) == pytest.approx(0.08, abs=0.03)
    assert torch.equal(clean.seen_points, clean.points)
    some = _drawn(hinge, replace(noisy, noisy=0.5), count=16)
    shown = (some.seen_points != some.points).flatten(1).any(1)
    assert 2 < int(shown.sum()) < 14


def test_a_dropped_part_is_gone() -> None:
    """One of two parts is left, it fills the unit frame, and is aligned by itself: a hinge's half stands still."""
    batch = _drawn(_sampled(hinge_motion()), replace(PLAIN, dropped=1.0))
    assert all(len(component.unique()) == 1 for component in batch.component)
    torch.testing.assert_close(batch.deformed, batch.points.repeat_interleave(3, 0), atol=3e-3, rtol=0)


def test_what_is_left_of_an_object_is_most_of_it() -> None:
    """The one large part is never dropped, and an object of one part loses nothing."""
    rng = np.random.default_rng(0)
    component = np.array([0] * 70 + [1] * 20 + [2] * 10)
    left = [set(component[without_a_component(component, rng)]) for _ in range(20)]
    assert all(0 in names and len(names) == 2 for names in left)
    assert len(without_a_component(np.zeros(5, dtype=int), rng)) == 5
