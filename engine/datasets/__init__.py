"""The 4D dataset: procedural motions, shards, training pairs."""
