"""Training items: two states of one object, aligned, turned, brought to the unit frame.

Every pair A -> B is aligned by one area-weighted rigid fit of B to A (the samples of a shard are spread by area), so
that free and fixed motions agree and the latent spends nothing on rigid motion; any state can be the rest shape. What
is drawn at random is drawn here, on the processor, from one generator; the arithmetic runs for a whole batch at once on
the device that trains. Objects with fewer samples than others of their batch bring all to their number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from engine.datasets.augmentation import (
    Augmentation,
    random_frames,
    random_parts,
    random_stretches,
    without_a_component,
)
from engine.datasets.batched import canonical_yaws, farthest_seeds, polar_rotations, rigid_fits
from engine.datasets.object_pool import ObjectPool as ObjectPool
from engine.datasets.partial_motion import partial_motion
from engine.datasets.sampling import SampledMotion
from engine.datasets.state_table import StateTable, gathered_states
from engine.geometry.dual_quaternion import (
    quaternion_conjugate,
    quaternion_from_matrix,
    quaternion_multiply,
    quaternion_to_matrix,
)

# Components of one object beyond this many share slots.
COMPONENT_SLOTS = 64
# How far the yaw at which a training shape is read departs from its canonical one [rad]: other samples of the surface
# find it a little differently.
CANONICAL_JITTER = 0.05

# Kinds that bend smoothly all over.
SMOOTH = frozenset({"elastic", "cloth", "continuum"})


@dataclass(frozen=True, slots=True)
class PairBatch:
    """A batch of rest shapes A, each with several states B, all in the unit frame of A; ``f`` states per object.

    Attributes:
        points, normals: samples of the rest surfaces.
        component: connected component of each sample.
        part: true rigid part of each sample, -1 where none.
        seeds: samples at which the tokens start.
        deformed: the samples in the states B.
        rotation: their local rotations from A to B, unit quaternions.
        seen_points, seen_normals, seen_deformed: what the encoders are shown of these: the same, or with noise.
    """

    points: Float[Tensor, "b p 3"]
    normals: Float[Tensor, "b p 3"]
    component: Int[Tensor, "b p"]
    part: Int[Tensor, "b p"]
    seeds: Int[Tensor, "b t"]
    deformed: Float[Tensor, "bf p 3"]
    rotation: Float[Tensor, "bf p 4"]
    noise: Noise | None = None

    @property
    def frames(self) -> int:
        """States per object."""
        return len(self.deformed) // len(self.points)

    @property
    def motion(self) -> Float[Tensor, " bf"]:
        """Mean squared motion of each pair [unit frame squared]."""
        rest = self.points.repeat_interleave(self.frames, 0)
        return (self.deformed - rest).square().sum(-1).mean(1)

    @property
    def usual_motion(self) -> Float[Tensor, " bf"]:
        """Mean squared motion of all pairs of the same object [unit frame squared]."""
        return self.motion.view(-1, self.frames).mean(1).repeat_interleave(self.frames)

    @property
    def seen_points(self) -> Float[Tensor, "b p 3"]:
        """Samples of the rest surfaces as the encoders are shown them."""
        return self.points if self.noise is None else self.points + self.noise.points

    @property
    def seen_normals(self) -> Float[Tensor, "b p 3"]:
        """Normals as the encoders are shown them."""
        if self.noise is None:
            return self.normals
        return torch.nn.functional.normalize(self.normals + self.noise.normals, dim=-1)

    @property
    def seen_deformed(self) -> Float[Tensor, "bf p 3"]:
        """Samples in the states B as the posterior encoder is shown them."""
        return self.deformed if self.noise is None else self.deformed + self.noise.deformed


@dataclass(frozen=True, slots=True)
class Noise:
    """What is added to the samples that the encoders are shown [unit frame]; see `PairBatch`."""

    points: Float[Tensor, "b p 3"]
    normals: Float[Tensor, "b p 3"]
    deformed: Float[Tensor, "bf p 3"]


@dataclass(frozen=True, slots=True)
class Sampling:
    """How an item is sampled.

    Attributes:
        point_count: surface points.
        seed_count: farthest-point seeds of the tokens.
        frames: states B per rest shape A.
        canonical: turn every rest shape to its canonical yaw (`engine.geometry.canonical_frame`).
    """

    point_count: int = 224
    seed_count: int = 24
    frames: int = 4
    canonical: bool = False


def draw_batch(
    motions: Sequence[SampledMotion],
    rng: np.random.Generator,
    sampling: Sampling,
    *,
    identity_share: float = 0.0,
    augmentation: Augmentation | None = None,
    device: torch.device | str = "cpu",
    table: StateTable | None = None,
) -> PairBatch:
    """Return one batch of the given objects: a random rest shape of each and random other states.

    Args:
        motions: the objects, one row of the batch each.
        rng: draws states, samples, turns and all else.
        sampling: sizes.
        identity_share: share of pairs with B = A.
        augmentation: what is varied; by default states and samples alone (`Augmentation.plain`).
        device: where the batch is computed and lies.
        table: the objects' states on that device; by default they are gathered from the objects.
    """
    augmentation = Augmentation.plain() if augmentation is None else augmentation
    count, each = len(motions), sampling.frames
    device = device if table is None else table.device
    states = _drawn_states(
        motions, rng, sampling, augmentation, identity_share=identity_share, device=device, table=table
    )
    frames = _on(device, random_frames(count, augmentation, rng))
    stretched, stretches = random_stretches([motion.record.kind for motion in motions], augmentation, rng)
    jitter = _on(device, rng.normal(scale=CANONICAL_JITTER, size=count) * augmentation.turned)

    p = states.component.shape[1]
    states = _aligned(states)
    if stretched.any():
        rows = torch.from_numpy(np.flatnonzero(stretched)).to(device)
        states = _stretched(states, rows, _on(device, stretches[stretched]))
    joints = np.array([_joints(motion) for motion in motions])
    partial, shares = random_parts(joints, each, augmentation, rng)
    if partial.any():
        rows = torch.from_numpy(np.flatnonzero(partial)).to(device)
        states = _partly_moved(states, rows, _on(device, shares[partial]))
    if sampling.canonical:
        yaw = canonical_yaws(states.whole @ frames.transpose(1, 2), states.normals @ frames.transpose(1, 2))
        frames = _about_up(jitter) @ yaw @ frames

    turned = states.whole @ frames.transpose(1, 2)
    low, high = turned.amin(1, keepdim=True), turned.amax(1, keepdim=True)
    centre, scale = 0.5 * (low + high), 2.0 / (high - low).amax(2, keepdim=True)
    points = (turned[:, :p] - centre) * scale
    normals = states.normals[:, :p] @ frames.transpose(1, 2)
    frames, centre, scale = (x.repeat_interleave(each, 0) for x in (frames, centre, scale))
    deformed = states.moved[:, :p] @ frames.transpose(1, 2)
    # A mirror image turns about the mirrored axis by the opposite angle.
    axis = (states.rotation[..., 1:] @ frames.transpose(1, 2)) * torch.linalg.det(frames)[:, None, None]
    rotation = torch.nn.functional.normalize(torch.cat((states.rotation[..., :1], axis), -1), dim=-1)
    return PairBatch(
        points=points,
        normals=normals,
        component=states.component,
        part=states.part,
        seeds=farthest_seeds(points, states.component, sampling.seed_count),
        deformed=(deformed - centre) * scale,
        rotation=torch.where(rotation[..., :1] < 0, -rotation, rotation),
        noise=_noise((count, p, each), augmentation, rng, device),
    )


@dataclass(frozen=True, slots=True)
class _States:
    """States of the objects of a batch: ``n`` samples of each, the first ``p`` of which are the item's."""

    whole: Float[Tensor, "b n 3"]
    normals: Float[Tensor, "b n 3"]
    moved: Float[Tensor, "bf n 3"]
    rotation: Float[Tensor, "bf p 4"]
    component: Int[Tensor, "b p"]
    part: Int[Tensor, "b p"]


def _drawn_states(
    motions: Sequence[SampledMotion],
    rng: np.random.Generator,
    sampling: Sampling,
    augmentation: Augmentation,
    *,
    identity_share: float,
    device: torch.device | str,
    table: StateTable | None,
) -> _States:
    """Draw the states and the samples of each object."""
    counts = np.array([len(motion.points) for motion in motions])
    states = (rng.random((len(motions), 1 + sampling.frames)) * counts[:, None]).astype(np.int64)
    if augmentation.any_rest < 1.0:
        states[rng.random(len(motions)) >= augmentation.any_rest, 0] = 0
    same = rng.random((len(motions), sampling.frames)) < identity_share
    states[:, 1:] = np.where(same, states[:, :1], states[:, 1:])
    order = _drawn_samples(motions, rng, augmentation, table)
    count = min(sampling.point_count, order.shape[1])
    raw = (
        gathered_states(motions, states, order, count)
        if table is None
        else table.gathered(motions, states, order, count)
    )
    raw = raw.to(device)
    q = raw.rotations.float()
    rotation = quaternion_multiply(q[:, 1:], quaternion_conjugate(q[:, :1]))
    return _States(
        raw.points[:, 0].float(),
        raw.normals.float() / 127.0,
        raw.points[:, 1:].float().flatten(0, 1),
        torch.nn.functional.normalize(rotation, dim=-1).flatten(0, 1),
        raw.component % COMPONENT_SLOTS,
        raw.part,
    )


def _drawn_samples(
    motions: Sequence[SampledMotion],
    rng: np.random.Generator,
    augmentation: Augmentation,
    table: StateTable | None,
) -> Int[np.ndarray, "b n"]:
    """Draw the order of each object's samples, of which the first are used, and all for the rigid fit."""
    sizes = [motion.points.shape[1] if table is None else table.samples for motion in motions]
    order = np.zeros((len(motions), min(sizes)), dtype=np.int64)
    dropping = rng.random(len(motions)) < augmentation.dropped
    for row, (motion, size) in enumerate(zip(motions, sizes, strict=True)):
        samples = (rng if augmentation.resampled else np.random.default_rng(0)).permutation(size)
        if dropping[row]:
            # The samples that are left stand in for those that are not.
            samples = np.resize(samples[without_a_component(motion.component[samples], rng)], size)
        order[row] = samples[: order.shape[1]]
    return order


def _aligned(states: _States) -> _States:
    """Carry each state B to its rest shape by the rigid fit."""
    rest = states.whole.repeat_interleave(len(states.moved) // len(states.whole), 0)
    moved, rotation = _fitted(states.moved, states.rotation, rest)
    return replace(states, moved=moved, rotation=rotation)


def _fitted(
    moved: Float[Tensor, "r n 3"], rotation: Float[Tensor, "r p 4"], rest: Float[Tensor, "r n 3"]
) -> tuple[Float[Tensor, "r n 3"], Float[Tensor, "r p 4"]]:
    """Return moved samples and their rotations, carried to rest by the rigid fit."""
    fit, shift = rigid_fits(moved, rest)
    turned = quaternion_multiply(quaternion_from_matrix(fit)[:, None], rotation)
    return moved @ fit.transpose(1, 2) + shift[:, None], turned


def _stretched(states: _States, rows: Int[Tensor, " r"], stretch: Float[Tensor, "r 3 3"]) -> _States:
    """Stretch the objects of some rows, in all their states alike, and align the states anew.

    The rotation R of a sample becomes the polar factor of ``S R S^-1``, normals are turned by ``S^-1``.
    """
    each = len(states.moved) // len(states.whole)
    many = (rows[:, None] * each + torch.arange(each, device=rows.device)).flatten()
    inverse = torch.linalg.inv(stretch)
    repeated, back = stretch.repeat_interleave(each, 0), inverse.repeat_interleave(each, 0)
    gradient = repeated[:, None] @ quaternion_to_matrix(states.rotation[many]) @ back[:, None]
    part = _aligned(
        replace(
            states,
            whole=states.whole[rows] @ stretch,
            normals=torch.nn.functional.normalize(states.normals[rows] @ inverse, dim=-1),
            moved=states.moved[many] @ repeated,
            rotation=quaternion_from_matrix(polar_rotations(gradient)),
            component=states.component[rows],
            part=states.part[rows],
        )
    )
    return replace(
        states,
        whole=states.whole.index_copy(0, rows, part.whole),
        normals=states.normals.index_copy(0, rows, part.normals),
        moved=states.moved.index_copy(0, many, part.moved),
        rotation=states.rotation.index_copy(0, many, part.rotation),
    )


def _joints(motion: SampledMotion) -> int:
    """Return how many joints an object has; many, where rigid parts are likely and none is told."""
    parts = int(motion.part.max()) + 1
    return parts - 1 if parts else 0 if motion.record.kind in SMOOTH else 99


def _partly_moved(states: _States, rows: Int[Tensor, " r"], share: Float[Tensor, " r"]) -> _States:
    """Let some pairs show a part of their motion, aligned anew by the samples that are the item's."""
    each, p = len(states.moved) // len(states.whole), states.rotation.shape[1]
    rest = states.whole[rows // each, :p]
    moved, rotation = _fitted(*partial_motion(rest, states.moved[rows, :p], states.rotation[rows], share), rest)
    whole = states.moved.clone()
    whole[rows, :p] = moved
    return replace(states, moved=whole, rotation=states.rotation.index_copy(0, rows, rotation))


def _about_up(angles: Float[Tensor, " b"]) -> Float[Tensor, "b 3 3"]:
    """Return rotations about Z."""
    c, s, zero, one = angles.cos(), angles.sin(), torch.zeros_like(angles), torch.ones_like(angles)
    return torch.stack((c, -s, zero, s, c, zero, zero, zero, one), -1).view(-1, 3, 3)


def _noise(
    sizes: tuple[int, int, int], augmentation: Augmentation, rng: np.random.Generator, device: torch.device | str
) -> Noise | None:
    """Draw noise for some of the objects, of sizes (objects, samples, states of each); None where there is none."""
    count, p, each = sizes
    rows = np.flatnonzero(rng.random(count) < augmentation.noisy)
    if not len(rows):
        return None

    def normal(chosen: np.ndarray, whole: int, amount: float) -> Tensor:
        drawn = _on(device, amount * rng.standard_normal((len(chosen), p, 3), dtype=np.float32))
        index = torch.from_numpy(chosen).to(device)
        return torch.zeros((whole, p, 3), device=drawn.device).index_copy(0, index, drawn)

    many = (rows[:, None] * each + np.arange(each)).ravel()
    return Noise(
        points=normal(rows, count, augmentation.position_noise),
        normals=normal(rows, count, augmentation.normal_noise),
        deformed=normal(many, count * each, augmentation.position_noise),
    )


def _on(device: torch.device | str, values: np.ndarray) -> Tensor:
    return torch.from_numpy(values).float().to(device)
