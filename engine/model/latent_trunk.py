"""From a latent vector to hidden states of the tokens of one object: what both decoders have in common.

The first layer is linear in the latent. It is a basis, predicted from the instance tokens and orthonormalised for each
object, of codes (a few numbers per token): ``code = B diag(g) z``, and the posterior reads ``z = B^T code``. So a new
object begins with a projection of its motion, and learning turns the basis toward the directions that matter. A gain
``g`` per object and direction lets an object have fewer directions than the latent.

All that depends on the rest shape alone is computed once per object, as a `PreparedTrunk`. What is left to do per state
is a short chain of matrix products and one pointwise function, so tangents ride along in the same products.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from engine.model.blocks import Mlp, Pool
from engine.model.motions import MotionKind
from engine.model.prior import Prior


@dataclass(frozen=True, slots=True)
class PreparedTrunk:
    """The trunk of a batch of objects with everything that does not depend on the latent computed.

    Attributes:
        bias: hidden state at z = 0, shape (b, t, d).
        basis: ``B diag(g)``, which spreads a latent over the tokens' codes, shape (b, t c, k).
        reader: ``B``, whose transpose reads a latent from codes, shape (b, t c, k).
        spread: from a token's code to its hidden state, shape (d, c).
        mixes: mixing matrices among tokens of each layer, shape (b, heads, t, t) each.
        layers: value, output and feed-forward weights of each layer.
    """

    bias: Float[Tensor, "b t d"]
    basis: Float[Tensor, "b tc k"]
    reader: Float[Tensor, "b tc k"]
    spread: Float[Tensor, "d c"]
    mixes: tuple[Float[Tensor, "b h t t"], ...]
    layers: tuple[TrunkLayer, ...]

    def repeated(self, count: int) -> PreparedTrunk:
        """Return each item ``count`` times: one rest shape in several states."""
        bias, basis, reader = (t.repeat_interleave(count, 0) for t in (self.bias, self.basis, self.reader))
        mixes = tuple(m.repeat_interleave(count, 0) for m in self.mixes)
        return PreparedTrunk(bias, basis, reader, self.spread, mixes, self.layers)

    def in_units_of(self, prior: Prior) -> PreparedTrunk:
        """Return the trunk whose latent is in deviations from the mean of a prior: ``z = mean + root x``."""
        unit = torch.eye(self.basis.shape[-1], dtype=self.basis.dtype, device=self.basis.device)
        reader = self.reader @ torch.linalg.solve_triangular(prior.root, unit, upper=False).mT
        return replace(self, bias=self.start(prior.mean), basis=self.basis @ prior.root, reader=reader)

    def input_map(self) -> Float[Tensor, "b k t d"]:
        """Return how each latent coordinate moves each token's hidden state."""
        rows = self.basis.unflatten(1, (self.bias.shape[1], -1))
        return torch.einsum("btck,dc->bktd", rows, self.spread)

    def latent_of(self, code: Float[Tensor, "b t c"]) -> Float[Tensor, "b k"]:
        """Return the latent that the tokens' codes project to."""
        with torch.autocast(self.reader.device.type, enabled=False):
            return torch.einsum("bnk,bn->bk", self.reader, code.to(self.reader.dtype).flatten(1))

    def start(self, z: Float[Tensor, "b k"]) -> Float[Tensor, "b t d"]:
        """Return what the tokens' hidden states are before the first layer."""
        code = torch.einsum("bnk,bk->bn", self.basis, z).unflatten(1, (self.bias.shape[1], -1))
        return self.bias + code @ self.spread.t()

    def hidden(self, z: Float[Tensor, "b k"]) -> Float[Tensor, "b t d"]:
        """Return the hidden states of the tokens."""
        h = self.start(z)
        for layer, mix in zip(self.layers, self.mixes, strict=True):
            h = layer(h, mix)
        return h


class TrunkLayer(nn.Module):
    """Mixing among tokens by weights that depend on the rest shape alone, then a pointwise feed-forward layer."""

    def __init__(self, width: int, heads: int, instance_width: int) -> None:
        """``width`` hidden channels, ``heads`` mixing matrices made from the instance tokens."""
        super().__init__()
        self.heads = heads
        self.query, self.key = nn.Linear(instance_width, width), nn.Linear(instance_width, width)
        self.value, self.gather = nn.Linear(width, width, bias=False), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def mix(self, instance: Float[Tensor, "b t i"]) -> Float[Tensor, "b h t t"]:
        """Return the mixing weights of an object."""
        b, t, _ = instance.shape
        q = self.query(instance).view(b, t, self.heads, -1).transpose(1, 2)
        k = self.key(instance).view(b, t, self.heads, -1).transpose(1, 2)
        return (q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5).softmax(-1)

    def forward(self, h: Float[Tensor, "b t d"], mix: Float[Tensor, "b h t t"]) -> Float[Tensor, "b t d"]:
        """Return the next hidden state."""
        b, t, d = h.shape
        value = self.value(h).view(b, t, self.heads, -1).transpose(1, 2)
        h = h + self.gather((mix @ value).transpose(1, 2).reshape(b, t, d))
        return h + self.down(torch.nn.functional.silu(self.up(h)))


@dataclass(frozen=True, slots=True)
class TrunkSizes:
    """Sizes of a decoder.

    Attributes:
        instance_width: channels of the instance tokens.
        width, heads, layers: hidden channels, mixing matrices of a layer, and layers.
        latent, code: latent coordinates, and code channels per token.
    """

    instance_width: int
    width: int
    heads: int
    layers: int
    latent: int
    code: int


class LatentTrunk(nn.Module, ABC):
    """The layers from a latent to hidden tokens, and the regions of the surface that the tokens stand for."""

    def __init__(self, sizes: TrunkSizes, kind: MotionKind) -> None:
        """Build the layers, with random weights; ``kind`` of the motions that a decoder makes of the tokens."""
        super().__init__()
        instance_width, width, heads = sizes.instance_width, sizes.width, sizes.heads
        latent, code = sizes.latent, sizes.code
        self.latent, self.width, self.code = latent, width, code
        self.bias = nn.Linear(instance_width, width)
        self.basis = nn.Linear(instance_width, code * latent)
        self.gain = Pool(instance_width, heads, 2, latent)
        nn.init.zeros_(self.gain.out.weight)
        nn.init.zeros_(self.gain.out.bias)
        self.spread = nn.Linear(code, width, bias=False)
        self.layers = nn.ModuleList(TrunkLayer(width, heads, instance_width) for _ in range(sizes.layers))
        self.kind = kind
        # Before those of the regions: a seed fills layers in the order in which they are made.
        self._add_motion_layers(sizes)
        self.query, self.key = Mlp(instance_width, instance_width, width), nn.Linear(instance_width, width)
        self.reach = nn.Linear(instance_width, 2)

    @abstractmethod
    def _add_motion_layers(self, sizes: TrunkSizes) -> None:
        """Build the layers that turn hidden tokens into motions of the decoder's `MotionKind`."""

    def prepare_trunk(self, instance: Float[Tensor, "b t i"]) -> PreparedTrunk:
        """Compute all that depends on the instance tokens alone."""
        b, t, _ = instance.shape
        basis, _ = torch.linalg.qr(self.basis(instance).view(b, t * self.code, self.latent))
        # A direction that an object does not have (all of them, for a stone) is switched off by its gain.
        gain = 2.0 * self.gain(instance).sigmoid()
        layers = tuple(layer for layer in self.layers if isinstance(layer, TrunkLayer))
        return PreparedTrunk(
            bias=self.bias(instance),
            basis=basis * gain[:, None],
            reader=basis,
            spread=self.spread.weight,
            mixes=tuple(layer.mix(instance) for layer in layers),
            layers=layers,
        )

    def regions(
        self,
        features: Float[Tensor, "b p i"],
        points: Float[Tensor, "b p 3"],
        component: Int[Tensor, "b p"],
        instance: Float[Tensor, "b t i"],
        centres: Float[Tensor, "b t 3"],
        centre_component: Int[Tensor, "b t"],
    ) -> Float[Tensor, "b p t"]:
        """Return how much each point belongs to each token: its attention to them, nearer ones and its part's first.

        It does not depend on the latent, so it is computed once per object.
        """
        logits = self.query(features) @ self.key(instance).transpose(-1, -2) * self.width**-0.5
        spread, loyalty = torch.nn.functional.softplus(self.reach(instance) + 1.0).unbind(-1)
        distance = torch.cdist(points, centres).square()
        same = (component[..., None] == centre_component[:, None, :]).to(logits.dtype)
        return (logits - 4.0 * spread[:, None] * distance + 3.0 * loyalty[:, None] * same).softmax(-1)
