"""An X server for the window's tests, and a watch on what a test leaves behind."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

_server: subprocess.Popen[bytes] | None = None


def pytest_configure(config: pytest.Config) -> None:
    """Start Xvfb where there is no display: Qt's offscreen platform cannot host the viewport."""
    global _server
    if os.environ.get("DISPLAY") or not sys.platform.startswith("linux") or shutil.which("Xvfb") is None:
        return
    read, write = os.pipe()
    command = ["Xvfb", "-displayfd", str(write), "-screen", "0", "1600x1200x24", "-nolisten", "tcp"]
    _server = subprocess.Popen(command, pass_fds=(write,), stderr=subprocess.DEVNULL)
    os.close(write)
    with os.fdopen(read) as pipe:
        os.environ["DISPLAY"] = f":{pipe.readline().strip()}"


def pytest_unconfigure(config: pytest.Config) -> None:
    """Stop the X server."""
    if _server is not None:
        _server.terminate()
        _server.wait(10)


@pytest.fixture(autouse=True)
def no_thread_left() -> Iterator[None]:
    """Fail a test that leaves a running thread of its own."""
    before = set(threading.enumerate())
    yield
    left = [t for t in threading.enumerate() if t not in before and t.is_alive() and not t.daemon]
    for thread in left:
        thread.join(2.0)
    assert not [t for t in left if t.is_alive()], f"the test left threads running: {left}"
