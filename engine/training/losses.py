"""What a training minimises.

    loss = recon + beta KL + crispness C + rigidity S + evenness E,
    recon = mean over items of 0.16 (position + 0.1 rotation + 0.05 edge) / (M^2 + 0.03^2)

``position`` is the mean squared distance of decoded query points [unit frame], ``rotation`` the mean squared chord
of their rotations, ``edge`` the mean squared error of vectors between neighbouring points over their squared length
(it punishes tears and spikes), ``M`` the RMS motion of all the object's items: every state of an object is measured by
the same measure, since an error over each item's own motion is smallest if next to nothing moves for a wide way about
rest. For the same reason an item at rest is decoded without noise, and costs no divergence. The KL is in nats.

``C`` is the L1 difference of the blending weights of neighbouring points that keep together in all states drawn: a
rigid part has one motion. Posteriors lie so close to the states of the data that nothing so far tells the decoder what
to do between them. ``E`` asks for a motion from rest to each state that is in proportion to the way gone. ``S`` is the
squared strain between points of one true rigid part in random states, half of them of the standard prior, half of the
object's own: stones moved there like rubber.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import torch
from jaxtyping import Float, Int
from torch import Tensor

from engine.datasets.pairs import PairBatch
from engine.model.posterior import Posterior
from engine.model.prior import Prior
from engine.model.variational_autoencoder import PreparedDecoder, VariationalAutoencoder, blend, rotation_distance

# Motion below which the error counts less [unit frame].
LEAST_MOTION = 0.03
# Squared motion, over that of the object's other pairs, below which a pair is at rest.
STILL = 1.0e-4
# Least share of the way from rest to a state at which the decoder is looked at.
NEAREST = 0.05
# Squared chord between the rotations of two points of one rigid part.
TOGETHER = 1.0e-4
# Pairs of each point whose distance is watched in random states.
PARTNERS = 4


def mixed_precision(device: torch.device) -> bool:
    """Return whether the encoders' matrix products run in bfloat16 while training: where the device multiplies it."""
    return device.type == "cuda" or torch.backends.cpu.get_cpu_capability() in {"AVX512", "AMX"}


@dataclass(frozen=True, slots=True)
class Decoded:
    """What the network makes of a batch.

    Attributes:
        positions, rotations: decoded, of every point in every state.
        posterior: of every pair.
        root: of the posterior's covariance (`Posterior.root`).
        prior: of every object (`engine.model.prior`), fitted to the posteriors beside the loss.
        rest: latent of each object's rest shape.
        moves: zero for a pair at rest, of an object that moves.
        weights: blending weights of the points.
        prepared: decoders of the objects.
    """

    positions: Float[Tensor, "bf p 3"]
    rotations: Float[Tensor, "bf p 4"]
    posterior: Posterior
    root: Float[Tensor, "bf k k"]
    prior: Prior
    rest: Float[Tensor, "b k"]
    moves: Float[Tensor, " bf"]
    weights: Float[Tensor, "b p t"]
    prepared: PreparedDecoder

    @property
    def kl(self) -> Float[Tensor, " bf"]:
        """Divergence of each pair's posterior from the prior [nats]."""
        return self.posterior.kl(self.root) * self.moves

    @property
    def surprise(self) -> Float[Tensor, ""]:
        """How far the posteriors are from the objects' own priors [nats]; it has a gradient in the priors alone.

        Pairs at rest do not count: any state may be the rest shape, and a tenth of the pairs would draw priors to it.
        """
        count = len(self.posterior.mean) // len(self.prior.mean)
        nats = self.prior.repeated(count).surprise(self.posterior.mean.detach(), self.root.detach())
        return (nats * self.moves).sum() / self.moves.sum().clamp(min=1.0)

    @property
    def unevenness(self) -> Float[Tensor, ""]:
        """How unevenly the decoder goes from rest to the states of the batch (`unevenness`)."""
        count = len(self.posterior.mean) // len(self.rest)
        rest = self.rest.repeat_interleave(count, 0)
        return unevenness(self.prepared.repeated(count).numbers, rest, self.posterior.mean)

    def random_states(self, points: Float[Tensor, "b p 3"]) -> Float[Tensor, "2*b p 3"]:
        """Return the points in two random states of each object: one of its own prior, one of the standard prior."""
        mean = self.prior.mean
        own, standard = self.prior.at(torch.randn_like(mean)), mean + torch.randn_like(mean)
        # The prior is not moved by what its samples decode to.
        z = torch.stack((own, standard), 1).flatten(0, 1).detach()
        weights, points = (x.repeat_interleave(2, 0) for x in (self.weights, points))
        return blend(weights, self.prepared.repeated(2).handles(z), points)[0]


def run_model(model: VariationalAutoencoder, batch: PairBatch, *, sample: bool) -> Decoded:
    """Encode and decode a batch.

    With ``sample``, as in training: a sample of the posterior is decoded, in mixed precision; else its mean.
    """
    device = batch.points.device
    mixed = partial(torch.autocast, device.type, torch.bfloat16, enabled=sample and mixed_precision(device))
    with mixed():
        instance = model.encode_shape(batch.seen_points, batch.seen_normals, batch.component, batch.seeds)
    prepared = model.prepare(instance)
    weights = model.blend_weights(instance, batch.points, batch.normals, batch.component)
    prior = model.object_prior(instance, prepared)
    unturned = torch.zeros_like(batch.points[..., :1]).expand(-1, -1, 4).clone()
    unturned[..., 0] = 1.0
    with mixed():
        still = model.encode_motion(instance, prepared, weights, batch.points, batch.points, unturned)
    own, count = prepared, batch.frames
    # The points were read: what is needed once per state goes on without them.
    unread = {name: getattr(instance, name)[:, :0] for name in ("points", "normals", "component", "features")}
    instance, prepared = replace(instance, **unread).repeated(count), prepared.repeated(count)
    driven, rest = weights.repeat_interleave(count, 0), batch.points.repeat_interleave(count, 0)
    with mixed():
        seen = rest, batch.seen_deformed, batch.rotation
        posterior = model.encode_motion(instance, prepared, driven, *seen)
    root = posterior.root()
    moves = (batch.motion > STILL * batch.usual_motion).to(rest.dtype)
    z = posterior.sample(root * moves[:, None, None]) if sample else posterior.mean
    positions, rotations = blend(driven, prepared.handles(z), rest)
    return Decoded(positions, rotations, posterior, root, prior, still.mean, moves, weights, own)


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The three nearest points of each point on its own connected component.

    Attributes:
        index: of them among the rows of all points of the batch, shape (b p 3,).
        length: at rest, shape (b, p, 3) [unit frame].
        usable: zero for a point that has none near, shape (b, p, 3).
    """

    index: Int[Tensor, " n"]
    length: Float[Tensor, "b p 3"]
    usable: Float[Tensor, "b p 3"]

    @classmethod
    @torch.no_grad()
    def of(cls, batch: PairBatch) -> Neighbours:
        """Find them."""
        rest = batch.points
        apart = torch.cdist(rest, rest)
        apart += 10.0 * (batch.component[:, :, None] != batch.component[:, None, :])
        apart.diagonal(dim1=1, dim2=2).fill_(100.0)
        length, neighbour = apart.topk(3, largest=False)
        first = torch.arange(len(rest), device=rest.device)[:, None] * rest.shape[1]
        return cls((neighbour.flatten(1) + first).flatten(), length, (length < 0.5).float())

    def beside(self, values: Float[Tensor, "b p c"]) -> Float[Tensor, "b p 3 c"]:
        """Return the values of each point's neighbours."""
        # As rows of one table: gathering along an axis costs eight times as much on the way back.
        rows = values.flatten(0, 1).index_select(0, self.index)
        return rows.view(*values.shape[:2], 3, values.shape[-1])


def reconstruction(
    batch: PairBatch,
    positions: Float[Tensor, "bf p 3"],
    rotations: Float[Tensor, "bf p 4"],
    neighbours: Neighbours | None = None,
) -> Float[Tensor, " bf"]:
    """Return the reconstruction loss of each pair (see the module's text)."""
    near = Neighbours.of(batch) if neighbours is None else neighbours
    b, p, f = *batch.points.shape[:2], batch.frames
    error = positions - batch.deformed
    usable = near.usable.repeat_interleave(f, 0)
    stiffness = (1.0 / (near.length.square() + 0.02**2)).repeat_interleave(f, 0)
    # States side by side at each point, so that one table of neighbours serves them all.
    own = error.unflatten(0, (b, f)).transpose(1, 2).flatten(2)
    apart = (own[:, :, None] - near.beside(own)).view(b, p, 3, f, 3).square().sum(-1).permute(0, 3, 1, 2).flatten(0, 1)
    edge = ((apart * stiffness).clamp(max=4.0) * usable).sum((1, 2)) / usable.sum((1, 2)).clamp(min=1.0)
    position = error.square().sum(-1).mean(1)
    rotation = rotation_distance(rotations, batch.rotation).mean(1)
    return 0.16 * (position + 0.1 * rotation + 0.05 * edge) / (batch.usual_motion + LEAST_MOTION**2)


def crispness(
    batch: PairBatch, weights: Float[Tensor, "b p t"], neighbours: Neighbours | None = None
) -> Float[Tensor, ""]:
    """Return the mean L1 difference of the blending weights of neighbours that no state drawn moves apart."""
    near = Neighbours.of(batch) if neighbours is None else neighbours
    with torch.no_grad():
        b, p, f = *batch.points.shape[:2], batch.frames
        turn = batch.rotation.unflatten(0, (b, f)).transpose(1, 2)
        beside = near.beside(turn.flatten(2)).view(b, p, 3, f, 4)
        apart = rotation_distance(turn[:, :, None].expand_as(beside), beside).amax(-1)
        # A relative turn of one degree has a squared chord of 8e-5; half precision makes 1e-6 of none.
        together = near.usable * (apart < TOGETHER).float()
    gap = (weights[:, :, None] - near.beside(weights)).abs().sum(-1)
    return (gap * together).sum() / together.sum().clamp(min=1.0)


def unevenness(
    numbers: Callable[[Tensor], Tensor], rest: Float[Tensor, "n k"], moved: Float[Tensor, "n k"]
) -> Float[Tensor, ""]:
    """Return how unevenly motions go from rest to a state along the straight line between their latents.

    At a random share of the way they should have gone that share. What is left is squared and divided by the squared
    share: near rest, it is the slope that counts.

    Args:
        numbers: from latents to the free numbers of all handles, shape (n, t, m).
        rest: latents of the rest shapes.
        moved: of the states.
    """
    share = NEAREST + (1.0 - NEAREST) * torch.rand(len(rest), 1, device=rest.device)
    start = numbers(rest)
    whole, part = (numbers(z) - start for z in (moved, rest + share * (moved - rest)))
    uneven = (part / share[..., None] - whole).square().mean((1, 2))
    return (uneven / (whole.square().mean((1, 2)) + LEAST_MOTION**2)).mean()


def looseness(batch: PairBatch, positions: Float[Tensor, "bs p 3"]) -> Float[Tensor, ""]:
    """Return the mean squared strain between random pairs of points of one true rigid part, in states of them."""
    each = len(positions) // len(batch.points)
    points, part = (x.repeat_interleave(each, 0) for x in (batch.points, batch.part))
    total, count = positions.new_zeros(()), positions.new_zeros(())
    for _ in range(PARTNERS):
        # Samples are in random order: a random shift pairs them at random.
        by = int(torch.randint(1, points.shape[1], ()))
        together = ((part == part.roll(by, 1)) & (part >= 0)).float()
        rest, now = ((x - x.roll(by, 1)).square().sum(-1).add(1e-8).sqrt() for x in (points, positions))
        strain = (now - rest).square() / (rest.square() + 0.02**2)
        total, count = total + (strain * together).sum(), count + together.sum()
    return total / count.clamp(min=1.0)
