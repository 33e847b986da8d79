"""The posterior ``q(z | mesh, motion)``: a normal distribution that may be narrow along directions of its own.

Its precision is ``diag(1 / sigma^2) + U U^T``. A few columns ``U`` let it be narrow along the directions that a motion
tells about and as wide as the prior along all others, however these lie to the coordinates. With a diagonal alone, one
hinge whose line runs across all coordinates has to narrow them all.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor


@dataclass(frozen=True, slots=True)
class Posterior:
    """Normal distributions over the latent, of any number of pairs.

    Attributes:
        mean: shape (b, k).
        log_variance: logarithm of ``sigma^2``, shape (b, k).
        factor: ``U``, shape (b, k, r); with no columns, the coordinates are independent.
        prior: mean of the prior ``N(prior, I)``, shape (b, k).
    """

    mean: Float[Tensor, "b k"]
    log_variance: Float[Tensor, "b k"]
    factor: Float[Tensor, "b k r"]
    prior: Float[Tensor, "b k"]

    @property
    def offset(self) -> Float[Tensor, "b k"]:
        """The mean, from that of the prior."""
        return self.mean - self.prior

    def root(self) -> Float[Tensor, "b k k"]:
        """Return ``R`` with covariance ``R R^T``, upper triangular."""
        precision = torch.diag_embed((-self.log_variance).exp()) + self.factor @ self.factor.mT
        lower: Tensor = torch.linalg.cholesky(precision)
        unit = torch.eye(lower.shape[-1], dtype=lower.dtype, device=lower.device)
        return torch.linalg.solve_triangular(lower, unit, upper=False).mT

    def sample(self, root: Float[Tensor, "b k k"]) -> Float[Tensor, "b k"]:
        """Draw one latent of each."""
        return self.mean + (root @ torch.randn_like(self.mean)[..., None])[..., 0]

    def kl(self, root: Float[Tensor, "b k k"]) -> Float[Tensor, " b"]:
        """Return the divergence from the prior [nats]."""
        spread = root.square().sum((-2, -1)) - 2.0 * root.diagonal(dim1=-2, dim2=-1).log().sum(-1)
        return 0.5 * (spread + self.offset.square().sum(-1) - self.mean.shape[-1])
