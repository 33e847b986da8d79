"""What a training keeps in its folder.

::

    model.safetensors   the last checkpoint (averaged weights)
    state.pt            all that is needed to go on as if nothing had happened
    log.csv             a line for every time it was written
    tensorboard/        the same for TensorBoard, where that is installed
"""

from __future__ import annotations

import csv
import json
import logging
import math
import pickle
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter

logger = logging.getLogger(__name__)

STATE = "state.pt"
FORMAT = "neurok-training-1"


class RunError(ValueError):
    """A folder that holds no run that can go on; the message says why and what to do."""


def save_state(state: dict[str, Any], run: Path) -> None:
    """Write the state beside its place, then rename it over."""
    part = run / (STATE + ".part")
    torch.save({"format": FORMAT, **state}, part)
    part.replace(run / STATE)


def load_state(run: Path) -> dict[str, Any]:
    """Read the state of a run.

    Raises:
        RunError: there is none, or it cannot be read.
    """
    path = run / STATE
    if not path.is_file():
        raise RunError(f"{run} holds no run to go on with: there is no {STATE}")
    try:
        state = torch.load(path, weights_only=True, map_location="cpu")
    except (OSError, RuntimeError, pickle.UnpicklingError, EOFError) as error:
        why = str(error).partition("\n")[0]
        raise RunError(f"{path} cannot be read ({why}): start anew with --init {run / 'model.safetensors'}") from error
    if not isinstance(state, dict) or state.get("format") != FORMAT:
        raise RunError(f"{path} was written by another version: start anew with --init {run / 'model.safetensors'}")
    return state


class RunLog:
    """The log of a run: CSV, and TensorBoard where it is installed."""

    def __init__(self, run: Path, *, after: int | None, writes: bool = True) -> None:
        """Open the log; lines of later iterations than ``after`` are cut off, all of them for a new run (None).

        Of several processes one ``writes``.
        """
        self._path = run / "log.csv"
        lines: list[dict[str, str]] = []
        if after is not None and self._path.exists():
            with self._path.open(newline="") as file:
                lines = [line for line in csv.DictReader(file) if int(line["iteration"]) <= after]
        self._lines: list[dict[str, Any]] = list(lines)
        self._board: SummaryWriter | None = None
        if not writes:
            return
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            logger.info(
                "TensorBoard is not installed (pip install -e '.[train]'): the log is %s alone", self._path.name
            )
        else:
            # With `after`, TensorBoard leaves out what another process wrote of later iterations.
            self._board = SummaryWriter(str(run / "tensorboard"), purge_step=None if after is None else after + 1)

    def __enter__(self) -> RunLog:
        """Return the log."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close TensorBoard's files."""
        if self._board is not None:
            self._board.close()

    def write(self, metrics: dict[str, float | int]) -> None:
        """Append a line; a figure that was not there before gets a column of its own."""
        self._lines.append(dict(metrics))
        names = list(dict.fromkeys(name for line in self._lines for name in line))
        part = self._path.with_name(self._path.name + ".part")
        with part.open("w", newline="") as file:
            writer = csv.DictWriter(file, fieldnames=names)
            writer.writeheader()
            writer.writerows(self._lines)
        part.replace(self._path)
        if self._board is not None:
            for name, value in metrics.items():
                if name != "iteration" and math.isfinite(value):
                    self._board.add_scalar(name, value, int(metrics["iteration"]))
            self._board.flush()
        logger.info(json.dumps({name: round(value, 4) for name, value in metrics.items()}))
