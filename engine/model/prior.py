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
from torch import Tensor, nn

from engine.model.blocks import Mlp, SelfBlock

# Smallest deviation: half that of the narrowest posteriors.
FLOOR = 0.05
# Of the columns: weights near one then reach the narrowness that is needed.
COLUMN_SCALE = 3.0


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


class PriorHead(nn.Module):
    """From the tokens of an object to its prior.

    The covariance is ``L^-T (I + W W^T) L^-1`` with ``L L^T = I + U U^T``, and a floor. Columns ``U`` narrow the
    standard prior along the directions in which the object does not move, which are most; the columns ``W`` widen what
    is left along those in which it does. Columns ``W`` alone, from a floor, left even objects of the training four
    times too much room off their joints: so many had to be learned to leave the rest of the latent as it was.
    """

    def __init__(self, width: int, heads: int, code: int, rank: int) -> None:
        """Build the head for tokens of ``width``, read as codes of ``code`` channels; ``rank`` columns U, as many W."""
        super().__init__()
        self.rank = rank
        self.block, self.norm = SelfBlock(width, heads), nn.LayerNorm(width)
        self.columns = Mlp(width, 2 * width, (1 + 2 * rank) * code)
        with torch.no_grad():
            # Begin near the standard prior.
            for parameter in self.columns[2].parameters():
                parameter *= 0.1

    def forward(
        self, tokens: Float[Tensor, "b t d"], reader: Float[Tensor, "b n k"], mean: Float[Tensor, "b k"]
    ) -> Prior:
        """Return the priors; ``reader`` turns codes of the tokens into latents, ``mean`` is the standard prior's."""
        # As codes of the tokens, like the posterior's mean: they turn with the object's basis.
        codes = self.columns(self.norm(self.block(tokens))).unflatten(-1, (1 + 2 * self.rank, -1))
        read = torch.einsum("bnk,bnr->bkr", reader, codes.transpose(2, 3).flatten(1, 2))
        shift, narrow, wide = read.split((1, self.rank, self.rank), -1)
        unit = torch.eye(mean.shape[-1], dtype=mean.dtype, device=mean.device)
        lower: Tensor = torch.linalg.cholesky(unit + COLUMN_SCALE**2 * narrow @ narrow.mT)
        spread = torch.cat((unit.expand(len(mean), -1, -1), COLUMN_SCALE * wide), -1)
        spread = torch.linalg.solve_triangular(lower.mT, spread, upper=True)
        root: Tensor = torch.linalg.cholesky(FLOOR**2 * unit + spread @ spread.mT)
        return Prior(mean + shift[..., 0], root)
