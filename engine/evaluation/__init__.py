"""Metrics and benchmarks of the model."""
