"""Measured figures of this machine, each with its bar. ``python -m benchmarks [name ...]`` prints them as a table."""
