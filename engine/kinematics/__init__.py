"""One object made ready to move."""
