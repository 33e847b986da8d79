"""Motion that others made: animated models, motion capture, vertex sequences and robot descriptions."""
