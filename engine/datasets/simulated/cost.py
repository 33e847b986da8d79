"""What the motions of MuJoCo cost on this machine."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from engine.datasets.motion import Motion
from engine.datasets.shapes.primitives import Rng
from engine.datasets.simulated import cloth_loads, solid_loads
from engine.datasets.simulated.flex_cloth import cloth
from engine.datasets.simulated.flex_solid import soft_solid
from engine.datasets.simulated.rigid_body import rigid_body


@dataclass(frozen=True, slots=True)
class Cost:
    """Cost of one maker under one load.

    Attributes:
        maker: "soft_solid", "cloth" or "rigid_body".
        load: its load; empty for rigid bodies.
        seconds: processor time of each motion that was tried [s].
        vertices: of each motion that worked out.
        frames: of each motion that worked out.
        failures: reasons of those that did not.
    """

    maker: str
    load: str
    seconds: tuple[float, ...]
    vertices: tuple[int, ...]
    frames: tuple[int, ...]
    failures: tuple[str, ...]

    @property
    def seconds_per_motion(self) -> float:
        """Processor time spent for each motion that worked out [s], the failed ones included; infinite for none."""
        return sum(self.seconds) / len(self.vertices) if self.vertices else float("inf")


def measure_costs(seeds: Sequence[int]) -> list[Cost]:
    """Make one motion a seed with every maker and load."""
    makers: list[tuple[str, str, Callable[[Rng], Motion]]] = [
        *(("soft_solid", load, lambda rng, load=load: soft_solid(rng, load=load)) for load in solid_loads.LOADS),
        *(("cloth", load, lambda rng, load=load: cloth(rng, load=load)) for load in cloth_loads.LOADS),
        ("rigid_body", "", rigid_body),
    ]
    return [_cost(maker, load, make, seeds) for maker, load, make in makers]


def _cost(maker: str, load: str, make: Callable[[Rng], Motion], seeds: Sequence[int]) -> Cost:
    seconds: list[float] = []
    motions: list[Motion] = []
    failures: list[str] = []
    for seed in seeds:
        begin = time.process_time()
        try:
            motions.append(make(np.random.default_rng(seed)))
        except ValueError as error:
            failures.append(str(error))
        seconds.append(time.process_time() - begin)
    vertices, frames = tuple(m.positions.shape[1] for m in motions), tuple(len(m.positions) for m in motions)
    return Cost(maker, load, tuple(seconds), vertices, frames, tuple(failures))
