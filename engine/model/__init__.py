"""The conditional variational autoencoder and its checkpoints."""
