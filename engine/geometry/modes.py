"""Finite-element eigenmodes of any mesh on a voxel cage, and poses built from them.

The surface is wrapped in cubes (trilinear hexahedra, one isotropic material), whose softest vibration modes are
computed once. A pose is a set of modal amplitudes; its gradient is split into rotation and strain, the rotation is
taken through the exponential map and positions are recovered from the element gradients by one Poisson solve, so
that large bends and twists keep their lengths (Huang et al., "Interactive shape interpolation through controllable
dynamic deformation", 2011: rotation-strain coordinates).

Symbols: ``K`` stiffness, ``M`` lumped mass, ``G`` displacement gradient of an element, ``F`` its deformation gradient.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.ndimage
import scipy.sparse as sp
import scipy.sparse.linalg as spl
from jaxtyping import Bool, Float, Int
from scipy.spatial.transform import Rotation

# Corners of the unit cube; element nodes are listed in this order.
CORNERS = np.array([[i, j, k] for i in (0, 1) for j in (0, 1) for k in (0, 1)], dtype=np.int64)
POISSON_RATIO = 0.35


@dataclass(frozen=True, slots=True)
class VoxelCage:
    """Cubes that wrap a surface.

    Attributes:
        nodes: node positions, shape (c, 3), unit frame.
        elements: the eight nodes of each cube, shape (e, 8), in the order of `CORNERS`.
        pitch: edge length of a cube, unit frame.
        vertex_element: the cube of each surface vertex, shape (n,).
        vertex_weights: trilinear weights of each surface vertex in its cube, shape (n, 8).
    """

    nodes: Float[np.ndarray, "c 3"]
    elements: Int[np.ndarray, "e 8"]
    pitch: float
    vertex_element: Int[np.ndarray, " n"]
    vertex_weights: Float[np.ndarray, "n 8"]

    def interpolation(self) -> sp.csr_matrix:
        """Return the (n, c) matrix that carries node values to the surface vertices."""
        n = len(self.vertex_element)
        rows = np.repeat(np.arange(n), 8)
        columns = self.elements[self.vertex_element].ravel()
        shape = (n, len(self.nodes))
        return sp.csr_matrix((self.vertex_weights.ravel(), (rows, columns)), shape=shape)


def build_cage(
    vertices: Float[np.ndarray, "n 3"], faces: Int[np.ndarray, "m 3"], *, resolution: int = 12, solid: bool = True
) -> VoxelCage:
    """Wrap a mesh in cubes, ``resolution`` of them along its longest side.

    Args:
        vertices: unit frame.
        faces: triangles.
        resolution: cubes along the longest side.
        solid: fill the interior; a sheet stays one layer of cubes.
    """
    low, high = vertices.min(0), vertices.max(0)
    pitch = float((high - low).max()) / resolution
    shape = np.maximum(np.ceil((high - low) / pitch - 1e-6).astype(int), 1)
    origin = 0.5 * (low + high) - 0.5 * shape * pitch
    corners = vertices[faces]
    # Barycentric lattices fine enough that no crossed cube is missed by more than a sliver.
    longest = float(np.linalg.norm(corners - np.roll(corners, 1, 1), axis=-1).max(initial=pitch))
    steps = int(np.clip(np.ceil(3.0 * longest / pitch), 2, 40))
    lattice = np.array([[i, j, steps - i - j] for i in range(steps + 1) for j in range(steps + 1 - i)]) / steps
    points = np.einsum("lk,mkd->mld", lattice, corners).reshape(-1, 3)
    cell = np.clip(((points - origin) / pitch).astype(int), 0, shape - 1)
    occupied = np.zeros(shape, dtype=bool)
    occupied[tuple(cell.T)] = True
    vertex_cell = np.clip(((vertices - origin) / pitch).astype(int), 0, shape - 1)
    occupied[tuple(vertex_cell.T)] = True
    if solid:
        occupied = np.asarray(scipy.ndimage.binary_fill_holes(occupied))

    element_of_cell = np.full(shape, -1, dtype=np.int64)
    cells = np.argwhere(occupied)
    element_of_cell[tuple(cells.T)] = np.arange(len(cells))
    grid_nodes = cells[:, None, :] + CORNERS[None]
    flat = np.ravel_multi_index(tuple(grid_nodes.reshape(-1, 3).T), tuple(shape + 1))
    used, elements = np.unique(flat, return_inverse=True)
    nodes = np.stack(np.unravel_index(used, tuple(shape + 1)), -1) * pitch + origin

    local = (vertices - origin) / pitch - vertex_cell
    weights = np.prod(np.where(CORNERS[None] == 1, local[:, None], 1.0 - local[:, None]), -1)
    return VoxelCage(nodes, elements.reshape(-1, 8), pitch, element_of_cell[tuple(vertex_cell.T)], weights)


def _shape_gradients(at: Float[np.ndarray, "3"], pitch: float) -> Float[np.ndarray, "8 3"]:
    """Return the gradients of the eight trilinear shape functions at a local position in [0, 1]^3."""
    factors = np.where(CORNERS == 1, at, 1.0 - at)
    signs = np.where(CORNERS == 1, 1.0, -1.0)
    other = [factors[:, [1, 2]], factors[:, [0, 2]], factors[:, [0, 1]]]
    return np.stack([signs[:, d] * other[d].prod(-1) for d in range(3)], -1) / pitch


def _element_stiffness(pitch: float) -> Float[np.ndarray, "24 24"]:
    """Return the stiffness of one cube with Young's modulus 1, by 2x2x2 Gauss quadrature."""
    lam = POISSON_RATIO / ((1 + POISSON_RATIO) * (1 - 2 * POISSON_RATIO))
    mu = 0.5 / (1 + POISSON_RATIO)
    elasticity = np.diag([2 * mu] * 3 + [mu] * 3)
    elasticity[:3, :3] += lam
    stiffness = np.zeros((24, 24))
    for corner in CORNERS:
        g = _shape_gradients(0.5 + (corner - 0.5) / np.sqrt(3.0), pitch)
        b = np.zeros((6, 24))
        for d in range(3):
            b[d, d::3] = g[:, d]
        for row, (i, j) in enumerate(((0, 1), (1, 2), (0, 2)), start=3):
            b[row, i::3], b[row, j::3] = g[:, j], g[:, i]
        stiffness += b.T @ elasticity @ b * pitch**3 / 8
    return stiffness


@dataclass(frozen=True, slots=True)
class EigenModes:
    """The softest modes of a cage.

    Attributes:
        cage: the cage they belong to.
        displacements: shape (k, c, 3), each of unit mass-weighted length for a total mass of 1.
        frequencies: angular frequencies [rad/s] for Young's modulus 1 and density 1, ascending, shape (k,).
        fixed: nodes held still, shape (c,).
    """

    cage: VoxelCage
    displacements: Float[np.ndarray, "k c 3"]
    frequencies: Float[np.ndarray, " k"]
    fixed: Bool[np.ndarray, " c"]


def eigenmodes(cage: VoxelCage, *, count: int = 12, fixed: Bool[np.ndarray, " c"] | None = None) -> EigenModes:
    """Compute the ``count`` softest modes; the six rigid ones of a free body are left out.

    Raises:
        ValueError: the cage has too few nodes for that many modes.
    """
    c = len(cage.nodes)
    held = np.zeros(c, dtype=bool) if fixed is None else fixed
    rigid = 0 if held.any() else 6
    if 3 * int((~held).sum()) <= count + rigid + 2:
        raise ValueError(f"{count} modes were asked of a cage with {int((~held).sum())} free nodes: refine the cage")
    block = _element_stiffness(cage.pitch)
    dofs = (cage.elements[:, :, None] * 3 + np.arange(3)).reshape(len(cage.elements), 24)
    rows, columns = np.repeat(dofs, 24, 1).ravel(), np.tile(dofs, (1, 24)).ravel()
    data = np.tile(block.ravel(), len(cage.elements))
    stiffness = sp.csc_matrix((data, (rows, columns)), shape=(3 * c, 3 * c))
    lumped = np.bincount(cage.elements.ravel(), minlength=c) * cage.pitch**3 / 8
    mass = np.repeat(lumped / lumped.sum(), 3)
    free = np.repeat(~held, 3)
    k = stiffness[free][:, free]
    m = sp.diags(mass[free]).tocsc()
    # A small negative shift keeps the factor regular when the body is free. The start vector makes it repeatable.
    shift = -1e-3 * float(k.diagonal().mean() / mass[free].mean()) / 100
    start = np.random.default_rng(0).standard_normal(k.shape[0])
    values, vectors = spl.eigsh(k, k=count + rigid, M=m, sigma=shift, which="LM", v0=start)
    order = np.argsort(values)[rigid:]
    full = np.zeros((count, 3 * c))
    full[:, free] = vectors[:, order].T
    if not values[order[0]] > 1e-9:
        raise ValueError("the cage falls into loose pieces: it has modes of no stiffness")
    return EigenModes(cage, full.reshape(count, c, 3), np.sqrt(values[order]), held)


class ModalPoser:
    """Poses of a cage from modal amplitudes, by rotation-strain coordinates. Prepared once, then cheap per pose."""

    def __init__(self, modes: EigenModes) -> None:
        """Factor the Poisson matrix of the cage."""
        self.modes = modes
        cage = modes.cage
        self._centre = _shape_gradients(np.full(3, 0.5), cage.pitch)
        self.gradients = np.einsum("kead,ab->kedb", modes.displacements[:, cage.elements], self._centre)
        pairs = [(a, b) for a in range(8) for b in range(a) if np.abs(CORNERS[a] - CORNERS[b]).sum() == 1]
        self._edge = cage.elements[:, pairs].reshape(-1, 2)
        self._edges_per_element = len(pairs)
        e, c = len(self._edge), len(cage.nodes)
        rows = np.repeat(np.arange(e), 2)
        self._difference = sp.csr_matrix((np.tile([1.0, -1.0], e), (rows, self._edge.ravel())), shape=(e, c))
        self._held = modes.fixed.copy()
        if not self._held.any():
            self._held[0] = True
        laplacian = sp.csc_matrix(self._difference.T @ self._difference)
        self._couple = laplacian[~self._held][:, self._held]
        self._factor: Any = spl.splu(laplacian[~self._held][:, ~self._held].tocsc())
        self._interpolation = cage.interpolation()
        self._rest_edges = np.asarray(self._difference @ cage.nodes)

    def pose(self, amplitudes: Float[np.ndarray, " k"]) -> tuple[Float[np.ndarray, "c 3"], Float[np.ndarray, "c 3 3"]]:
        """Return the node positions (unit frame) and the mean local rotation at the nodes."""
        cage = self.modes.cage
        gradient = np.einsum("k,kedb->edb", amplitudes, self.gradients)
        skew = 0.5 * (gradient - gradient.transpose(0, 2, 1))
        deformation = Rotation.from_rotvec(_axial(skew)).as_matrix() @ (np.eye(3) + gradient - skew)
        repeated = np.repeat(deformation, self._edges_per_element, 0)
        target = np.einsum("eij,ej->ei", repeated, self._rest_edges)
        right = np.asarray(self._difference.T @ target)[~self._held]
        positions = cage.nodes.copy()
        positions[~self._held] = self._factor.solve(right - self._couple @ cage.nodes[self._held])
        realised = np.einsum("ead,ab->edb", positions[cage.elements], self._centre)
        summed = np.zeros((len(cage.nodes), 3, 3))
        np.add.at(summed, cage.elements.ravel(), np.repeat(realised, 8, 0))
        return positions, polar_rotation(summed)

    def pose_with_tangents(
        self, amplitudes: Float[np.ndarray, " k"]
    ) -> tuple[Float[np.ndarray, "c 3"], Float[np.ndarray, "k c 3"]]:
        """Return the node positions (unit frame) and their derivatives along each amplitude."""
        gradient = np.einsum("k,kedb->edb", amplitudes, self.gradients)
        skew = 0.5 * (gradient - gradient.transpose(0, 2, 1))
        turn, stretch = Rotation.from_rotvec(_axial(skew)).as_matrix(), np.eye(3) + gradient - skew
        # d(R S) = [J_l dw] R S + R dS, one matrix per mode and element.
        own_skew = 0.5 * (self.gradients - self.gradients.transpose(0, 1, 3, 2))
        spin = np.einsum("eij,kej->kei", rotation_left_jacobian(_axial(skew)), _axial(own_skew))
        deformation = turn @ stretch
        by_spin = np.cross(spin[:, :, None, :], deformation.transpose(0, 2, 1)[None]).transpose(0, 1, 3, 2)
        every = np.concatenate((deformation[None], by_spin + turn @ (self.gradients - own_skew)))
        edges = self._rest_edges.reshape(len(every[0]), -1, 3)
        target = np.einsum("meij,eaj->eami", every, edges).reshape(len(self._edge), -1)
        right = np.asarray(self._difference.T @ target)[~self._held].reshape(-1, len(every), 3)
        right[:, 0] -= self._couple @ self.modes.cage.nodes[self._held]
        positions = np.zeros((len(self._held), len(every), 3))
        positions[self._held, 0] = self.modes.cage.nodes[self._held]
        solved = self._factor.solve(np.ascontiguousarray(right.reshape(len(right), -1)))
        positions[~self._held] = solved.reshape(right.shape)
        return positions[:, 0], positions[:, 1:].transpose(1, 0, 2)

    def surface(
        self, amplitudes: Float[np.ndarray, " k"]
    ) -> tuple[Float[np.ndarray, "n 3"], Float[np.ndarray, "n 3 3"]]:
        """Return the positions and local rotations of the surface vertices, unit frame."""
        positions, rotations = self.pose(amplitudes)
        blended = np.asarray(self._interpolation @ rotations.reshape(-1, 9)).reshape(-1, 3, 3)
        return np.asarray(self._interpolation @ positions), polar_rotation(blended)


def _axial(skew: Float[np.ndarray, "*n 3 3"]) -> Float[np.ndarray, "*n 3"]:
    """Return the vector ``w`` of each skew matrix ``[w]``."""
    return np.stack((skew[..., 2, 1], skew[..., 0, 2], skew[..., 1, 0]), -1)


def rotation_left_jacobian(vector: Float[np.ndarray, "n 3"]) -> Float[np.ndarray, "n 3 3"]:
    """Return J with ``exp(w + dw) = exp(J dw) exp(w)`` to first order, for each rotation vector ``w`` [rad]."""
    size = np.linalg.norm(vector, axis=-1)[:, None, None]
    cross = np.zeros((len(vector), 3, 3))
    cross[:, 0, 1], cross[:, 0, 2], cross[:, 1, 2] = -vector[:, 2], vector[:, 1], -vector[:, 0]
    cross -= cross.transpose(0, 2, 1)
    small = size < 1e-4
    safe = np.where(small, 1.0, size)
    first = np.where(small, 0.5 - size**2 / 24, (1.0 - np.cos(safe)) / safe**2)
    second = np.where(small, 1.0 / 6.0 - size**2 / 120, (safe - np.sin(safe)) / safe**3)
    return np.eye(3) + first * cross + second * (cross @ cross)


def polar_rotation(matrices: Float[np.ndarray, "*n 3 3"]) -> Float[np.ndarray, "*n 3 3"]:
    """Return the rotation nearest to each matrix (determinant +1)."""
    u, _, vt = np.linalg.svd(matrices)
    u[..., :, 2] *= np.sign(np.linalg.det(u @ vt))[..., None]
    return u @ vt
