"""Files dropped on the window."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PySide6.QtGui import QDragEnterEvent, QDropEvent


def dropped_file(event: QDragEnterEvent | QDropEvent) -> Path | None:
    """Return the first local file of a drag; ``toLocalFile`` knows Windows drives and escaped characters."""
    for url in event.mimeData().urls():
        path = Path(url.toLocalFile())
        if url.isLocalFile() and path.is_file():
            return path
    return None
