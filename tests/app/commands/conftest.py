"""A small mesh file and the command line as a user has it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import trimesh

ROOT = Path(__file__).resolve().parents[3]

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def capsule_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A capsule that stands, in centimetres, Z up."""
    mesh = trimesh.creation.capsule(height=60.0, radius=20.0, count=(12, 14))
    path = tmp_path_factory.mktemp("meshes") / "capsule é.ply"
    mesh.export(path)
    return path


@pytest.fixture
def without_display(tmp_path: Path) -> Run:
    """Run ``main.py`` in a process of its own that has no display, in an empty folder."""

    def run(*arguments: object, timeout: float = 240.0) -> subprocess.CompletedProcess[str]:
        hidden = ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")
        environment = {key: value for key, value in os.environ.items() if key not in hidden}
        command = [sys.executable, str(ROOT / "main.py"), *map(str, arguments)]
        return subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=timeout, check=False
        )

    return run
