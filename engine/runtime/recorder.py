"""What a recording gathers, step by step, and the clip that it becomes. Slow drawing loses nothing of it."""

from __future__ import annotations

import hashlib

import numpy as np
from jaxtyping import Float32, Float64

from engine.clips.clip import Clip, ClipFacts, ClipInputs
from engine.dynamics.state import Loads, State, StepReport
from engine.geometry.rest_shape import RestShape
from engine.runtime.stage import Stage, StepResult

_NOWHERE = np.full(3, np.nan)


class Recorder:
    """Keeps the state at its start and after every step since."""

    def __init__(self, stage: Stage, *, steps_per_second: float) -> None:
        """Begin with the present state, before anything acts."""
        self._stage = stage
        self._rate = steps_per_second
        self._states: list[State] = []
        self._coordinates: list[Float64[np.ndarray, "2 k"]] = []
        self._handles: list[Float32[np.ndarray, "t 8"]] = []
        self._loads: list[Loads] = []
        self._reports: list[StepReport | None] = []
        self._keep(stage.state, Loads(), None)

    def __len__(self) -> int:
        """Return the number of states."""
        return len(self._states)

    def append(self, result: StepResult) -> None:
        """Keep a step."""
        self._keep(result.state, result.loads, result.report)

    def _keep(self, state: State, loads: Loads, report: StepReport | None) -> None:
        # The integrator's memory is left out: it is ten times as large as the state.
        self._states.append(State(state.time, state.p, state.R, state.q, state.v, state.w, state.qd, state.stuck))
        self._handles.append(np.asarray(self._stage.motion.handles(state), dtype=np.float32))
        self._loads.append(loads)
        self._reports.append(report)
        # An object that was rigid for a while has had no coordinates then.
        padded = np.zeros((2, self._stage.loaded.k_q))
        padded[0, : len(state.q)], padded[1, : len(state.qd)] = state.q, state.qd
        self._coordinates.append(padded)

    def clip(self) -> Clip:
        """Return all that was kept, with what is needed to see it again."""
        stage, loaded = self._stage, self._stage.loaded
        rest, states = loaded.rest, self._states
        coordinates = np.array(self._coordinates)
        facts = ClipFacts(
            name=rest.name,
            mesh=str(loaded.path),
            mesh_hash=shape_hash(rest),
            material=stage.material,
            anchor=stage.anchor,
            gravity=stage.gravity,
            floor=stage.floor,
            conditions=stage.conditions,
            checkpoint=loaded.fingerprint,
            steps_per_second=self._rate,
        )
        return Clip(
            times=np.array([s.time for s in states]),
            p=np.array([s.p for s in states]),
            R=np.array([s.R for s in states]),
            q=coordinates[:, 0],
            qd=coordinates[:, 1],
            handles=np.array(self._handles),
            inputs=self._inputs(),
            vertex_weights=loaded.vertex_weights,
            rest_vertices=np.asarray(rest.vertices, dtype=np.float64),
            rest_faces=np.asarray(rest.faces),
            unit_to_file=np.asarray(rest.unit_to_file, dtype=np.float64),
            origin=np.array(stage.motion.rest_state().p),
            metres_per_unit=loaded.metres_per_unit,
            facts=facts,
        )

    def _inputs(self) -> ClipInputs:
        grabs = [loads.grab for loads in self._loads]
        pins = np.full((len(grabs), max(len(loads.pins) for loads in self._loads), 3), np.nan)
        for row, loads in zip(pins, self._loads, strict=True):
            for place, pin in zip(row, loads.pins, strict=False):
                place[:] = pin.target
        return ClipInputs(
            face=np.array([-1 if grab is None else grab.point.face for grab in grabs], dtype=np.int32),
            barycentric=np.array(
                [_NOWHERE if grab is None else grab.point.barycentric for grab in grabs], dtype=np.float64
            ),
            point=_rows([None if r is None else r.grab_point for r in self._reports]),
            target=_rows([None if grab is None else np.asarray(grab.target) for grab in grabs]),
            force=_rows([None if r is None else r.grab_force for r in self._reports]),
            pins=pins,
        )


def shape_hash(rest: RestShape) -> str:
    """Return the first 12 hex digits of the SHA-256 of a rest shape's vertices (float32) and faces (int32)."""
    digest = hashlib.sha256(np.ascontiguousarray(rest.vertices, dtype="<f4").tobytes())
    digest.update(np.ascontiguousarray(rest.faces, dtype="<i4").tobytes())
    return digest.hexdigest()[:12]


def _rows(values: list[Float64[np.ndarray, " 3"] | None]) -> Float64[np.ndarray, "f 3"]:
    return np.array([_NOWHERE if value is None else value for value in values], dtype=np.float64).reshape(-1, 3)
