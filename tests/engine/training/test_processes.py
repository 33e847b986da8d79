"""Two processes train as one would with both their batches."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from engine.datasets.pairs import PairBatch
from engine.model.checkpoint import load_checkpoint
from engine.training.processes import Processes, ProcessesUnavailable
from engine.training.run_files import load_state
from tests.engine.training.two_processes import gradients, small_model

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def told(data: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[str, Any]]]:
    """What each of two processes had, which Fabric started and gloo connected."""
    pytest.importorskip("lightning_fabric")
    out = tmp_path_factory.mktemp("two")
    command = [sys.executable, "-m", "tests.engine.training.two_processes", str(data), str(out)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return out, [torch.load(out / f"rank-{rank}.pt", weights_only=True) for rank in range(2)]


def test_averaged_gradients_are_those_of_the_joint_batch(told: tuple[Path, list[dict[str, Any]]]) -> None:
    """Both processes hold the gradient that one would have of both batches together."""
    _, ranks = told
    joint: dict[str, Any] = {name: torch.cat([rank["batch"][name] for rank in ranks]) for name in ranks[0]["batch"]}
    assert not torch.allclose(ranks[0]["batch"]["points"], ranks[1]["batch"]["points"])
    model = small_model()
    gradients(model, PairBatch(**joint))
    largest = max(float(p.grad.abs().max()) for p in model.parameters() if p.grad is not None)
    for name, parameter in model.named_parameters():
        expected = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
        for rank in ranks:
            torch.testing.assert_close(rank["gradients"][name], expected, atol=1e-5 * largest, rtol=1e-3, msg=name)
    assert [rank["told"] for rank in ranks] == [0.5, 0.5]


def test_both_hold_the_same_weights_after_training(told: tuple[Path, list[dict[str, Any]]]) -> None:
    """After five steps on different batches the weights agree to the last bit, and the first process wrote them."""
    out, ranks = told
    for name, weight in ranks[0]["weights"].items():
        assert torch.equal(weight, ranks[1]["weights"][name]), name
    state = load_state(out / "run")
    assert state["iteration"] == 5
    assert state["items"] == ranks[0]["items"] == 80
    assert len(state["draws"]) == 2
    assert not torch.equal(ranks[0]["noise"], ranks[1]["noise"])
    begun = small_model().state_dict()
    trained = load_checkpoint(out / "run" / "model.safetensors").model.state_dict()
    assert not torch.allclose(trained["features.point.0.weight"], begun["features.point.0.weight"])


def test_one_process_needs_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Alone, figures and gradients stay as they are, without the package; for several its lack is named."""
    monkeypatch.setitem(sys.modules, "lightning_fabric", None)
    alone = Processes(device="cpu")
    assert alone.first
    assert alone.average([torch.nn.Parameter(torch.ones(2))], [3.0]) == [3.0]
    assert alone.gathered("x") == ["x"]
    with pytest.raises(ProcessesUnavailable, match=r"\[train\]"):
        Processes(devices=2, device="cpu")


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_gpu_that_is_not_there_is_refused() -> None:
    """What was asked for and what there is are both named."""
    with pytest.raises(ProcessesUnavailable, match="1 GPUs were asked for, and there are 0"):
        Processes(device="cuda")
