"""Lagrangian mechanics in the latent space of one object."""
