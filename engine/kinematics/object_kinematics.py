"""One object made ready to move: rest shape, reduced coordinates, decode and Jacobian, behind one interface.

The prior encoder and the blending weights are evaluated once, when the object is loaded; from then on the network is
asked only for T handles per state. Frames: unit frame throughout; metres come in with the dynamics.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float, Float32, Float64, Int
from torch import Tensor

from engine.geometry.rest_shape import RestShape
from engine.geometry.surface import (
    SurfaceSamples,
    face_normals_and_areas,
    farthest_points,
    sample_surface,
)
from engine.kinematics.autodiff_decoder import AutodiffDecoder
from engine.kinematics.blending import DrivenPoints, drive, drive_with_tangents
from engine.kinematics.mass_points import MassPoints, build_mass_points
from engine.kinematics.reading_frame import reading_frame
from engine.kinematics.reduced_decoder import ReducedDecoder
from engine.kinematics.reduction import Reduction, ReductionKind, active_subspace, share_of_radius, without_rigid
from engine.model.checkpoint import Checkpoint, load_checkpoint
from engine.model.handle_decoder import PreparedHandles
from engine.model.motions import MotionKind
from engine.model.variational_autoencoder import Instance, PreparedDecoder, VariationalAutoencoder

ENCODER_POINTS = 448
MASS_SAMPLES = 128
PRIOR_SAMPLES = 32
EDGE_PRIOR_SAMPLES = 256
WEIGHT_CHUNK = 16384


@dataclass(frozen=True, slots=True)
class PriorStates:
    """What random states of the prior look like at the mass samples, unit frame.

    Attributes:
        positions: shape (s, p, 3).
        rotations: unit quaternions, shape (s, p, 4).
    """

    positions: Float[Tensor, "s p 3"]
    rotations: Float[Tensor, "s p 4"]


class ObjectKinematics:
    """The kinematics of one object. Immutable: a state is a vector ``q`` that the caller keeps.

    Attributes:
        rest: the rest shape.
        decoder: handles as functions of ``q``.
        vertex_weights: blending weights of the welded vertices, shape (n, T).
        samples: surface samples that the dynamics sees; their rest positions are ``sample_points`` (p, 3).
        sample_component: component of each sample.
        mass_points: how mass is spread, on combinations of the samples.
        reduction: the active directions and their spectrum.
        prior: random states of the prior, at the samples.
        prior_offset: ``U^T (z0 - mu)``, shape (k_q,), and ``prior_distance``: the rest of ``|z0 - mu|``.
        range_radius: 95 % radius of the training posteriors about the prior mean; ``reduced_radius``: that of the
            reduced coordinates alone.
        fingerprint: of the checkpoint.
    """

    def __init__(
        self,
        rest: RestShape,
        checkpoint: Checkpoint,
        *,
        seed: int = 0,
        reduction: ReductionKind = ReductionKind.VECTOR,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        """Encode the rest shape, find the moving directions and the blending weights.

        Args:
            rest: the object.
            checkpoint: the trained network.
            seed: of the surface samples and of the prior samples.
            reduction: how the latent is reduced: by the whole displacement, by its norm (the paper's), or not at all.
            dtype: precision of the network and the decode.
        """
        self.rest, self.fingerprint, self.dtype = rest, checkpoint.fingerprint, dtype
        # A copy: another object, or another precision, may share the checkpoint.
        model = VariationalAutoencoder(checkpoint.model.config)
        model.load_state_dict(checkpoint.model.state_dict())
        model = model.to(dtype).eval().requires_grad_(False)
        rng = np.random.default_rng(seed)
        vertices, faces = np.array(rest.vertices), np.array(rest.faces)
        normals, areas = face_normals_and_areas(vertices, faces)
        self.face_component = np.asarray(rest.component)[faces[:, 0]]
        with torch.inference_mode():
            self._frame = reading_frame(vertices, faces, canonical=model.config.canonical)
            instance, rest_latent = self._encode(model, vertices, faces, normals, areas, rng)
            self.vertex_weights = self._vertex_weights(model, instance, vertices, faces, normals, areas)
            self._rest_points = torch.as_tensor(vertices, dtype=dtype)
            self.samples, self.sample_points = self._choose_samples(vertices, faces, areas, rng)
            self.sample_component = self.face_component[self.samples.face]
            self.sample_weights = self._rows(self.samples)
            self.mass_points: MassPoints = build_mass_points(
                vertices, faces, self.sample_points, self.sample_component, self.face_component, solid=rest.solid
            )
            prepared = model.prepare(instance)
            # From here on the latent is in deviations from the mean of the object's own prior.
            prior = model.object_prior(instance, prepared)
            prepared = replace(prepared, trunk=prepared.trunk.in_units_of(prior))
            z0 = prior.standardised(rest_latent[None])[0]
            self.reduction = self._reduce(prepared, z0, rng, reduction)
            self.decoder = self._reduced(prepared, z0, self.reduction.basis * self.reduction.unit)
            self.prior = self._prior_states(prepared, z0, rng)
        inside = self.reduction.basis.t() @ z0
        self.prior_offset: Float64[np.ndarray, " r"] = inside.double().numpy()
        self.prior_distance = float((z0 - self.reduction.basis @ inside).norm())
        self.range_radius = float(checkpoint.facts["range_radius"])
        self.reduced_radius = self.range_radius * share_of_radius(self.k_q, len(z0))

    @property
    def k_q(self) -> int:
        """Number of reduced coordinates; zero for a rigid object."""
        return self.decoder.k_q

    @property
    def handle_count(self) -> int:
        """Number of handles T."""
        return self.decoder.handle_count

    # -- states ------------------------------------------------------------------------------------------------

    def handles(self, q: Float64[np.ndarray, " r"]) -> Float[Tensor, "t m"]:
        """Return the handles' dual quaternions at ``q``, unit frame."""
        with torch.inference_mode():
            return self.decoder.handles(torch.as_tensor(q, dtype=self.dtype)[None])[0]

    def handles_with_tangents(self, q: Float64[np.ndarray, " r"]) -> Float[Tensor, "r1 t m"]:
        """Return the handles at ``q`` (row 0) and their derivatives along each coordinate."""
        with torch.inference_mode():
            return self.decoder.handles_with_tangents(torch.as_tensor(q, dtype=self.dtype))

    def decode(self, q: Float64[np.ndarray, " r"]) -> Float32[np.ndarray, "n 3"]:
        """Return all welded vertices at ``q``, unit frame."""
        with torch.inference_mode():
            return drive(self.vertex_weights, self.handles(q), self._rest_points).float().numpy()

    def points(
        self, handles: Float[Tensor, "r1 t m"], weights: Float[Tensor, "p t"], rest: Float[Tensor, "p 3"]
    ) -> DrivenPoints:
        """Return points of the surface with their tangents, given the handles with theirs."""
        with torch.inference_mode():
            return drive_with_tangents(weights, handles, rest)

    def posable(self, samples: SurfaceSamples | None = None) -> PosableSurface:
        """Return points of the surface as functions of ``q``, for inverse kinematics; by default the mass samples."""
        if samples is None:
            return PosableSurface(self, self.sample_weights, torch.as_tensor(self.sample_points, dtype=self.dtype))
        rest = samples.interpolate(np.asarray(self.rest.faces), np.array(self.rest.vertices))
        return PosableSurface(self, self._rows(samples), torch.as_tensor(rest, dtype=self.dtype))

    # -- preparation -------------------------------------------------------------------------------------------

    def _encode(
        self,
        model: VariationalAutoencoder,
        vertices: Float[np.ndarray, "n 3"],
        faces: Int[np.ndarray, "m 3"],
        normals: Float[np.ndarray, "m 3"],
        areas: Float[np.ndarray, " m"],
        rng: np.random.Generator,
    ) -> tuple[Instance, Float[Tensor, " k"]]:
        samples = sample_surface(areas, ENCODER_POINTS, rng)
        points = samples.interpolate(faces, vertices)
        points, facing = self._frame.enter(points), self._frame.turn(normals[samples.face])
        component = self.face_component[samples.face] % model.config.component_slots
        seeds = farthest_points(points, component, model.config.handles)
        x = torch.as_tensor(points, dtype=self.dtype)[None]
        normal = torch.as_tensor(facing, dtype=self.dtype)[None]
        part = torch.as_tensor(component, dtype=torch.long)[None]
        instance = model.encode_shape(x, normal, part, torch.as_tensor(seeds)[None])
        still = torch.zeros(1, len(points), 4, dtype=self.dtype)
        still[..., 0] = 1.0
        weights = model.blend_weights(instance, x, normal, part)
        # z0: posterior mean of the identity deformation.
        identity = model.encode_motion(instance, model.prepare(instance), weights, x, x, still)
        return instance, identity.mean[0]

    def _vertex_weights(
        self,
        model: VariationalAutoencoder,
        instance: Instance,
        vertices: Float[np.ndarray, "n 3"],
        faces: Int[np.ndarray, "m 3"],
        normals: Float[np.ndarray, "m 3"],
        areas: Float[np.ndarray, " m"],
    ) -> Float[Tensor, "n t"]:
        """Return one row of weights per welded vertex, so that a hard edge cannot crack."""
        normal = np.zeros_like(vertices)
        for corner in range(3):
            for axis in range(3):
                normal[:, axis] += np.bincount(faces[:, corner], normals[:, axis] * areas, minlength=len(vertices))
        normal /= np.maximum(np.linalg.norm(normal, axis=-1, keepdims=True), 1e-30)
        component = torch.as_tensor(np.asarray(self.rest.component) % model.config.component_slots, dtype=torch.long)
        points = torch.as_tensor(self._frame.enter(vertices), dtype=self.dtype)
        normal_t = torch.as_tensor(self._frame.turn(normal), dtype=self.dtype)
        rows = [
            model.blend_weights(instance, points[None, s], normal_t[None, s], component[None, s])[0]
            for s in (slice(i, i + WEIGHT_CHUNK) for i in range(0, len(vertices), WEIGHT_CHUNK))
        ]
        return torch.cat(rows)

    def _choose_samples(
        self,
        vertices: Float[np.ndarray, "n 3"],
        faces: Int[np.ndarray, "m 3"],
        areas: Float[np.ndarray, " m"],
        rng: np.random.Generator,
    ) -> tuple[SurfaceSamples, Float64[np.ndarray, "p 3"]]:
        """Thin many random samples to evenly spread ones."""
        many = sample_surface(areas, 8 * MASS_SAMPLES, rng)
        points = many.interpolate(faces, vertices)
        chosen = farthest_points(points, self.face_component[many.face], MASS_SAMPLES)
        samples = SurfaceSamples(many.face[chosen], many.barycentric[chosen])
        return samples, points[chosen]

    def _rows(self, samples: SurfaceSamples) -> Float[Tensor, "p t"]:
        """Return the blending weights of points on triangles: those of the corners, interpolated."""
        corners = self.vertex_weights[torch.as_tensor(np.asarray(self.rest.faces)[samples.face], dtype=torch.long)]
        return torch.einsum("pk,pkt->pt", torch.as_tensor(samples.barycentric, dtype=self.dtype), corners)

    def _reduced(
        self, prepared: PreparedDecoder, z0: Float[Tensor, " k"], basis: Float[Tensor, "k r"]
    ) -> ReducedDecoder | AutodiffDecoder:
        """Return the decoder along the given directions: tangents by hand for handles, else by differentiation."""
        if isinstance(prepared, PreparedHandles) and prepared.kind is MotionKind.DUAL_QUATERNION:
            return ReducedDecoder(prepared, z0, basis, self._frame.way_back(8, self.dtype))
        numbers = prepared.handles(z0[None]).shape[-1]
        return AutodiffDecoder(prepared, z0, basis, self._frame.way_back(numbers, self.dtype))

    def _reduce(
        self,
        prepared: PreparedDecoder,
        z0: Float[Tensor, " k"],
        rng: np.random.Generator,
        kind: ReductionKind,
    ) -> Reduction:
        k = len(z0)
        eye = torch.eye(k, dtype=self.dtype)
        full = self._reduced(prepared, z0, eye)
        rest = torch.as_tensor(self.sample_points, dtype=self.dtype)
        combination = torch.as_tensor(self.mass_points.combination, dtype=self.dtype)
        mass = torch.as_tensor(self.mass_points.mass, dtype=self.dtype)
        still = combination @ rest
        metric, scalar = torch.zeros(k, k, dtype=self.dtype), torch.zeros(k, k, dtype=self.dtype)
        # Of one sample the scalar sees one direction: it needs as many samples as there are directions, and more.
        count = PRIOR_SAMPLES if kind is not ReductionKind.SCALAR else 8 * PRIOR_SAMPLES
        for _ in range(count):
            z = torch.as_tensor(rng.standard_normal(k), dtype=self.dtype)
            driven = drive_with_tangents(self.sample_weights, full.handles_with_tangents(z - z0), rest)
            tangents = torch.einsum("mp,pkd->kmd", combination, driven.position_tangents)
            moved = combination @ driven.positions
            inner = without_rigid(tangents, moved, mass)
            metric += torch.einsum("kmd,m,lmd->kl", inner, mass, inner) / count
            if kind is not ReductionKind.SCALAR:
                continue
            pull = torch.einsum("kmd,m,md->k", inner, mass, moved - still)
            length = torch.einsum("md,m,md->", moved - still, mass, moved - still).clamp(min=1e-12)
            scalar += pull[:, None] * pull / length / count
        found = active_subspace(metric, size=self.rest.size, chosen_by=scalar if kind is ReductionKind.SCALAR else None)
        if kind is not ReductionKind.NONE:
            return found
        return Reduction(eye, 1.0, metric.diagonal().clamp(min=0).sqrt(), found.spectrum)

    def _prior_states(
        self, prepared: PreparedDecoder, z0: Float[Tensor, " k"], rng: np.random.Generator
    ) -> PriorStates:
        """Decode random states of the prior at the samples, within the reduced coordinates."""
        z = torch.as_tensor(rng.standard_normal((EDGE_PRIOR_SAMPLES, len(z0))), dtype=self.dtype)
        handles = self.decoder.handles((z - z0) @ self.reduction.basis / self.reduction.unit)
        blended = self.sample_weights @ handles
        rotations = torch.nn.functional.normalize(blended[..., :4], dim=-1)
        rest = torch.as_tensor(self.sample_points, dtype=self.dtype)
        return PriorStates(torch.stack([drive(self.sample_weights, h, rest) for h in handles]), rotations)


@dataclass(frozen=True, slots=True)
class PosableSurface:
    """Points of one object's surface as functions of its reduced coordinates (`engine.kinematics.inverse_kinematics`).

    Attributes:
        kinematics: of the object.
        weights: of the handles at the points, shape (p, T).
        rest: the points at rest, unit frame, shape (p, 3).
    """

    kinematics: ObjectKinematics
    weights: Float[Tensor, "p t"]
    rest: Float[Tensor, "p 3"]

    @property
    def freedoms(self) -> int:
        """Number of reduced coordinates."""
        return self.kinematics.k_q

    def pose(self, q: Float64[np.ndarray, " r"]) -> tuple[Float64[np.ndarray, "p 3"], Float64[np.ndarray, "p r 3"]]:
        """Return the points at ``q``, unit frame, and their derivatives."""
        driven = self.kinematics.points(self.kinematics.handles_with_tangents(q), self.weights, self.rest)
        return driven.positions.double().numpy(), driven.position_tangents.double().numpy()


def prepare_object(rest: RestShape, *, checkpoint: Path | Checkpoint | None = None, seed: int = 0) -> ObjectKinematics:
    """Make an object ready to move with the given checkpoint, by default the one that comes with the program."""
    loaded = checkpoint if isinstance(checkpoint, Checkpoint) else load_checkpoint(checkpoint)
    return ObjectKinematics(rest, loaded, seed=seed)
