"""The prior of one object: a normal distribution learned of where its states lie in the latent.

The networks are trained with the standard prior ``N(mu, I)``, weakly, since a strong one blurs what is decoded. Then
the states of an object fill a part of the latent that is neither centred nor round: a hinge that starts closed lies on
one side, far out along one direction. So a head of its own is fitted, beside the training and without a gradient into
it, to the posteriors of each object's states (density estimation after the fact: Ghosh et al. 2020, section 4). What
draws samples, averages over them or measures how far a state is from the usual reads the latent in units of this prior.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor


@dataclass(frozen=True, slots=True)
class Prior:
    """Normal distributions ``N(mean, root root^T)`` of the latent, one per object.

    Attributes:
        mean: shape (b, k).
        root: lower triangular, shape (b, k, k).
    """

    mean: Float[Tensor, "b k"]
    root: Float[Tensor, "b k k"]

    @classmethod
    def standard(cls, mean: Float[Tensor, "b k"]) -> Prior:
        """Return the prior that the networks are trained with."""
        unit = torch.eye(mean.shape[-1], dtype=mean.dtype, device=mean.device)
        return cls(mean, unit.expand(len(mean), -1, -1))

    def at(self, deviations: Float[Tensor, "b k"]) -> Float[Tensor, "b k"]:
        """Return the latents so many deviations from the mean: of standard normal numbers, a sample of the prior."""
        return self.mean + (self.root @ deviations[..., None])[..., 0]

    def standardised(self, z: Float[Tensor, "b k"]) -> Float[Tensor, "b k"]:
        """Return latents in deviations from the mean: what `at` was given."""
        return torch.linalg.solve_triangular(self.root, (z - self.mean)[..., None], upper=False)[..., 0]

    def repeated(self, count: int) -> Prior:
        """Return each object's ``count`` times."""
        return Prior(self.mean.repeat_interleave(count, 0), self.root.repeat_interleave(count, 0))

    def surprise(self, mean: Float[Tensor, "b k"], root: Float[Tensor, "b k k"]) -> Float[Tensor, " b"]:
        """Return the cross-entropy of posteriors ``N(mean, root root^T)`` relative to it [nats], less a constant."""
        spread = torch.linalg.solve_triangular(self.root, root, upper=False).square().sum((-2, -1))
        volume = self.root.diagonal(dim1=-2, dim2=-1).log().sum(-1)
        return 0.5 * (spread + self.standardised(mean).square().sum(-1)) + volume
