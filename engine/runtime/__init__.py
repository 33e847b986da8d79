"""Runtime: the session that runs an object, and the thread that owns it."""
