"""The engine: meshes, networks, latent mechanics and clips, with no window."""
