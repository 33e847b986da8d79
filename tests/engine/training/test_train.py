"""A short training run reads a dataset, writes a checkpoint that loads, and goes on exactly where it stopped."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from engine.datasets.augmentation import Augmentation
from engine.datasets.shards import DatasetError
from engine.model.checkpoint import CheckpointError, load_checkpoint
from engine.model.variational_autoencoder import ModelConfig
from engine.training import train as training
from engine.training.optimizers import OptimizerKind
from engine.training.run_files import STATE, RunError, load_state, save_state
from engine.training.train import TrainingConfig, TrainingDiverged, train

TINY = ModelConfig(width=32, heads=2, handles=6)
SHORT = TrainingConfig(seconds=2.0, objects=2, warmup_iterations=5, save_every=0.5, device="cpu")
# Saved after every iteration, so that it can be stopped after any.
COUNTED = replace(SHORT, items=10 * 2 * 4, points=48, save_every=0.0, optimizer=OptimizerKind.MUON)


def _lines(run: Path) -> list[dict[str, str]]:
    with (run / "log.csv").open() as file:
        return list(csv.DictReader(file))


def _stop_after(monkeypatch: pytest.MonkeyPatch, iterations: int) -> None:
    """Interrupt a training as Ctrl-C does, in the middle of an iteration."""
    done = iter(range(iterations))

    def counted(*given: Any, **options: Any) -> Tensor:
        if next(done, None) is None:
            raise KeyboardInterrupt
        return training_loss(*given, **options)

    training_loss = training.reconstruction
    monkeypatch.setattr(training, "reconstruction", counted)


def test_a_run_learns_writes_a_checkpoint_and_goes_on(data: Path, tmp_path: Path) -> None:
    """The loss falls, the checkpoint loads with its facts, and a resumed run counts on."""
    path = train([data], tmp_path, config=SHORT, model_config=TINY, resume=False)
    checkpoint = load_checkpoint(path)
    assert checkpoint.facts["objects"] == 2
    lines = _lines(tmp_path)
    assert float(lines[-1]["recon"]) < float(lines[0]["recon"])
    done = int(lines[-1]["iteration"])
    train([data], tmp_path, config=replace(SHORT, seconds=3.0), model_config=TINY, resume=True)
    assert int(_lines(tmp_path)[-1]["iteration"]) > done
    assert float(_lines(tmp_path)[-1]["minutes"]) == pytest.approx(3.0 / 60, abs=0.02)
    assert len(_lines(tmp_path)) > len(lines)


@pytest.mark.parametrize("capacity", [8192, 2])
def test_an_interrupted_run_goes_on_bit_for_bit(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capacity: int
) -> None:
    """Four iterations and six more give the weights of ten in one go, whether or not the pool streams."""
    config = replace(COUNTED, pool=capacity)
    whole = load_checkpoint(train([data], tmp_path / "whole", config=config, model_config=TINY)).model
    with monkeypatch.context() as patched:
        _stop_after(patched, 4)
        with pytest.raises(KeyboardInterrupt):
            train([data], tmp_path / "parts", config=config, model_config=TINY)
    assert load_state(tmp_path / "parts")["iteration"] == 4
    # Sizes are the run's own, whatever is asked for.
    resumed = load_checkpoint(train([data], tmp_path / "parts", config=config, model_config=ModelConfig(), resume=True))
    for name, weight in whole.state_dict().items():
        assert torch.equal(resumed.model.state_dict()[name], weight), name
    assert [line["iteration"] for line in _lines(tmp_path / "parts")] == [str(i) for i in range(1, 11)]
    recon = [[line["recon"] for line in _lines(tmp_path / run)] for run in ("whole", "parts")]
    assert recon[0] == recon[1]


def test_a_run_may_go_on_in_another_folder(data: Path, tmp_path: Path) -> None:
    """What a run of 40 pairs left behind, another folder takes to 80."""
    train([data], tmp_path / "a", config=replace(COUNTED, items=40), model_config=TINY)
    train([data], tmp_path / "b", config=COUNTED, model_config=TINY, resume=tmp_path / "a")
    assert [load_state(tmp_path / run)["items"] for run in "ab"] == [40, 80]


def test_the_seed_decides(data: Path, tmp_path: Path) -> None:
    """Another seed gives other weights."""
    runs = [
        train([data], tmp_path / str(seed), config=replace(COUNTED, items=16, seed=seed), model_config=TINY)
        for seed in (0, 1)
    ]
    one, two = (load_checkpoint(run).model.state_dict()["features.point.0.weight"] for run in runs)
    assert not torch.allclose(one, two)


def test_a_run_may_start_from_a_checkpoint(data: Path, tmp_path: Path) -> None:
    """With a learning rate of zero, the run's weights are those of the checkpoint it started from."""
    first = train([data], tmp_path / "a", config=replace(COUNTED, items=16), model_config=TINY)
    still = replace(COUNTED, items=16, learning_rate=0.0, muon_rate=0.0, weight_decay=0.0)
    second = train([data], tmp_path / "b", config=still, model_config=ModelConfig(), initial=first)
    one, two = load_checkpoint(first).model, load_checkpoint(second).model
    for name, weight in one.state_dict().items():
        torch.testing.assert_close(two.state_dict()[name], weight, msg=name)


def test_a_network_grows_without_losing_what_it_knows(data: Path, tmp_path: Path) -> None:
    """Layers that the checkpoint lacks are added, and its tokens are the same before they have learned."""
    first = train([data], tmp_path / "a", config=replace(COUNTED, items=16), model_config=TINY)
    still = replace(COUNTED, items=8, learning_rate=0.0, muon_rate=0.0, weight_decay=0.0)
    larger = replace(TINY, trunk_blocks=2)
    second = train([data], tmp_path / "b", config=still, model_config=larger, initial=first, grow=True)
    small, large = load_checkpoint(first).model, load_checkpoint(second).model
    assert large.config == larger
    torch.manual_seed(0)
    points, component = torch.rand(1, 40, 3), torch.zeros(1, 40, dtype=torch.int64)
    normals = torch.nn.functional.normalize(torch.rand(1, 40, 3), dim=-1)
    seeds = torch.arange(6)[None]
    one, two = (model.encode_shape(points, normals, component, seeds).tokens for model in (small, large))
    torch.testing.assert_close(one, two, atol=1e-5, rtol=0)
    with pytest.raises(CheckpointError, match="cannot grow"):
        train([data], tmp_path / "c", config=still, model_config=replace(TINY, width=48), initial=first, grow=True)


@pytest.mark.parametrize("broken", ["loss", "gradient"])
def test_what_is_not_finite_stops_the_run(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    """A loss or a gradient that is not finite ends the run with its iteration, and the last checkpoint stays."""
    kept = train([data], tmp_path, config=replace(COUNTED, items=16), model_config=TINY)
    before = kept.read_bytes()

    def spoiled(*given: Any, **options: Any) -> Tensor:
        cost = whole(*given, **options)
        # The square root has no finite slope at zero.
        return cost * torch.nan if broken == "loss" else cost + (cost - cost.detach()).abs().sqrt()

    whole = training.reconstruction
    monkeypatch.setattr(training, "reconstruction", spoiled)
    with pytest.raises(TrainingDiverged, match="at iteration 2"):
        train([data], tmp_path, config=COUNTED, model_config=TINY, resume=True)
    assert kept.read_bytes() == before


def test_training_without_augmentation_sees_the_first_state_alone(data: Path, tmp_path: Path) -> None:
    """The ablation trains, and its settings are kept with the checkpoint."""
    config = replace(COUNTED, items=16, augmentation=Augmentation.none())
    facts = load_checkpoint(train([data], tmp_path, config=config, model_config=TINY)).facts
    assert TrainingConfig.from_dict(facts["training"]) == config


def test_a_folder_without_a_dataset_is_refused(tmp_path: Path) -> None:
    """Training on an empty folder names the command that makes a dataset."""
    with pytest.raises(DatasetError, match="dataset build"):
        train([tmp_path], tmp_path / "run", config=SHORT, model_config=TINY)


def test_a_state_that_is_none_is_refused(tmp_path: Path) -> None:
    """A folder without a run, a damaged state and one of another version each say what to do."""
    with pytest.raises(RunError, match="no run to go on with"):
        load_state(tmp_path)
    (tmp_path / STATE).write_bytes(b"nothing")
    with pytest.raises(RunError, match="cannot be read"):
        load_state(tmp_path)
    save_state({"format": "of old", "iteration": 1}, tmp_path)
    with pytest.raises(RunError, match="another version"):
        load_state(tmp_path)


def test_the_learning_rate_follows_the_budget() -> None:
    """It rises over the warm-up, holds for its share, and falls to what is left at the end."""
    config = TrainingConfig(seconds=100.0, warmup_iterations=10, hold=0.5, lowest=0.1)
    assert config.rate(share=0.0, iteration=4) == pytest.approx(0.5)
    assert config.rate(share=0.5, iteration=100) == pytest.approx(1.0)
    assert config.rate(share=0.75, iteration=100) == pytest.approx(0.55)
    assert config.rate(share=1.0, iteration=100) == pytest.approx(0.1)
    assert config.spent(seconds=25.0, items=7) == pytest.approx(0.25)
    assert replace(config, items=70).spent(seconds=25.0, items=7) == pytest.approx(0.1)


def test_the_log_is_there_for_tensorboard_too(data: Path, tmp_path: Path) -> None:
    """Where TensorBoard is installed, a run writes its events beside the CSV."""
    pytest.importorskip("tensorboard")
    train([data], tmp_path, config=replace(COUNTED, items=16), model_config=TINY)
    events = next((tmp_path / "tensorboard").glob("events*"))
    assert b"error/articulated" in events.read_bytes()
    assert json.loads(json.dumps(_lines(tmp_path)[-1]))["items"] == "16"
