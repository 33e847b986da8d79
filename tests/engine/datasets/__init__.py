"""Tests of engine.datasets."""
