"""Tests of engine.dynamics."""
