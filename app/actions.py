"""Every action of the program in one table: name, shortcut, help. Menus, tool tips and key list are made from it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from PySide6.QtGui import QAction, QKeySequence

from app import theme
from app.icons import icon

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget


class ActionId(StrEnum):
    """Name of an action."""

    OPEN = "open"
    EXPORT = "export"
    SCREENSHOT = "screenshot"
    SWAP_UP = "swap_up"
    QUIT = "quit"
    PLAY = "play"
    STEP = "step"
    RESET = "reset"
    RECORD = "record"
    RELEASE = "release"
    CLEAR_PINS = "clear_pins"
    TOOL_DRAG = "tool_drag"
    TOOL_CAMERA = "tool_camera"
    TOOL_PIN = "tool_pin"
    FRAME = "frame"
    SHOW_HUD = "show_hud"
    SHOW_PANELS = "show_panels"
    FULL_SCREEN = "full_screen"
    HELP = "help"


@dataclass(frozen=True, slots=True)
class ActionSpec:
    """One row of the table.

    Attributes:
        identity: name used in the program.
        menu: menu it stands in.
        text: words shown.
        shortcut: key, in Qt's portable notation; empty for none.
        help: one sentence for the tool tip and the key list.
        icon: name of its icon, or empty.
        checkable: whether it is an on-off switch.
    """

    identity: ActionId
    menu: str
    text: str
    shortcut: str
    help: str
    icon: str = ""
    checkable: bool = False


ACTIONS: tuple[ActionSpec, ...] = (
    ActionSpec(ActionId.OPEN, "File", "Open…", "Ctrl+O", "Open a 3D object from a file.", "open"),
    ActionSpec(
        ActionId.EXPORT, "File", "Export video…", "Ctrl+E", "Write the last recording as an MP4 video.", "export"
    ),
    ActionSpec(ActionId.SCREENSHOT, "File", "Save picture…", "Ctrl+Shift+S", "Save the 3D view as a PNG image."),
    ActionSpec(
        ActionId.SWAP_UP,
        "File",
        "Swap up axis",
        "U",
        "Stand the object up, or lay it down: take the file's other axis as up.",
    ),
    ActionSpec(ActionId.QUIT, "File", "Quit", "Ctrl+Q", "Close the program."),
    ActionSpec(ActionId.PLAY, "Simulation", "Play", "Space", "Let time run, or hold it.", "play"),
    ActionSpec(ActionId.STEP, "Simulation", "Step", ".", "Advance by one step of 1/60 second.", "step"),
    ActionSpec(ActionId.RESET, "Simulation", "Reset", "R", "Put the object back as it was loaded.", "reset"),
    ActionSpec(
        ActionId.RECORD, "Simulation", "Record", "Ctrl+R", "Start or stop a recording.", "record", checkable=True
    ),
    ActionSpec(ActionId.RELEASE, "Simulation", "Let go", "Esc", "Let go of the object and clear forces."),
    ActionSpec(ActionId.CLEAR_PINS, "Simulation", "Remove all pins", "C", "Free every pinned point."),
    ActionSpec(ActionId.TOOL_DRAG, "Tool", "Pull", "D", "Pull the object: drag a point of it.", "drag", checkable=True),
    ActionSpec(ActionId.TOOL_PIN, "Tool", "Pin", "P", "Set and free pins with single clicks.", "pin", checkable=True),
    ActionSpec(
        ActionId.TOOL_CAMERA, "Tool", "Camera", "V", "Turn the camera also over the object.", "camera", checkable=True
    ),
    ActionSpec(ActionId.FRAME, "View", "Look at object", "F", "Bring the whole object into view.", "frame"),
    ActionSpec(
        ActionId.SHOW_HUD, "View", "Figures", "H", "Show rates, energies and counts over the view.", checkable=True
    ),
    ActionSpec(ActionId.SHOW_PANELS, "View", "Panels", "F9", "Show the gallery and the physics panel.", checkable=True),
    ActionSpec(ActionId.FULL_SCREEN, "View", "Full screen", "F11", "Fill the screen.", checkable=True),
    ActionSpec(ActionId.HELP, "Help", "Mouse and keys", "F1", "List what the mouse and the keys do."),
)

MOUSE_HELP: tuple[tuple[str, str], ...] = (
    ("Drag on the object", "pull the touched point"),
    ("Hold Shift while letting go", "leave a pin at the pointer"),
    ("Double click on the object", "pin that point"),
    ("Double click on a pin", "free it"),
    ("Drag a pin", "move it"),
    ("Drag beside the object", "turn the camera"),
    ("Middle drag", "slide the camera"),
    ("Wheel", "come closer or go away"),
    ("Right click", "let go"),
)


def make_actions(parent: QWidget) -> dict[ActionId, QAction]:
    """Return the actions of the table, with their shortcuts, as children of a window."""
    made: dict[ActionId, QAction] = {}
    for spec in ACTIONS:
        action = QAction(spec.text, parent)
        action.setCheckable(spec.checkable)
        action.setObjectName(spec.identity.value)
        if spec.shortcut:
            action.setShortcut(QKeySequence(spec.shortcut))
        keys = f"  ({spec.shortcut})" if spec.shortcut else ""
        action.setToolTip(f"{spec.help}{keys}")
        action.setStatusTip(spec.help)
        if spec.icon:
            color = theme.DANGER if spec.identity is ActionId.RECORD else theme.MUTED
            action.setIcon(icon(spec.icon, color, color if spec.identity is ActionId.RECORD else "#ffffff"))
            action.setIconVisibleInMenu(False)
        made[spec.identity] = action
        parent.addAction(action)
    return made


def help_text() -> str:
    """Return what mouse and keys do, as rich text made from the tables."""
    mouse = "".join(
        f"<tr><td><b>{gesture}</b>&nbsp;&nbsp;</td><td>{meaning}</td></tr>" for gesture, meaning in MOUSE_HELP
    )
    keys = "".join(f"<tr><td><b>{spec.shortcut}</b></td><td>{spec.help}</td></tr>" for spec in ACTIONS if spec.shortcut)
    return f"<table cellspacing='4'>{mouse}<tr><td>&nbsp;</td></tr>{keys}</table>"
