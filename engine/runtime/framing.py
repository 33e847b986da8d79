"""From a state to a frame: decoded once, read-only, with the figures that are shown beside it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from jaxtyping import Float, Float32, Shaped

from engine.dynamics.state import StepStatus, SurfacePoint
from engine.runtime.messages import Frame, FrameGrab, FramePins
from engine.runtime.stage import Stage

_WORDS = {
    StepStatus.CONVERGED: "",
    StepStatus.FALLBACK: "first-order step",
    StepStatus.NOT_CONVERGED: "no solution",
    StepStatus.NOT_FINITE: "not finite",
}


class FrameMaker:
    """Makes frames, and keeps what the last ones showed, so that slow motion can show what lies between two steps."""

    def __init__(self, stopwatch: Callable[[], float]) -> None:
        """Measure with a stopwatch [s]."""
        self._stopwatch = stopwatch
        self._sequence = 0
        self._step_ms = 0.0
        self._decode_ms = 0.0
        self.forget()

    def forget(self) -> None:
        """Begin with another object or another run."""
        self._shown: tuple[float, Float32[np.ndarray, "n 3"]] | None = None
        self._before: tuple[float, Float32[np.ndarray, "n 3"]] | None = None

    def frame(
        self,
        stage: Stage,
        *,
        generation: int,
        fraction: float,
        steps: int,
        step_seconds: float,
        sim_rate: float,
        real_time_factor: float,
        recording: bool,
        running: bool,
    ) -> Frame:
        """Return the object as it is seen now.

        Args:
            stage: the object.
            generation: of its run.
            fraction: how far between the last two steps, for slow motion; 1 shows the newest.
            steps: taken since the last frame.
            step_seconds: mean time of one.
            sim_rate: steps per second.
            real_time_factor: simulated over wall time.
            recording: whether it is recorded.
            running: whether time runs.
        """
        time, vertices = self._decoded(stage)
        if fraction < 1.0 and self._before is not None:
            # Straight between two steps: what a sixtieth of a second moves is nearly straight.
            old_time, old = self._before
            time = old_time + fraction * (time - old_time)
            vertices = old + np.float32(fraction) * (vertices - old)
            vertices.setflags(write=False)
        if steps:
            self._step_ms = 1000.0 * step_seconds
        report = stage.report
        frame = Frame(
            generation=generation,
            sequence=self._sequence,
            time=time,
            vertices=vertices,
            pins=_pins(stage),
            grab=_grab(stage, vertices),
            kinetic=0.0 if report is None else report.kinetic,
            potential=0.0 if report is None else report.potential,
            step_ms=self._step_ms,
            decode_ms=self._decode_ms,
            sim_rate=sim_rate,
            real_time_factor=real_time_factor,
            recording=recording,
            running=running,
            status="" if report is None else _WORDS[report.status],
            kept=stage.history.span,
        )
        self._sequence += 1
        return frame

    def _decoded(self, stage: Stage) -> tuple[float, Float32[np.ndarray, "n 3"]]:
        """Return time and vertices of the newest state, decoded unless that was done before."""
        state = stage.state
        if self._shown is not None and self._shown[0] == state.time and not self._moved_in_place(stage):
            return self._shown
        begun = self._stopwatch()
        vertices = np.ascontiguousarray(stage.motion.decode(state), dtype=np.float32)
        vertices.setflags(write=False)
        self._decode_ms = 1000.0 * (self._stopwatch() - begun)
        self._before, self._shown = self._shown, (state.time, vertices)
        self._state = state
        return self._shown

    def _moved_in_place(self, stage: Stage) -> bool:
        """Return whether the object was put elsewhere without time going on."""
        return stage.state is not self._state


def _pins(stage: Stage) -> FramePins:
    points = np.array([pin.target for pin in stage.pins.values()], dtype=np.float64).reshape(-1, 3)
    return FramePins(_protected(points), _protected(np.array(list(stage.pins), dtype=np.int64)))


def _grab(stage: Stage, vertices: Float32[np.ndarray, "n 3"]) -> FrameGrab | None:
    if stage.hand is None:
        return None
    # The held point lies on the surface that is drawn, to the last digit.
    point = _on_surface(stage, stage.hand.point, vertices)
    force = None if stage.report is None else stage.report.grab_force
    force = np.zeros(3) if force is None else np.array(force, dtype=np.float64)
    return FrameGrab(_protected(point), _protected(np.array(stage.hand.target, dtype=np.float64)), _protected(force))


def _on_surface(stage: Stage, point: SurfacePoint, vertices: Float32[np.ndarray, "n 3"]) -> Float[np.ndarray, " 3"]:
    corners = vertices[np.asarray(stage.loaded.rest.faces)[point.face]].astype(np.float64)
    return np.asarray(point.barycentric, dtype=np.float64) @ corners


def _protected(array: Shaped[np.ndarray, "*shape"]) -> Shaped[np.ndarray, "*shape"]:
    array.setflags(write=False)
    return array
