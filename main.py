"""The one door: a mesh or nothing opens the window; a sub-command runs without one. See ``main.py --help``."""

import os
import sys

# NumPy's products are small or bound by memory: its threads only wait for one another. A decode took four times
# as long beside another busy process. This has to be said before NumPy is loaded.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from app.commands.cli import run

if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
