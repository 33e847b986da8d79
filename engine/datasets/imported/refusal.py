"""The error of every importer: a file that cannot become a motion, and why."""

from __future__ import annotations

from pathlib import Path


class ImportRefused(ValueError):
    """A file that cannot become a motion.

    Attributes:
        path: the file.
        reason: what was wanted and what came instead, one sentence without the file's name.
    """

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path.name} is not imported: {reason}")
        self.path = path
        self.reason = reason
