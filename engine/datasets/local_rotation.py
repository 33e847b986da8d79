"""Local rotations of a moving surface, for motions whose maker does not know them.

The rotation of a vertex is the one that carries its one-ring closest to where it is now: exact for rigid parts
(method: training deformations).
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int
from scipy.sparse import csr_matrix
from scipy.spatial.transform import Rotation

from engine.geometry.modes import polar_rotation
from engine.geometry.surface import face_normals_and_areas


def local_rotations(
    rest: Float[np.ndarray, "n 3"], frames: Float[np.ndarray, "f n 3"], faces: Int[np.ndarray, "m 3"]
) -> Float[np.ndarray, "f n 4"]:
    """Return the rotation of every vertex from ``rest`` to each frame, unit quaternions (w, x, y, z), float32.

    The covariance of a vertex sums, over its triangles, the triangle's edges and its scaled normal, so that a flat
    one-ring, which has no third direction of its own, still turns the right way.
    """
    count = len(rest)
    corners = faces.ravel()
    scatter = csr_matrix(
        (np.ones(len(corners)), (corners, np.repeat(np.arange(len(faces)), 3))), shape=(count, len(faces))
    )
    rest_frame = _triangle_frames(rest.astype(np.float64), faces)
    result = np.zeros((len(frames), count, 4), dtype=np.float32)
    for row, moved in enumerate(frames):
        now = _triangle_frames(moved.astype(np.float64), faces)
        covariance = np.einsum("mki,mkj->mij", now, rest_frame).reshape(len(faces), 9)
        turn = polar_rotation((scatter @ covariance).reshape(count, 3, 3))
        result[row] = Rotation.from_matrix(turn).as_quat(scalar_first=True)
    return result


def _triangle_frames(points: Float[np.ndarray, "n 3"], faces: Int[np.ndarray, "m 3"]) -> Float[np.ndarray, "m 4 3"]:
    """Return three edges of each triangle and its normal, as long as the root of twice the area."""
    a, b, c = points[faces[:, 0]], points[faces[:, 1]], points[faces[:, 2]]
    normals, areas = face_normals_and_areas(points, faces)
    return np.stack((b - a, c - b, a - c, normals * np.sqrt(2.0 * areas)[:, None]), 1)
