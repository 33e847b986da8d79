"""Motion made by simulators: the one place that loads MuJoCo and Newton."""
