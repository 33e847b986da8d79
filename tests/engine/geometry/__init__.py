"""Tests of engine.geometry."""
