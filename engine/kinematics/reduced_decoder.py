"""The decoder of one object in reduced coordinates: ``z = z0 + U q`` folded into its first layer, rest made exact.

Each handle acts as ``dq_t(z) dq_t(z0)^-1``, so ``q = 0`` *is* the rest shape whatever pose the training data's mean
had. Tangents along ``q`` are carried forward by hand beside the state: every map is linear but one pointwise function.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from engine.geometry.dual_quaternion import dual_inverse, dual_multiply
from engine.model.handle_decoder import PreparedDecoder


class ReducedDecoder:
    """Handles of one object, and their derivatives, as functions of the reduced coordinates ``q``."""

    def __init__(
        self, prepared: PreparedDecoder, z0: Float[Tensor, " k"], basis: Float[Tensor, "k r"]
    ) -> None:
        """Fold the origin ``z0`` and the orthonormal directions ``basis`` (columns) into the first layer.

        Args:
            prepared: decoder of a batch with this object alone.
            z0: latent of the rest shape.
            basis: the active directions U; with no columns the object is rigid.
        """
        self.z0, self.basis = z0, basis
        self.k_q = basis.shape[1]
        self._bias = prepared.bias[0] + torch.einsum("k,ktd->td", z0, prepared.input_map[0])
        self._map = torch.einsum("kr,ktd->rtd", basis, prepared.input_map[0])
        self._pivots = prepared.pivots[0]
        self._layers: list[tuple[Tensor, ...]] = []
        for layer, mix in zip(prepared.layers, prepared.mixes, strict=True):
            # gather(concat_h A_h value_h(h)) = sum_h A_h (h V_h G_h): the two products become one matrix per head.
            heads = layer.heads
            value = layer.value.weight.view(heads, -1, layer.value.in_features)
            gather = layer.gather.weight.view(layer.gather.out_features, heads, -1)
            joined = torch.einsum("ohv,hvi->hio", gather, value)
            self._layers.append(
                (
                    mix[0],
                    joined.permute(1, 0, 2).reshape(layer.value.in_features, -1).contiguous(),
                    layer.gather.bias,
                    layer.up.weight.t().contiguous(),
                    layer.up.bias,
                    layer.down.weight.t().contiguous(),
                    layer.down.bias,
                )
            )
        self._out_weight, self._out_bias = prepared.out.weight.t().contiguous(), prepared.out.bias
        identity = torch.zeros(len(self._pivots), 8, dtype=z0.dtype, device=z0.device)
        identity[:, 0] = 1.0
        self._anchor = identity
        self._anchor = dual_inverse(self._raw(z0.new_zeros(1, self.k_q))[0])

    @property
    def handle_count(self) -> int:
        """Number of handles T."""
        return len(self._pivots)

    def _trunk(self, h: Float[Tensor, "m t d"], *, states: int) -> Float[Tensor, "m t 6"]:
        """Run the layers on ``states`` states followed, if there is one state, by its tangents."""
        m, t, d = h.shape
        for mix, joined, gather_bias, up, up_bias, down, down_bias in self._layers:
            heads = len(mix)
            # (m, t, heads d) -> (m, heads t, d), mixed by (t, heads t).
            mixed = (h @ joined).view(m, t, heads, d).transpose(1, 2).reshape(m, heads * t, d)
            h = h + torch.matmul(mix.transpose(0, 1).reshape(t, heads * t), mixed)
            h[:states] += gather_bias
            inner = h @ up
            inner[:states] += up_bias
            gate = torch.sigmoid(inner[:states])
            active = inner[:states] * gate
            if m > states:
                slope = gate + active * (1.0 - gate)
                inner = torch.cat((active, inner[states:] * slope))
            else:
                inner = active
            h = h + inner @ down
            h[:states] += down_bias
        raw = h @ self._out_weight
        raw[:states] += self._out_bias
        return raw

    def _dual(self, raw: Float[Tensor, "m t 6"], *, states: int) -> Float[Tensor, "m t 8"]:
        """Turn the six numbers of each handle (and their tangents) into anchored dual quaternions."""
        turn, shift = raw[..., :3], raw[..., 3:]
        length = (1.0 + (turn[:states] ** 2).sum(-1, keepdim=True)).rsqrt()
        ones = torch.ones_like(length)
        real = torch.cat((ones, turn[:states]), -1) * length
        pieces_real, pieces_shift = [real], [shift[:states]]
        if len(raw) > states:
            dv = turn[states:] * length
            along = (real[..., 1:] * dv).sum(-1, keepdim=True)
            pieces_real.append(torch.cat((torch.zeros_like(along), dv), -1) - real * along)
            pieces_shift.append(shift[states:])
        # dual = 1/2 (0, s) r + (0, p x r_v): about the pivot p, then shifted by s.
        duals = [0.5 * _pure_times(pieces_shift[0], real)]
        if len(raw) > states:
            duals.append(0.5 * (_pure_times(pieces_shift[1], real) + _pure_times(pieces_shift[0], pieces_real[1])))
        reals = torch.cat(pieces_real)
        dual = torch.cat(duals)
        turned = torch.linalg.cross(self._pivots.expand(len(reals), -1, -1), reals[..., 1:])
        dual = torch.cat((dual[..., :1], dual[..., 1:] + turned), -1)
        return dual_multiply(torch.cat((reals, dual), -1), self._anchor)

    def _raw(self, q: Float[Tensor, "m r"]) -> Float[Tensor, "m t 8"]:
        h = self._bias + torch.einsum("mr,rtd->mtd", q, self._map)
        return self._dual(self._trunk(h, states=len(q)), states=len(q))

    def handles(self, q: Float[Tensor, "m r"]) -> Float[Tensor, "m t 8"]:
        """Return the handles' dual quaternions of several states, unit frame, identity at ``q = 0``."""
        return self._raw(q)

    def handles_with_tangents(self, q: Float[Tensor, " r"]) -> Float[Tensor, "r1 t 8"]:
        """Return the handles of one state (row 0) and their derivatives along each coordinate (rows 1..r)."""
        state = self._bias + torch.einsum("r,rtd->td", q, self._map)
        h = torch.cat((state[None], self._map))
        return self._dual(self._trunk(h, states=1), states=1)


def _pure_times(s: Float[Tensor, "*n 3"], r: Float[Tensor, "*n 4"]) -> Float[Tensor, "*n 4"]:
    """Return the quaternion product ``(0, s) r``."""
    s, v = torch.broadcast_tensors(s, r[..., 1:])
    w = r[..., :1]
    return torch.cat((-(s * v).sum(-1, keepdim=True), w * s + torch.linalg.cross(s, v)), -1)
