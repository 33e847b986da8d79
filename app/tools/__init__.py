"""What the mouse does: each tool turns pointer events into camera moves or engine commands."""
