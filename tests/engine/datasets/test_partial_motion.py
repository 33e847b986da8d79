"""A share of a motion: exact for a hinge, a slide and a screw, nothing and all at its ends."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.spatial.transform import Rotation

from engine.datasets.partial_motion import partial_motion


def _moved(rest: np.ndarray, angle: float, slide: float) -> tuple[np.ndarray, np.ndarray]:
    """Turn points about an axis that does not go through the origin, and slide them along it."""
    axis, pivot = np.array([0.6, 0.0, 0.8]), np.array([0.3, -0.2, 0.1])
    turn = Rotation.from_rotvec(angle * axis)
    moved = turn.apply(rest - pivot) + pivot + slide * axis
    return moved, np.tile(turn.as_quat(scalar_first=True), (len(rest), 1))


@pytest.mark.parametrize(("angle", "slide"), [(1.4, 0.0), (0.0, 0.5), (-2.2, 0.3), (0.01, 0.2)])
@pytest.mark.parametrize("share", [0.0, 0.02, 0.5, 1.0])
def test_a_rigid_part_goes_a_share_of_its_screw(angle: float, slide: float, share: float) -> None:
    """It turns and slides by the share, as a rigid body, whatever the sign of its quaternions."""
    rest = np.random.default_rng(0).uniform(-1, 1, (20, 3))
    whole, rotation = _moved(rest, angle, slide)
    expected, turn = _moved(rest, share * angle, share * slide)
    rows = [torch.tensor(x, dtype=torch.float32)[None] for x in (rest, whole, -rotation)]
    positions, rotations = partial_motion(*rows, torch.tensor([share]))
    np.testing.assert_allclose(positions[0].numpy(), expected, atol=2e-5)
    np.testing.assert_allclose(np.abs((rotations[0].numpy() * turn).sum(-1)), 1.0, atol=1e-6)
