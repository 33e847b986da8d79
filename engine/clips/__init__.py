"""Recorded motion: the clip file and its exports."""
