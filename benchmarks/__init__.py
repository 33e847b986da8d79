"""Measured figures with their bars: `python -m benchmarks`."""
