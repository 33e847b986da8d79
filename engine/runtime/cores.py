"""How many processor cores the engine takes. Chosen once per process, before the first tensor."""

from __future__ import annotations

import os

import torch


def spare_cores() -> int:
    """Return the number of cores but one, which is left to the window and to the rest of the machine; at least one."""
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return max(1, (available or 2) - 1)


def use_spare_cores() -> None:
    """Let torch compute on the spare cores."""
    torch.set_num_threads(spare_cores())
