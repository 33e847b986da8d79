"""Tests of neurok."""
