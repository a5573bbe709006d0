"""A schedule as plain data, and what follows from it alone: addresses, channels, patterns. Pure."""
