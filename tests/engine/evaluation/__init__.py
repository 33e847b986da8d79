"""Tests of engine.evaluation."""
