"""The handle decoder: a latent vector becomes T rigid motions, which a fixed weighting blends over the surface.

A state costs T motions, whatever the mesh: decoding is one product of weights and motions, any density is exact, and
tangents are those of T tokens (`engine.kinematics.reduced_decoder` carries them by hand). Ours, in place of the queries
of the paper (`engine.model.query_decoder`).
"""

from __future__ import annotations

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor, nn

from engine.model.blocks import Mlp
from engine.model.latent_trunk import LatentTrunk, PreparedTrunk, TrunkSizes
from engine.model.motions import MotionKind, motion_about


@dataclass(frozen=True, slots=True)
class PreparedHandles:
    """The handle decoder of a batch of objects with everything that does not depend on the latent computed.

    Attributes:
        trunk: from the latent to hidden states of the handles.
        out: last linear layer, to the free numbers of each handle.
        pivots: point about which each handle turns, shape (b, t, 3), unit frame.
        kind: of the motions.
    """

    trunk: PreparedTrunk
    out: nn.Linear
    pivots: Float[Tensor, "b t 3"]
    kind: MotionKind

    def repeated(self, count: int) -> PreparedHandles:
        """Return each item ``count`` times: one rest shape in several states."""
        return PreparedHandles(self.trunk.repeated(count), self.out, self.pivots.repeat_interleave(count, 0), self.kind)

    def handles(self, z: Float[Tensor, "b k"]) -> Float[Tensor, "b t m"]:
        """Return the motion of each handle, unit frame: a unit dual quaternion, or an affine map (`MotionKind`)."""
        return motion_about(self.numbers(z), self.pivots, self.kind)

    def numbers(self, z: Float[Tensor, "b k"]) -> Float[Tensor, "b t n"]:
        """Return the free numbers of each handle (`MotionKind.numbers`)."""
        return self.out(self.trunk.hidden(z))


class HandleDecoder(LatentTrunk):
    """Instance tokens and a latent to handle motions; the tokens' regions are the blending weights."""

    def _add_motion_layers(self, sizes: TrunkSizes) -> None:
        instance_width, width = sizes.instance_width, sizes.width
        self.out = nn.Linear(width, self.kind.numbers)
        nn.init.normal_(self.out.weight, std=0.1 * width**-0.5)
        nn.init.zeros_(self.out.bias)
        self.pivot = Mlp(instance_width, width, 3)

    def prepare(self, instance: Float[Tensor, "b t i"], centres: Float[Tensor, "b t 3"]) -> PreparedHandles:
        """Compute all that depends on the rest shape alone.

        Args:
            instance: instance tokens of the prior encoder.
            centres: the surface point each token was seeded at, unit frame.
        """
        pivots = centres + 0.3 * self.pivot(instance)
        return PreparedHandles(self.prepare_trunk(instance), self.out, pivots, self.kind)
