"""The window, its drawing and the commands a person types: the only rooms that know Qt and VTK."""
