"""The one door: a mesh or nothing opens the window; a sub-command runs without one. See ``main.py --help``."""

import sys

from app.commands.cli import run

if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
