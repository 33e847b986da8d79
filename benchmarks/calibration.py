"""How fast the machine is just now, to judge the other figures by."""

from __future__ import annotations

import torch

from benchmarks.figures import Figure, median_ms


def measure() -> list[Figure]:
    """Time one product of two 512 x 512 float32 matrices, and a thousand operations on one number."""
    a, b = torch.randn(512, 512), torch.randn(512, 512)
    one = torch.zeros(1)

    def small() -> None:
        for _ in range(1000):
            one.add_(0.0)

    threads = f"{torch.get_num_threads()} thread(s)"
    with torch.inference_mode():
        return [
            Figure("512^2 product", median_ms(lambda: a @ b, repeats=30), "ms", note=threads),
            Figure("1,000 operations", median_ms(small, repeats=15), "ms", note="on one number"),
        ]
