"""Tests of engine.training."""
