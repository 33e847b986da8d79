"""The conditional variational autoencoder: prior encoder, posterior encoder, handle decoder (NeuROK, section 3).

``E_cond`` reads points of the rest surface and returns instance tokens and the prior ``p(z | mesh) = N(mu, I)``;
``E_VAE`` reads the same points with their motion and returns the posterior ``N(mu, sigma)``; the decoder turns ``z``
into handle motions. Tokens are seeded at farthest points of the surface instead of being learned constants, so
each handle stands on a part of the object from the start.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from functools import partial
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from engine.geometry.dual_quaternion import quaternion_multiply
from engine.model.blocks import Block, Mlp, PairBias, PointFeatures, Pool, SelfBlock
from engine.model.handle_decoder import HandleDecoder, PreparedHandles
from engine.model.latent_trunk import TrunkSizes
from engine.model.motions import MotionKind
from engine.model.motions import blend as blend
from engine.model.posterior import Posterior
from engine.model.prior import Prior, PriorHead
from engine.model.query_decoder import PreparedQueries, QueryDecoder, nearest_queries

PreparedDecoder = PreparedHandles | PreparedQueries

# Pooled motion of a handle's region: displacement, rotation quaternion, first moment of displacement.
MOTION_CHANNELS = 16
# Of the posterior's own directions: weights near one then reach the precisions that are needed.
FACTOR_SCALE = 10.0


class DecoderKind(StrEnum):
    """Which decoder a network has."""

    HANDLE = "handle"
    QUERY = "query"


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """Sizes of the networks, and which of them.

    Attributes:
        width, heads, octaves: channels and heads of the encoders, octaves of the positional encoding.
        prior_blocks: layers of the prior encoder that read the points.
        trunk_blocks: layers of it that follow, among the tokens alone, with a bias by where the tokens stand.
        posterior_blocks: layers of the posterior encoder.
        refinements: how often the posterior looks at what its own decode leaves over.
        posterior_rank: directions of its own along which the posterior may be narrow (`engine.model.posterior`).
        prior_rank: directions along which an object's own prior may be narrow (`PriorHead`); 0: the standard one.
        decoder: handles (ours) or queries (the paper's).
        motion: what a handle or query is: a dual quaternion, or an affine map (the ablation).
        decoder_width, decoder_layers: of the trunk from the latent to the tokens.
        handles, latent, code: tokens T, latent coordinates k, code channels per token.
        queries: query points of the query decoder.
        component_slots: components told apart.
        canonical: whether shapes are read at their canonical yaw (`engine.geometry.canonical_frame`).
    """

    width: int = 128
    heads: int = 4
    octaves: int = 6
    prior_blocks: int = 3
    posterior_blocks: int = 2
    decoder_width: int = 96
    decoder_layers: int = 2
    handles: int = 24
    latent: int = 32
    code: int = 8
    component_slots: int = 64
    trunk_blocks: int = 0
    refinements: int = 0
    canonical: bool = False
    decoder: DecoderKind = DecoderKind.HANDLE
    motion: MotionKind = MotionKind.DUAL_QUATERNION
    queries: int = 160
    posterior_rank: int = 0
    prior_rank: int = 0

    def as_dict(self) -> dict[str, Any]:
        """Return the sizes as plain numbers, as kept in a checkpoint."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Instance:
    """What the prior encoder knows of a batch of rest shapes.

    Attributes:
        tokens: instance tokens, shape (b, t, d).
        mu: prior mean, shape (b, k).
        centres, centre_component: where each token was seeded, unit frame, and on which component.
        points, normals, component: of the encoder's points.
        pooled: feature of every component slot, shape (b, s, d).
        features: features of the encoder's points, shape (b, p, d).
    """

    tokens: Float[Tensor, "b t d"]
    mu: Float[Tensor, "b k"]
    centres: Float[Tensor, "b t 3"]
    centre_component: Int[Tensor, "b t"]
    points: Float[Tensor, "b p 3"]
    normals: Float[Tensor, "b p 3"]
    component: Int[Tensor, "b p"]
    pooled: Float[Tensor, "b s d"]
    features: Float[Tensor, "b p d"]

    def repeated(self, count: int) -> Instance:
        """Return each item ``count`` times: one rest shape with several motions."""
        return Instance(*(getattr(self, f).repeat_interleave(count, 0) for f in self.__slots__))


class VariationalAutoencoder(nn.Module):
    """The three networks, trained together."""

    def __init__(self, config: ModelConfig) -> None:
        """Build the networks of the given sizes, with random weights."""
        super().__init__()
        self.config = c = config
        self.features = PointFeatures(c.width, c.octaves, c.component_slots)
        self.prior = nn.ModuleList(Block(c.width, c.heads) for _ in range(c.prior_blocks))
        if c.trunk_blocks:
            self.trunk = nn.ModuleList(SelfBlock(c.width, c.heads) for _ in range(c.trunk_blocks))
            self.trunk_bias = PairBias(c.heads, c.trunk_blocks)
        self.prior_norm, self.posterior_norm = nn.LayerNorm(c.width), nn.LayerNorm(c.width)
        self.prior_mean = Pool(c.width, c.heads, 4, c.latent)
        self.motion = Mlp(MOTION_CHANNELS, c.width, c.width)
        self.posterior = nn.ModuleList(SelfBlock(c.width, c.heads) for _ in range(c.posterior_blocks))
        self.posterior_code = nn.Linear(c.width, c.code)
        if c.refinements:
            self.residual = Mlp(MOTION_CHANNELS, c.width, c.width)
            self.refiner = nn.ModuleList(SelfBlock(c.width, c.heads) for _ in range(c.posterior_blocks))
            self.refined_code = nn.Linear(c.width, c.code)
            nn.init.zeros_(self.refined_code.weight)
            nn.init.zeros_(self.refined_code.bias)
        self.posterior_spread = Pool(c.width, c.heads, 4, c.latent)
        with torch.no_grad():
            # Begin with a narrow posterior (sigma about 0.1): the decoder must first learn to listen to it.
            self.posterior_spread.out.weight *= 0.1
            self.posterior_spread.out.bias.fill_(-4.5)
        sizes = TrunkSizes(c.width, c.decoder_width, c.heads, c.decoder_layers, c.latent, c.code)
        self.decoder = (HandleDecoder if c.decoder is DecoderKind.HANDLE else QueryDecoder)(sizes, c.motion)
        if c.posterior_rank:
            self.posterior_factor = nn.Linear(c.width, c.posterior_rank * c.code)
            nn.init.normal_(self.posterior_factor.weight, std=0.1 * c.width**-0.5)
            nn.init.zeros_(self.posterior_factor.bias)
        if c.prior_rank:
            self.prior_head = PriorHead(c.width, c.heads, c.code, c.prior_rank)

    def encode_shape(
        self,
        points: Float[Tensor, "b p 3"],
        normals: Float[Tensor, "b p 3"],
        component: Int[Tensor, "b p"],
        seeds: Int[Tensor, "b t"],
    ) -> Instance:
        """Read rest surfaces (unit frame); ``seeds`` are the farthest points at which tokens start."""
        own, pooled = self.features.components(points, normals, component)
        features = self.features.gather(own, pooled, component)
        tokens = torch.take_along_dim(features, seeds[..., None], 1)
        for block in self.prior:
            tokens = block(tokens, features)
        if self.config.trunk_blocks:
            places, facing, of = (
                torch.take_along_dim(x, seeds[..., None], 1) for x in (points, normals, component[..., None])
            )
            for block, bias in zip(self.trunk, self.trunk_bias(places, facing, of[..., 0]), strict=True):
                tokens = block(tokens, bias)
        tokens = self.prior_norm(tokens)
        # Under mixed precision the encoders run in bfloat16; what leaves them is in the precision of the points.
        return Instance(
            tokens=tokens.to(points.dtype),
            mu=self.prior_mean(tokens).to(points.dtype),
            centres=torch.take_along_dim(points, seeds[..., None], 1),
            centre_component=torch.take_along_dim(component, seeds, 1),
            points=points,
            normals=normals,
            component=component,
            pooled=pooled,
            features=features,
        )

    def encode_motion(
        self,
        instance: Instance,
        prepared: PreparedDecoder,
        weights: Float[Tensor, "b p t"],
        points: Float[Tensor, "b p 3"],
        deformed: Float[Tensor, "b p 3"],
        rotation: Float[Tensor, "b p 4"],
    ) -> Posterior:
        """Return the posterior, given the points' motion.

        Attention from handles to points is the blending weights themselves: each handle sees the mean motion of the
        region that it drives, and codes it. The posterior's mean is the codes projected on the decoder's own basis.
        (With free cross-attention and a pooled vector the error stayed at 0.99 of the rest pose's for 600 iterations
        and the posterior collapsed; this way it is 0.45 after 370.)

        Args:
            instance: of the rest shapes.
            prepared: their decoders.
            weights: what drives the points (`blend_weights`).
            points: rest positions.
            deformed: their positions in the other frame.
            rotation: their local rotations, unit quaternions.
        """
        if self.config.motion is MotionKind.AFFINE:
            # The ablation knows of no rotations at all.
            rotation = rotation * 0.0
        regions = weights if isinstance(prepared, PreparedHandles) else prepared.regions
        share = (regions / (regions.sum(1, keepdim=True) + 1e-4)).transpose(1, 2)
        # Under mixed precision the layers run in bfloat16; distances and decoded places are too fine for it.
        exactly = partial(torch.autocast, points.device.type, enabled=False)
        with exactly():
            seen = pooled_motion(share, points, deformed, rotation)
        tokens = instance.tokens + self.motion(seen)
        for block in self.posterior:
            tokens = block(tokens)
        tokens = self.posterior_norm(tokens)
        mu = instance.mu + prepared.trunk.latent_of(self.posterior_code(tokens))
        for _ in range(self.config.refinements):
            # What the decode of this mean leaves over corrects it: a learned Gauss-Newton step.
            with exactly():
                reached, turned = blend(weights, prepared.handles(mu), points)
                left = pooled_motion(share, reached, deformed, relative_rotation(turned, rotation))
            tokens = tokens + self.residual(left)
            for block in self.refiner:
                tokens = block(tokens)
            mu = mu + prepared.trunk.latent_of(self.refined_code(tokens))
        spread = self.posterior_spread(tokens).to(points.dtype).clamp(-12.0, 4.0)
        factor = mu.new_zeros(*mu.shape, 0)
        if self.config.posterior_rank:
            # As codes of the tokens, like the mean: they turn with the object's basis.
            codes = self.posterior_factor(tokens).unflatten(-1, (self.config.posterior_rank, -1))
            columns = [prepared.trunk.latent_of(codes[:, :, r]) for r in range(self.config.posterior_rank)]
            factor = FACTOR_SCALE * torch.stack(columns, -1)
        return Posterior(mu, spread, factor, instance.mu)

    def object_prior(self, instance: Instance, prepared: PreparedDecoder) -> Prior:
        """Return where the states of each object are to be expected; its gradient stays in its own layers."""
        mean = instance.mu.detach()
        if not self.config.prior_rank:
            return Prior.standard(mean)
        return self.prior_head(instance.tokens.detach(), prepared.trunk.reader.detach(), mean)

    def prepare(self, instance: Instance) -> PreparedDecoder:
        """Compute the latent-independent part of the decoder."""
        if isinstance(self.decoder, HandleDecoder):
            return self.decoder.prepare(instance.tokens, instance.centres)
        # The encoder's points are in random order: the first of them are as good as any.
        asked = slice(0, self.config.queries)
        regions = self._regions(instance, instance.features, instance.points, instance.component)
        features = instance.features[:, asked].to(instance.points.dtype)
        return self.decoder.prepare(instance.tokens, features, instance.points[:, asked], regions)

    def blend_weights(
        self,
        instance: Instance,
        points: Float[Tensor, "b p 3"],
        normals: Float[Tensor, "b p 3"],
        component: Int[Tensor, "b p"],
    ) -> Float[Tensor, "b p t"]:
        """Return how much each handle, or query, drives any surface points of the shapes; rows sum to one."""
        if isinstance(self.decoder, QueryDecoder):
            asked = slice(0, self.config.queries)
            queries = (instance.points[:, asked], instance.normals[:, asked], instance.component[:, asked])
            return nearest_queries(points, normals, component, *queries)
        own = self.features.point(torch.cat((self.features.encoding(points), normals), -1))
        features = self.features.gather(own, instance.pooled.to(own.dtype), component)
        return self._regions(instance, features, points, component)

    def _regions(
        self,
        instance: Instance,
        features: Float[Tensor, "b p i"],
        points: Float[Tensor, "b p 3"],
        component: Int[Tensor, "b p"],
    ) -> Float[Tensor, "b p t"]:
        features = features.to(points.dtype)
        return self.decoder.regions(
            features, points, component, instance.tokens, instance.centres, instance.centre_component
        )


def pooled_motion(
    share: Float[Tensor, "b t p"],
    points: Float[Tensor, "b p 3"],
    deformed: Float[Tensor, "b p 3"],
    rotation: Float[Tensor, "b p 4"],
) -> Float[Tensor, "b t 16"]:
    """Return the mean displacement, rotation and first moment of displacement of each handle's region, to order one."""
    shift = deformed - points
    turn = torch.where(rotation[..., :1] < 0, -rotation, rotation)
    moment = (points[..., :, None] * shift[..., None, :]).flatten(-2)
    centre, shift, turn, moment = (share @ torch.cat((points, shift, turn, moment), -1)).split((3, 3, 4, 9), -1)
    moment = moment - (centre[..., :, None] * shift[..., None, :]).flatten(-2)
    return torch.cat((4.0 * shift, 2.0 * turn, 20.0 * moment), -1)


def rotation_distance(a: Float[Tensor, "*n 4"], b: Float[Tensor, "*n 4"]) -> Float[Tensor, "*n"]:
    """Return the squared chord between unit quaternions, blind to their sign (about angle^2 / 4 when small)."""
    return 2.0 - 2.0 * (a * b).sum(-1).abs()


def relative_rotation(a: Float[Tensor, "*n 4"], b: Float[Tensor, "*n 4"]) -> Float[Tensor, "*n 4"]:
    """Return ``a* b``: the rotation that leads from ``a`` to ``b`` in the frame of ``a``."""
    return quaternion_multiply(a * a.new_tensor([1.0, -1.0, -1.0, -1.0]), b)
