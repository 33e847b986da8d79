"""Tests of engine.clips."""
