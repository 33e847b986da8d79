"""Step and decode: one object of 10,000 vertices, the decode of a large one, and the step at several sizes."""

from __future__ import annotations

import numpy as np

from benchmarks.figures import Figure, median_ms
from benchmarks.meshes import bean_shape
from engine.dynamics.mechanics import Mechanics
from engine.dynamics.state import Grab, Loads, State, SurfacePoint
from engine.kinematics.object_kinematics import prepare_object
from engine.runtime.pacing import STEP
from engine.scenes.material import MATERIALS, Anchor

STEP_DECODE_BAR = 8.0
DECODE_BAR = 10.0
GROWTH_BAR = 1.1
"""Most that a step of 100,000 vertices may take, as a multiple of one of 1,000."""


class _Pulled:
    """An object whose top is swung about: every step has something to do."""

    def __init__(self, count: int) -> None:
        rest = bean_shape(count)
        self.count = len(rest.vertices)
        self.mechanics = Mechanics(prepare_object(rest), material=MATERIALS["elastic"], anchor=Anchor.STANDING)
        self.state: State = self.mechanics.rest_state()
        top = int(np.asarray(rest.vertices)[np.asarray(rest.faces)].mean(1)[:, 2].argmax())
        self._grab = self.mechanics.begin_grab(self.state, SurfacePoint(top, (1 / 3, 1 / 3, 1 / 3)))

    def step(self) -> None:
        time, grab = self.state.time, self._grab
        reach = 0.12 * self.mechanics.size * np.sin(2.0 * np.pi * 0.7 * time)
        target = np.asarray(grab.target) + reach * np.array((1.0, 0.4, 0.1))
        held = Grab(grab.point, target, grab.stiffness, grab.damping, grab.force_cap, age=time)
        self.state, _ = self.mechanics.step(self.state, Loads(grab=held), STEP)

    def step_and_decode(self) -> None:
        self.step()
        self.mechanics.decode(self.state)


def measure() -> list[Figure]:
    """Measure an object of 10,000 vertices."""
    pulled = _Pulled(10_000)
    value = median_ms(pulled.step_and_decode, repeats=120, warm_up=20)
    note = f"k_q = {pulled.mechanics.kinematics.k_q}, while pulled"
    return [Figure("step + decode, 10,000 vertices", value, "ms", STEP_DECODE_BAR, note)]


def measure_decode() -> list[Figure]:
    """Measure the decode of 100,000 vertices."""
    pulled = _Pulled(100_000)
    value = median_ms(lambda: pulled.mechanics.decode(pulled.state), repeats=30)
    return [Figure("decode, 100,000 vertices", value, "ms", DECODE_BAR)]


def measure_scaling() -> list[Figure]:
    """Measure the step at 1,000, 10,000 and 100,000 vertices: it should not grow, since it sees samples only."""
    figures: list[Figure] = []
    for count in (1_000, 10_000, 100_000):
        pulled = _Pulled(count)
        value = median_ms(pulled.step, repeats=60, warm_up=15)
        figures.append(
            Figure(f"step, {count:,} vertices", value, "ms", note=f"k_q = {pulled.mechanics.kinematics.k_q}")
        )
    growth = figures[-1].value / figures[0].value
    return [*figures, Figure("step, 100,000 over 1,000", growth, "times", GROWTH_BAR)]
