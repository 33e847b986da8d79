"""The handle decoder: a latent vector becomes T rigid motions, which a fixed weighting blends over the surface.

All that depends on the rest shape alone (biases, input maps, mixing weights, pivots, blending weights) is computed
once per object, as a `PreparedDecoder`. What is left to do per state is a short chain of matrix products and one
pointwise function, so the tangents along any directions ride along in the same products (`PreparedDecoder.handles`).

Symbols: ``z`` latent, ``h`` hidden state of a handle, ``A`` mixing weights among handles, ``(r, t)`` rotation and
translation of a handle about its pivot. Source: method of NeuROK (arXiv:2605.30347), with handles in place of queries.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from engine.geometry.dual_quaternion import dual_quaternion_about
from engine.model.blocks import Mlp, Pool


@dataclass(frozen=True, slots=True)
class PreparedDecoder:
    """The decoder of a batch of objects with everything that does not depend on the latent computed.

    Attributes:
        bias: hidden state at z = 0, shape (b, t, d).
        basis: orthonormal columns that spread a latent over the handles' codes, shape (b, t c, k).
        input_map: how each latent coordinate moves each handle's hidden state, shape (b, k, t, d).
        mixes: mixing matrices among handles of each layer, shape (b, heads, t, t) each.
        layers: value, output and feed-forward weights of each layer.
        out: last linear layer, to six numbers per handle.
        pivots: point about which each handle turns, shape (b, t, 3), unit frame.
    """

    bias: Float[Tensor, "b t d"]
    basis: Float[Tensor, "b tc k"]
    input_map: Float[Tensor, "b k t d"]
    mixes: tuple[Float[Tensor, "b h t t"], ...]
    layers: tuple[DecoderLayer, ...]
    out: nn.Linear
    pivots: Float[Tensor, "b t 3"]

    def repeated(self, count: int) -> PreparedDecoder:
        """Return each item ``count`` times: one rest shape in several states."""
        bias, basis, input_map, pivots = (
            t.repeat_interleave(count, 0) for t in (self.bias, self.basis, self.input_map, self.pivots)
        )
        mixes = tuple(m.repeat_interleave(count, 0) for m in self.mixes)
        return PreparedDecoder(bias, basis, input_map, mixes, self.layers, self.out, pivots)

    def raw(self, z: Float[Tensor, "b k"]) -> Float[Tensor, "b t 6"]:
        """Return the six numbers of each handle: half-angle tangent vector and translation."""
        h = self.bias + torch.einsum("bk,bktd->btd", z, self.input_map)
        for layer, mix in zip(self.layers, self.mixes, strict=True):
            h = layer(h, mix)
        return self.out(h)

    def handles(self, z: Float[Tensor, "b k"]) -> Float[Tensor, "b t 8"]:
        """Return the unit dual quaternion of each handle, unit frame."""
        turn, shift = self.raw(z).split(3, -1)
        rotation = torch.nn.functional.normalize(torch.cat((torch.ones_like(turn[..., :1]), turn), -1), dim=-1)
        return dual_quaternion_about(rotation, self.pivots, shift)


class DecoderLayer(nn.Module):
    """Mixing among handles by weights that depend on the rest shape alone, then a pointwise feed-forward layer."""

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


class HandleDecoder(nn.Module):
    """Instance tokens and a latent to handle motions; point features and instance tokens to blending weights.

    The first layer is linear in the latent. It is a basis, predicted from the instance tokens and orthonormalised for
    each object, of codes (a few numbers per handle): ``code = B z``, and the posterior reads ``z = B^T code``. So a new
    object begins with a projection of its motion, and learning turns the basis toward the directions that matter.
    A gain per object and direction lets an object have fewer directions than the latent.
    """

    def __init__(self, *, instance_width: int, width: int, heads: int, layers: int, latent: int, code: int) -> None:
        """``width`` hidden channels and ``code`` code channels per handle, ``latent`` coordinates."""
        super().__init__()
        self.latent, self.width, self.code = latent, width, code
        self.bias = nn.Linear(instance_width, width)
        self.basis = nn.Linear(instance_width, code * latent)
        self.gain = Pool(instance_width, heads, 2, latent)
        nn.init.zeros_(self.gain.out.weight)
        nn.init.zeros_(self.gain.out.bias)
        self.spread = nn.Linear(code, width, bias=False)
        self.layers = nn.ModuleList(DecoderLayer(width, heads, instance_width) for _ in range(layers))
        self.out = nn.Linear(width, 6)
        nn.init.normal_(self.out.weight, std=0.1 * width**-0.5)
        nn.init.zeros_(self.out.bias)
        self.pivot = Mlp(instance_width, width, 3)
        self.query, self.key = Mlp(instance_width, instance_width, width), nn.Linear(instance_width, width)
        self.reach = nn.Linear(instance_width, 2)

    def prepare(self, instance: Float[Tensor, "b t i"], centres: Float[Tensor, "b t 3"]) -> PreparedDecoder:
        """Compute all that depends on the rest shape alone.

        Args:
            instance: instance tokens of the prior encoder.
            centres: the surface point each token was seeded at, unit frame.
        """
        b, t, _ = instance.shape
        basis, _ = torch.linalg.qr(self.basis(instance).view(b, t * self.code, self.latent))
        rows = basis.view(b, t, self.code, self.latent)
        layers = tuple(layer for layer in self.layers if isinstance(layer, DecoderLayer))
        return PreparedDecoder(
            bias=self.bias(instance),
            basis=basis,
            # A direction that an object does not have (all of them, for a stone) is switched off by its gain.
            input_map=torch.einsum("btck,bk,dc->bktd", rows, 2.0 * self.gain(instance).sigmoid(), self.spread.weight),
            mixes=tuple(layer.mix(instance) for layer in layers),
            layers=layers,
            out=self.out,
            pivots=centres + 0.3 * self.pivot(instance),
        )

    def weights(
        self,
        features: Float[Tensor, "b p i"],
        points: Float[Tensor, "b p 3"],
        component: Int[Tensor, "b p"],
        instance: Float[Tensor, "b t i"],
        centres: Float[Tensor, "b t 3"],
        centre_component: Int[Tensor, "b t"],
    ) -> Float[Tensor, "b p t"]:
        """Return the blending weights of points: attention to the handles, nearer ones and those of its part first.

        They do not depend on the latent, so they are computed once per object.
        """
        logits = self.query(features) @ self.key(instance).transpose(-1, -2) * self.width**-0.5
        spread, loyalty = torch.nn.functional.softplus(self.reach(instance) + 1.0).unbind(-1)
        distance = torch.cdist(points, centres).square()
        same = (component[..., None] == centre_component[:, None, :]).to(logits.dtype)
        return (logits - 4.0 * spread[:, None] * distance + 3.0 * loyalty[:, None] * same).softmax(-1)
