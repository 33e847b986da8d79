"""Tests of engine.scenes."""
