"""The loss against plain sums."""

from __future__ import annotations

from dataclasses import replace

import torch

from engine.datasets.pairs import PairBatch
from engine.model.variational_autoencoder import ModelConfig, VariationalAutoencoder
from engine.training.losses import crispness, looseness, reconstruction, run_model, unevenness

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


def test_every_state_of_an_object_counts_by_the_same_measure() -> None:
    """The same error costs the same near rest and far away: over the mean squared motion of all the object's pairs."""
    batch, points, still = _row(shift=0.2)
    both = replace(batch, deformed=torch.cat((points, batch.deformed)), rotation=still.repeat(2, 1, 1))
    missed = both.deformed + 0.01
    expected = 0.16 * 3 * 0.01**2 / (0.5 * 3 * 0.2**2 + 0.03**2)
    loss = reconstruction(both, missed, both.rotation)
    torch.testing.assert_close(loss, torch.full((2,), expected), atol=1e-6, rtol=0)


def test_a_pair_at_rest_has_neither_noise_nor_divergence() -> None:
    """Otherwise it is cheapest to decode at rest all that is near, and the object does not answer a light touch."""
    torch.manual_seed(0)
    sizes = ModelConfig(width=32, heads=2, octaves=2, decoder_width=32, handles=2, latent=4, code=4)
    model = VariationalAutoencoder(sizes)
    batch, points, still = _row(shift=0.0)
    bent = points.clone()
    bent[0, 4:, 1] += 0.2
    pairs = replace(batch, deformed=torch.cat((points, bent)), rotation=still.repeat(2, 1, 1))
    first, second = (run_model(model, pairs, sample=True) for _ in range(2))
    assert first.moves.tolist() == [0.0, 1.0]
    assert torch.equal(first.positions[0], second.positions[0])
    assert not torch.equal(first.positions[1], second.positions[1])
    assert [nats > 0.0 for nats in first.kl.tolist()] == [False, True]


def test_motion_has_to_begin_at_rest_as_it_goes_on() -> None:
    """Motions in proportion to the way gone cost nothing; those that begin as its cube cost nearly all there is."""

    def cost(power: int) -> float:
        far = torch.linspace(1.0, 2.0, 400)[:, None]
        return float(unevenness(lambda z: z[:, None] ** power, torch.zeros_like(far), far))

    assert cost(1) < 1e-6
    # Mean of (1 - s^2)^2 over s from 0 to 1.
    assert 0.45 < cost(3) < 0.58
