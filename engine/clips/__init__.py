"""Clips: what a recording keeps, its file, and the files made from it. Pictures come in as an argument."""
