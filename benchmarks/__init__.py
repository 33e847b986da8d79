"""Measured figures of this machine, each with its bar. ``python -m benchmarks [name ...]`` prints them as a table."""

import os

# As in main.py: measured is what a user gets.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
