"""The optimizers: AdamW, or Muon for the matrices with AdamW for all else."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Any

import torch
from torch import Tensor, nn

# Quintic iteration with the steepest slope at zero that still stays bounded (Jordan 2024).
_QUINTIC = (3.4445, -4.7750, 2.0315)


class OptimizerKind(StrEnum):
    """Which optimizer a training uses."""

    ADAMW = "adamw"
    MUON = "muon"


class Muon(torch.optim.Optimizer):
    """Momentum whose steps are orthogonalised: every singular direction of a matrix moves alike.

    Keller Jordan, "Muon", 2024, with the step scaled to the RMS of AdamW's (Liu et al., "Muon is scalable for LLM
    training", 2025): a step of ``0.2 sqrt(max(rows, columns))`` times the rate. The numbers are those of
    `torch.optim.Muon`; matrices of one shape are orthogonalised together, which halves the time on a processor.
    """

    def __init__(
        self,
        params: list[nn.Parameter],
        lr: float = 1e-3,
        weight_decay: float = 0.01,
        momentum: float = 0.95,
        steps: int = 5,
    ) -> None:
        """``steps`` iterations orthogonalise a step; all parameters are matrices."""
        if any(p.ndim != 2 for p in params):
            raise ValueError(f"Muon moves matrices alone, and was given shapes {[tuple(p.shape) for p in params]}")
        super().__init__(params, {"lr": lr, "weight_decay": weight_decay, "momentum": momentum, "steps": steps})

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Take one step with the gradients at hand; there is no closure to be called again."""
        if closure is not None:
            raise ValueError("Muon takes no closure: compute the gradients before the step")
        for group in self.param_groups:
            moved = [p for p in group["params"] if p.grad is not None]
            gradients = [p.grad for p in moved]
            for p in moved:
                if "momentum_buffer" not in self.state[p]:
                    self.state[p]["momentum_buffer"] = torch.zeros_like(p)
            buffers = [self.state[p]["momentum_buffer"] for p in moved]
            torch._foreach_lerp_(buffers, gradients, 1.0 - group["momentum"])  # pyright: ignore[reportPrivateImportUsage]
            wanted = torch._foreach_lerp(gradients, buffers, group["momentum"])  # pyright: ignore[reportPrivateImportUsage]
            for p, update in zip(moved, orthogonalised(list(wanted), steps=group["steps"]), strict=True):
                p.mul_(1.0 - group["lr"] * group["weight_decay"])
                p.add_(update, alpha=-group["lr"] * 0.2 * max(p.shape) ** 0.5)


def orthogonalised(matrices: list[Tensor], *, steps: int) -> list[Tensor]:
    """Return each matrix with its singular values brought near one, in bfloat16; those of one shape go together."""
    by_shape: dict[tuple[int, ...], list[int]] = {}
    for index, matrix in enumerate(matrices):
        by_shape.setdefault(tuple(sorted(matrix.shape)), []).append(index)
    a, b, c = _QUINTIC
    result = list(matrices)
    for indices in by_shape.values():
        wide = [m if m.shape[0] <= m.shape[1] else m.mT for m in (matrices[i] for i in indices)]
        x = torch.stack(wide).bfloat16()
        x = x / x.norm(dim=(1, 2), keepdim=True).clamp(min=1e-7)
        for _ in range(steps):
            gram = x @ x.mT
            x = torch.baddbmm(x, torch.baddbmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
        for index, row in zip(indices, x, strict=True):
            result[index] = row if matrices[index].shape[0] <= matrices[index].shape[1] else row.mT
    return result


class Optimizers:
    """The optimizers of a network as one, each with its own rate."""

    def __init__(self, model: nn.Module, kind: OptimizerKind, *, rate: float, muon_rate: float, decay: float) -> None:
        """``rate`` of AdamW, ``muon_rate`` of Muon, ``decay`` of the weights of both."""
        parameters = list(model.parameters())
        matrices = [p for p in parameters if kind is OptimizerKind.MUON and p.ndim == 2 and min(p.shape) >= 32]
        chosen = {id(p) for p in matrices}
        others = [p for p in parameters if id(p) not in chosen]
        self.parts: list[tuple[torch.optim.Optimizer, float]] = [
            (torch.optim.AdamW(others, lr=rate, weight_decay=decay, betas=(0.9, 0.98), fused=True), rate)
        ]
        if matrices:
            self.parts.append((Muon(matrices, lr=muon_rate, weight_decay=decay), muon_rate))

    def zero_grad(self) -> None:
        """Forget the gradients."""
        for optimizer, _ in self.parts:
            optimizer.zero_grad(set_to_none=True)

    def step(self, share: float) -> None:
        """Take one step, at this share of each rate."""
        for optimizer, rate in self.parts:
            for group in optimizer.param_groups:
                group["lr"] = rate * share
            optimizer.step()

    def state_dict(self) -> list[dict[str, Any]]:
        """Return the state of each."""
        return [optimizer.state_dict() for optimizer, _ in self.parts]

    def load_state_dict(self, states: list[dict[str, Any]]) -> None:
        """Set the state of each."""
        for (optimizer, _), state in zip(self.parts, states, strict=True):
            optimizer.load_state_dict(state)
