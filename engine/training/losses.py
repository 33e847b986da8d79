"""What a training minimises.

    loss = recon + beta KL,    recon = mean over items of (position + 0.1 rotation + 0.05 edge) / (m + 0.05)

``position`` is the mean squared distance of decoded query points [unit frame], ``rotation`` the mean squared chord
of their rotations, ``edge`` the mean squared error of vectors between neighbouring points over their squared length
(it punishes tears and spikes), ``m`` the RMS motion of the item, so that small motions count too. The KL is in nats,
summed over the latent; a coordinate pays nothing for its first ``free_nats`` (free bits, Kingma et al. 2016), on the
mean of the batch.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import torch
from jaxtyping import Float
from torch import Tensor

from engine.datasets.pairs import PairBatch
from engine.model.variational_autoencoder import VariationalAutoencoder, blend, kl_to_prior, rotation_distance


def mixed_precision(device: torch.device) -> bool:
    """Return whether the encoders' matrix products run in bfloat16 while training: where the device multiplies it."""
    return device.type == "cuda" or torch.backends.cpu.get_cpu_capability() in {"AVX512", "AMX"}


def run_model(
    model: VariationalAutoencoder, batch: PairBatch, *, sample: bool
) -> tuple[Float[Tensor, "bf p 3"], Float[Tensor, "bf p 4"], Float[Tensor, "bf k"], Float[Tensor, "bf k"]]:
    """Encode and decode a batch. Return decoded positions and rotations, KL per coordinate, and posterior offset.

    With ``sample``, as in training: a sample of the posterior is decoded, in mixed precision; else its mean.
    """
    device = batch.points.device
    mixed = partial(torch.autocast, device.type, torch.bfloat16, enabled=sample and mixed_precision(device))
    with mixed():
        instance = model.encode_shape(batch.seen_points, batch.seen_normals, batch.component, batch.seeds)
    prepared = model.prepare(instance)
    weights = model.blend_weights(instance, batch.points, batch.normals, batch.component)
    count = batch.frames
    # The points were read: what is needed once per state goes on without them.
    unread = {name: getattr(instance, name)[:, :0] for name in ("points", "normals", "component", "features")}
    instance, prepared = replace(instance, **unread).repeated(count), prepared.repeated(count)
    weights, rest = weights.repeat_interleave(count, 0), batch.points.repeat_interleave(count, 0)
    with mixed():
        seen = rest, batch.seen_deformed, batch.rotation
        mu, log_variance = model.encode_motion(instance, prepared, weights, *seen)
    z = mu + torch.randn_like(mu) * (0.5 * log_variance).exp() if sample else mu
    positions, rotations = blend(weights, prepared.handles(z), rest)
    return positions, rotations, kl_to_prior(mu, log_variance, instance.mu), mu - instance.mu


def reconstruction(
    batch: PairBatch, positions: Float[Tensor, "bf p 3"], rotations: Float[Tensor, "bf p 4"]
) -> Float[Tensor, " bf"]:
    """Return the reconstruction loss of each pair (see the module's text)."""
    count = batch.frames
    rest = batch.points
    error = positions - batch.deformed
    with torch.no_grad():
        apart = torch.cdist(rest, rest)
        apart += 10.0 * (batch.component[:, :, None] != batch.component[:, None, :])
        apart.diagonal(dim1=1, dim2=2).fill_(100.0)
        length, neighbour = apart.topk(3, largest=False)
        usable = (length < 0.5).float().repeat_interleave(count, 0)
        stiffness = (1.0 / (length.square() + 0.02**2)).repeat_interleave(count, 0)
        first = torch.arange(len(error), device=error.device)[:, None] * error.shape[1]
        index = (neighbour.flatten(1).repeat_interleave(count, 0) + first).flatten()
    # As rows of one table: gathering along an axis costs eight times as much on the way back.
    beside = error.flatten(0, 1).index_select(0, index).view(*error.shape[:2], 3, 3)
    edge = (error[:, :, None] - beside).square().sum(-1) * stiffness
    edge = (edge.clamp(max=4.0) * usable).sum((1, 2)) / usable.sum((1, 2)).clamp(min=1.0)
    position = error.square().sum(-1).mean(1)
    rotation = rotation_distance(rotations, batch.rotation).mean(1)
    motion = (batch.deformed - rest.repeat_interleave(count, 0)).square().sum(-1).mean(1).sqrt()
    return (position + 0.1 * rotation + 0.05 * edge) / (motion + 0.05)


def paid_nats(kl: Float[Tensor, "bf k"], *, free_nats: float) -> Float[Tensor, ""]:
    """Return the KL of a pair [nats], each coordinate's mean over the batch counted from ``free_nats`` upward."""
    mean = kl.mean(0)
    return (mean.clamp(min=free_nats) if free_nats else mean).sum()
