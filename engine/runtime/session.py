"""The session: a state machine that commands change and that time moves. It has no thread and no clock.

The walk of one frame, from the hand to the picture:

1. The window finds the touched face and its barycentric weights, and posts `GrabPoint`, then `DragTo` with each motion.
2. The mailbox keeps the order; of several `DragTo` in a row it keeps the newest.
3. The engine's thread hands each command to `Session.handle`; the grab becomes a spring, without force at first.
4. `Session.advance` asks the pacing whether a step is due: simulated time follows wall time.
5. `Stage.step` joins hand, pins and timed conditions to loads, and the dynamics takes one implicit step under them.
6. The recorder and the history keep the step; neither waits for a picture.
7. When time has been caught up with, or the share of the display period for stepping is spent, the state is decoded
   once: read-only vertices in a `Frame`.
8. The frame takes the mailbox's only slot, and at most one wake-up is on its way to the window, which draws it.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from engine.dynamics.state import SurfacePoint
from engine.geometry.rest_shape import MeshError
from engine.runtime import messages
from engine.runtime.framing import FrameMaker
from engine.runtime.loading import LoadCancelled, LoadedObject
from engine.runtime.messages import Command, Event, Frame
from engine.runtime.pacing import STEP, STEPPING_BUDGET, Pacing, RateMeter
from engine.runtime.recorder import Recorder
from engine.runtime.stage import Stage, UnknownPlace

SLOWEST, FASTEST = 0.01, 4.0
"""Range of the time scale."""


class Session:
    """One object, its time, and a recording if there is one.

    Attributes:
        generation: grows with each load and each reset.
        running: whether time runs.
        stage: the object, or None before the first load.
    """

    def __init__(
        self, load: Callable[[messages.LoadMesh], LoadedObject], *, stopwatch: Callable[[], float] = time.perf_counter
    ) -> None:
        """Begin with an empty stage.

        Args:
            load: makes an object from a file; may raise `MeshError` or `LoadCancelled`.
            stopwatch: measures how long steps take [s]; where it begins does not matter.
        """
        self.generation = 0
        self.running = False
        self.stage: Stage | None = None
        self._load = load
        self._stopwatch = stopwatch
        self._pacing = Pacing(step=STEP)
        self._rate = RateMeter()
        self._frames = FrameMaker(stopwatch)
        self._recorder: Recorder | None = None
        self._gravity, self._floor = 9.81, True
        self._steps, self._step_seconds = 0, 0.0
        self._changed = False
        self._events: list[Event] = []

    @property
    def recording(self) -> bool:
        """Whether steps are being recorded."""
        return self._recorder is not None

    def take_events(self) -> list[Event]:
        """Return what happened since the last call."""
        events, self._events = self._events, []
        return events

    # -- commands ----------------------------------------------------------------------------------------------

    def handle(self, command: Command) -> list[Event]:
        """Obey a command and return what it brought about; one that does not fit the moment changes nothing."""
        match command:
            case messages.LoadMesh():
                self._open(command)
            case messages.SetTimeScale():
                self._set_time_scale(command.scale)
            case messages.SetGravity():
                self._set_world(gravity=command.gravity)
            case messages.SetFloor():
                self._set_world(floor=command.floor)
            case messages.Shutdown():
                self._end_recording()
            case _ if self.stage is not None:
                self._on_stage(command, self.stage)
            case _:
                pass
        return self.take_events()

    def _on_stage(self, command: Command, stage: Stage) -> None:
        """Obey a command that needs an object."""
        self._changed = True
        match command:
            case messages.GrabPoint() | messages.PinPoint() | messages.Unpin() | messages.ClearPins():
                self._hold(command, stage)
            case messages.DragTo():
                stage.drag_to(np.array(command.target, dtype=np.float64))
            case messages.Release():
                stage.release()
            case messages.SetMaterial():
                stage.set_material(command.material)
            case messages.SetAnchor():
                stage.set_anchor(command.anchor)
            case messages.SetConditions():
                stage.set_conditions(command.conditions)
            case messages.Play():
                self._run(True)
            case messages.Pause():
                self._run(False)
            case messages.StepOnce():
                self._run(False)
                self._step(stage)
            case messages.Seek():
                self._seek(stage, command.time)
            case messages.Reset():
                self._reset(stage, command.height)
            case messages.StartRecording():
                if self._recorder is None:
                    self._recorder = Recorder(stage, steps_per_second=1.0 / STEP)
            case messages.StopRecording():
                self._end_recording()
            case _:
                raise TypeError(f"a command was wanted; this came: {command!r}")

    def _hold(
        self, command: messages.GrabPoint | messages.PinPoint | messages.Unpin | messages.ClearPins, stage: Stage
    ) -> None:
        count = len(stage.pins)
        try:
            match command:
                case messages.GrabPoint():
                    stage.grab(SurfacePoint(command.face, command.barycentric))
                case messages.PinPoint():
                    target = None if command.target is None else np.array(command.target, dtype=np.float64)
                    stage.pin(SurfacePoint(command.face, command.barycentric), target)
                case messages.Unpin():
                    stage.pins.pop(command.index, None)
                case messages.ClearPins():
                    stage.pins.clear()
        except UnknownPlace as problem:
            self._events.append(messages.Failed(str(problem)))
        if len(stage.pins) != count:
            self._events.append(messages.PinsChanged(self.generation, len(stage.pins)))

    def _open(self, command: messages.LoadMesh) -> None:
        """Replace the object; if that fails the present one goes on."""
        try:
            loaded = self._load(command)
            stage = Stage(loaded, gravity=self._gravity, floor=self._floor, height=command.height)
        except LoadCancelled:
            return
        except (MeshError, OSError, ValueError, MemoryError) as problem:
            self._events.append(messages.LoadFailed(str(problem) or type(problem).__name__, command.path))
            return
        finally:
            # The time that loading took is not to be caught up with.
            self._pacing.hold()
        self._end_recording()
        self.stage = stage
        self._new_generation()
        self._events.append(
            messages.Loaded(
                generation=self.generation,
                rest=loaded.rest,
                k_q=loaded.k_q,
                anchor=stage.anchor,
                material=stage.material,
                metres_per_unit=loaded.metres_per_unit,
                trust=loaded.trust,
                path=loaded.path,
                checkpoint=loaded.checkpoint,
                material_reason=loaded.material_reason,
            )
        )
        self._run(True, again=True)

    def _seek(self, stage: Stage, moment: float) -> None:
        """Go to a kept moment, held; a recording ends there, since its time only goes forward."""
        if not np.isfinite(moment):
            self._events.append(messages.Failed(f"the moment has to be a finite time; it was {moment}"))
            return
        self._run(False)
        self._end_recording()
        stage.seek(moment)
        self._frames.forget()

    def _reset(self, stage: Stage, height: float | None) -> None:
        self._end_recording()
        had_pins = bool(stage.pins)
        stage.reset(height=height)
        self._new_generation()
        self._events.append(messages.WasReset(self.generation))
        if had_pins:
            self._events.append(messages.PinsChanged(self.generation, 0))

    def _new_generation(self) -> None:
        self.generation += 1
        self._changed = True
        self._steps, self._step_seconds = 0, 0.0
        self._frames.forget()
        self._rate.clear()
        self._pacing.hold()

    def _set_world(self, *, gravity: float | None = None, floor: bool | None = None) -> None:
        """Change the world, which also the next object comes into."""
        if gravity is not None and not np.isfinite(gravity):
            self._events.append(messages.Failed(f"gravity has to be a finite number; it was {gravity}"))
            return
        self._gravity = self._gravity if gravity is None else gravity
        self._floor = self._floor if floor is None else floor
        if self.stage is not None:
            self.stage.set_world(gravity=gravity, floor=floor)
            self._changed = True

    def _set_time_scale(self, scale: float) -> None:
        if not np.isfinite(scale) or scale <= 0.0:
            self._events.append(messages.Failed(f"the time scale has to be above 0; it was {scale}"))
            return
        self._pacing.set_scale(min(max(scale, SLOWEST), FASTEST))
        self._rate.clear()

    def _run(self, wanted: bool, *, again: bool = False) -> None:
        """Let time run or hold it; ``again`` says so even if nothing changes."""
        if wanted == self.running and not again:
            return
        self.running = wanted
        self._changed = True
        self._pacing.hold()
        self._rate.clear()
        self._events.append(messages.StateChanged(self.generation, wanted))

    def _end_recording(self) -> None:
        if self._recorder is not None:
            clip = self._recorder.clip()
            self._recorder = None
            self._changed = True
            self._events.append(messages.Recorded(self.generation, clip))

    def hold(self) -> None:
        """Hold time after an error that nobody foresaw."""
        self._run(False)
        self._changed = False

    # -- time --------------------------------------------------------------------------------------------------

    def advance(self, now: float) -> Frame | None:
        """Take the steps that are due and return a frame if there is something new to see.

        Args:
            now: wall time [s]; only differences matter.
        """
        if self.stage is None:
            return None
        begun = self._stopwatch()
        while self.running and self._pacing.due(now + self._stopwatch() - begun):
            if not self._step(self.stage) or self._stopwatch() - begun > STEPPING_BUDGET:
                break
        spent = self._stopwatch() - begun
        if self.running:
            self._rate.count(now + spent, self._steps)
        between = self.running and self._pacing.scale < 1.0
        if not (self._steps or self._changed or between):
            return None
        steps, seconds = self._steps, self._step_seconds
        self._steps, self._step_seconds, self._changed = 0, 0.0, False
        rate = self._rate.rate
        return self._frames.frame(
            self.stage,
            generation=self.generation,
            fraction=self._pacing.fraction(now + spent) if between else 1.0,
            steps=steps,
            step_seconds=seconds / max(steps, 1),
            sim_rate=rate,
            real_time_factor=rate * STEP,
            recording=self.recording,
            running=self.running,
        )

    def patience(self, now: float) -> float | None:
        """Return how long nothing is to be done unless a command comes [s]; None: for ever."""
        if self.stage is None:
            return None
        if self._changed:
            return 0.0
        return self._pacing.wait(now) if self.running else None

    def _step(self, stage: Stage) -> bool:
        """Take one step; return whether it went well."""
        begun = self._stopwatch()
        self._pacing.stepped()
        result = stage.step(STEP)
        self._steps += 1
        self._step_seconds += self._stopwatch() - begun
        if result.failed:
            self._events.append(messages.Diverged(self.generation, _words(result.report.message)))
            self._run(False)
            self._changed = True
        elif self._recorder is not None:
            self._recorder.append(result)
        return not result.failed


def _words(message: str) -> str:
    """Return a dynamics message as a sentence."""
    text = message.strip() or "the step found no solution"
    return f"{text[0].upper()}{text[1:].rstrip('.')}."
