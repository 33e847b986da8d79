"""The 3D view: a Qt widget that draws the stage and turns mouse and keys into wishes for the object.

VTK's and PyVista's own mouse and key handling get no event at all: their hot keys change the picture behind the
application's back. Drawing happens in ``paintGL`` and nowhere else, and only when something changed: Qt also repaints
this widget when a label above it changes, and that costs a copy of the last picture, not a new one.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QEvent, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QCursor, QOpenGLContext
from PySide6.QtWidgets import QWidget
from pyvistaqt import QtInteractor

from app.dropped_file import dropped_file
from app.picking import SurfaceHit, pick_surface
from app.render.stage import Stage
from app.tools.gestures import Gestures
from app.tools.pointer import Button, Pointer, ToolChoice

if TYPE_CHECKING:
    from jaxtyping import Float
    from PySide6.QtGui import QDragEnterEvent, QDropEvent, QImage, QKeyEvent, QMouseEvent, QWheelEvent

    from app.render.cameras import OrbitCamera, View
    from engine.geometry.rest_shape import RestShape

_GL_RENDERER = 0x1F01
_SOFTWARE_RENDERERS = ("llvmpipe", "softpipe", "swrast", "software", "swiftshader", "basic render")
_HARDWARE_SAMPLES = 4
_SOFTWARE_TEXTURE = 1024
# A picture that stays is drawn once more with smooth edges, which a software renderer cannot afford in motion.
_STILL_SAMPLES = 8
_STILL_AFTER_MS = 400
# Movement below this share of the object's size cannot be seen.
_UNSEEN = 1e-5
_PIN_REACH_PIXELS = 9.0
_BUTTONS = {
    Qt.MouseButton.LeftButton: Button.LEFT,
    Qt.MouseButton.MiddleButton: Button.MIDDLE,
    Qt.MouseButton.RightButton: Button.RIGHT,
}


class Viewport(QtInteractor):
    """Shows one object and lets a hand pull on it.

    Signals:
        grabbed: a point was taken hold of (face, barycentric weights).
        dragged: the held point is pulled toward a place [m], world, shape (3,).
        released: the held point was let go.
        pin_wished: a point shall be fixed (face, barycentric weights, place [m] or None for where it is).
        unpin_wished: a pin shall be freed (index).
        cancelled: Escape or the right button.
        file_dropped: a file was dropped (path as text).
        painted: a picture of something new was drawn.
        camera_changed: the view changed.
    """

    grabbed = Signal(int, object)
    dragged = Signal(object)
    released = Signal()
    pin_wished = Signal(int, object, object)
    unpin_wished = Signal(int)
    cancelled = Signal()
    file_dropped = Signal(str)
    painted = Signal()
    camera_changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        """Make the view; its OpenGL context comes with the first picture."""
        self._stage_dirty = True
        self.frames_shown = 0
        self.renders = 0
        self.render_seconds_total = 0.0
        self.gl_renderer = ""
        self.still_renders = 0
        self._frame_waiting = False
        self._refining = False
        self._drawn: tuple[np.ndarray, ...] | None = None
        self._picking_faces: np.ndarray = np.zeros((0, 3), np.int32)
        self._two_sided = False
        self._pins: Float[np.ndarray, "k 3"] = np.zeros((0, 3))
        super().__init__(parent, auto_update=False, multi_samples=0, lighting="none")
        self.stage = Stage(self.renderer)
        self.gestures = Gestures(self)
        self._last_pointer = Pointer(0.0, 0.0)
        self._still = QTimer(self)
        self._still.setSingleShot(True)
        self._still.setInterval(_STILL_AFTER_MS)
        self._still.timeout.connect(self._draw_still)
        self.setAcceptDrops(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMinimumSize(240, 200)

    # ---- what is shown ---------------------------------------------------------------------------------------------

    def set_object(self, rest: RestShape, vertices: Float[np.ndarray, "n 3"]) -> None:
        """Show another object at simulation vertices [m], world, and look at it."""
        self._assert_window_thread()
        self.gestures.cancel()
        self._picking_faces = np.ascontiguousarray(rest.faces)
        self._two_sided = not rest.solid
        self._pins = np.zeros((0, 3))
        self._drawn = None
        self.stage.set_object(rest, vertices)
        self.frame_object()

    def show_frame(
        self,
        vertices: Float[np.ndarray, "n 3"],
        pins: Float[np.ndarray, "k 3"],
        pull: tuple[Float[np.ndarray, "3"], Float[np.ndarray, "3"]] | None,
    ) -> None:
        """Show vertices [m], pins [m] and the pull (touched point and target [m]) at the next painting.

        A frame that looks like the picture on the screen is not drawn again: an object at rest costs nothing.
        """
        self._assert_window_thread()
        drawn = (vertices, np.asarray(pins), *(pull or ()))
        if self._looks_the_same(drawn) or not self.stage.update(vertices):
            return
        self._drawn = drawn
        self._pins = np.asarray(pins, np.float64).reshape(-1, 3)
        self.stage.markers.set_pins(self._pins)
        self.stage.markers.set_pull(*(pull or (None, None)))
        self._frame_waiting = True
        self.redraw()

    def set_floor_shown(self, shown: bool) -> None:
        """Show or hide the floor."""
        self.stage.set_floor_shown(shown)
        self.redraw()

    def frame_object(self) -> None:
        """Look at the whole object."""
        if not self.gestures.pulling:
            self.stage.frame_object(self.width() / max(self.height(), 1))
            self.camera_moved()

    def set_tool(self, choice: ToolChoice) -> None:
        """Choose what the left button does."""
        self.gestures.cancel()
        self.gestures.choice = choice
        self._show_cursor()

    def redraw(self) -> None:
        """Ask for one new picture; asking again before it is painted costs nothing."""
        self._refining = False
        self._stage_dirty = True
        self.update()
        self._still.start()

    def picture(self) -> QImage:
        """Return the present picture of the 3D view alone, at the viewport's size in device pixels."""
        self._stage_dirty = True
        self._refining = self.draws_in_software
        return self.grabFramebuffer()

    # ---- Host of the tools -----------------------------------------------------------------------------------------

    @property
    def camera(self) -> OrbitCamera:  # type: ignore[override]
        """The camera being turned."""
        return self.stage.camera

    def view(self) -> View:
        """Return the present view, in device pixels."""
        ratio = self.devicePixelRatioF()
        return self.stage.camera.view(max(round(self.width() * ratio), 1), max(round(self.height() * ratio), 1))

    def hit(self, x: float, y: float) -> SurfaceHit | None:
        """Return the point of the newest shown object under a device pixel."""
        origin, direction = self.view().ray(x, y)
        return pick_surface(self.stage.vertices, self._picking_faces, origin, direction, two_sided=self._two_sided)

    def pin_at(self, x: float, y: float) -> int | None:
        """Return the pin under a device pixel."""
        if len(self._pins) == 0:
            return None
        distance = np.linalg.norm(self.view().project(self._pins) - (x, y), axis=1)
        nearest = int(np.argmin(distance))
        return nearest if distance[nearest] <= _PIN_REACH_PIXELS * self.devicePixelRatioF() else None

    def pin_position(self, index: int) -> Float[np.ndarray, "3"]:
        """Return the place of a pin [m], world."""
        return self._pins[index]

    def zoom(self, steps: float) -> None:
        """Come closer by wheel steps."""
        self.stage.zoom(steps)

    def camera_moved(self) -> None:
        """Draw the new view."""
        self.camera_changed.emit()
        self.redraw()

    def hold(self, face: int, barycentric: tuple[float, float, float]) -> None:
        """Pass on that a point was taken hold of."""
        self.setCursor(Qt.CursorShape.ClosedHandCursor)
        self.grabbed.emit(face, barycentric)

    def pull(self, target: Float[np.ndarray, "3"]) -> None:
        """Pass on where the held point is pulled."""
        self.dragged.emit(target)

    def let_go(self) -> None:
        """Pass on that the held point was let go."""
        self._show_cursor()
        self.released.emit()

    def pin(self, face: int, barycentric: tuple[float, float, float], target: Float[np.ndarray, "3"] | None) -> None:
        """Pass on that a point shall be fixed."""
        self.pin_wished.emit(face, barycentric, target)

    def unpin(self, index: int) -> None:
        """Pass on that a pin shall be freed."""
        self.unpin_wished.emit(index)

    # ---- painting --------------------------------------------------------------------------------------------------

    def initializeGL(self) -> None:
        """Learn what draws: smooth edges are for hardware only, where they cost little."""
        super().initializeGL()
        context = QOpenGLContext.currentContext()
        name = context.functions().glGetString(_GL_RENDERER) if context is not None else ""
        self.gl_renderer = name.decode() if isinstance(name, bytes) else str(name or "")
        if self.draws_in_software:
            self.stage.texture_limit = _SOFTWARE_TEXTURE
        elif self.gl_renderer:
            self.ren_win.SetMultiSamples(_HARDWARE_SAMPLES)

    @property
    def draws_in_software(self) -> bool:
        """Whether OpenGL runs on the processor."""
        return any(word in self.gl_renderer.lower() for word in _SOFTWARE_RENDERERS)

    def resizeGL(self, w: int, h: int) -> None:
        """Draw anew at the new size."""
        super().resizeGL(w, h)
        self._stage_dirty = True

    def paintGL(self) -> None:
        """Draw the stage if it changed, and copy the picture to the screen."""
        if not self._stage_dirty:
            # The base class draws unless it is already drawing; its copy to the screen is all that is wanted.
            self._in_paint = True
            try:
                super().paintGL()
            finally:
                self._in_paint = False
            return
        self._stage_dirty = False
        if self.draws_in_software:
            self.ren_win.SetMultiSamples(_STILL_SAMPLES if self._refining else 0)
        view = self.view()
        self.stage.prepare(view.width, view.height)
        started = time.perf_counter()
        self._in_paint = True
        try:
            # The window's own call lets other threads run while it draws; the interactor's, which the base class uses,
            # holds Python's lock all the while, and the engine would stand still.
            self.ren_win.Render()
            super().paintGL()
        finally:
            self._in_paint = False
        self.render_seconds_total += time.perf_counter() - started
        if self._refining:
            self._refining = False
            self.still_renders += 1
            return
        self.renders += 1
        if self._frame_waiting:
            self._frame_waiting = False
            self.frames_shown += 1
        self.painted.emit()

    def _looks_the_same(self, drawn: tuple[np.ndarray, ...]) -> bool:
        """Tell whether vertices, pins and pull are, to the eye, those on the screen."""
        if self._drawn is None or len(drawn) != len(self._drawn):
            return False
        reach = _UNSEEN * self.stage.size
        pairs = zip(drawn, self._drawn, strict=True)
        return all(a.shape == b.shape and (a.size == 0 or float(np.abs(a - b).max()) < reach) for a, b in pairs)

    @Slot()
    def _draw_still(self) -> None:
        """Draw what has not changed for a while once more, with smooth edges."""
        if self.draws_in_software and not self._stage_dirty and not self.gestures.pulling and self.isVisible():
            self._refining = True
            self._stage_dirty = True
            self.update()

    # ---- mouse and keys --------------------------------------------------------------------------------------------

    def mousePressEvent(self, ev: QMouseEvent) -> None:
        """A button goes down."""
        button = _BUTTONS.get(ev.button())
        if button is Button.RIGHT:
            self.gestures.cancel()
            self.cancelled.emit()
        elif button is not None:
            self.gestures.press(button, self._pointer(ev))
        ev.accept()

    def mouseDoubleClickEvent(self, ev: QMouseEvent) -> None:
        """A button goes down for the second time."""
        button = _BUTTONS.get(ev.button())
        if button is Button.LEFT:
            self.gestures.double_click(self._pointer(ev))
        elif button is not None:
            self.mousePressEvent(ev)
        ev.accept()

    def mouseMoveEvent(self, ev: QMouseEvent) -> None:
        """The pointer moves, over the view or, while a button is held, anywhere."""
        pointer = self._pointer(ev)
        if ev.buttons() == Qt.MouseButton.NoButton:
            self.gestures.lost(pointer)
        else:
            self.gestures.move(pointer)
        ev.accept()

    def mouseReleaseEvent(self, ev: QMouseEvent) -> None:
        """A button comes up."""
        button = _BUTTONS.get(ev.button())
        if button is not None:
            self.gestures.release(button, self._pointer(ev))
        ev.accept()

    def wheelEvent(self, ev: QWheelEvent) -> None:
        """The wheel turns; fine steps of a touch pad count as parts of a notch."""
        self.gestures.wheel(ev.angleDelta().y() / 120.0)
        ev.accept()

    def keyPressEvent(self, ev: QKeyEvent) -> None:
        """Keep every key from VTK and PyVista; what is not handled here goes on to the window's shortcuts."""
        if ev.key() == Qt.Key.Key_Escape:
            self.gestures.cancel()
            self.cancelled.emit()
            ev.accept()
        else:
            ev.ignore()

    def keyReleaseEvent(self, ev: QKeyEvent) -> None:
        """Notice that Shift is let go during a pull."""
        if ev.key() == Qt.Key.Key_Shift and not ev.isAutoRepeat():
            self.gestures.shift_released(self._last_pointer)
        ev.ignore()

    def enterEvent(self, ev: QEvent) -> None:
        """Keep the event from VTK."""
        ev.accept()

    def leaveEvent(self, ev: QEvent) -> None:
        """Keep the event from VTK."""
        ev.accept()

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Welcome files."""
        if dropped_file(event) is not None:
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        """Pass on a dropped file."""
        path = dropped_file(event)
        if path is not None:
            event.acceptProposedAction()
            self.file_dropped.emit(str(path))

    # ---- end -------------------------------------------------------------------------------------------------------

    def _pointer(self, ev: QMouseEvent) -> Pointer:
        ratio = self.devicePixelRatioF()
        place = ev.position()
        shift = bool(ev.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        self._last_pointer = Pointer(place.x() * ratio, place.y() * ratio, shift, ratio)
        return self._last_pointer

    def _show_cursor(self) -> None:
        shapes = {ToolChoice.DRAG: Qt.CursorShape.ArrowCursor, ToolChoice.CAMERA: Qt.CursorShape.SizeAllCursor}
        self.setCursor(QCursor(shapes.get(self.gestures.choice, Qt.CursorShape.CrossCursor)))

    @staticmethod
    def _assert_window_thread() -> None:
        # On macOS drawing calls from another thread end the process; better an error everywhere.
        if threading.current_thread() is not threading.main_thread():
            raise RuntimeError("the viewport may be touched by the main thread only")
