"""Memory of a process that has an object of 100,000 vertices in motion, without a window."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.figures import Figure
from benchmarks.meshes import bean_file

BAR = 2048.0

_PROGRAM = """
import resource, sys
from pathlib import Path
from engine.runtime.cores import use_spare_cores
from engine.runtime.loading import load_object
from engine.runtime.messages import LoadMesh, StartRecording, StepOnce
from engine.runtime.session import Session
use_spare_cores()
session = Session(load_object)
session.handle(LoadMesh(Path(sys.argv[1])))
session.handle(StartRecording())
for index in range(120):
    session.handle(StepOnce())
    session.advance(index / 60)
unit = 1 if sys.platform == "darwin" else 1024
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20)
"""


def measure() -> list[Figure]:
    """Return the peak of the resident memory [MiB], with libraries, network and two recorded seconds."""
    with tempfile.TemporaryDirectory() as folder:
        path = bean_file(100_000, Path(folder))
        command = [sys.executable, "-c", _PROGRAM, str(path)]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    return [Figure("memory, 100,000 vertices", float(ended.stdout.split()[-1]), "MiB", BAR, "peak, libraries included")]
