"""A cage lies around its shape, and mean value coordinates carry the shape with it."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from engine.evaluation.baselines.cage import MARGIN, sphere_template, wrap
from engine.evaluation.baselines.mean_value import mean_value_coordinates


def _points(count: int = 40) -> torch.Tensor:
    """Points in a long thin box, half extents 1, 0.3 and 0.2."""
    generator = torch.Generator().manual_seed(0)
    return (2 * torch.rand(2, count, 3, generator=generator, dtype=torch.float64) - 1) * torch.tensor([1.0, 0.3, 0.2])


def test_coordinates_sum_to_one_and_reproduce_affine_maps() -> None:
    """A cage that moves by an affine map moves every point by it, inside the cage and outside."""
    template, faces = sphere_template()
    cage = wrap(template.double(), _points())
    affine = torch.tensor([[1.2, 0.3, 0.0], [-0.4, 0.7, 0.2], [0.1, 0.0, -1.5]], dtype=torch.float64)
    for points in (_points(), 3.0 * _points()):
        weights = mean_value_coordinates(cage, faces, points)
        torch.testing.assert_close(weights.sum(-1), torch.ones(weights.shape[:-1], dtype=torch.float64))
        moved = weights @ (cage @ affine.T + 0.3)
        torch.testing.assert_close(moved, points @ affine.T + 0.3, atol=1e-9, rtol=0)


def test_coordinates_on_the_cage_are_those_of_the_triangle() -> None:
    """On a corner one weight is one; on a side or a triangle the weights are barycentric, also in the limit."""
    template, faces = sphere_template()
    cage = template.double()
    corners = cage[faces[7]]
    for share in ([1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.2, 0.3, 0.5]):
        shares = torch.tensor(share, dtype=torch.float64)
        point = (shares @ corners)[None]
        expected = torch.zeros(len(cage), dtype=torch.float64)
        expected[faces[7]] = shares
        torch.testing.assert_close(mean_value_coordinates(cage, faces, point)[0], expected, atol=1e-9, rtol=0)
        near = mean_value_coordinates(cage, faces, point * (1 - 1e-6))[0]
        torch.testing.assert_close(near, expected, atol=1e-4, rtol=0)


def test_the_centre_of_a_regular_cage_weighs_alike_what_is_alike() -> None:
    """At the centre of an icosahedron every corner has a twelfth."""
    template, faces = sphere_template(0)
    weights = mean_value_coordinates(template.double(), faces, torch.zeros(1, 3, dtype=torch.float64))
    torch.testing.assert_close(weights, torch.full((1, 12), 1 / 12, dtype=torch.float64), atol=1e-7, rtol=0)


def test_a_cage_keeps_its_margin() -> None:
    """No corner is nearer to the points than the margin, and those at the ends of a long shape are no farther."""
    points = _points(2000)
    cage = wrap(sphere_template()[0].double(), points)
    nearest = torch.cdist(cage, points).amin(-1)
    assert float(nearest.min()) > MARGIN - 1e-6
    assert float(nearest.quantile(0.5)) == pytest.approx(MARGIN, abs=0.01)
    assert np.ptp(cage[0, :, 0].numpy()) > 2.0
