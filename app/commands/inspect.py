"""``inspect``: say what a mesh file holds and how the object would move."""

from __future__ import annotations

import json
from typing import Any

from app.commands import options
from app.commands.refusal import refusing


@refusing
def inspect(mesh: options.Mesh, up: options.Up = None, as_json: options.AsJson = False) -> None:
    """Say what a mesh file holds, what reading it changed, and how the object would move.

    \b
    Examples:
      main.py inspect chair.obj
      main.py inspect scan.ply --up z --json
    """  # noqa: D301  (marks a block that keeps its lines)
    from app.commands.gallery_choice import gallery_choice
    from engine import api

    anchor, material = gallery_choice(mesh)
    loaded = api.load(mesh, up=up, anchor=anchor, material=material)
    report: dict[str, Any] = loaded.rest.report.as_dict()
    report["motion"] = {
        "coordinates": loaded.k_q,
        "handles": int(loaded.vertex_weights.shape[1]),
        "anchor": loaded.anchor.value,
        "material": loaded.material.name,
        "material_reason": loaded.material_reason or "named by the gallery",
        "trust": loaded.trust,
        "checkpoint": loaded.fingerprint,
    }
    if as_json:
        print(json.dumps(report, indent=2))
        return
    notes = report.pop("notes")
    motion = report.pop("motion")
    for key, value in (*report.items(), *motion.items()):
        print(f"{key.replace('_', ' '):<18} {', '.join(map(str, value)) if isinstance(value, list) else value}")
    for note in notes:
        print(f"note: {note}")
