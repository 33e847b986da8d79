"""Muon takes the steps of PyTorch's own, and orthogonalises."""

from __future__ import annotations

import pytest
import torch

from engine.training.optimizers import Muon, OptimizerKind, Optimizers, orthogonalised


def test_matrices_become_nearly_orthogonal() -> None:
    """All singular values come near one, whatever they were, wide or tall."""
    torch.manual_seed(0)
    matrices = [torch.randn(40, 64), torch.randn(64, 40) * 1e-3, torch.randn(32, 32)]
    for matrix in orthogonalised(matrices, steps=5):
        values = torch.linalg.svdvals(matrix.float())
        # The smallest values of a square matrix are reached last.
        assert float(values.quantile(0.2)) > 0.6
        assert float(values.max()) < 1.3


@pytest.mark.skipif(not hasattr(torch.optim, "Muon"), reason="this PyTorch has no Muon of its own to compare with")
def test_steps_are_those_of_pytorch() -> None:
    """Ten steps on wide and tall matrices give the same weights, up to bfloat16."""
    torch.manual_seed(0)
    start = [torch.randn(40, 64), torch.randn(64, 40), torch.randn(40, 64)]
    ours, theirs = ([torch.nn.Parameter(x.clone()) for x in start] for _ in range(2))
    one = Muon(ours, lr=1e-2, weight_decay=0.1)
    two = torch.optim.Muon(theirs, lr=1e-2, weight_decay=0.1, adjust_lr_fn="match_rms_adamw")
    for _ in range(10):
        for a, b in zip(ours, theirs, strict=True):
            a.grad = torch.randn(a.shape)
            b.grad = a.grad.clone()
        one.step()
        two.step()
    for a, b, begun in zip(ours, theirs, start, strict=True):
        torch.testing.assert_close(a, b, atol=0.02 * float((a.detach() - begun).abs().max()), rtol=0)


def test_muon_refuses_what_is_no_matrix() -> None:
    """A bias is refused with its shape."""
    with pytest.raises(ValueError, match=r"\(3,\)"):
        Muon([torch.nn.Parameter(torch.zeros(3))])


def test_each_parameter_has_one_optimizer() -> None:
    """Large matrices go to Muon, all else to AdamW, and the rates follow the share that is asked for."""
    model = torch.nn.Sequential(torch.nn.Linear(40, 48), torch.nn.Linear(48, 3))
    both = Optimizers(model, OptimizerKind.MUON, rate=1e-3, muon_rate=2e-3, decay=0.0)
    counts = [sum(len(group["params"]) for group in optimizer.param_groups) for optimizer, _ in both.parts]
    assert counts == [3, 1]
    model(torch.ones(1, 40)).sum().backward()
    both.step(0.5)
    assert [optimizer.param_groups[0]["lr"] for optimizer, _ in both.parts] == [5e-4, 1e-3]
