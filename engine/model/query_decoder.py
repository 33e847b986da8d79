"""The query decoder of the paper: queries on the surface read the latent's tokens, and each gets a motion of its own.

Self-attention among the tokens that the latent sets (`LatentTrunk`), cross-attention from query points to them, and an
MLP that gives each query its dual quaternion about itself. Every other point takes the blend of the ``K_drive`` queries
nearest *on the surface*: of the same connected component first, then with a like normal, then by distance (a closed lid
and its box touch in space and must not share a query). Source: NeuROK (arXiv:2605.30347), section 3; the number of
queries and ``K_drive`` are ours.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from engine.model.blocks import Mlp
from engine.model.latent_trunk import LatentTrunk, PreparedTrunk, TrunkSizes
from engine.model.motions import motion_about

K_DRIVE = 8
# Squared unit-frame lengths that another component, and an opposite normal, count as.
_STRANGER, _TURNED = 10.0, 0.2


@dataclass(frozen=True, slots=True)
class PreparedQueries:
    """The query decoder of a batch of objects with everything that does not depend on the latent computed.

    Attributes:
        trunk: from the latent to hidden states of the tokens.
        decoder: the layers from tokens to queries.
        asked: what each query asks the tokens for, shape (b, q, d).
        places: of the queries, shape (b, q, 3), unit frame.
        regions: how much each of the encoder's points belongs to each token, shape (b, p, t), for the posterior.
    """

    trunk: PreparedTrunk
    decoder: QueryDecoder
    asked: Float[Tensor, "b q d"]
    places: Float[Tensor, "b q 3"]
    regions: Float[Tensor, "b p t"]

    def repeated(self, count: int) -> PreparedQueries:
        """Return each item ``count`` times: one rest shape in several states."""
        asked, places, regions = (t.repeat_interleave(count, 0) for t in (self.asked, self.places, self.regions))
        return PreparedQueries(self.trunk.repeated(count), self.decoder, asked, places, regions)

    def handles(self, z: Float[Tensor, "b k"]) -> Float[Tensor, "b q m"]:
        """Return the motion of each query, unit frame: a unit dual quaternion, or an affine map (`MotionKind`)."""
        return motion_about(self.numbers(z), self.places, self.decoder.kind)

    def numbers(self, z: Float[Tensor, "b k"]) -> Float[Tensor, "b q n"]:
        """Return the free numbers of each query (`MotionKind.numbers`)."""
        return self.decoder.read(self.asked, self.trunk.hidden(z))


class QueryDecoder(LatentTrunk):
    """Instance tokens, a latent and query points to one motion per query."""

    def _add_motion_layers(self, sizes: TrunkSizes) -> None:
        instance_width, width = sizes.instance_width, sizes.width
        self.heads = sizes.heads
        self.asking = Mlp(instance_width, width, width)
        self.token_norm, self.key_value = nn.LayerNorm(width), nn.Linear(width, 2 * width)
        self.gathered = nn.Linear(width, width)
        self.head_norm, self.head = nn.LayerNorm(width), Mlp(width, 2 * width, self.kind.numbers)
        last = self.head[-1]
        assert isinstance(last, nn.Linear)
        nn.init.normal_(last.weight, std=0.1 * (2 * width) ** -0.5)
        nn.init.zeros_(last.bias)

    def prepare(
        self,
        instance: Float[Tensor, "b t i"],
        query_features: Float[Tensor, "b q i"],
        query_places: Float[Tensor, "b q 3"],
        regions: Float[Tensor, "b p t"],
    ) -> PreparedQueries:
        """Compute all that depends on the rest shape alone; see `PreparedQueries` for the arguments."""
        return PreparedQueries(self.prepare_trunk(instance), self, self.asking(query_features), query_places, regions)

    def read(self, asked: Float[Tensor, "b q d"], hidden: Float[Tensor, "b t d"]) -> Float[Tensor, "b q n"]:
        """Let queries attend to the tokens, and return their free numbers."""
        b, t, _ = hidden.shape
        q = asked.unflatten(-1, (self.heads, -1)).transpose(1, 2)
        k, v = self.key_value(self.token_norm(hidden)).view(b, t, 2, self.heads, -1).permute(2, 0, 3, 1, 4)
        weights = (q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5).softmax(-1)
        x = asked + self.gathered((weights @ v).transpose(1, 2).flatten(-2))
        return self.head(self.head_norm(x))


def nearest_queries(
    points: Float[Tensor, "b p 3"],
    normals: Float[Tensor, "b p 3"],
    component: Int[Tensor, "b p"],
    query_points: Float[Tensor, "b q 3"],
    query_normals: Float[Tensor, "b q 3"],
    query_component: Int[Tensor, "b q"],
) -> Float[Tensor, "b p q"]:
    """Return the weights of the ``K_drive`` queries nearest to each point on the surface; rows sum to one."""
    distance = torch.cdist(points, query_points).square()
    apart = distance + _STRANGER * (component[..., None] != query_component[:, None, :]).to(distance.dtype)
    apart = apart + _TURNED * (1.0 - normals @ query_normals.transpose(-1, -2))
    value, index = apart.topk(min(K_DRIVE, query_points.shape[1]), dim=-1, largest=False)
    # The farthest of the eight gets nothing, so that a weight does not jump where one query gives way to the next.
    near = (value[..., -1:] - value).clamp(min=0.0) / (value + 1e-3)
    near = near / near.sum(-1, keepdim=True).clamp(min=1e-9)
    return torch.zeros_like(apart).scatter(-1, index, near)
