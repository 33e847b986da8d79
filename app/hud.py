"""Figures over the view: rates, energies, force and counts, drawn at most five times a second."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter
from PySide6.QtWidgets import QWidget

from app import theme

if TYPE_CHECKING:
    from PySide6.QtGui import QPaintEvent

_SHORTEST_GAP = 0.2
_ROW = 17.0
_GAP = 6.0
_PADDING = 11.0
_WIDTH = 206.0


@dataclass(frozen=True, slots=True)
class HudFigures:
    """What the figures say.

    Attributes:
        step_rate: steps per second of the engine.
        frame_rate: pictures shown per second.
        real_time_factor: simulated seconds per second.
        step_ms: time of one step [ms].
        render_ms: time of one picture [ms].
        shown: frames shown, made, and pictures drawn, since the object was loaded.
        kinetic: kinetic energy [J].
        potential: potential energy [J].
        force: pull [N], or None when nothing is held.
        vertices: simulation vertices.
        triangles: triangles.
        coordinates: generalized coordinates of the shape.
        device: where the engine computes.
        trust: how far the model is to be trusted on this object.
        status: state of the solver, empty when well.
    """

    step_rate: float = 0.0
    frame_rate: float = 0.0
    real_time_factor: float = 0.0
    step_ms: float = 0.0
    render_ms: float = 0.0
    shown: tuple[int, int, int] = (0, 0, 0)
    kinetic: float = 0.0
    potential: float = 0.0
    force: float | None = None
    vertices: int = 0
    triangles: int = 0
    coordinates: int = 0
    device: str = "CPU"
    trust: str = ""
    status: str = ""


class Hud(QWidget):
    """A see-through card in the corner of the view; the mouse goes through it."""

    def __init__(self, parent: QWidget) -> None:
        """Lie over a view."""
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._figures = HudFigures()
        self._drawn_at = 0.0
        self._trust_height = 0.0
        self.resize(round(_WIDTH), 40)

    @property
    def due(self) -> bool:
        """Whether enough time has passed for new figures."""
        return time.monotonic() - self._drawn_at >= _SHORTEST_GAP

    @property
    def figures(self) -> HudFigures:
        """The figures shown."""
        return self._figures

    def show_figures(self, figures: HudFigures) -> None:
        """Show new figures now; callers ask ``due`` first."""
        self._drawn_at = time.monotonic()
        self._figures = figures
        rows = self._rows()
        lines = sum(1 for name, _, _ in rows if name)
        height = 2 * _PADDING + lines * _ROW + (len(rows) - lines) * _GAP
        self._trust_height = 0.0
        if figures.trust:
            metrics = QFontMetricsF(theme.interface_font(8.5))
            room = QRectF(0.0, 0.0, _WIDTH - 2 * _PADDING - 14, 200.0)
            self._trust_height = metrics.boundingRect(room, Qt.TextFlag.TextWordWrap, figures.trust).height()
            height += self._trust_height + _GAP
        self.resize(round(_WIDTH), round(height))
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the card, once there is something to say."""
        if self._figures.vertices == 0:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(18, 20, 24, 165))
        painter.drawRoundedRect(QRectF(self.rect()), 10, 10)
        painter.setFont(theme.interface_font(8.5))
        top = _PADDING
        for name, value, color in self._rows():
            if not name:
                top += _GAP
                continue
            line = QRectF(_PADDING, top, self.width() - 2 * _PADDING, _ROW)
            painter.setPen(QColor(theme.MUTED))
            painter.drawText(line, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, name)
            painter.setPen(QColor(color))
            painter.drawText(line, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, value)
            top += _ROW
        if self._figures.trust:
            line = QRectF(_PADDING, top + _GAP, self.width() - 2 * _PADDING, self._trust_height)
            painter.setBrush(QColor(theme.GOOD if not self._figures.trust.lower().startswith("low") else theme.WARNING))
            painter.setPen(Qt.PenStyle.NoPen)
            painter.drawEllipse(QPointF(line.left() + 3.5, line.top() + 7.0), 3.2, 3.2)
            painter.setPen(QColor(theme.MUTED))
            painter.drawText(line.adjusted(14, 0, 0, 4), Qt.TextFlag.TextWordWrap, self._figures.trust)

    def _rows(self) -> list[tuple[str, str, str]]:
        f = self._figures
        slow = f.real_time_factor < 0.9 and f.step_rate > 0
        rows = [
            ("Simulation", f"{f.step_rate:.0f} steps/s", theme.TEXT),
            (
                "Drawing",
                f"{f.frame_rate:.0f} fps · {f.render_ms:.0f} ms" if f.frame_rate >= 0.5 else "at rest",
                theme.TEXT,
            ),
            ("Real time", f"{f.real_time_factor:.2f} \N{MULTIPLICATION SIGN}", theme.WARNING if slow else theme.TEXT),
            ("Step", f"{f.step_ms:.1f} ms", theme.TEXT),
            ("Frames shown / made", f"{f.shown[0]} / {f.shown[1]}", theme.TEXT),
            ("", "", ""),
            ("Kinetic energy", energy_text(f.kinetic), theme.TEXT),
            ("Potential energy", energy_text(f.potential), theme.TEXT),
            ("Pull", "-" if f.force is None else force_text(f.force), theme.TEXT if f.force is None else theme.ACCENT),
            ("", "", ""),
            ("Vertices", f"{f.vertices:,}".replace(",", " "), theme.TEXT),
            ("Triangles", f"{f.triangles:,}".replace(",", " "), theme.TEXT),
            ("Coordinates", f"6 + {f.coordinates}", theme.TEXT),
            ("Device", f.device, theme.TEXT),
        ]
        if f.status:
            rows.append(("Solver", f.status, theme.WARNING))
        return rows


class ForceLabel(QWidget):
    """The pull in newtons, beside the pointer."""

    def __init__(self, parent: QWidget) -> None:
        """Lie over a view, hidden until there is a pull."""
        super().__init__(parent)
        self._view = parent
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._words = ""
        self.hide()

    def show_force(self, newtons: float, x: float, y: float) -> None:
        """Show a force [N] beside a logical pixel of the view."""
        self._words = force_text(newtons)
        width = round(QFontMetricsF(theme.interface_font(9)).horizontalAdvance(self._words)) + 18
        left = min(max(round(x) + 16, 4), max(self._view.width() - width - 4, 4))
        top = min(max(round(y) - 30, 4), max(self._view.height() - 28, 4))
        self.setGeometry(left, top, width, 24)
        self.show()
        self.raise_()
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the pill."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(18, 22, 28, 215))
        painter.drawRoundedRect(QRectF(self.rect()), 12, 12)
        painter.setPen(QColor(theme.ACCENT))
        painter.setFont(theme.interface_font(9))
        painter.drawText(self.rect(), Qt.AlignmentFlag.AlignCenter, self._words)


def force_text(newtons: float) -> str:
    """Return a force with three digits and its unit."""
    if newtons >= 1000.0:
        return f"{newtons / 1000.0:.2f} kN"
    return f"{newtons:.0f} N" if newtons >= 100.0 else f"{newtons:.1f} N" if newtons >= 1.0 else f"{newtons:.2f} N"


def energy_text(joules: float) -> str:
    """Return an energy with its unit."""
    size = abs(joules)
    if size >= 1000.0:
        return f"{joules / 1000.0:.2f} kJ"
    return f"{joules:.2f} J" if size >= 1.0 or size == 0.0 else f"{1000.0 * joules:.1f} mJ"
