"""``doctor``: say what the program finds on this machine, for a bug report."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from importlib import metadata
from typing import Any

import typer

from app.commands import options
from app.commands.refusal import REFUSED, refusing, say

_PROBE_TIMEOUT = 90.0
# In a process of its own: a broken driver ends the process that asks it.
_DRAWING_PROBE = """
import json, os, sys
sys.path.insert(0, sys.argv[1])
from app.render.offscreen import _prefer_surface_without_display
_prefer_surface_without_display()
import pyvista as pv
plotter = pv.Plotter(off_screen=True, window_size=[64, 64])
plotter.add_mesh(pv.Sphere())
plotter.show(auto_close=False)
picture = plotter.screenshot(return_img=True)
info = dict(line.split(":", 1) for line in plotter.render_window.ReportCapabilities().splitlines() if ":" in line)
print("FOUND" + json.dumps({
    "window": plotter.render_window.GetClassName(),
    "vendor": info.get("OpenGL vendor string", "").strip(),
    "renderer": info.get("OpenGL renderer string", "").strip(),
    "version": info.get("OpenGL version string", "").strip(),
    "draws": bool(picture.std() > 0),
}))
"""
_PACKAGES = (
    "numpy",
    "scipy",
    "torch",
    "trimesh",
    "pydantic",
    "PySide6-Essentials",
    "pyvista",
    "pyvistaqt",
    "vtk",
    "av",
)


@refusing
def doctor(as_json: options.AsJson = False) -> None:
    """Say what the program finds on this machine: drawing, window system, torch, encoders, network.

    Ends with status 1 if something that the program needs is missing.

    \b
    Example:
      main.py doctor --json
    """  # noqa: D301  (marks a block that keeps its lines)
    report: dict[str, Any] = {
        "python": platform.python_version(),
        "system": platform.platform(),
        "packages": {name: _version(name) for name in _PACKAGES},
        "window": _window(),
        "drawing": _drawing(),
        "torch": _torch(),
        "encoders": _encoders(),
        "checkpoint": _checkpoint(),
    }
    missing = _missing(report)
    report["missing"] = missing
    if as_json:
        print(json.dumps(report, indent=2))
    else:
        for title, content in report.items():
            if isinstance(content, dict):
                for key, value in content.items():
                    print(f"{title + ' ' + key:<28} {value}")
            elif title != "missing":
                print(f"{title:<28} {content}")
    for sentence in missing:
        say(sentence)
    if missing:
        raise typer.Exit(REFUSED)


def _missing(report: dict[str, Any]) -> list[str]:
    sentences: list[str] = []
    if not report["drawing"].get("draws"):
        sentences.append(
            f"Nothing can be drawn off screen: {report['drawing'].get('problem', 'the picture is empty')}."
        )
    if not any(report["encoders"].values()):
        sentences.append("No H.264 encoder works, so no video can be written.")
    if "problem" in report["checkpoint"]:
        sentences.append(f"There is no usable network: {report['checkpoint']['problem']}.")
    return sentences


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def _window() -> dict[str, str]:
    names = ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM", "QT_SCALE_FACTOR")
    found = {name: os.environ[name] for name in names if os.environ.get(name)}
    default = "wayland or xcb" if sys.platform.startswith("linux") else sys.platform
    return {
        "qt_platform": found.get("QT_QPA_PLATFORM", default if found or default == sys.platform else "none"),
        **found,
    }


def _drawing() -> dict[str, Any]:
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    command = [sys.executable, "-c", _DRAWING_PROBE, root]
    try:
        ended = subprocess.run(command, capture_output=True, text=True, timeout=_PROBE_TIMEOUT, check=False)
    except (OSError, subprocess.TimeoutExpired) as problem:
        return {"problem": type(problem).__name__}
    for line in ended.stdout.splitlines():
        if line.startswith("FOUND"):
            return json.loads(line.removeprefix("FOUND"))
    last = (ended.stderr.strip().splitlines() or ["no word of why"])[-1]
    return {"problem": f"the probe ended with status {ended.returncode}, {last}"}


def _torch() -> dict[str, Any]:
    import torch

    from engine.runtime.cores import spare_cores

    return {
        "version": torch.__version__,
        "threads": spare_cores(),
        "device": "cpu",
        "cuda": torch.cuda.is_available(),
        "instructions": torch.backends.cpu.get_cpu_capability(),
    }


def _encoders() -> dict[str, bool]:
    from engine.clips.video import ENCODERS, probe_encoder

    return {name: probe_encoder(name, (640, 480)) for name in ENCODERS}


def _checkpoint() -> dict[str, Any]:
    from engine.model.checkpoint import CheckpointError, load_checkpoint

    try:
        checkpoint = load_checkpoint()
    except CheckpointError as problem:
        return {"problem": str(problem)}
    return {
        "fingerprint": checkpoint.fingerprint,
        "parameters": sum(p.numel() for p in checkpoint.model.parameters()),
        "minutes": round(float(checkpoint.facts.get("minutes", 0.0)), 1),
    }
