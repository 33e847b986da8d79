"""Objects that inverse kinematics can pose: a linear basis, and rigid blobs that drive points by weights.

The unit of every coordinate is about the same, `STRIDE` of motion, so that the restarts of inverse kinematics, which
draw coordinates of a few units, try poses of like size with every method.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Float64
from scipy.spatial.transform import Rotation

from engine.geometry.modes import rotation_left_jacobian

# Motion of one unit of a coordinate, unit frame: 3 % of a size of two, as with the network's reduced coordinates.
STRIDE = 0.06


class LinearPosable:
    """``x(q) = x0 + sum_i q_i b_i``: the rest pose (no ``b``), linear modes, principal components, keypoints."""

    def __init__(
        self,
        points: Float[np.ndarray, "p 3"],
        basis: Float[np.ndarray, "r p 3"],
        rest: Float[np.ndarray, "n 3"],
        mesh_basis: Float[np.ndarray, "r n 3"],
    ) -> None:
        """Take followed points and mesh vertices at ``q = 0`` with their displacements per unit of each coordinate."""
        self._points = np.asarray(points, np.float64)
        self._tangents = np.ascontiguousarray(np.asarray(basis, np.float64).transpose(1, 0, 2))
        self._rest, self._mesh_basis = np.asarray(rest, np.float64), np.asarray(mesh_basis, np.float64)

    @property
    def freedoms(self) -> int:
        """Number r of coordinates."""
        return len(self._mesh_basis)

    @property
    def weights(self) -> None:
        """There are no handles whose motions are blended."""
        return None

    def pose(self, q: Float64[np.ndarray, " r"]) -> tuple[Float64[np.ndarray, "p 3"], Float64[np.ndarray, "p r 3"]]:
        """Return the followed points at ``q``, unit frame, and their constant derivatives."""
        return self._points + np.einsum("r,prd->pd", q, self._tangents), self._tangents

    def vertices(self, q: Float64[np.ndarray, " r"]) -> Float64[np.ndarray, "n 3"]:
        """Return the vertices of the mesh at ``q``, unit frame."""
        return self._rest + np.einsum("r,rnd->nd", q, self._mesh_basis)


class BlobPosable:
    """Rigid blobs: ``x(q) = sum_n w_n(x) (exp(w_n) (x - c_n) + c_n + t_n)``, six coordinates ``(t_n, w_n)`` a blob.

    ``q`` is in units of `STRIDE`: of length for ``t``, of radians for ``w``, whose lever is about half a size.
    """

    def __init__(
        self,
        centres: Float[np.ndarray, "b 3"],
        points: Float[np.ndarray, "p 3"],
        weights: Float[np.ndarray, "p b"],
        rest: Float[np.ndarray, "n 3"],
        mesh_weights: Float[np.ndarray, "n b"],
    ) -> None:
        """Take the blobs' centres, and followed points and mesh vertices at rest with their normalised weights."""
        self.centres, self._points, self._weights = centres, points, weights
        self._rest, self._mesh_weights = rest, mesh_weights

    @property
    def freedoms(self) -> int:
        """Number of coordinates, six a blob."""
        return 6 * len(self.centres)

    @property
    def weights(self) -> Float64[np.ndarray, "n b"]:
        """Weights that blend the motions of the blobs at every vertex, rows summing to one."""
        return self._mesh_weights

    def pose(self, q: Float64[np.ndarray, " r"]) -> tuple[Float64[np.ndarray, "p 3"], Float64[np.ndarray, "p r 3"]]:
        """Return the followed points at ``q``, unit frame, and their derivatives along each coordinate."""
        turn, shift, angle = self._motions(q)
        arm = self._points[:, None] - self.centres
        turned = np.einsum("bij,pbj->pbi", turn, arm)
        moved = np.einsum("pb,pbi->pi", self._weights, turned + self.centres + shift)
        # d(exp(w) y) = (J_l(w) dw) x (exp(w) y), with J_l the left Jacobian of SO(3).
        jacobian = rotation_left_jacobian(angle)
        by_turn = np.cross(jacobian.transpose(0, 2, 1)[None], turned[:, :, None, :])
        by_shift = np.broadcast_to(np.eye(3), by_turn.shape)
        tangents = np.concatenate((by_shift, by_turn), 2) * (STRIDE * self._weights[:, :, None, None])
        return moved, tangents.reshape(len(moved), -1, 3)

    def vertices(self, q: Float64[np.ndarray, " r"]) -> Float64[np.ndarray, "n 3"]:
        """Return the vertices of the mesh at ``q``, unit frame."""
        turn, shift, _ = self._motions(q)
        # One affine map a vertex: (sum w R) x + sum w (c + t - R c).
        matrix = np.tensordot(self._mesh_weights, turn, 1)
        offset = self._mesh_weights @ (self.centres + shift - np.einsum("bij,bj->bi", turn, self.centres))
        return np.einsum("nij,nj->ni", matrix, self._rest) + offset

    def _motions(
        self, q: Float64[np.ndarray, " r"]
    ) -> tuple[Float64[np.ndarray, "b 3 3"], Float64[np.ndarray, "b 3"], Float64[np.ndarray, "b 3"]]:
        """Return rotation matrices, translations and rotation vectors of the blobs."""
        each = STRIDE * q.reshape(-1, 6)
        return Rotation.from_rotvec(each[:, 3:]).as_matrix(), each[:, :3], each[:, 3:]
