"""What a gallery says of its objects: how each is held and what it is made of."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from engine.scenes.material import MATERIALS, Anchor

GALLERY = Path(__file__).resolve().parents[2] / "assets" / "objects"


def gallery_choice(mesh: Path) -> tuple[Anchor | None, str | None]:
    """Return anchor and material that the gallery beside a mesh file names for it; None where it says nothing."""
    try:
        content: Any = json.loads((mesh.parent / "gallery.json").read_text(encoding="utf-8"))
        entry = next((e for e in content if e.get("file") == mesh.name), {})
    except (OSError, ValueError, AttributeError):
        return None, None
    anchor, material = entry.get("anchor"), entry.get("material")
    return (Anchor(anchor) if anchor in list(Anchor) else None), (material if material in MATERIALS else None)
