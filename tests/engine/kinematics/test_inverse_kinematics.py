"""Inverse kinematics on mechanisms with exact answers, and on a real object."""

from __future__ import annotations

import numpy as np
import pytest
from jaxtyping import Float64
from scipy.spatial.transform import Rotation

from engine.geometry.rest_shape import RestShape
from engine.geometry.rigid_fit import rigid_fit
from engine.kinematics.inverse_kinematics import Fit, fit_points, fit_surface
from engine.kinematics.object_kinematics import ObjectKinematics
from engine.model.checkpoint import Checkpoint

RNG = np.random.default_rng(0)


class TwoLinkArm:
    """Points on two plates on hinges about Z, one at the origin and one at (1, 0, 0); q holds both angles."""

    def __init__(self) -> None:
        rng = np.random.default_rng(1)
        self.base = rng.uniform((-1, -0.2, -0.1), (0, 0.2, 0.1), (40, 3))
        self.upper = rng.uniform((0, -0.2, -0.1), (1, 0.2, 0.1), (40, 3))
        self.fore = rng.uniform((0, -0.2, -0.1), (1, 0.2, 0.1), (40, 3))
        self.freedoms = 2

    def _points(self, q: Float64[np.ndarray, "2"]) -> Float64[np.ndarray, "120 3"]:
        first, second = (Rotation.from_rotvec([0, 0, a]) for a in q)
        fore = first.apply(second.apply(self.fore) + np.array([1.0, 0, 0]))
        return np.concatenate([self.base, first.apply(self.upper), fore])

    def pose(self, q: Float64[np.ndarray, "2"]) -> tuple[Float64[np.ndarray, "120 3"], Float64[np.ndarray, "120 2 3"]]:
        """Return points and tangents, the latter by central differences."""
        step = 1e-6 * np.eye(2)
        slopes = [(self._points(q + d) - self._points(q - d)) / 2e-6 for d in step]
        return self._points(q), np.stack(slopes, 1)


def test_angles_and_placement_come_back() -> None:
    """Targets made by a pose, turned and moved through space, give back its angles and its placement."""
    arm = TwoLinkArm()
    q = np.array([1.9, -1.2])
    turn, shift = Rotation.from_rotvec([0.4, -2.0, 0.7]).as_matrix(), np.array([3.0, -1.0, 2.0])
    fit = fit_points(arm, arm.pose(q)[0] @ turn.T + shift, seed=3)
    assert fit.error < 1e-6
    assert np.allclose(fit.q, q, atol=1e-4)
    assert np.allclose(fit.rotation, turn, atol=1e-5) and np.allclose(fit.translation, shift, atol=1e-5)


def test_restarts_leave_a_local_minimum() -> None:
    """A half turn of the first hinge, whose direction rest cannot tell, is found."""
    arm = TwoLinkArm()
    fit = fit_points(arm, arm.pose(np.array([3.1, 2.5]))[0], restarts=6, spread=2.0)
    assert fit.error < 1e-4


def test_weights_choose_whom_to_please() -> None:
    """Points of weight zero do not matter, however far their targets lie."""
    arm = TwoLinkArm()
    targets = arm.pose(np.array([0.5, 0.0]))[0]
    targets[80:] += 5.0
    weights = np.repeat([1.0, 0.0], [80, 40])
    assert fit_points(arm, targets, weights=weights).q[0] == pytest.approx(0.5, abs=1e-5)


def test_a_surface_is_reached_without_knowing_which_point_is_which() -> None:
    """The shuffled points of a near pose are matched to within a hundredth of the arm's length."""
    arm = TwoLinkArm()
    q = np.array([0.3, -0.25])
    cloud = RNG.permutation(arm.pose(q)[0])
    fit = fit_surface(arm, cloud)
    assert np.abs(fit.place(arm.pose(fit.q)[0]) - arm.pose(q)[0]).max() < 0.01


def test_a_rigid_object_is_placed() -> None:
    """Without coordinates the answer is the best rigid placement, in closed form."""
    x = RNG.standard_normal((30, 3))
    turn = Rotation.from_rotvec([0.1, 0.2, -2.5]).as_matrix()
    rotation, translation = rigid_fit(x, x @ turn.T + 1.0, np.full(30, 1 / 30))
    assert np.allclose(rotation, turn) and np.allclose(translation, 1.0)


def test_a_mirror_image_is_not_a_placement() -> None:
    """The best placement onto a mirror image is a rotation all the same."""
    x = RNG.standard_normal((30, 3))
    rotation, _ = rigid_fit(x, x * np.array([1.0, 1.0, -1.0]), np.full(30, 1 / 30))
    assert np.linalg.det(rotation) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("targets", "what"), [(np.full((120, 3), np.nan), "finite"), (np.zeros((7, 3)), "120 points, and 7 targets")]
)
def test_unusable_targets_are_refused(targets: np.ndarray, what: str) -> None:
    """Targets that are not finite, or not one for each point, are refused by name."""
    with pytest.raises(ValueError, match=what):
        fit_points(TwoLinkArm(), targets)


def test_a_real_object_comes_back_to_a_state_of_its_own(laptop: RestShape, checkpoint: Checkpoint) -> None:
    """A decoded state of the laptop is found again from its points to a thousandth of its size."""
    kinematics = ObjectKinematics(laptop, checkpoint)
    q = np.zeros(kinematics.k_q)
    q[0] = 4.0
    posable = kinematics.posable()
    fit: Fit = fit_points(posable, posable.pose(q)[0] + np.array([0.0, 0.5, 0.0]))
    assert fit.error < 1e-3 * laptop.size
