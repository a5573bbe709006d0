"""A schedule as IR, written and read."""
