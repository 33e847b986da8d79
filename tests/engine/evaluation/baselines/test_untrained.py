"""Rest pose, eigenmodes and principal components as methods."""

from __future__ import annotations

import numpy as np
import pytest

from engine.evaluation.baselines.posables import STRIDE
from engine.evaluation.baselines.untrained import Eigenmodes, ModeMotion, PrincipalComponents, RestPose
from engine.evaluation.objects import EvaluationObject
from engine.geometry.rigid_fit import rigid_fit
from engine.kinematics.inverse_kinematics import fit_points
from tests.engine.evaluation.baselines.conftest import numeric_tangents


def test_the_rest_pose_has_no_coordinates(hinge_object: EvaluationObject) -> None:
    """Inverse kinematics of the rest pose is its rigid placement."""
    prepared = RestPose().prepare(hinge_object)
    assert prepared.freedoms == 0
    target = hinge_object.at(hinge_object.samples, hinge_object.states[3])
    points, _ = prepared.pose(np.zeros(0))
    turn, _ = rigid_fit(points, target, np.full(len(points), 1 / len(points)))
    np.testing.assert_allclose(fit_points(prepared, target).rotation, turn, atol=1e-6)
    np.testing.assert_array_equal(prepared.vertices(np.zeros(0)), hinge_object.vertices)


def test_all_principal_components_reproduce_the_states(hinge_object: EvaluationObject) -> None:
    """With as many components as there are states, each state is a pose."""
    prepared = PrincipalComponents().prepare(hinge_object)
    assert prepared.freedoms == len(hinge_object.others)
    fields = np.stack([prepared.vertices(axis) - hinge_object.vertices for axis in np.eye(prepared.freedoms)])
    for state in hinge_object.states:
        q = np.linalg.lstsq(fields.reshape(len(fields), -1).T, (state - hinge_object.vertices).ravel(), rcond=None)[0]
        np.testing.assert_allclose(prepared.vertices(q), state, atol=1e-9)


@pytest.mark.parametrize("motion", list(ModeMotion))
def test_eigenmodes_are_at_rest_at_zero_and_move_by_a_stride(
    hinge_object: EvaluationObject, motion: ModeMotion
) -> None:
    """There are as many coordinates as were asked for, one unit of each is a stride, and tangents are exact."""
    prepared = Eigenmodes(count=10, motion=motion).prepare(hinge_object)
    assert prepared.freedoms == 10
    rest, tangents = prepared.pose(np.zeros(10))
    np.testing.assert_allclose(rest, hinge_object.at(hinge_object.samples, hinge_object.vertices), atol=1e-9)
    np.testing.assert_allclose(prepared.vertices(np.zeros(10)), hinge_object.vertices, atol=1e-9)
    moved = np.sqrt((tangents**2).sum(-1).mean(0))
    np.testing.assert_allclose(moved, STRIDE, rtol=0.15)
    q = np.random.default_rng(0).normal(0, 2, 10)
    np.testing.assert_allclose(prepared.pose(q)[1], numeric_tangents(prepared, q), atol=1e-7)


def test_a_cage_in_loose_pieces_is_made_coarser(hinge_object: EvaluationObject) -> None:
    """Two boxes with a gap between them still move as one body."""
    parted = hinge_object.vertices.copy()
    parted[hinge_object.component == 1] += (0, 0, 0.4)
    states = np.repeat(parted[None], 2, 0)
    shape = type(hinge_object.shape)(**{**_fields(hinge_object.shape), "vertices": parted})
    apart = type(hinge_object)(**{**_fields(hinge_object), "shape": shape, "states": states})
    assert Eigenmodes(count=6).prepare(apart).freedoms == 6


def _fields(value: object) -> dict[str, object]:
    return {name: getattr(value, name) for name in value.__dataclass_fields__}  # type: ignore[attr-defined]
