"""Transformer blocks and point features shared by the three networks.

Attention is written out in plain products: token counts are small, and the plain form has every derivative.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn


class PositionalEncoding(nn.Module):
    """Coordinates with sines and cosines in octaves times pi (3DShape2VecSet, section 3.3)."""

    def __init__(self, octaves: int) -> None:
        """``octaves`` frequencies per axis; the output has ``6 octaves + 3`` channels."""
        super().__init__()
        self.channels = 6 * octaves + 3
        self.frequencies: Tensor
        self.register_buffer("frequencies", torch.pi * 2.0 ** torch.arange(octaves), persistent=False)

    def forward(self, x: Float[Tensor, "*n 3"]) -> Float[Tensor, "*n c"]:
        """Encode positions in the unit frame."""
        phase = (x[..., None] * self.frequencies).flatten(-2)
        return torch.cat((x, phase.sin(), phase.cos()), -1)


class Mlp(nn.Sequential):
    """Two linear layers with a GELU between them."""

    def __init__(self, inside: int, hidden: int, outside: int) -> None:
        """Channels in, hidden and out."""
        super().__init__(nn.Linear(inside, hidden), nn.GELU(), nn.Linear(hidden, outside))


class Attention(nn.Module):
    """Multi-head attention of queries to a context (or to themselves), pre-normalised, with a residual."""

    def __init__(self, width: int, heads: int, *, cross: bool = False) -> None:
        """``width`` channels in ``heads`` heads; ``cross`` gives the context its own normalisation."""
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(width)
        self.context_norm = nn.LayerNorm(width) if cross else None
        self.query, self.key_value = nn.Linear(width, width), nn.Linear(width, 2 * width)
        self.out = nn.Linear(width, width)

    def forward(
        self,
        x: Float[Tensor, "b t d"],
        context: Float[Tensor, "b p d"] | None = None,
        bias: Float[Tensor, "b h t s"] | None = None,
    ) -> Float[Tensor, "b t d"]:
        """Return ``x`` plus what it gathers from the context; ``bias`` is added to the logits of each head."""
        normed = self.norm(x)
        if context is not None and self.context_norm is not None:
            source = self.context_norm(context)
        else:
            source = normed
        b, t, d = x.shape
        # The scale goes to the queries, the fewest numbers; keys and values are heads of one product.
        q = (self.query(normed) * (d // self.heads) ** -0.5).view(b, t, self.heads, -1).transpose(1, 2)
        both = self.key_value(source).view(b, source.shape[1], 2 * self.heads, -1).transpose(1, 2)
        k, v = both.split(self.heads, 1)
        logits = q @ k.transpose(-1, -2)
        weights = (logits if bias is None else logits + bias).softmax(-1)
        return x + self.out((weights @ v).transpose(1, 2).reshape(b, t, d))


class Block(nn.Module):
    """Cross-attention to points, self-attention among tokens, and a feed-forward layer."""

    def __init__(self, width: int, heads: int) -> None:
        """``width`` channels in ``heads`` heads."""
        super().__init__()
        self.cross = Attention(width, heads, cross=True)
        self.own = Attention(width, heads)
        self.norm, self.feed = nn.LayerNorm(width), Mlp(width, 2 * width, width)

    def forward(self, tokens: Float[Tensor, "b t d"], context: Float[Tensor, "b p d"]) -> Float[Tensor, "b t d"]:
        """Return updated tokens."""
        tokens = self.own(self.cross(tokens, context))
        return tokens + self.feed(self.norm(tokens))


class SelfBlock(nn.Module):
    """Self-attention among tokens and a feed-forward layer."""

    def __init__(self, width: int, heads: int) -> None:
        """``width`` channels in ``heads`` heads."""
        super().__init__()
        self.own = Attention(width, heads)
        self.norm, self.feed = nn.LayerNorm(width), Mlp(width, 2 * width, width)

    def forward(
        self, tokens: Float[Tensor, "b t d"], bias: Float[Tensor, "b h t t"] | None = None
    ) -> Float[Tensor, "b t d"]:
        """Return updated tokens; ``bias`` is added to the logits of each head."""
        tokens = self.own(tokens, bias=bias)
        return tokens + self.feed(self.norm(tokens))


class PairBias(nn.Module):
    """How much tokens attend to one another by where they stand: a bias of the logits per head, for every layer.

    A joint is told by which parts lie beside which, and on which side: by pairs of places, that is, which products of
    single tokens' features learn only slowly.
    """

    def __init__(self, heads: int, layers: int, *, hidden: int = 32) -> None:
        """``heads`` biases for each of ``layers`` layers."""
        super().__init__()
        self.heads, self.layers = heads, layers
        self.net = Mlp(10, hidden, heads * layers)

    def forward(
        self, places: Float[Tensor, "b t 3"], normals: Float[Tensor, "b t 3"], component: Int[Tensor, "b t"]
    ) -> tuple[Float[Tensor, "b h t t"], ...]:
        """Return each layer's bias, given the tokens' places (unit frame), normals and components."""
        apart = places[:, :, None] - places[:, None]
        distance = apart.norm(dim=-1, keepdim=True)
        same = (component[:, :, None] == component[:, None]).to(places.dtype)[..., None]
        across = (normals[:, :, None] * apart).sum(-1, keepdim=True)
        facing = (normals[:, :, None] * normals[:, None]).sum(-1, keepdim=True)
        near = torch.exp(-8.0 * distance.square())
        pair = torch.cat((apart, apart.abs(), distance, near, same, across * facing), -1)
        biases = self.net(pair).permute(0, 3, 1, 2)
        return biases.split(self.heads, 1)


class Pool(nn.Module):
    """A few learned queries that gather a set of tokens into one vector, whatever their number and order."""

    def __init__(self, width: int, heads: int, queries: int, channels: int) -> None:
        """``queries`` learned queries, ``channels`` output channels."""
        super().__init__()
        self.queries = nn.Parameter(0.5 * torch.randn(queries, width))
        self.attend = Attention(width, heads, cross=True)
        self.out = nn.Linear(queries * width, channels)

    def forward(self, tokens: Float[Tensor, "b t d"]) -> Float[Tensor, "b c"]:
        """Return one vector per item."""
        gathered = self.attend(self.queries.expand(len(tokens), -1, -1), tokens)
        return self.out(gathered.flatten(1))


class PointFeatures(nn.Module):
    """Features of surface points: encoded position, normal, and the pooled feature of the point's component.

    The component's feature tells a lid from the box it rests on where the two touch in space.
    """

    def __init__(self, width: int, octaves: int, slots: int) -> None:
        """``slots`` is how many components are told apart; higher numbers share slots."""
        super().__init__()
        self.encoding, self.slots = PositionalEncoding(octaves), slots
        self.point = Mlp(self.encoding.channels + 3, width, width)
        self.pooled = Mlp(2 * width, width, width)

    def components(
        self, points: Float[Tensor, "b p 3"], normals: Float[Tensor, "b p 3"], component: Int[Tensor, "b p"]
    ) -> tuple[Float[Tensor, "b p d"], Float[Tensor, "b s d"]]:
        """Return the points' own features and the pooled feature of every component slot."""
        own = self.point(torch.cat((self.encoding(points), normals), -1))
        mean, high = pooled_by_slot(own, component, self.slots)
        return own, self.pooled(torch.cat((mean, high), -1))

    def gather(
        self, own: Float[Tensor, "b p d"], pooled: Float[Tensor, "b s d"], component: Int[Tensor, "b p"]
    ) -> Float[Tensor, "b p d"]:
        """Add to each point the feature of its component."""
        row = component + self.slots * torch.arange(len(component), device=component.device)[:, None]
        # As rows of one table: gathering along an axis costs three times as much, there and back.
        return own + pooled.flatten(0, 1).index_select(0, row.flatten()).view_as(own)


def pooled_by_slot(
    values: Float[Tensor, "b p d"], slot: Int[Tensor, "b p"], slots: int
) -> tuple[Float[Tensor, "b s d"], Float[Tensor, "b s d"]]:
    """Return mean and largest value over the points of each slot, zero for slots without points.

    The points are sorted by slot and reduced in segments: a third of the time of a scattered reduction.
    """
    count, _, channels = values.shape
    key = (slot + slots * torch.arange(count, device=slot.device)[:, None]).flatten()
    lengths = torch.bincount(key, minlength=count * slots)
    rows = values.flatten(0, 1).index_select(0, key.argsort())
    rows = rows.to(torch.promote_types(rows.dtype, torch.float32))
    mean, high = (
        torch.segment_reduce(rows, how, lengths=lengths, axis=0).where(lengths[:, None] > 0, 0.0)
        for how in ("mean", "max")
    )
    shape = (count, slots, channels)
    return mean.view(shape).to(values.dtype), high.view(shape).to(values.dtype)
