"""Any decoder in reduced coordinates, with tangents by forward-mode differentiation.

Slower than `ReducedDecoder`, which carries the tangents of the handle decoder by hand, and general: queries, affine
motions. Same meaning: the rest is exact, since each handle acts as its motion at ``z`` after the inverse of that at
``z0``.
"""

from __future__ import annotations

from copy import copy

import torch
from jaxtyping import Float
from torch import Tensor

from engine.geometry.dual_quaternion import dual_inverse, dual_multiply
from engine.model.variational_autoencoder import PreparedDecoder


class AutodiffDecoder:
    """Motions of one object's handles, or queries, and their derivatives, as functions of ``q``."""

    def __init__(
        self,
        prepared: PreparedDecoder,
        z0: Float[Tensor, " k"],
        basis: Float[Tensor, "k r"],
        way_back: Float[Tensor, "m m"],
    ) -> None:
        """Keep the decoder, the latent ``z0`` of the rest shape, the directions ``basis`` and the frame's way back."""
        self.k_q = basis.shape[1]
        self._prepared, self._z0, self._basis, self._way_back = prepared, z0, basis, way_back
        self._rest = prepared.handles(z0[None])[0]

    @property
    def handle_count(self) -> int:
        """Number of handles, or queries."""
        return len(self._rest)

    def leading(self, count: int) -> AutodiffDecoder:
        """Return the decoder along the first directions alone."""
        kept = copy(self)
        kept.k_q, kept._basis = count, self._basis[:, :count]
        return kept

    def handles(self, q: Float[Tensor, "m r"]) -> Float[Tensor, "m t n"]:
        """Return the motions of several states, unit frame, identity at ``q = 0``."""
        return torch.stack([self._anchored(row) for row in q]) if len(q) else self._rest[None][:0]

    def handles_with_tangents(self, q: Float[Tensor, " r"]) -> Float[Tensor, "r1 t n"]:
        """Return the motions of one state (row 0) and their derivatives along each coordinate (rows 1..r)."""
        # Forward mode needs tensors that inference mode has not marked.
        with torch.inference_mode(mode=False), torch.no_grad():
            state = q.clone()
            tangents = torch.func.jacfwd(self._anchored)(state) if self.k_q else self._rest[..., None][..., :0]
            return torch.cat((self._anchored(state)[None], tangents.movedim(-1, 0)))

    def _anchored(self, q: Float[Tensor, " r"]) -> Float[Tensor, "t n"]:
        motion = self._prepared.handles((self._z0 + self._basis @ q)[None])[0]
        if motion.shape[-1] == 8:
            return dual_multiply(motion, dual_inverse(self._rest)) @ self._way_back
        return _after_inverse(motion, self._rest) @ self._way_back


def _after_inverse(a: Float[Tensor, "t 12"], b: Float[Tensor, "t 12"]) -> Float[Tensor, "t 12"]:
    """Return the affine map ``a`` after the inverse of ``b``, each as its departure from the identity."""
    eye = torch.eye(3, dtype=a.dtype)
    inverse = torch.linalg.inv(eye + b[:, :9].unflatten(-1, (3, 3)))
    matrix = (eye + a[:, :9].unflatten(-1, (3, 3))) @ inverse
    shift = a[:, 9:] - (matrix @ b[:, 9:, None])[..., 0]
    return torch.cat(((matrix - eye).flatten(1), shift), -1)
