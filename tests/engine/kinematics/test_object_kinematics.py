"""Laws of the kinematics: rest, Jacobian, equivariance, mass matrix."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.spatial.transform import Rotation

from engine.geometry.rest_shape import RestShape, rest_shape_from_arrays
from engine.kinematics.mass_points import area_moments, build_mass_points, volume_moments
from engine.kinematics.object_kinematics import ObjectKinematics
from engine.kinematics.reduction import ReductionKind
from engine.model.checkpoint import Checkpoint, random_checkpoint
from engine.model.motions import MotionKind
from engine.model.variational_autoencoder import DecoderKind, ModelConfig


@pytest.mark.parametrize("name", ["bean", "laptop", "block"])
def test_rest_is_exact(name: str, request: pytest.FixtureRequest, checkpoint: Checkpoint) -> None:
    """Decoding at q = 0 gives the rest mesh to 1e-6 of size."""
    rest: RestShape = request.getfixturevalue(name)
    kinematics = ObjectKinematics(rest, checkpoint)
    decoded = kinematics.decode(np.zeros(kinematics.k_q))
    assert np.abs(decoded - rest.vertices).max() < 1e-6 * rest.size


def test_untrained_network_keeps_rest(laptop: RestShape) -> None:
    """Rest is exact by construction, not by training."""
    kinematics = ObjectKinematics(laptop, random_checkpoint(), reduction=ReductionKind.NONE)
    assert np.abs(kinematics.decode(np.zeros(kinematics.k_q)) - laptop.vertices).max() < 1e-6 * laptop.size


def test_jacobian_agrees_with_finite_differences(laptop: RestShape, checkpoint: Checkpoint) -> None:
    """Tangents of positions and rotations agree with central differences in float64 to 1e-5."""
    kinematics = ObjectKinematics(laptop, checkpoint, dtype=torch.float64)
    assert kinematics.k_q > 0
    q = np.random.default_rng(0).normal(size=kinematics.k_q)
    rest = torch.as_tensor(kinematics.sample_points)

    def driven(at: np.ndarray):
        return kinematics.points(kinematics.handles_with_tangents(at), kinematics.sample_weights, rest)

    here, step = driven(q), 1e-5
    for i in range(kinematics.k_q):
        offset = step * np.eye(kinematics.k_q)[i]
        above, below = driven(q + offset), driven(q - offset)
        slope = (above.positions - below.positions) / (2 * step)
        turn = (above.rotations - below.rotations) / (2 * step)
        assert (slope - here.position_tangents[:, i]).abs().max() < 1e-5
        assert (turn - here.rotation_tangents[:, i]).abs().max() < 1e-5


def test_handles_agree_with_their_tangent_form(laptop_kinematics: ObjectKinematics) -> None:
    """The cheap decode and the one with tangents give the same handles."""
    q = np.random.default_rng(1).normal(size=laptop_kinematics.k_q)
    plain = laptop_kinematics.handles(q)
    assert torch.allclose(plain, laptop_kinematics.handles_with_tangents(q)[0], atol=1e-6)


def test_moved_and_scaled_object_moves_the_same_way(laptop: RestShape, checkpoint: Checkpoint) -> None:
    """Equivariance: the object moved and scaled decodes to the same unit-frame shape at the same q, to 1e-5."""
    other = rest_shape_from_arrays(laptop.vertices * 37.0 + np.array([5.0, -900.0, 3.0]), laptop.faces)
    a, b = ObjectKinematics(laptop, checkpoint), ObjectKinematics(other, checkpoint)
    assert a.k_q == b.k_q
    q = np.random.default_rng(2).normal(size=a.k_q)
    assert np.abs(a.decode(q) - b.decode(q)).max() < 1e-5 * laptop.size


def test_mass_points_reproduce_the_moments_of_a_solid(bean: RestShape) -> None:
    """Total mass, centre and inertia of the interior points are those of the closed mesh within 1 percent."""
    kinematics_points = _solid_points(bean)
    points, volume, first, second = kinematics_points
    x = points[0]
    mass = points[1]
    assert mass.min() > 0
    assert np.allclose(mass @ x, first / volume, atol=0.01)
    found = np.einsum("m,mi,mj->ij", mass, x, x)
    assert np.abs(found - second / volume).max() < 0.01 * np.abs(second / volume).max()


def _solid_points(shape: RestShape):
    rng = np.random.default_rng(0)
    pick = rng.choice(len(shape.vertices), 128, replace=False)
    samples = np.asarray(shape.vertices)[pick]
    nothing = np.zeros(128, dtype=np.int64)
    faces = np.asarray(shape.faces)
    built = build_mass_points(
        np.asarray(shape.vertices), faces, samples, nothing, np.zeros(len(faces), dtype=np.int64), solid=True
    )
    assert np.allclose(built.combination.sum(1), 1.0)
    return ((built.combination @ samples, built.mass), *volume_moments(np.asarray(shape.vertices), faces))


def test_moments_of_a_unit_cube() -> None:
    """Volume and area moments of a cube are the exact ones."""
    import trimesh

    cube = trimesh.creation.box((1, 1, 1))
    cube.apply_translation((2, 0, 0))
    volume, first, second = volume_moments(cube.vertices, cube.faces)
    assert volume == pytest.approx(1.0)
    assert first == pytest.approx([2, 0, 0])
    assert np.diag(second) == pytest.approx([4 + 1 / 12, 1 / 12, 1 / 12])
    area, first, _ = area_moments(cube.vertices, cube.faces)
    assert area == pytest.approx(6.0)
    assert first == pytest.approx([12, 0, 0])


def test_same_seed_same_object(bean: RestShape, checkpoint: Checkpoint) -> None:
    """Preparing an object twice gives the same motion, up to the order of sums on several threads."""
    a, b = ObjectKinematics(bean, checkpoint), ObjectKinematics(bean, checkpoint)
    q = np.ones(a.k_q)
    assert np.abs(a.decode(q) - b.decode(q)).max() < 1e-5


@pytest.mark.parametrize(
    "config",
    [
        ModelConfig(width=32, heads=2, handles=6, latent=8, decoder=DecoderKind.QUERY, queries=40),
        ModelConfig(width=32, heads=2, handles=6, latent=8, motion=MotionKind.AFFINE),
        ModelConfig(width=32, heads=2, handles=6, latent=8, canonical=True, trunk_blocks=2, refinements=1),
        ModelConfig(width=32, heads=2, handles=6, latent=8, canonical=True, motion=MotionKind.AFFINE),
        ModelConfig(width=32, heads=2, handles=6, latent=8, posterior_rank=3, prior_rank=8),
    ],
    ids=["queries", "affine", "canonical", "canonical affine", "own prior"],
)
def test_every_network_keeps_rest_and_tells_its_tangents(laptop: RestShape, config: ModelConfig) -> None:
    """Whatever the decoder, rest is exact and tangents agree with central differences in float64 to 1e-5."""
    network = random_checkpoint(config)
    kinematics = ObjectKinematics(laptop, network, reduction=ReductionKind.NONE, dtype=torch.float64)
    q = np.zeros(kinematics.k_q)
    assert np.abs(kinematics.decode(q) - laptop.vertices).max() < 1e-6 * laptop.size
    posable = kinematics.posable()
    q = np.random.default_rng(0).standard_normal(kinematics.k_q)
    x, tangents = posable.pose(q)
    moved = np.abs(x - posable.pose(0 * q)[0]).max()
    assert moved > 1e-4
    step = 1e-4
    for i in range(kinematics.k_q):
        dq = step * np.eye(kinematics.k_q)[i]
        slope = (posable.pose(q + dq)[0] - posable.pose(q - dq)[0]) / (2 * step)
        assert np.abs(slope - tangents[:, i]).max() < 1e-5 * max(1.0, np.abs(slope).max())


def test_a_canonical_network_sees_the_same_object_at_any_yaw(laptop: RestShape) -> None:
    """Turned about the up axis, the object's states turn with it: the same q gives the same shape."""
    network = random_checkpoint(ModelConfig(width=32, heads=2, handles=6, latent=8, canonical=True))
    turn = Rotation.from_euler("z", 0.7).as_matrix()
    turned = rest_shape_from_arrays(laptop.vertices @ turn.T, laptop.faces)
    one, two = (
        ObjectKinematics(rest, network, reduction=ReductionKind.NONE, dtype=torch.float64) for rest in (laptop, turned)
    )
    q = np.random.default_rng(0).standard_normal(one.k_q)
    # Both are compared in the frame of the first, each scaled by its own bounding box.
    back = two.decode(q).astype(np.float64) @ np.array(turned.unit_to_file)[:3, :3].T @ turn
    back += np.array(turned.unit_to_file)[:3, 3] @ turn
    assert np.abs(back - one.decode(q)).max() < 1e-4


@pytest.mark.parametrize("kind", list(ReductionKind))
def test_every_reduction_gives_orthonormal_directions(
    laptop: RestShape, checkpoint: Checkpoint, kind: ReductionKind
) -> None:
    """The reduced directions are orthonormal; the vector's are ordered by how much they move."""
    reduction = ObjectKinematics(laptop, checkpoint, reduction=kind).reduction
    gram = reduction.basis.t() @ reduction.basis
    assert torch.allclose(gram, torch.eye(len(gram)), atol=1e-5)
    if kind is ReductionKind.VECTOR:
        assert (reduction.rms_motion.diff() <= 1e-6).all()
