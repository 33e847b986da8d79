"""Tests of engine.kinematics."""
