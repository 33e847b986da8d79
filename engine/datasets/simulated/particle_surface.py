"""A surface carried by the particles that fill it: filling, carrying by moving least squares, and what is torn."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from scipy.sparse import csr_matrix, identity
from scipy.spatial import KDTree

from engine.datasets.shapes.primitives import Rng
from engine.geometry.modes import polar_rotation
from engine.geometry.welding import edges_of

# Edges longer than these multiples of their length at rest: one that is torn, and the stretch of one in a thousand.
LARGEST_STRETCH, LARGEST_COMMON_STRETCH = 6.0, 3.5
# Vertices whose particles were turned inside out, as a part of all.
MOST_INSIDE_OUT = 0.02


@dataclass(frozen=True, slots=True)
class SurfaceCarrier:
    """The particles that carry each vertex of a surface.

    Attributes:
        vertices: at rest, shape (n, 3).
        neighbours: particles of each vertex, shape (n, k).
        weights: their weights, summing to one, shape (n, k).
        arms: particles at rest from their weighted mean, shape (n, k, 3).
        offset: vertex at rest from that mean, shape (n, 3).
        moment: regularised second moments of the arms, inverted, shape (n, 3, 3).
        ridge: what was added to the moments, shape (n,).
        average: weights of each vertex and its one-ring, rows summing to one, shape (n, n).
        smoothings: how often the affine motions are averaged over the one-rings.
    """

    vertices: Float[np.ndarray, "n 3"]
    neighbours: Int[np.ndarray, "n k"]
    weights: Float[np.ndarray, "n k"]
    arms: Float[np.ndarray, "n k 3"]
    offset: Float[np.ndarray, "n 3"]
    moment: Float[np.ndarray, "n 3 3"]
    ridge: Float[np.ndarray, " n"]
    average: csr_matrix
    smoothings: int

    def carry(self, particles: Float[np.ndarray, "p 3"]) -> tuple[Float[np.ndarray, "n 3"], Float[np.ndarray, "n 3 3"]]:
        """Return the vertices and their deformation gradients for moved particles.

        The gradient is the affine motion of the neighbours by least squares, drawn towards their rotation where they
        leave it open (after Müller et al. 2005, doi:10.1145/1073204.1073216). A vertex then goes where the affine
        motions of its one-ring take it on average, which changes nothing in an affine motion and takes off spikes.
        """
        near = particles[self.neighbours]
        mean = np.einsum("nk,nkd->nd", self.weights, near)
        product = np.einsum("nk,nki,nkj->nij", self.weights, near - mean[:, None], self.arms)
        turn = polar_rotation(product)
        gradient = (product + self.ridge[:, None, None] * turn) @ self.moment
        moved = mean + np.einsum("nij,nj->ni", gradient, self.offset)
        for _ in range(self.smoothings):
            shift = self.average @ (moved - np.einsum("nij,nj->ni", gradient, self.vertices))
            gradient = (self.average @ gradient.reshape(-1, 9)).reshape(-1, 3, 3)
            moved = shift + np.einsum("nij,nj->ni", gradient, self.vertices)
        return moved, gradient


def fill_with_particles(
    vertices: Float[np.ndarray, "n 3"], faces: Int[np.ndarray, "m 3"], count: int, rng: Rng
) -> tuple[Float[np.ndarray, "p 3"], float]:
    """Return about ``count`` points on a lattice inside a surface one unit long, and the lattice's spacing.

    Raises:
        ValueError: the surface encloses too little for that many particles.
    """
    spacing = 0.06
    grains = _inside(vertices, faces, spacing, rng)
    for _ in range(3):
        if len(grains) < 10:
            raise ValueError("the surface encloses no volume that particles could fill")
        spacing *= (len(grains) / count) ** (1 / 3)
        grains = _inside(vertices, faces, spacing, rng)
    if not 0.5 * count < len(grains) < 2 * count:
        raise ValueError(f"about {count} particles were wanted in the solid, got {len(grains)}")
    return grains, spacing


def _inside(
    vertices: Float[np.ndarray, "n 3"], faces: Int[np.ndarray, "m 3"], spacing: float, rng: Rng
) -> Float[np.ndarray, "p 3"]:
    """Return the points of a lattice inside a surface, by counting crossings with signs along vertical lines."""
    low, high = vertices.min(0), vertices.max(0)
    # A random origin keeps the lines off vertices and edges.
    axes = [np.arange(low[d] + spacing * rng.uniform(0.3, 0.7), high[d], spacing) for d in range(3)]
    lines = np.stack(np.meshgrid(axes[0], axes[1], indexing="ij"), -1).reshape(-1, 2)
    winding = np.zeros((len(lines), len(axes[2])))
    a, b, c = vertices[faces[:, 0]], vertices[faces[:, 1]], vertices[faces[:, 2]]
    double_area = _cross(b[:, :2] - a[:, :2], c[:, :2] - a[:, :2])
    safe = np.where(np.abs(double_area) < 1e-14, np.inf, double_area)
    for row, line in enumerate(lines):
        v = _cross(line - a[:, :2], c[:, :2] - a[:, :2]) / safe
        w = _cross(b[:, :2] - a[:, :2], line - a[:, :2]) / safe
        hit = np.isfinite(safe) & (v >= 0) & (w >= 0) & (v + w <= 1)
        height = a[hit, 2] + v[hit] * (b[hit, 2] - a[hit, 2]) + w[hit] * (c[hit, 2] - a[hit, 2])
        above = height[:, None] > axes[2]
        winding[row] = (np.sign(double_area[hit])[:, None] * above).sum(0)
    line, level = np.nonzero(np.abs(winding) > 0.5)
    return np.column_stack((lines[line], axes[2][level]))


def _cross(a: Float[np.ndarray, "*m 2"], b: Float[np.ndarray, "*m 2"]) -> Float[np.ndarray, " m"]:
    """Return the third component of the cross product of plane vectors."""
    return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]


def carrier_of(
    vertices: Float[np.ndarray, "n 3"],
    faces: Int[np.ndarray, "m 3"],
    grains: Float[np.ndarray, "p 3"],
    spacing: float,
    *,
    count: int = 12,
    smoothings: int = 3,
) -> SurfaceCarrier:
    """Choose the particles that carry each vertex: the ``count`` nearest of those connected through the solid.

    Weights fall to zero at the first particle left out, so that the surface stays smooth where the choice changes.
    Particles across a gap, e.g. of the other arm, are not reached within four steps of the lattice.
    """
    tree = KDTree(grains)
    pairs = tree.query_pairs(1.5 * spacing, output_type="ndarray")
    link = csr_matrix((np.ones(len(pairs)), pairs.T), shape=(len(grains), len(grains)))
    step = link + link.T + identity(len(grains), format="csr")
    reach = (step @ step) @ (step @ step)
    candidates = min(3 * count, len(grains))
    distance, near = (np.asarray(found) for found in tree.query(vertices, candidates))
    allowed = np.asarray(reach[np.repeat(near[:, 0], candidates), near.ravel()]).reshape(near.shape) > 0
    order = np.argsort(np.where(allowed, distance, np.inf), axis=1, kind="stable")[:, : count + 1]
    near, distance = np.take_along_axis(near, order, 1), np.take_along_axis(distance, order, 1)
    allowed = np.take_along_axis(allowed, order, 1)
    reached = np.where(allowed, distance, 0.0).max(1, keepdims=True) + 1e-9
    weights = np.where(allowed, np.clip(1.0 - (distance / reached) ** 2, 0.0, None) ** 2, 0.0) + 1e-6 * allowed
    weights /= weights.sum(1, keepdims=True)
    mean = np.einsum("nk,nkd->nd", weights, grains[near])
    arms = grains[near] - mean[:, None]
    moment = np.einsum("nk,nki,nkj->nij", weights, arms, arms)
    ridge = 0.1 * np.trace(moment, axis1=1, axis2=2) / 3 + 0.02 * spacing**2
    inverse = np.linalg.inv(moment + ridge[:, None, None] * np.eye(3))
    edges = np.concatenate((faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]))
    ring = csr_matrix((np.ones(len(edges)), edges.T), shape=(len(vertices),) * 2)
    ring = ((ring + ring.T) > 0) + identity(len(vertices), format="csr")
    average = csr_matrix(ring.multiply(1.0 / np.asarray(ring.sum(1))))
    return SurfaceCarrier(vertices, near, weights, arms, vertices - mean, inverse, ridge, average, smoothings)


def check_sound(
    positions: Float[np.ndarray, "f n 3"], faces: Int[np.ndarray, "m 3"], gradients: Float[np.ndarray, "g n 3 3"]
) -> None:
    """Raise ValueError where the surface was torn, turned inside out."""
    edges = edges_of(faces)
    length = np.linalg.norm(positions[:, edges[:, 0]] - positions[:, edges[:, 1]], axis=-1)
    stretch = length[1:] / np.maximum(length[0], 0.2 * length[0].mean())
    if stretch.max() > LARGEST_STRETCH or np.quantile(stretch, 0.999, axis=1).max() > LARGEST_COMMON_STRETCH:
        raise ValueError(f"the surface was torn: an edge is {stretch.max():.1f} times as long as at rest")
    inside_out = (np.linalg.det(gradients) <= 0.0).mean(1).max()
    if inside_out > MOST_INSIDE_OUT:
        raise ValueError(f"{100 * inside_out:.1f} % of the surface was turned inside out")
