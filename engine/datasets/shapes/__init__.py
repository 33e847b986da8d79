"""Surfaces that the procedural objects are made of."""
