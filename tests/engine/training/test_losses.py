"""The loss against plain sums."""

from __future__ import annotations

from dataclasses import replace

import torch

from engine.datasets.pairs import PairBatch
from engine.training.losses import crispness, looseness, reconstruction

PLACES = torch.tensor([0.0, 0.1, 0.21, 0.33, 0.46, 0.6, 0.75, 0.91])


def _row(*, shift: float) -> tuple[PairBatch, torch.Tensor, torch.Tensor]:
    """Eight points on a line, all shifted alike, and the decode that leaves them where they were."""
    points = torch.zeros(1, 8, 3)
    points[0, :, 0] = PLACES
    still = torch.zeros(1, 8, 4)
    still[..., 0] = 1.0
    component, seeds = torch.zeros(1, 8, dtype=torch.int64), torch.zeros(1, 2, dtype=torch.int64)
    batch = PairBatch(points, torch.zeros(1, 8, 3), component, component, seeds, points + shift, still)
    return batch, points, still


def test_a_perfect_decode_costs_nothing() -> None:
    """The loss of the target itself is zero."""
    batch, _, still = _row(shift=0.2)
    assert float(reconstruction(batch, batch.deformed, still)) == 0.0


def test_a_shift_costs_its_square_over_the_motion() -> None:
    """All points shifted alike leave the edges right: the position's error over the motion is all there is."""
    batch, points, still = _row(shift=0.2)
    expected = 0.16 * 3 * 0.2**2 / (3 * 0.2**2 + 0.03**2)
    torch.testing.assert_close(reconstruction(batch, points, still), torch.tensor([expected]), atol=1e-6, rtol=0)


def test_one_point_out_of_line_tears_its_edges() -> None:
    """An error of one point counts once for its place and for each edge it is in, over the edge's squared length."""
    batch, _, still = _row(shift=0.0)
    positions = batch.deformed.clone()
    positions[0, 0, 1] = 0.01

    # The first point's nearest three are the next three, and it is among the nearest three of the next two.
    squares = PLACES[[1, 2, 3, 1, 2]].square()
    edge = float((0.01**2 / (squares + 0.02**2)).sum()) / 24
    expected = 0.16 * (0.01**2 / 8 + 0.05 * edge) / 0.03**2
    torch.testing.assert_close(reconstruction(batch, positions, still), torch.tensor([expected]), atol=1e-6, rtol=0)


def test_weights_may_differ_only_where_the_object_bends() -> None:
    """A step between two parts that turn against each other costs nothing; the same step inside one part does."""
    batch, _, still = _row(shift=0.2)
    left = (torch.arange(8) < 4).float()
    weights = torch.stack((left, 1.0 - left), -1)[None]
    hinged = still.clone()
    hinged[0, 4:] = torch.tensor([0.96, 0.28, 0.0, 0.0])
    assert float(crispness(replace(batch, rotation=hinged), weights)) == 0.0
    assert float(crispness(batch, weights)) > 0.1
    assert float(crispness(batch, torch.full((1, 8, 2), 0.5))) == 0.0


def test_random_states_may_bend_between_parts_but_not_inside_one() -> None:
    """Points of one part that come closer cost; a part that moves as a whole does not, nor does what has no parts."""
    batch, points, _ = _row(shift=0.0)
    halves = replace(batch, part=(torch.arange(8)[None] >= 4).long())
    folded = points.clone()
    folded[0, 4:, 0] = 1.2 - folded[0, 4:, 0]
    assert float(looseness(halves, folded)) < 1e-10
    assert float(looseness(batch, folded)) > 0.01
    assert float(looseness(replace(batch, part=torch.full((1, 8), -1)), folded)) == 0.0
