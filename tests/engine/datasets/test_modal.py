"""Soft bodies and sheets bent by their modes."""

import numpy as np
import pytest
from jaxtyping import Float, Int
from scipy.spatial.transform import Rotation

from engine.datasets.local_rotation import local_rotations
from engine.datasets.modal import sheet, soft_body
from engine.datasets.motion import Motion, Source
from engine.datasets.shapes.lofts import loft, round_ends

FRAMES = 12


def _beam() -> tuple[Float[np.ndarray, "n 3"], Int[np.ndarray, "m 3"]]:
    """Return a round beam along Z, 20 long and 3 wide, standing at a height of 100."""
    t = np.linspace(0, 20, 200)
    radius = round_ends(t, np.full(200, 1.5))
    mesh = loft(np.column_stack((0 * t, 0 * t, 100 + t)), np.column_stack((radius, radius)), count=700)
    return np.asarray(mesh.vertices), np.asarray(mesh.faces)


def _angles(motion: Motion) -> Float[np.ndarray, "f n"]:
    """Return the turn of every vertex from the rest [degrees]."""
    return np.degrees(2 * np.arccos(np.clip(np.abs(motion.rotations[..., 0]), 0, 1)))


@pytest.fixture(scope="module")
def motions() -> list[Motion]:
    """Return a few soft bodies and sheets."""
    return [make(np.random.default_rng(seed), frames=FRAMES) for make in (soft_body, sheet) for seed in range(5)]


def test_frame_zero_is_the_rest(motions: list[Motion]) -> None:
    """Frame 0 turns nothing, all is finite, and later frames move."""
    for motion in motions:
        np.testing.assert_array_equal(motion.rotations[0], np.tile([1, 0, 0, 0], (motion.rotations.shape[1], 1)))
        assert np.isfinite(motion.positions).all()
        assert np.abs(motion.positions - motion.positions[0]).max() > 0.02
        np.testing.assert_allclose(np.linalg.norm(motion.rotations, axis=-1), 1, atol=1e-4)


def test_local_rotations_agree_with_the_surface(motions: list[Motion]) -> None:
    """The stated rotations are those of the one-rings within a few degrees, nearly everywhere within twenty."""
    for motion in motions:
        fitted = local_rotations(motion.positions[0], motion.positions[1:4], motion.faces).reshape(-1, 4)
        stated = Rotation.from_quat(motion.rotations[1:4].reshape(-1, 4), scalar_first=True)
        apart = np.degrees((Rotation.from_quat(fitted, scalar_first=True) * stated.inv()).magnitude())
        assert np.median(apart) < 6
        assert np.quantile(apart, 0.98) < 20


def test_no_part_turns_too_far(motions: list[Motion]) -> None:
    """No vertex turns by more than 150 degrees from frame 0."""
    for motion in motions:
        assert _angles(motion).max() < 150


def test_volume_stays_near_the_rest(motions: list[Motion]) -> None:
    """A closed body keeps between half and twice its signed volume: nothing turns inside out."""
    for motion in motions[:5]:
        corners = motion.positions.astype(np.float64)[:, motion.faces]
        volume = np.einsum("fmi,fmi->f", corners[:, :, 0], np.cross(corners[:, :, 1], corners[:, :, 2])) / 6
        assert volume[0] > 0
        assert (volume > 0.5 * volume[0]).all()
        assert (volume < 2 * volume[0]).all()


def test_beam_bends_far_to_both_sides() -> None:
    """Over a few seeds a beam's ends turn by more than 80 degrees against each other, left and right."""
    shape = _beam()
    rest = shape[0][:, 2]
    low, high = rest < rest.min() + 2, rest > rest.max() - 2
    bends: list[float] = []
    sides: list[float] = []
    for seed in range(3):
        motion = soft_body(np.random.default_rng(seed), frames=16, shape=shape)
        for frame in motion.rotations[1:]:
            ends = [Rotation.from_quat(frame[end], scalar_first=True).mean() for end in (low, high)]
            turn = (ends[1] * ends[0].inv()).as_rotvec()
            bends.append(float(np.degrees(np.linalg.norm(turn))))
            sides.append(float(turn[np.abs(turn).argmax()]))
    assert max(bends) > 80
    assert min(sides) < 0 < max(sides)


def test_beam_keeps_its_length_where_it_bends() -> None:
    """The centre line of a bent beam is as long as at rest within a tenth."""
    shape = _beam()
    motion = soft_body(np.random.default_rng(1), frames=16, shape=shape)
    heights = np.linspace(shape[0][:, 2].min() + 2, shape[0][:, 2].max() - 2, 9)
    slices = [np.abs(shape[0][:, 2] - h) < 0.7 for h in heights]
    lines = np.stack([motion.positions[:, inside].mean(1) for inside in slices], 1)
    length = np.linalg.norm(np.diff(lines, axis=1), axis=-1).sum(1)
    np.testing.assert_allclose(length, length[0], rtol=0.1)


def test_held_base_does_not_move() -> None:
    """The lowest vertices of a body that stands on a held base stay where they are in all frames."""
    shape = _beam()
    held = [m for seed in range(8) if (m := soft_body(np.random.default_rng(seed), frames=4, shape=shape)).fixed]
    assert held
    for motion in held:
        moved = np.linalg.norm(motion.positions - motion.positions[0], axis=-1).max(0)
        assert (moved < 1e-3).sum() > 5
        assert moved.max() > 0.4


def test_decorations_ride_on_the_body() -> None:
    """Separate balls stay balls: their edges keep their lengths within forty percent, and they follow the body."""
    for seed in range(30):
        motion = soft_body(np.random.default_rng(seed), frames=4)
        if motion.component.max() > 0:
            break
    ball = motion.component[motion.faces[:, 0]] == motion.component.max()
    a, b = motion.faces[ball][:, 0], motion.faces[ball][:, 1]
    lengths = np.linalg.norm(motion.positions[:, a] - motion.positions[:, b], axis=-1)
    assert (np.abs(lengths.mean(1) / lengths[0].mean() - 1) < 0.4).all()


def test_given_shape_keeps_its_name_source_and_place() -> None:
    """A mesh of somebody else is bent where it lies, in its unit, under its name and licence."""
    shape, source = _beam(), Source("models", "CC-BY-4.0", "Someone")
    motion = soft_body(np.random.default_rng(0), frames=4, shape=shape, name="beam", source=source)
    assert motion.family == "elastic/beam"
    assert motion.name == "beam"
    assert motion.source == source
    np.testing.assert_allclose(motion.positions[0], shape[0], atol=1e-4)


def test_same_seed_gives_the_same_motion() -> None:
    """A motion is a function of the generator's state, bit for bit."""
    first, second = (soft_body(np.random.default_rng(4), frames=4) for _ in range(2))
    np.testing.assert_array_equal(first.positions, second.positions)
    np.testing.assert_array_equal(first.rotations, second.rotations)


def test_loose_pieces_are_refused() -> None:
    """Two beams far apart have no common cage, which the error says."""
    vertices, faces = _beam()
    apart = np.concatenate((vertices, vertices + np.array((0, 0, 60)))), np.concatenate((faces, faces + len(vertices)))
    with pytest.raises(ValueError, match="loose pieces"):
        soft_body(np.random.default_rng(0), frames=4, shape=apart)
