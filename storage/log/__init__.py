"""One partition's log, and what is done to it."""
