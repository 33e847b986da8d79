"""The look: a dark, calm palette and one style sheet."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtGui import QColor, QFont, QFontDatabase, QPalette
from PySide6.QtWidgets import QStyleFactory

if TYPE_CHECKING:
    from PySide6.QtWidgets import QApplication

# Style sheets take their pictures from files, with forward slashes on every system.
_ART = (Path(__file__).resolve().parent / "art").as_posix()

WINDOW = "#121418"
PANEL = "#16191e"
CARD = "#1c2027"
RAISED = "#252a33"
LINE = "#272c35"
TEXT = "#d9dee6"
MUTED = "#8b94a3"
FAINT = "#5c6574"
ACCENT = "#62b0ff"
ACCENT_DEEP = "#2f6fb3"
WARNING = "#f4b959"
DANGER = "#f2727c"
GOOD = "#6fd39a"

_FAMILIES = ("Inter", "Segoe UI Variable", "Segoe UI", "SF Pro Text", "Cantarell", "Ubuntu", "Noto Sans", "DejaVu Sans")


def apply_theme(application: QApplication) -> None:
    """Dress the whole application."""
    style = QStyleFactory.create("Fusion")
    if style is not None:
        application.setStyle(style)
    application.setPalette(_palette())
    application.setFont(interface_font(9.5))
    application.setStyleSheet(STYLE)


def interface_font(points: float, *, weight: QFont.Weight = QFont.Weight.Normal) -> QFont:
    """Return the first of the preferred sans-serif faces that this machine has, at a size in points."""
    known = set(QFontDatabase.families())
    family = next((name for name in _FAMILIES if name in known), QFont().defaultFamily())
    font = QFont(family)
    font.setPointSizeF(points)
    font.setWeight(weight)
    font.setStyleHint(QFont.StyleHint.SansSerif)
    return font


def _palette() -> QPalette:
    palette = QPalette()
    role = QPalette.ColorRole
    for which, color in {
        role.Window: WINDOW,
        role.WindowText: TEXT,
        role.Base: CARD,
        role.AlternateBase: PANEL,
        role.Text: TEXT,
        role.Button: RAISED,
        role.ButtonText: TEXT,
        role.BrightText: DANGER,
        role.Highlight: ACCENT_DEEP,
        role.HighlightedText: "#ffffff",
        role.ToolTipBase: RAISED,
        role.ToolTipText: TEXT,
        role.PlaceholderText: FAINT,
        role.Link: ACCENT,
        role.Mid: LINE,
        role.Dark: "#0d0f12",
        role.Shadow: "#08090b",
        role.Light: "#333a45",
    }.items():
        palette.setColor(which, QColor(color))
    for which in (role.WindowText, role.Text, role.ButtonText):
        palette.setColor(QPalette.ColorGroup.Disabled, which, QColor(FAINT))
    return palette


STYLE = f"""
* {{ outline: none; }}
QMainWindow, QDialog {{ background: {WINDOW}; }}
QDialog {{ border: 1px solid {LINE}; }}
QMessageBox {{ dialogbuttonbox-buttons-have-icons: 0; }}
QMenuBar {{ background: {WINDOW}; color: {MUTED}; padding: 2px 6px; border-bottom: 1px solid {LINE}; }}
QMenuBar::item {{ padding: 5px 10px; border-radius: 5px; background: transparent; }}
QMenuBar::item:selected {{ background: {RAISED}; color: {TEXT}; }}
QMenu {{ background: {CARD}; border: 1px solid {LINE}; padding: 5px; border-radius: 8px; }}
QMenu::item {{ padding: 6px 26px 6px 12px; border-radius: 5px; }}
QMenu::item:selected {{ background: {ACCENT_DEEP}; }}
QMenu::item:disabled {{ color: {FAINT}; }}
QMenu::separator {{ height: 1px; background: {LINE}; margin: 5px 8px; }}
QToolTip {{ background: {RAISED}; color: {TEXT}; border: 1px solid {LINE}; padding: 5px 7px; }}

QWidget#panel {{ background: {PANEL}; }}
QWidget#panelLeft {{ background: {PANEL}; border-right: 1px solid {LINE}; }}
QWidget#panelRight {{ background: {PANEL}; border-left: 1px solid {LINE}; }}
QWidget#transport {{ background: {PANEL}; border-top: 1px solid {LINE}; }}
QScrollArea, QScrollArea > QWidget > QWidget {{ background: transparent; border: none; }}
QLabel#heading {{ color: {MUTED}; font-size: 8.5pt; font-weight: 600; letter-spacing: 1px; }}
QLabel#muted {{ color: {MUTED}; }}
QLabel#clock {{ color: {TEXT}; font-size: 11pt; }}
QLabel#title {{ color: {TEXT}; font-size: 12pt; font-weight: 600; }}

QPushButton {{ background: {RAISED}; border: 1px solid {LINE}; border-radius: 7px; padding: 6px 12px; }}
QPushButton:hover {{ background: #2d333e; border-color: #38404c; }}
QPushButton:pressed {{ background: #20252d; }}
QPushButton:disabled {{ color: {FAINT}; background: {CARD}; }}
QPushButton:focus {{ border-color: {ACCENT_DEEP}; }}
QPushButton#primary {{ background: {ACCENT_DEEP}; border-color: {ACCENT_DEEP}; color: white; }}
QPushButton#primary:hover {{ background: #3a80c8; }}
QPushButton#primary:disabled {{ background: {RAISED}; border-color: {LINE}; color: {FAINT}; }}
QPushButton#quiet {{ background: transparent; border: none; color: {MUTED}; padding: 4px 6px; text-align: left; }}
QPushButton#quiet:hover {{ color: {TEXT}; background: {CARD}; }}

QPushButton#segment {{
    border-radius: 0; border: 1px solid {LINE}; border-left: none; padding: 5px 4px; background: {CARD};
    color: {MUTED};
}}
QPushButton#segment[place="first"] {{
    border-left: 1px solid {LINE}; border-top-left-radius: 7px; border-bottom-left-radius: 7px;
}}
QPushButton#segment[place="last"] {{ border-top-right-radius: 7px; border-bottom-right-radius: 7px; }}
QPushButton#segment:hover {{ color: {TEXT}; }}
QPushButton#segment:checked {{ background: {ACCENT_DEEP}; color: white; border-color: {ACCENT_DEEP}; }}
QPushButton#segment:disabled {{ color: {FAINT}; }}

QToolButton {{
    background: transparent; border: 1px solid transparent; border-radius: 7px; padding: 6px; color: {MUTED};
}}
QToolButton:hover {{ background: {RAISED}; color: {TEXT}; }}
QToolButton:pressed {{ background: {CARD}; }}
QToolButton:checked {{ background: {ACCENT_DEEP}; color: white; }}
QToolButton:focus {{ border-color: {LINE}; }}
QToolButton#play {{ background: {RAISED}; border-radius: 19px; border: 1px solid {LINE}; }}
QToolButton#play:hover {{ background: #2f3641; border-color: {ACCENT_DEEP}; }}
QToolButton#record:checked {{ background: #47272c; }}
QFrame#toolStrip {{ background: rgba(22, 25, 30, 215); border: 1px solid {LINE}; border-radius: 10px; }}

QComboBox {{ background: {CARD}; border: 1px solid {LINE}; border-radius: 7px; padding: 5px 10px; min-height: 18px; }}
QComboBox:hover {{ border-color: #38404c; }}
QComboBox:focus {{ border-color: {ACCENT_DEEP}; }}
QComboBox::drop-down {{ border: none; width: 24px; }}
QComboBox::down-arrow {{ image: url({_ART}/chevron.svg); width: 14px; height: 14px; }}
QComboBox QAbstractItemView {{
    background: {CARD}; border: 1px solid {LINE}; selection-background-color: {ACCENT_DEEP}; padding: 4px;
}}
QDoubleSpinBox, QSpinBox, QLineEdit {{
    background: {CARD}; border: 1px solid {LINE}; border-radius: 6px; padding: 3px 6px;
    selection-background-color: {ACCENT_DEEP};
}}
QDoubleSpinBox:hover, QSpinBox:hover, QLineEdit:hover {{ border-color: #38404c; }}
QDoubleSpinBox:focus, QSpinBox:focus, QLineEdit:focus {{ border-color: {ACCENT_DEEP}; }}
QDoubleSpinBox:disabled, QSpinBox:disabled, QLineEdit:disabled {{ color: {FAINT}; }}
QAbstractSpinBox::up-button, QAbstractSpinBox::down-button {{ width: 0; border: none; }}
QAbstractSpinBox QLineEdit {{ background: transparent; border: none; padding: 0; margin: 0; }}
QSlider::groove:horizontal {{ height: 4px; background: {RAISED}; border-radius: 2px; }}
QSlider::sub-page:horizontal {{ background: {ACCENT_DEEP}; border-radius: 2px; }}
QSlider::sub-page:horizontal:disabled {{ background: {LINE}; }}
QSlider::handle:horizontal {{ background: #e6ebf2; width: 14px; height: 14px; margin: -5px 0; border-radius: 7px; }}
QSlider::handle:horizontal:hover {{ background: white; }}
QSlider::handle:horizontal:disabled {{ background: {FAINT}; }}
QCheckBox {{ spacing: 8px; }}
QCheckBox::indicator {{ width: 15px; height: 15px; border-radius: 4px; border: 1px solid #3a424e; background: {CARD}; }}
QCheckBox::indicator:checked {{ background: {ACCENT}; border: 1px solid {ACCENT}; image: url({_ART}/tick.svg); }}
QProgressBar {{ background: {RAISED}; border: none; border-radius: 4px; height: 8px; text-align: center; }}
QProgressBar::chunk {{ background: {ACCENT}; border-radius: 4px; }}
QScrollBar:vertical {{ background: transparent; width: 9px; margin: 2px; }}
QScrollBar::handle:vertical {{ background: {RAISED}; border-radius: 3px; min-height: 28px; }}
QScrollBar::handle:vertical:hover {{ background: #38404c; }}
QScrollBar::add-line, QScrollBar::sub-line, QScrollBar::add-page, QScrollBar::sub-page {{
    background: none; border: none; height: 0;
}}

QFrame#banner {{ background: {CARD}; border: 1px solid {LINE}; border-left: 3px solid {ACCENT}; border-radius: 8px; }}
QFrame#banner[tone="error"] {{ border-left: 3px solid {DANGER}; }}
QFrame#banner[tone="warning"] {{ border-left: 3px solid {WARNING}; }}
QFrame#banner[tone="good"] {{ border-left: 3px solid {GOOD}; }}
QFrame#divider {{ background: {LINE}; }}
"""
