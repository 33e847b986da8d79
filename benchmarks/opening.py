"""From the path of a mesh of 20,000 vertices to its first frame, by the session that the window runs."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from statistics import median

from benchmarks.figures import Figure
from benchmarks.meshes import bean_file
from engine.runtime.loading import load_object
from engine.runtime.messages import Loaded, LoadMesh
from engine.runtime.session import Session

BAR = 3000.0


def measure() -> list[Figure]:
    """Open the object five times and return the median; the first time also warms the libraries up."""
    times: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        path = bean_file(20_000, Path(folder))
        for _ in range(5):
            session = Session(load_object)
            begun = time.perf_counter()
            events = session.handle(LoadMesh(path))
            frame = session.advance(0.0)
            times.append(1000.0 * (time.perf_counter() - begun))
            assert frame is not None and any(isinstance(event, Loaded) for event in events), events
    note = f"median of 5; first {times[0]:.0f} ms"
    return [Figure("open to first frame, 20,000 vertices", median(times), "ms", BAR, note)]
