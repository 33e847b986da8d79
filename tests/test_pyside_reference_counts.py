"""A guard against PySide6 builds that drop references to `True` and `None` and abort after some minutes."""

from __future__ import annotations

import sys

import pytest
from PySide6.QtCore import QObject, Signal


class Emitter(QObject):
    """An object with a signal."""

    fired = Signal()


def test_emitting_keeps_references_to_true() -> None:
    """A hundred emits lose no reference to True (PySide6 6.12 on Python 3.11 loses a hundred)."""
    emitter = Emitter()
    before = sys.getrefcount(True)
    for _ in range(100):
        emitter.fired.emit()
    assert sys.getrefcount(True) > before - 50


def test_calls_without_result_keep_references_to_none(qtbot: object) -> None:
    """A hundred calls that return nothing lose no reference to None."""
    from PySide6.QtWidgets import QLabel

    label = QLabel()
    before = sys.getrefcount(None)
    for i in range(100):
        label.setText(str(i))
    assert sys.getrefcount(None) > before - 50
    label.deleteLater()


@pytest.mark.parametrize("name", ["app", "engine"])
def test_packages_import(name: str) -> None:
    """The packages can be imported."""
    assert __import__(name)
