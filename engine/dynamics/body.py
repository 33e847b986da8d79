"""All that the dynamics needs to know of one object, in SI units: made once per object and material.

Symbols: ``s`` metres per unit, ``C`` combination of samples into mass points, ``M_rel`` the part of the mass matrix of
``q`` that is left when the best rigid motion is taken away.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
import torch
from jaxtyping import Float, Float64, Int
from torch import Tensor

from engine.dynamics.elasticity import ElasticGraph, Elasticity, build_elastic_graph
from engine.geometry.surface import farthest_points
from engine.kinematics.object_kinematics import ObjectKinematics
from engine.scenes.material import Material

MOST_CANDIDATES = 1536
# A joint is never softer than this share of the object's stiffness; with dry friction it needs no spring at all.
LEAST_FREQUENCY = 1e-3
# What every coordinate weighs beside what it moves, over the mean of all. Far from rest some of a lid's coordinates
# move nothing at all: without it they wandered freely, and the condition number of M came to 1e10.
IDLE_SHARE = 1e-2


@dataclass(frozen=True, slots=True)
class Shape:
    """What does not depend on the material: made once per object.

    Attributes:
        graph: elastic edges.
        candidates: vertices that may touch the floor, evenly spread, shape (c,).
        stiffness: Hessian of the unit elasticity at rest, shape (r, r).
        mass_matrix: M at rest for a total mass of one, unit frame, shape (d, d).
        samples_jacobian: transposed Jacobian of the samples at rest, unit frame, shape (d, 3p).
        bands: samples of the lowest and of the highest band, each with its RMS motion in the prior.
    """

    graph: ElasticGraph
    candidates: Int[np.ndarray, " c"]
    stiffness: Float64[np.ndarray, "r r"]
    mass_matrix: Float64[np.ndarray, "d d"]
    samples_jacobian: Float64[np.ndarray, "d p3"]
    bands: tuple[tuple[Int[np.ndarray, " b"], float], tuple[Int[np.ndarray, " t"], float]]

    def stiffness_values(self, held: Float64[np.ndarray, "h p3"] | None = None) -> Float64[np.ndarray, " r"]:
        """Return the eigenvalues of the unit elasticity against the mass, ascending.

        Args:
            held: functionals of the samples that an anchor holds; None for an object that flies free.
        """
        d, r = len(self.mass_matrix), len(self.stiffness)
        rows = np.eye(6, d) @ self.mass_matrix if held is None else held @ self.samples_jacobian.T
        # Motions that the anchor allows; free ones carry no momentum, which leaves them the relative mass.
        allowed = scipy.linalg.null_space(rows)[:, : max(r, 1)] if r else np.zeros((d, 0))
        full = np.zeros((d, d))
        full[6:, 6:] = self.stiffness
        mass = allowed.T @ self.mass_matrix @ allowed
        return np.asarray(scipy.linalg.eigh(allowed.T @ full @ allowed, mass, eigvals_only=True))


def describe_shape(kinematics: ObjectKinematics) -> Shape:
    """Build the elastic graph, choose contact candidates and find the elastic spectrum of an object."""
    graph = build_elastic_graph(kinematics.sample_points, kinematics.prior)
    vertices = np.asarray(kinematics.rest.vertices)
    count = len(vertices)
    if count > MOST_CANDIDATES:
        # Farthest points of a random subset: even, and quick at any vertex count.
        subset = np.random.default_rng(0).permutation(count)[: 4 * MOST_CANDIDATES]
        pick = farthest_points(vertices[subset], np.asarray(kinematics.rest.component)[subset], MOST_CANDIDATES)
        candidates = np.sort(subset[pick])
    else:
        candidates = np.arange(count)
    rest = torch.as_tensor(kinematics.sample_points, dtype=kinematics.dtype)
    driven = kinematics.points(
        kinematics.handles_with_tangents(np.zeros(kinematics.k_q)), kinematics.sample_weights, rest
    )
    _, jacobian = Elasticity(graph).residuals(driven)
    tangents = driven.position_tangents.transpose(0, 1).double().numpy()
    points = kinematics.mass_points
    mass_tangents = np.matmul(points.combination, tangents)
    mass_matrix = full_mass_matrix(points.combination @ kinematics.sample_points, mass_tangents, points.mass)
    mass_matrix[6:, 6:] = regularised(mass_matrix[6:, 6:])
    z = kinematics.sample_points[:, 2]
    motion = (kinematics.prior.positions - torch.as_tensor(kinematics.sample_points)).square().sum(-1).mean(0).sqrt()
    band = max(0.06 * float(np.ptp(z)), 0.02)
    bands: list[tuple[np.ndarray, float]] = []
    for height in (z - z.min(), z.max() - z):
        chosen = np.flatnonzero(height <= max(band, float(np.sort(height)[min(7, len(z) - 1)])))
        bands.append((chosen, float(motion[torch.as_tensor(chosen)].mean())))
    samples_jacobian = generalized_jacobian(kinematics.sample_points, tangents)
    return Shape(graph, candidates, jacobian @ jacobian.T, mass_matrix, samples_jacobian, (bands[0], bands[1]))


def full_mass_matrix(
    arms: Float64[np.ndarray, "m 3"], tangents: Float64[np.ndarray, "r m 3"], mass: Float64[np.ndarray, " m"]
) -> Float64[np.ndarray, "d d"]:
    """Return ``J^T W J`` in the order translation, rotation, q; ``arms`` run from the root to the mass points."""
    jacobian = generalized_jacobian(arms, tangents)
    return np.asarray(jacobian @ (jacobian * np.repeat(mass, 3)).T)


def generalized_jacobian(
    arms: Float64[np.ndarray, "m 3"], tangents: Float64[np.ndarray, "r m 3"]
) -> Float64[np.ndarray, "d m3"]:
    """Return the transposed Jacobian of points by (p, rotation vector, q), one row per coordinate."""
    m = len(arms)
    out = np.zeros((6 + len(tangents), m, 3))
    for axis in range(3):
        out[axis, :, axis] = 1.0
        i, j = (axis + 1) % 3, (axis + 2) % 3
        # e_axis x arm
        out[3 + axis, :, i] = -arms[:, j]
        out[3 + axis, :, j] = arms[:, i]
    out[6:] = tangents
    return out.reshape(len(out), 3 * m)


def regularised(matrix: Float64[np.ndarray, "r r"]) -> Float64[np.ndarray, "r r"]:
    """Add ``1e-6 tr/r`` to the diagonal, which bounds the condition number of the q block."""
    r = len(matrix)
    return matrix + np.eye(r) * (1e-6 * np.trace(matrix) / max(r, 1))


class Body:
    """An object with a material: masses, stiffness, damping and friction as the integrator uses them.

    Attributes:
        mass, masses: of the whole object and of its mass points [kg]; ``size`` its bounding-box diagonal [m].
        stiffness: that the unit elasticity is multiplied by [J]; ``prior_stiffness`` of the pull toward rest,
            ``barrier_stiffness`` of the bound of the learned range, both per squared deviation of the prior [J].
        idle_mass: what every coordinate of q weighs beside what it moves, per squared unit of q [kg m^2].
    """

    def __init__(
        self,
        kinematics: ObjectKinematics,
        shape: Shape,
        material: Material,
        metres_per_unit: float,
        held: Float64[np.ndarray, "h p3"] | None = None,
    ) -> None:
        """Scale the object to SI units and set its stiffness from the material's frequency.

        ``held`` are the functionals of the samples that an anchor holds: the frequency is that of the object as held.
        """
        self.kinematics, self.shape, self.material, self.scale = kinematics, shape, material, metres_per_unit
        self.size = kinematics.rest.size * metres_per_unit
        power = 3 if kinematics.rest.solid else 2
        self.mass = max(material.density * kinematics.mass_points.measure * metres_per_unit**power, 1e-6)
        self.masses: Float64[np.ndarray, " m"] = kinematics.mass_points.mass * self.mass
        self.combination = kinematics.mass_points.combination
        self.elasticity = Elasticity(shape.graph)
        self.rest_samples: Float[Tensor, "p 3"] = torch.as_tensor(kinematics.sample_points, dtype=kinematics.dtype)
        candidates = torch.as_tensor(shape.candidates, dtype=torch.long)
        self.candidate_weights = kinematics.vertex_weights[candidates]
        self.candidate_rest: Float[Tensor, "c 3"] = torch.as_tensor(
            np.asarray(kinematics.rest.vertices)[shape.candidates], dtype=kinematics.dtype
        )
        self.k_q = 0 if material.name == "rigid" else kinematics.k_q
        # stiffness of the unit elasticity such that the reference mode has the material's frequency
        omega = 2.0 * np.pi * material.frequency
        self.stiffness = self.prior_stiffness = self.idle_mass = 0.0
        if self.k_q:
            unit_mass = self.mass * metres_per_unit**2
            reference = self._reference_eigenvalue(shape.stiffness_values(held))
            self.stiffness = (1.0 - material.prior_weight) * omega**2 * unit_mass / reference
            mean_mass = float((kinematics.reduction.rms_motion.double() ** 2).mean()) * unit_mass
            self.prior_stiffness = material.prior_weight * omega**2 * mean_mass
            self.barrier_stiffness = mean_mass * (2.0 * np.pi * 15.0) ** 2
            self.idle_mass = IDLE_SHARE * mean_mass * kinematics.reduction.unit**2
        self.omega = omega
        # A rest shape outside the learned range still has some room to move.
        start = float(np.linalg.norm(kinematics.prior_offset))
        self.range_radius = max(kinematics.reduced_radius, 1.25 * start)

    def _reference_eigenvalue(self, values: Float64[np.ndarray, " r"]) -> float:
        """Return the unit stiffness of the mode that the material's frequency speaks of.

        It is the softest mode of an elastic object. Where dry friction holds joints, the softest modes are the joints
        themselves, so the stiffest mode is taken: the frequency then says how rigid the parts are.
        """
        chosen = values[-1] if self.material.dry_friction > 0 else values[0]
        return float(max(chosen, 1e-3 * values[-1], 1e-12))
