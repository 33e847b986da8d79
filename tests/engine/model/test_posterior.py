"""The posterior against torch's own normal distributions."""

from __future__ import annotations

import pytest
import torch
from torch.distributions import MultivariateNormal, kl_divergence

from engine.model.posterior import Posterior

SIZE = 5


def _some(*, rank: int, rows: int = 6) -> Posterior:
    draws = torch.Generator().manual_seed(rank)
    mean, log_variance, prior = (0.5 * torch.randn(rows, SIZE, generator=draws, dtype=torch.float64) for _ in range(3))
    return Posterior(mean, log_variance, torch.randn(rows, SIZE, rank, generator=draws, dtype=torch.float64), prior)


def _precision(posterior: Posterior) -> torch.Tensor:
    return torch.diag_embed((-posterior.log_variance).exp()) + posterior.factor @ posterior.factor.mT


@pytest.mark.parametrize("rank", [0, 1, 3])
def test_its_root_and_divergence_are_those_of_the_precision(rank: int) -> None:
    """The covariance is the inverse of the precision, and the KL is torch's."""
    posterior = _some(rank=rank)
    root = posterior.root()
    torch.testing.assert_close(root @ root.mT, torch.linalg.inv(_precision(posterior)))
    own = MultivariateNormal(posterior.mean, precision_matrix=_precision(posterior))
    prior = MultivariateNormal(posterior.prior, torch.eye(SIZE, dtype=torch.float64))
    torch.testing.assert_close(posterior.kl(root), kl_divergence(own, prior))


def test_samples_have_the_mean_and_the_covariance() -> None:
    """Forty thousand draws of one posterior have its moments."""
    one = _some(rank=2, rows=1)
    fields = (one.mean, one.log_variance, one.factor, one.prior)
    many = Posterior(*(x.expand(40_000, *x.shape[1:]) for x in fields))
    torch.manual_seed(0)
    drawn = many.sample(one.root().expand(40_000, SIZE, SIZE))
    torch.testing.assert_close(drawn.mean(0), one.mean[0], atol=0.03, rtol=0)
    torch.testing.assert_close(drawn.T.cov(), torch.linalg.inv(_precision(one))[0], atol=0.03, rtol=0)
