"""Tests of the real window: mouse in, commands out; frames in, pictures out."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDropEvent
from PySide6.QtTest import QTest

from engine.runtime import messages
from tests.app.conftest import ListeningEngine, ball, make_frame, make_loaded, needs_display, standing

if TYPE_CHECKING:
    from pathlib import Path

    from pytestqt.qtbot import QtBot

    from app.application import Workbench
    from app.viewport import Viewport

pytestmark = needs_display

LEFT, NONE, SHIFT = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.ShiftModifier


def camera_of(view: Viewport) -> tuple[float, ...]:
    """Return what describes the camera."""
    camera = view.stage.camera
    return (camera.azimuth, camera.elevation, camera.distance, *camera.focus)


def middle(view: Viewport) -> QPoint:
    """Return the logical pixel where the object's middle is seen."""
    x, y = view.view().project(view.stage.vertices.mean(axis=0)) / view.devicePixelRatioF()
    return QPoint(round(x), round(y))


def test_drag_on_the_object_sends_grab_drag_release(loaded: Workbench, engine: ListeningEngine) -> None:
    """A pull reaches the engine with the touched point and the pointer's place, and the camera stays."""
    view = loaded.window.viewport
    before, start = camera_of(view), middle(view)
    QTest.mousePress(view, LEFT, NONE, start)
    QTest.mouseMove(view, start + QPoint(40, -25))
    QTest.mouseRelease(view, LEFT, NONE, start + QPoint(40, -25))
    kinds = [type(command) for command in engine.commands if not isinstance(command, messages.LoadMesh)]
    ours = [kind for kind in kinds if kind in (messages.GrabPoint, messages.DragTo, messages.Release)]
    assert ours[0] is messages.GrabPoint
    assert messages.DragTo in ours
    assert ours[-1] is messages.Release
    grab = engine.of(messages.GrabPoint)[0]
    ratio = view.devicePixelRatioF()
    point = np.array(grab.barycentric) @ view.stage.vertices[loaded.rest.faces[grab.face]]
    np.testing.assert_allclose(view.view().project(point) / ratio, (start.x(), start.y()), atol=0.51)
    target = np.array(engine.of(messages.DragTo)[-1].target)
    np.testing.assert_allclose(view.view().project(target) / ratio, (start.x() + 40, start.y() - 25), atol=0.51)
    assert camera_of(view) == before


def test_drag_beside_the_object_only_turns_the_camera(loaded: Workbench, engine: ListeningEngine) -> None:
    """Empty space belongs to the camera."""
    view = loaded.window.viewport
    before, count, corner = camera_of(view), len(engine.commands), QPoint(80, view.height() - 30)
    QTest.mousePress(view, LEFT, NONE, corner)
    QTest.mouseMove(view, corner + QPoint(60, -10))
    QTest.mouseRelease(view, LEFT, NONE, corner + QPoint(60, -10))
    assert camera_of(view) != before
    assert len(engine.commands) == count


def test_drag_out_of_the_window(loaded: Workbench, engine: ListeningEngine) -> None:
    """A pull that leaves the window far behind still gives finite targets."""
    view = loaded.window.viewport
    start = middle(view)
    QTest.mousePress(view, LEFT, NONE, start)
    for place in (QPoint(-50, 5000), QPoint(20000, -300)):
        QTest.mouseMove(view, place)
    QTest.mouseRelease(view, LEFT, NONE, QPoint(-50, 5000))
    assert all(np.isfinite(command.target).all() for command in engine.of(messages.DragTo))
    assert isinstance(engine.commands[-1], messages.Release)


def test_double_click_pins_and_on_a_pin_unpins(loaded: Workbench, engine: ListeningEngine, qtbot: QtBot) -> None:
    """A double click fixes the touched point; on the pin it frees it by the engine's number."""
    view = loaded.window.viewport
    start = middle(view)
    QTest.mouseDClick(view, LEFT, NONE, start)
    pin = engine.of(messages.PinPoint)[0]
    assert pin.target is None
    point = np.array(pin.barycentric) @ view.stage.vertices[loaded.rest.faces[pin.face]]
    pins = messages.FramePins(point[None], np.array([7]))
    shown = view.frames_shown
    engine.push(messages.PinsChanged(1, 1), frame=make_frame(standing(loaded.rest), 2, pins=pins))
    qtbot.waitUntil(lambda: view.frames_shown > shown)
    QTest.mouseDClick(view, LEFT, NONE, start)
    assert engine.of(messages.Unpin)[0].index == 7


def test_shift_at_release_pins_at_the_pointer(loaded: Workbench, engine: ListeningEngine) -> None:
    """With Shift held at release the pull stays as a pin."""
    view = loaded.window.viewport
    start = middle(view)
    QTest.mousePress(view, LEFT, SHIFT, start)
    move_with_shift(view, start + QPoint(30, 0))
    QTest.mouseRelease(view, LEFT, SHIFT, start + QPoint(30, 0))
    assert [type(command) for command in engine.commands][-2:] == [messages.PinPoint, messages.Release]
    assert engine.of(messages.PinPoint)[0].target is not None


def move_with_shift(view: Viewport, place: QPoint) -> None:
    """Move with the button and Shift held, which QTest.mouseMove cannot express."""
    from PySide6.QtCore import QEvent
    from PySide6.QtGui import QMouseEvent
    from PySide6.QtWidgets import QApplication

    where = QPointF(place)
    event = QMouseEvent(QEvent.Type.MouseMove, where, QPointF(view.mapToGlobal(place)), LEFT, LEFT, SHIFT)
    QApplication.sendEvent(view, event)


def test_escape_and_right_click_let_go(loaded: Workbench, engine: ListeningEngine) -> None:
    """Both cancel a pull at once."""
    view = loaded.window.viewport
    start = middle(view)
    for cancel in (
        lambda: QTest.keyClick(view, Qt.Key.Key_Escape),
        lambda: QTest.mouseClick(view, Qt.MouseButton.RightButton, NONE, start),
    ):
        engine.commands.clear()
        QTest.mousePress(view, LEFT, NONE, start)
        QTest.mouseMove(view, start + QPoint(30, 10))
        cancel()
        assert engine.of(messages.Release)
        count = len(engine.of(messages.DragTo))
        QTest.mouseMove(view, start + QPoint(60, 10))
        QTest.mouseRelease(view, LEFT, NONE, start + QPoint(60, 10))
        assert len(engine.of(messages.DragTo)) == count


def test_every_frame_is_one_render(loaded: Workbench, engine: ListeningEngine, qtbot: QtBot) -> None:
    """Each shown frame costs one picture, figures and labels above the view cost none."""
    view = loaded.window.viewport
    qtbot.wait(250)
    rest, renders, shown = standing(loaded.rest), view.renders, view.frames_shown
    for sequence in range(2, 14):
        grab = messages.FrameGrab(rest[0], rest[0] + 0.2, np.array((0.0, 0.0, float(sequence))))
        engine.push(frame=make_frame(rest + 0.01 * sequence, sequence, grab=grab))
        qtbot.waitUntil(lambda wanted=shown + sequence - 1: view.frames_shown == wanted)
    qtbot.wait(250)
    assert view.renders - renders == view.frames_shown - shown == 12
    loaded.window.hud.update()
    loaded.window.force.update()
    qtbot.wait(100)
    assert view.renders - renders == 12
    assert view.render_seconds_total > 0.0


def test_newest_frame_wins_behind_a_slow_picture(loaded: Workbench, engine: ListeningEngine, qtbot: QtBot) -> None:
    """Frames that come faster than pictures are skipped, never queued."""
    view, rest = loaded.window.viewport, standing(loaded.rest)
    shown = view.frames_shown
    for sequence in range(2, 102):
        engine.push(frame=make_frame(rest + 0.001 * sequence, sequence))
    qtbot.waitUntil(lambda: view.frames_shown > shown)
    qtbot.wait(100)
    assert view.frames_shown - shown <= 3
    np.testing.assert_allclose(view.stage.vertices, rest + np.float32(0.101), atol=1e-6)


def test_written_vertices_are_seen(loaded: Workbench, engine: ListeningEngine, qtbot: QtBot) -> None:
    """A moved object gives another picture although the camera stays."""
    view, rest = loaded.window.viewport, standing(loaded.rest)
    first = view.picture()
    shown = view.frames_shown
    engine.push(frame=make_frame(rest + np.array((0.0, 0.0, 0.25), np.float32), 2))
    qtbot.waitUntil(lambda: view.frames_shown > shown)
    assert view.picture() != first


def test_frames_that_are_not_finite_are_refused(loaded: Workbench, engine: ListeningEngine, qtbot: QtBot) -> None:
    """A broken frame leaves the last good one on the stage."""
    view, rest = loaded.window.viewport, standing(loaded.rest)
    engine.push(frame=make_frame(rest * np.float32(np.nan), 2))
    qtbot.wait(50)
    assert np.isfinite(view.stage.vertices).all()


def test_old_generation_is_not_shown(loaded: Workbench, engine: ListeningEngine, qtbot: QtBot) -> None:
    """After a reset, frames of the run before it are dropped."""
    view, rest = loaded.window.viewport, standing(loaded.rest)
    engine.push(messages.WasReset(2), frame=make_frame(rest + np.float32(0.5), 2, generation=1))
    qtbot.wait(80)
    np.testing.assert_allclose(view.stage.vertices, rest)


def test_no_printable_key_changes_the_view(loaded: Workbench) -> None:
    """VTK's and PyVista's hot keys stay dead: representation, interactor style and projection do not change."""
    view = loaded.window.viewport
    view.setFocus()
    state = picture_state(view)
    for code in range(33, 127):
        QTest.keyClick(view, chr(code), NONE)
        QTest.keyClick(view, chr(code), SHIFT)
    for key in (Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_Left, Qt.Key.Key_Right):
        QTest.keyClick(view, key)
    assert picture_state(view) == state


def picture_state(view: Viewport) -> tuple[object, ...]:
    """Return what stray hot keys are known to change."""
    actors = view.stage._object.actors
    return (
        [actor.GetProperty().GetRepresentation() for actor in actors],
        type(view.iren.style).__name__,
        view.ren_win.GetStereoRender(),
        view.renderer.GetActiveCamera().GetParallelProjection(),
        view.renderer.GetActors().GetNumberOfItems(),
    )


def test_wheel_zooms(loaded: Workbench) -> None:
    """The wheel comes closer, but not during a pull."""
    view = loaded.window.viewport
    distance = view.stage.camera.distance
    view.gestures.wheel(1.0)
    assert view.stage.camera.distance < distance


def test_dropped_file_is_loaded(loaded: Workbench, engine: ListeningEngine, tmp_path: Path) -> None:
    """A file dropped on the view is opened, whatever its name."""
    path = tmp_path / "ein Häschen 中.ply"
    path.write_text("ply")
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path))])
    event = QDropEvent(QPointF(50, 50), Qt.DropAction.CopyAction, data, LEFT, NONE)
    loaded.window.viewport.dropEvent(event)
    assert engine.of(messages.LoadMesh)[-1].path == path


def test_bad_file_leaves_the_object(loaded: Workbench, engine: ListeningEngine, qtbot: QtBot, tmp_path: Path) -> None:
    """A file that cannot be read gives a message with its reason; the loaded object stays."""
    rest, title = loaded.rest, loaded.window.windowTitle()
    engine.push(messages.LoadFailed("It holds points but no faces.", tmp_path / "cloud.ply"))
    qtbot.waitUntil(lambda: bool(loaded.window.banner.words))
    assert "cloud.ply" in loaded.window.banner.words
    assert "no faces" in loaded.window.banner.words
    assert loaded.rest is rest
    assert loaded.window.windowTitle() == title


def test_divergence_shows_a_banner_with_a_way_out(loaded: Workbench, engine: ListeningEngine, qtbot: QtBot) -> None:
    """The reason is shown and the button resets."""
    engine.push(messages.Diverged(1, "The step did not converge."), messages.StateChanged(1, False))
    qtbot.waitUntil(lambda: "did not converge" in loaded.window.banner.words)
    loaded.window.banner._button.click()
    assert engine.of(messages.Reset)


def test_title_names_the_object(loaded: Workbench, engine: ListeningEngine, qtbot: QtBot) -> None:
    """The window says what is on the stage."""
    assert "ball" in loaded.window.windowTitle()
    engine.push(make_loaded(ball("lamp"), generation=2))
    qtbot.waitUntil(lambda: "lamp" in loaded.window.windowTitle())


def test_transport_actions_send_commands(loaded: Workbench, engine: ListeningEngine, qtbot: QtBot) -> None:
    """Space holds and lets run, the other keys do what the table says."""
    from app.actions import ActionId

    actions = loaded.window.actions_by_id
    actions[ActionId.PLAY].trigger()
    assert isinstance(engine.commands[-1], messages.Pause)
    engine.push(messages.StateChanged(1, False))
    qtbot.waitUntil(lambda: actions[ActionId.PLAY].text() == "Play")
    for identity, kind in (
        (ActionId.PLAY, messages.Play),
        (ActionId.STEP, messages.StepOnce),
        (ActionId.RESET, messages.Reset),
        (ActionId.CLEAR_PINS, messages.ClearPins),
        (ActionId.RECORD, messages.StartRecording),
        (ActionId.RECORD, messages.StopRecording),
    ):
        actions[identity].trigger()
        assert isinstance(engine.commands[-1], kind)


def test_physics_panel_sends_commands(loaded: Workbench, engine: ListeningEngine) -> None:
    """Every control of the panel is one command; showing a loaded object's values sends none."""
    physics = loaded.window.physics
    assert not engine.of(messages.SetMaterial)
    physics.stiffness._field.setValue(3.5)
    assert engine.of(messages.SetMaterial)[-1].material.frequency == 3.5
    physics.gravity._field.setValue(1.62)
    assert engine.of(messages.SetGravity)[-1].gravity == 1.62
    physics.time_scale._field.setValue(0.25)
    assert engine.of(messages.SetTimeScale)[-1].scale == 0.25
    physics.floor.click()
    assert engine.of(messages.SetFloor)[-1].floor is False
    physics.anchor._buttons["fixed"].click()
    assert engine.of(messages.SetAnchor)[-1].anchor == "fixed"


def test_closing_stops_the_engine(loaded: Workbench, engine: ListeningEngine) -> None:
    """The engine ends with the window."""
    loaded.window.close()
    assert engine.stopped


@pytest.mark.skipif(sys.platform != "linux", reason="the leak was seen on Linux builds")
def test_signals_do_not_eat_references(loaded: Workbench) -> None:
    """Some builds of the Qt binding lose one reference to True with each signal and end the process after minutes."""
    before = sys.getrefcount(True)
    for _ in range(100):
        loaded.window.viewport.released.emit()
    assert sys.getrefcount(True) >= before - 50
