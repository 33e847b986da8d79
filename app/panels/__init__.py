"""The side panels of the window; none of them imports another."""
