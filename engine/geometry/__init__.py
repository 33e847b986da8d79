"""Meshes in, rest shapes, surface samples, dual quaternions, eigenmodes."""
