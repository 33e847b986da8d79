"""The command line: one module for each sub-command. None of them needs Qt or a display, but for `doctor` to look."""
