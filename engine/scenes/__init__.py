"""Scenes: a mesh, its material, how it is held, and what acts on it at which time."""
