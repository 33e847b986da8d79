"""The loss against plain sums, and the free nats."""

from __future__ import annotations

import torch

from engine.datasets.pairs import PairBatch
from engine.training.losses import paid_nats, reconstruction

PLACES = torch.tensor([0.0, 0.1, 0.21, 0.33, 0.46, 0.6, 0.75, 0.91])


def _row(*, shift: float) -> tuple[PairBatch, torch.Tensor, torch.Tensor]:
    """Eight points on a line, all shifted alike, and the decode that leaves them where they were."""
    points = torch.zeros(1, 8, 3)
    points[0, :, 0] = PLACES
    still = torch.zeros(1, 8, 4)
    still[..., 0] = 1.0
    component, seeds = torch.zeros(1, 8, dtype=torch.int64), torch.zeros(1, 2, dtype=torch.int64)
    batch = PairBatch(points, torch.zeros(1, 8, 3), component, seeds, points + shift, still)
    return batch, points, still


def test_a_perfect_decode_costs_nothing() -> None:
    """The loss of the target itself is zero."""
    batch, _, still = _row(shift=0.2)
    assert float(reconstruction(batch, batch.deformed, still)) == 0.0


def test_a_shift_costs_its_square_over_the_motion() -> None:
    """All points shifted alike leave the edges right: the position's error over the RMS motion is all there is."""
    batch, points, still = _row(shift=0.2)
    expected = 3 * 0.2**2 / ((3 * 0.2**2) ** 0.5 + 0.05)
    torch.testing.assert_close(reconstruction(batch, points, still), torch.tensor([expected]), atol=1e-6, rtol=0)


def test_one_point_out_of_line_tears_its_edges() -> None:
    """An error of one point counts once for its place and for each edge it is in, over the edge's squared length."""
    batch, _, still = _row(shift=0.0)
    positions = batch.deformed.clone()
    positions[0, 0, 1] = 0.01

    # The first point's nearest three are the next three, and it is among the nearest three of the next two.
    squares = PLACES[[1, 2, 3, 1, 2]].square()
    edge = float((0.01**2 / (squares + 0.02**2)).sum()) / 24
    expected = (0.01**2 / 8 + 0.05 * edge) / 0.05
    torch.testing.assert_close(reconstruction(batch, positions, still), torch.tensor([expected]), atol=1e-6, rtol=0)


def test_free_nats_are_not_paid() -> None:
    """Each coordinate pays what its mean is above the free nats, and has no slope below them."""
    kl = torch.tensor([[0.1, 1.0], [0.3, 3.0]], requires_grad=True)
    torch.testing.assert_close(paid_nats(kl, free_nats=0.0), torch.tensor(2.2))
    paid = paid_nats(kl, free_nats=0.5)
    torch.testing.assert_close(paid, torch.tensor(0.5 + 2.0))
    paid.backward()
    torch.testing.assert_close(kl.grad, torch.tensor([[0.0, 0.5], [0.0, 0.5]]))
