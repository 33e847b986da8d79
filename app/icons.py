"""Line icons, drawn from a few strokes each so that they stay sharp at any scale and take the theme's colours."""

from __future__ import annotations

from PySide6.QtCore import QByteArray, QRectF, Qt
from PySide6.QtGui import QIcon, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer

from app import theme

# Strokes on a 24 x 24 board.
_SHAPES: dict[str, str] = {
    "drag": (
        '<path d="M5 19 14.5 9.5"/>'
        '<path d="M9.5 5.5H18.5V14.5"/>'
        '<circle cx="5" cy="19" r="2" fill="{c}" stroke="none"/>'
    ),
    "camera": (
        '<path d="M4 12a8 3.4 0 1 0 16 0 8 3.4 0 1 0-16 0"/><path d="M12 4a3.4 8 0 1 0 0 16 3.4 8 0 1 0 0-16"/>'
    ),
    "pin": '<path d="M12 21v-7"/><path d="M7 14h10l-2-4V5h1.5V3h-9v2H9v5z"/>',
    "play": '<path d="M8 5.5v13l10.5-6.5z" fill="{c}"/>',
    "pause": '<path d="M8.5 6v12M15.5 6v12" stroke-width="3.2"/>',
    "step": '<path d="M6.5 6v12l8.5-6z" fill="{c}"/><path d="M18 6v12" stroke-width="2.4"/>',
    "reset": '<path d="M5 12a7 7 0 1 0 2.3-5.2"/><path d="M4.5 3.8 7 7.2 10.6 5.4"/>',
    "record": '<circle cx="12" cy="12" r="6" fill="{c}" stroke="none"/>',
    "stop": '<rect x="7" y="7" width="10" height="10" rx="1.5" fill="{c}" stroke="none"/>',
    "export": '<path d="M12 15V4"/><path d="M7.8 8 12 3.8 16.2 8"/><path d="M5 14v5h14v-5"/>',
    "open": '<path d="M3.5 18.5v-13h6l2 2.5h9v10.5z"/>',
    "frame": '<path d="M4 9V4h5M15 4h5v5M20 15v5h-5M9 20H4v-5"/><circle cx="12" cy="12" r="2.6"/>',
    "clear": '<path d="M6 6l12 12M18 6 6 18"/>',
    "box": '<path d="M12 3 20 7.5v9L12 21l-8-4.500v-9z"/><path d="M4 7.5 12 12l8-4.500M12 12v9"/>',
    "chevron": '<path d="M7 10l5 5 5-5"/>',
    "mark": (
        '<path d="M12 3.5 20 8v8l-8 4.500L4 16V8z" fill="{c}" fill-opacity=".18"/>'
        '<circle cx="12" cy="12" r="2.4" fill="{c}" stroke="none"/>'
        '<path d="M12 12 18 8.6"/>'
    ),
}

_FRAME = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" fill="none" stroke="{c}" stroke-width="1.7" '
    'stroke-linecap="round" stroke-linejoin="round">{shape}</svg>'
)


def icon_names() -> tuple[str, ...]:
    """Return the names that ``icon`` knows."""
    return tuple(_SHAPES)


def pixmap(name: str, color: str, size: int = 24, ratio: float = 2.0) -> QPixmap:
    """Return an icon as an image of a size in logical pixels."""
    source = _FRAME.format(c=color, shape=_SHAPES[name].replace("{c}", color))
    renderer = QSvgRenderer(QByteArray(source.encode()))
    image = QPixmap(round(size * ratio), round(size * ratio))
    image.fill(Qt.GlobalColor.transparent)
    painter = QPainter(image)
    renderer.render(painter, QRectF(image.rect()))
    painter.end()
    image.setDevicePixelRatio(ratio)
    return image


def icon(name: str, color: str = theme.MUTED, active: str = "#ffffff") -> QIcon:
    """Return an icon in a colour, brighter when its button is checked, faint when disabled."""
    made = QIcon()
    made.addPixmap(pixmap(name, color), QIcon.Mode.Normal, QIcon.State.Off)
    made.addPixmap(pixmap(name, theme.TEXT if color == theme.MUTED else color), QIcon.Mode.Active, QIcon.State.Off)
    made.addPixmap(pixmap(name, active), QIcon.Mode.Normal, QIcon.State.On)
    made.addPixmap(pixmap(name, active), QIcon.Mode.Active, QIcon.State.On)
    made.addPixmap(pixmap(name, theme.FAINT), QIcon.Mode.Disabled, QIcon.State.Off)
    return made
