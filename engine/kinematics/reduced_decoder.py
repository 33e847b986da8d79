"""The decoder of one object in reduced coordinates: ``z = z0 + U q`` folded into its first layer, rest made exact.

Each handle acts as ``dq_t(z) dq_t(z0)^-1``, so ``q = 0`` *is* the rest shape whatever pose the training data's mean
had. Tangents along ``q`` are carried forward by hand beside the state: every map is linear but one pointwise function,
and the last step, from six numbers per handle to a dual quaternion, has a small Jacobian per handle.
"""

from __future__ import annotations

from copy import copy

import torch
from jaxtyping import Float
from torch import Tensor

from engine.geometry.dual_quaternion import dual_inverse, dual_multiply
from engine.model.handle_decoder import PreparedHandles


class ReducedDecoder:
    """Handles of one object, and their derivatives, as functions of the reduced coordinates ``q``."""

    def __init__(
        self,
        prepared: PreparedHandles,
        z0: Float[Tensor, " k"],
        basis: Float[Tensor, "k r"],
        way_back: Float[Tensor, "8 8"],
    ) -> None:
        """Fold the origin ``z0`` and the orthonormal directions ``basis`` (columns) into the first layer.

        Args:
            prepared: decoder of a batch with this object alone, its motions dual quaternions.
            z0: latent of the rest shape.
            basis: the active directions U; with no columns the object is rigid.
            way_back: from the frame that the network reads to the unit frame; see `ReadingFrame.way_back`.
        """
        self.k_q = basis.shape[1]
        trunk = prepared.trunk
        input_map = trunk.input_map()[0]
        self._bias = trunk.bias[0] + torch.einsum("k,ktd->td", z0, input_map)
        self._map = torch.einsum("kr,ktd->rtd", basis, input_map)
        self._pivots = prepared.pivots[0]
        self._layers: list[tuple[Tensor, ...]] = []
        for layer, mix in zip(trunk.layers, trunk.mixes, strict=True):
            weights = [layer.value.weight, layer.gather.weight, layer.up.weight, layer.down.weight]
            biases = [layer.gather.bias, layer.up.bias, layer.down.bias]
            self._layers.append((mix[0], *[w.t().contiguous() for w in weights], *biases))
        self._out_weight, self._out_bias = prepared.out.weight.t().contiguous(), prepared.out.bias
        at_rest = self._dual(self._trunk(self._bias[None], states=1))[0]
        inverse = dual_inverse(at_rest)
        # Right multiplication by the inverse at rest, and the way back, as one 8x8 matrix per handle: row i is what
        # e_i becomes.
        eye = torch.eye(8, dtype=z0.dtype, device=z0.device)
        after = dual_multiply(eye[None].expand(len(inverse), 8, 8), inverse[:, None, :].expand(-1, 8, 8))
        self._anchor = after @ way_back

    @property
    def handle_count(self) -> int:
        """Number of handles T."""
        return len(self._pivots)

    def leading(self, count: int) -> ReducedDecoder:
        """Return the decoder along the first directions alone."""
        kept = copy(self)
        kept.k_q, kept._map = count, self._map[:count]
        return kept

    def handles(self, q: Float[Tensor, "m r"]) -> Float[Tensor, "m t 8"]:
        """Return the handles' dual quaternions of several states, unit frame, identity at ``q = 0``."""
        h = self._bias + torch.einsum("mr,rtd->mtd", q, self._map)
        dual = self._dual(self._trunk(h, states=len(q)))
        return torch.einsum("mti,tij->mtj", dual, self._anchor)

    def handles_with_tangents(self, q: Float[Tensor, " r"]) -> Float[Tensor, "r1 t 8"]:
        """Return the handles of one state (row 0) and their derivatives along each coordinate (rows 1..r)."""
        state = self._bias + torch.einsum("r,rtd->td", q, self._map)
        raw = self._trunk(torch.cat((state[None], self._map)), states=1)
        dual, jacobian = self._dual_and_jacobian(raw[0])
        # (t, r, 6) (t, 6, 8) (t, 8, 8), with the state itself as the first row
        tangents = torch.bmm(raw[1:].transpose(0, 1), jacobian)
        return torch.bmm(torch.cat((dual[:, None], tangents), 1), self._anchor).transpose(0, 1)

    def _trunk(self, h: Float[Tensor, "m t d"], *, states: int) -> Float[Tensor, "m t 6"]:
        """Run the layers on ``states`` states followed, if there is one state, by its tangents."""
        m, t, d = h.shape
        for mix, value, gather, up, down, gather_bias, up_bias, down_bias in self._layers:
            heads = len(mix)
            mixed = torch.matmul(mix, (h @ value).view(m, t, heads, -1).transpose(1, 2))
            h = h + mixed.transpose(1, 2).reshape(m, t, d) @ gather
            h[:states] += gather_bias
            inner = h @ up
            first = inner[:states] + up_bias
            gate = torch.sigmoid(first)
            active = first * gate
            if m > states:
                slope = gate + active * (1.0 - gate)
                inner[states:] *= slope
            inner[:states] = active
            h = h + inner @ down
            h[:states] += down_bias
        raw = h @ self._out_weight
        raw[:states] += self._out_bias
        return raw

    def _dual(self, raw: Float[Tensor, "m t 6"]) -> Float[Tensor, "m t 8"]:
        """Turn the six numbers of each handle into a dual quaternion, not yet anchored.

        With ``r = (1, v)/|(1, v)|``, pivot p and shift s: ``dual = 1/2 (0, s) r + (0, p x r_v)``.
        """
        v, s = raw[..., :3], raw[..., 3:]
        length = (1.0 + (v * v).sum(-1, keepdim=True)).rsqrt()
        rv = v * length
        dual_w = -0.5 * (s * rv).sum(-1, keepdim=True)
        dual_v = 0.5 * (length * s + torch.linalg.cross(s, rv)) + torch.linalg.cross(self._pivots.expand_as(rv), rv)
        return torch.cat((length, rv, dual_w, dual_v), -1)

    def _dual_and_jacobian(self, raw: Float[Tensor, "t 6"]) -> tuple[Float[Tensor, "t 8"], Float[Tensor, "t 6 8"]]:
        """Return the dual quaternions of one state and their derivatives by the six numbers (row = number)."""
        dual = self._dual(raw[None])[0]
        r, s = dual[:, :4], raw[:, 3:]
        length, rv = r[:, :1, None], r[:, 1:]
        t = len(raw)
        # dr/dv_i = length (0, e_i) - r (r_v)_i length
        eye = torch.eye(3, dtype=raw.dtype, device=raw.device)
        by_v = -length * rv[:, :, None] * r[:, None, :]
        by_v[:, :, 1:] += length * eye
        jacobian = torch.zeros(t, 6, 8, dtype=raw.dtype, device=raw.device)
        jacobian[:, :3, :4] = by_v
        # d dual / d r is linear: 1/2 (0, s) dr + (0, p x dr_v)
        dw, dv = by_v[..., :1], by_v[..., 1:]
        s_rows, p_rows = s[:, None].expand(t, 3, 3), self._pivots[:, None].expand(t, 3, 3)
        jacobian[:, :3, 4] = -0.5 * (s_rows * dv).sum(-1)
        jacobian[:, :3, 5:] = 0.5 * dw * s_rows + torch.linalg.cross(0.5 * s_rows + p_rows, dv)
        # d dual / d s_i = 1/2 (0, e_i) r
        jacobian[:, 3:, 4] = -0.5 * rv
        jacobian[:, 3:, 5:] = 0.5 * (
            length * eye + torch.linalg.cross(eye.expand(t, 3, 3), rv[:, None].expand(t, 3, 3))
        )
        return dual, jacobian
