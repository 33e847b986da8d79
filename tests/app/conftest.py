"""A real window with an engine that only listens, for tests under a virtual display."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pytestqt.qtbot import QtBot

    from app.application import Workbench
    from engine.geometry.rest_shape import RestShape

# As text, so that it is looked at when a test begins: the X server may come later than this file.
needs_display = pytest.mark.skipif(
    "sys.platform.startswith('linux') and not os.environ.get('DISPLAY')", reason="needs a display, such as Xvfb"
)


class ListeningEngine:
    """Keeps the commands it gets, and passes on the events and frames that a test gives it."""

    def __init__(self, on_wake: Callable[[], None]) -> None:
        """Keep the way to wake the window."""
        self.commands: list[Any] = []
        self.stopped = False
        self._on_wake = on_wake
        self._events: list[Any] = []
        self._frame: Any | None = None
        self._lock = threading.Lock()

    def start(self) -> None:
        """Nothing runs here."""

    def post(self, command: Any) -> None:
        """Keep a command."""
        self.commands.append(command)

    def take(self) -> tuple[list[Any], Any | None]:
        """Return what ``push`` was given."""
        with self._lock:
            events, frame = self._events, self._frame
            self._events, self._frame = [], None
        return events, frame

    def stop(self, timeout: float) -> None:
        """Remember that it was stopped."""
        self.stopped = True

    def push(self, *events: Any, frame: Any | None = None) -> None:
        """Send events and a frame to the window."""
        with self._lock:
            self._events.extend(events)
            self._frame = frame if frame is not None else self._frame
        self._on_wake()

    def of(self, kind: type) -> list[Any]:
        """Return the commands of a kind."""
        return [command for command in self.commands if isinstance(command, kind)]


def ball(name: str = "ball") -> RestShape:
    """Return a ball of 642 vertices and radius 1."""
    import trimesh

    from engine.geometry.rest_shape import rest_shape_from_arrays

    mesh = trimesh.creation.icosphere(subdivisions=3)
    return rest_shape_from_arrays(np.asarray(mesh.vertices), np.asarray(mesh.faces), name=name)


def standing(rest: RestShape) -> np.ndarray:
    """Return the rest vertices at half a metre per unit, on the floor, shape (n, 3)."""
    vertices = (0.5 * np.asarray(rest.vertices)).astype(np.float32)
    vertices[:, 2] -= vertices[:, 2].min()
    return vertices


def make_frame(vertices: np.ndarray, sequence: int = 1, **changes: Any) -> Any:
    """Return a frame of generation 1 with the given vertices [m]."""
    from engine.runtime.messages import Frame, FramePins

    vertices = np.array(vertices, np.float32)
    vertices.flags.writeable = False
    values: dict[str, Any] = {
        "generation": 1,
        "sequence": sequence,
        "time": sequence / 60,
        "vertices": vertices,
        "pins": FramePins(np.zeros((0, 3)), np.zeros(0, np.int64)),
        "grab": None,
        "kinetic": 0.01,
        "potential": 0.02,
        "step_ms": 3.0,
        "decode_ms": 0.5,
        "sim_rate": 60.0,
        "real_time_factor": 1.0,
        "recording": False,
        "running": True,
        "status": "",
    }
    return Frame(**(values | changes))


def make_loaded(rest: RestShape, path: Path = Path("ball.ply"), generation: int = 1) -> Any:
    """Return the event that an object was loaded."""
    from engine.runtime.messages import Loaded
    from engine.scenes.material import MATERIALS, Anchor

    return Loaded(
        generation=generation,
        rest=rest,
        k_q=12,
        anchor=Anchor.STANDING,
        material=MATERIALS["rubber"],
        metres_per_unit=0.5,
        trust="High: like the shapes it has learned",
        path=path,
    )


@pytest.fixture
def workbench(qtbot: QtBot, tmp_path: Path) -> Iterator[Workbench]:
    """A shown window with a listening engine and settings of its own."""
    from PySide6.QtWidgets import QApplication

    from app import theme
    from app.application import Workbench
    from app.settings import Settings

    application = QApplication.instance()
    assert isinstance(application, QApplication)
    theme.apply_theme(application)
    made = Workbench(ListeningEngine, Settings(tmp_path / "settings.ini"), gallery_folder=tmp_path)
    made.window.resize(1100, 720)
    made.open_window()
    with qtbot.waitExposed(made.window):
        pass
    yield made
    made.window.close()
    made.window.deleteLater()
    qtbot.wait(10)


@pytest.fixture
def engine(workbench: Workbench) -> ListeningEngine:
    """The window's engine."""
    made = workbench.bridge._engine
    assert isinstance(made, ListeningEngine)
    return made


@pytest.fixture
def loaded(workbench: Workbench, engine: ListeningEngine, qtbot: QtBot) -> Workbench:
    """The window with a ball on the stage, one frame shown."""
    from engine.runtime.messages import StateChanged

    rest = ball()
    engine.push(make_loaded(rest), StateChanged(1, True), frame=make_frame(standing(rest)))
    qtbot.waitUntil(lambda: workbench.window.viewport.frames_shown >= 1, timeout=5000)
    return workbench
