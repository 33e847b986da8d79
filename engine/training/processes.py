"""One training in several processes: on several GPUs, or on several machines, through Lightning Fabric.

Every process holds the whole network and draws batches of its own; after each backward pass the gradients are averaged,
in one message. So the weights stay the same everywhere, and the step is that of the joint batch. Fabric starts the
processes, or joins those that ``fabric run`` started; without the package, one process trains.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn


class ProcessesUnavailable(RuntimeError):
    """Several processes were asked for, and cannot be had; the message says why."""


class Processes:
    """The processes of one training, of which this is one; by default the only one."""

    def __init__(self, *, devices: int = 1, nodes: int = 1, device: str = "auto") -> None:
        """Start or join them.

        Args:
            devices: processes on each machine, each on a GPU of its own where there are GPUs.
            nodes: machines.
            device: "cpu", "cuda", or "auto" for a GPU where there is one.

        Raises:
            ProcessesUnavailable: Lightning Fabric is not installed, or there is no such device.
        """
        kind = ("cuda" if torch.cuda.is_available() else "cpu") if device == "auto" else device
        if kind == "cuda" and torch.cuda.device_count() < devices:
            raise ProcessesUnavailable(f"{devices} GPUs were asked for, and there are {torch.cuda.device_count()}")
        self.rank, self.count = 0, 1
        self.device = torch.device(kind)
        self._fabric: Any = None
        if devices * nodes == 1:
            return
        try:
            from lightning_fabric import Fabric
        except ModuleNotFoundError as missing:
            raise ProcessesUnavailable(
                f"{missing.name} is not installed: several processes need pip install -e '.[train]'"
            ) from missing
        self._fabric = Fabric(accelerator=kind, devices=devices, num_nodes=nodes, strategy="ddp")
        self._fabric.launch()
        self.rank, self.count = self._fabric.global_rank, self._fabric.world_size
        self.device = self._fabric.device

    @property
    def first(self) -> bool:
        """Whether this is the process that writes."""
        return self.rank == 0

    def average(self, parameters: Sequence[nn.Parameter], figures: list[float]) -> list[float]:
        """Average the gradients over the processes, and some figures with them, so that all decide alike."""
        if self._fabric is None:
            return figures
        gradients = [torch.zeros_like(p) if p.grad is None else p.grad for p in parameters]
        sent = torch.cat([*(g.flatten() for g in gradients), gradients[0].new_tensor(figures)])
        mean: Tensor = self._fabric.all_reduce(sent, reduce_op="mean")
        counts = [p.numel() for p in parameters]
        *parts, told = mean.split([*counts, len(figures)])
        for parameter, part in zip(parameters, parts, strict=True):
            parameter.grad = part.view_as(parameter)
        return told.tolist()

    def same_weights(self, model: nn.Module) -> None:
        """Give every process the weights of the first."""
        if self._fabric is not None:
            for tensor in model.state_dict().values():
                tensor.copy_(self._fabric.broadcast(tensor, src=0))

    def gathered(self, value: Any) -> list[Any]:  # noqa: ANN401  (whatever a process has to tell)
        """Return what each process tells, in the order of their ranks."""
        if self._fabric is None:
            return [value]
        told: list[Any] = [None] * self.count
        torch.distributed.all_gather_object(told, value)
        return told

    def close(self) -> None:
        """Leave the others."""
        if self._fabric is not None and torch.distributed.is_initialized():
            self._fabric.barrier()
            torch.distributed.destroy_process_group()
