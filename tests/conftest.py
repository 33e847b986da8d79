"""An X server for the window's tests, and a watch on what a test leaves behind."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

# Threads of tensor code that outnumber the free cores wait for one another, and a test takes tens of times as long. Set
# before torch is loaded, and for the processes that tests start.
os.environ.setdefault("OMP_NUM_THREADS", str(max(1, (os.cpu_count() or 2) - 1)))
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

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
        number = pipe.readline().strip()
    if not number:
        raise pytest.UsageError("Xvfb did not start; run `Xvfb -displayfd 1` to see why")
    os.environ["DISPLAY"] = f":{number}"


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


@pytest.fixture(autouse=True)
def no_widget_left(no_thread_left: None) -> Iterator[None]:
    """Fail a test that leaves a shown top-level widget; a test without Qt pays nothing for this."""
    yield
    widgets = sys.modules.get("PySide6.QtWidgets")
    application = widgets.QApplication.instance() if widgets is not None else None
    if application is None:
        return
    from PySide6.QtCore import QEvent

    # What a test handed to `deleteLater` goes only when an event loop runs.
    application.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
    left = [widget for widget in application.topLevelWidgets() if widget.isVisible()]
    for widget in left:
        widget.close()
        widget.deleteLater()
    assert not left, f"the test left windows open: {left}; close them, or add them to qtbot"
