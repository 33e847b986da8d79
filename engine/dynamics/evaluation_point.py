"""The points of one step and their positions and Jacobians at any pose: one decode of a few hundred points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Float64, Int
from torch import Tensor

from engine.dynamics.body import Body, full_mass_matrix, generalized_jacobian
from engine.dynamics.state import SurfacePoint
from engine.kinematics.blending import drive


@dataclass(frozen=True, slots=True)
class Pose:
    """Where an object is: ``x = p + s R F(q)``."""

    p: Float64[np.ndarray, "3"]
    R: Float64[np.ndarray, "3 3"]
    q: Float64[np.ndarray, " r"]


def rotation_exp(w: Float64[np.ndarray, "3"]) -> Float64[np.ndarray, "3 3"]:
    """Return the rotation matrix of a rotation vector (Rodrigues)."""
    angle = float(np.sqrt(w @ w))
    k = np.array([[0.0, -w[2], w[1]], [w[2], 0.0, -w[0]], [-w[1], w[0], 0.0]])
    if angle < 1e-8:
        return np.eye(3) + k + 0.5 * k @ k
    return np.eye(3) + np.sin(angle) / angle * k + (1.0 - np.cos(angle)) / angle**2 * (k @ k)


def moved(pose: Pose, step: Float64[np.ndarray, " d"], share: float = 1.0) -> Pose:
    """Return the pose after a generalized displacement (translation, rotation vector about p, change of q)."""
    d = share * step
    rotation = rotation_exp(d[3:6]) @ pose.R
    # One Newton step of the polar decomposition keeps the matrix orthonormal over hours.
    rotation = 1.5 * rotation - 0.5 * rotation @ (rotation.T @ rotation)
    return Pose(pose.p + d[:3], rotation, pose.q + d[6:])


@dataclass(frozen=True, slots=True)
class Evaluation:
    """An object at one pose: what the energies and their derivatives are made of.

    Attributes:
        pose: the pose.
        masses_at: positions of the mass points, world [m], shape (m, 3), and their Jacobian, transposed (d, 3m).
        points_at: positions of the extra points (contacts, held points), world [m], shape (e, 3), Jacobian (d, e, 3).
        mass_matrix: M, shape (d, d).
        elastic: residuals of the unit elasticity (n,) and their derivatives by q (r, n).
        handles: the handles' dual quaternions and their derivatives, shape (r + 1, t, 8).
    """

    pose: Pose
    masses_at: Float64[np.ndarray, "m 3"]
    masses_jacobian: Float64[np.ndarray, "d m3"]
    samples_at: Float64[np.ndarray, "p 3"]
    samples_jacobian: Float64[np.ndarray, "d p 3"]
    points_at: Float64[np.ndarray, "e 3"]
    points_jacobian: Float64[np.ndarray, "d e 3"]
    mass_matrix: Float64[np.ndarray, "d d"]
    elastic: tuple[Float64[np.ndarray, " n"], Float64[np.ndarray, "r n"]]
    handles: Float[Tensor, "r1 t 8"]


@dataclass(frozen=True, slots=True)
class PointRows:
    """Blending weights and rest positions (unit frame) of extra points."""

    weights: Float[Tensor, "e t"]
    rest: Float[Tensor, "e 3"]


def surface_rows(body: Body, points: list[SurfacePoint]) -> PointRows:
    """Return the rows of points on the surface: the corners of their faces, three rows per point."""
    faces = np.asarray(body.kinematics.rest.faces)[[p.face for p in points]].ravel().astype(np.int64)
    index = torch.as_tensor(faces)
    rest = torch.as_tensor(np.asarray(body.kinematics.rest.vertices)[faces], dtype=body.kinematics.dtype)
    return PointRows(body.kinematics.vertex_weights[index], rest)


def candidate_rows(body: Body, chosen: Int[np.ndarray, " c"]) -> PointRows:
    """Return the rows of chosen contact candidates."""
    index = torch.as_tensor(np.asarray(chosen, dtype=np.int64))
    return PointRows(body.candidate_weights[index], body.candidate_rest[index])


def joined(rows: list[PointRows], body: Body) -> PointRows:
    """Join groups of rows into one."""
    weights = torch.cat([body.candidate_weights[:0], *[r.weights for r in rows]])
    return PointRows(weights, torch.cat([body.candidate_rest[:0], *[r.rest for r in rows]]))


def world_positions(
    body: Body, pose: Pose, handles: Float[Tensor, "t 8"], rows: PointRows
) -> Float64[np.ndarray, "e 3"]:
    """Return the world positions of points at a pose whose handles are known [m]."""
    with torch.inference_mode():
        local = drive(rows.weights, handles, rows.rest).double().numpy()
    return pose.p + body.scale * local @ pose.R.T


def handles_at(body: Body, pose: Pose) -> Float[Tensor, "r1 t 8"]:
    """Return the handles at a pose (row 0) with their derivatives by q."""
    return body.kinematics.handles_with_tangents(padded(body, pose.q))[: 1 + body.k_q]


def evaluate(body: Body, pose: Pose, extra: PointRows, *, handles: Float[Tensor, "r1 t 8"] | None = None) -> Evaluation:
    """Decode the samples and the extra points at a pose, with their derivatives; ``handles`` if known already."""
    kinematics, k = body.kinematics, body.k_q
    handles = handles_at(body, pose) if handles is None else handles
    with torch.inference_mode():
        weights = torch.cat((kinematics.sample_weights, extra.weights))
        driven = kinematics.points(handles, weights, torch.cat((body.rest_samples, extra.rest)))
        n = len(body.rest_samples)
        elastic = (np.zeros(0), np.zeros((k, 0)))
        if k:
            elastic = body.elasticity.residuals(driven)
        local = driven.positions.double().numpy()
        local_tangents = driven.position_tangents.transpose(0, 1).double().numpy()
    turn = body.scale * pose.R.T
    arms, tangents = local @ turn, local_tangents @ turn
    mass_arms = body.combination @ arms[:n]
    mass_tangents = np.matmul(body.combination, tangents[:, :n])
    jacobian = generalized_jacobian(arms, tangents).reshape(6 + k, -1, 3)
    return Evaluation(
        pose=pose,
        masses_at=pose.p + mass_arms,
        masses_jacobian=generalized_jacobian(mass_arms, mass_tangents),
        samples_at=pose.p + arms[:n],
        samples_jacobian=jacobian[:, :n],
        points_at=pose.p + arms[n:],
        points_jacobian=jacobian[:, n:],
        mass_matrix=with_idle_mass(full_mass_matrix(mass_arms, mass_tangents, body.masses), body.idle_mass),
        elastic=elastic,
        handles=handles,
    )


def with_idle_mass(matrix: Float64[np.ndarray, "d d"], idle: float) -> Float64[np.ndarray, "d d"]:
    """Add what every coordinate of q weighs beside what it moves, in place."""
    index = np.arange(6, len(matrix))
    matrix[index, index] += idle
    return matrix


def padded(body: Body, q: Float64[np.ndarray, " r"]) -> Float64[np.ndarray, " k"]:
    """Return ``q`` in the kinematics' coordinates: a body made rigid keeps none of them."""
    return q if len(q) == body.kinematics.k_q else np.zeros(body.kinematics.k_q)
