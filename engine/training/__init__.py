"""The training program."""
