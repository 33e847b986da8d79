"""The prior of an object: its units, its fit to posteriors, and what it leaves alone."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch.distributions import MultivariateNormal

from engine.model.handle_decoder import PreparedHandles
from engine.model.posterior import Posterior
from engine.model.prior import Prior
from engine.model.variational_autoencoder import Instance, ModelConfig, VariationalAutoencoder

SIZE = 4


def _prior(rows: int = 3) -> Prior:
    draws = torch.Generator().manual_seed(1)
    wide = torch.randn(rows, SIZE, SIZE, generator=draws, dtype=torch.float64)
    covariance = wide @ wide.mT + 0.1 * torch.eye(SIZE, dtype=torch.float64)
    root: torch.Tensor = torch.linalg.cholesky(covariance)
    return Prior(torch.randn(rows, SIZE, generator=draws, dtype=torch.float64), root)


def test_its_units_undo_its_samples() -> None:
    """A sample ``mean + root e`` is ``e`` deviations from the mean."""
    prior = _prior()
    e = torch.randn(3, SIZE, dtype=torch.float64)
    torch.testing.assert_close(prior.standardised(prior.mean + (prior.root @ e[..., None])[..., 0]), e)


def test_the_surprise_of_a_posterior_is_its_cross_entropy() -> None:
    """The mean of ``-log p`` over the posterior's samples, less the constant: exact for a normal one."""
    prior = _prior()
    mean, root = torch.randn(3, SIZE, dtype=torch.float64), 0.3 * _prior().root
    known = MultivariateNormal(prior.mean, prior.root @ prior.root.mT)
    at_mean = -known.log_prob(mean) - 0.5 * SIZE * torch.log(torch.tensor(2 * torch.pi, dtype=torch.float64))
    precision = torch.linalg.inv(prior.root @ prior.root.mT)
    spread = 0.5 * torch.einsum("bij,bji->b", precision, root @ root.mT)
    torch.testing.assert_close(prior.surprise(mean, root), at_mean + spread)


def test_the_standard_prior_says_what_the_divergence_says() -> None:
    """Against ``N(mu, I)``, KL and surprise differ by the posterior's own entropy."""
    mean, mu = torch.randn(3, SIZE, dtype=torch.float64), torch.randn(3, SIZE, dtype=torch.float64)
    posterior = Posterior(mean, torch.full_like(mean, -1.0), mean.new_zeros(3, SIZE, 0), mu)
    root = posterior.root()
    entropy = root.diagonal(dim1=-2, dim2=-1).log().sum(-1) + 0.5 * SIZE
    torch.testing.assert_close(Prior.standard(mu).surprise(mean, root), posterior.kl(root) + entropy)


def _read_shapes() -> tuple[VariationalAutoencoder, Instance, PreparedHandles]:
    """Two random shapes, read by a small network with a prior of its own."""
    torch.manual_seed(0)
    network = VariationalAutoencoder(ModelConfig(width=32, heads=2, handles=6, latent=8, prior_rank=8))
    points = torch.rand(2, 40, 3) * 2.0 - 1.0
    normals = torch.nn.functional.normalize(torch.randn(2, 40, 3), dim=-1)
    seeds = torch.arange(6).expand(2, -1)
    instance = network.encode_shape(points, normals, torch.zeros(2, 40, dtype=torch.long), seeds)
    prepared = network.prepare(instance)
    assert isinstance(prepared, PreparedHandles)
    return network, instance, prepared


def test_a_decoder_in_its_units_gives_the_same_motions() -> None:
    """``x`` deviations through the trunk in units of the prior are ``mean + root x`` through the trunk as it was."""
    network, instance, prepared = _read_shapes()
    prior = network.object_prior(instance, prepared)
    x = torch.randn(2, 8)
    inside = replace(prepared, trunk=prepared.trunk.in_units_of(prior))
    torch.testing.assert_close(inside.handles(x), prepared.handles(prior.at(x)), atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(prior.standardised(prior.at(x)), x, atol=1e-4, rtol=1e-4)


def test_its_fit_moves_no_other_layer() -> None:
    """The surprise has a gradient in the layers of the prior alone."""
    network, instance, prepared = _read_shapes()
    prior = network.object_prior(instance, prepared)
    prior.surprise(torch.randn(2, 8), 0.3 * torch.eye(8).expand(2, -1, -1)).sum().backward()
    for name, parameter in network.named_parameters():
        own = name.startswith("prior_head.")
        assert (parameter.grad is not None and bool(parameter.grad.abs().max() > 0)) == own, name
