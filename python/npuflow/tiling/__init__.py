"""Strategy applied: loops over blocks, cores and K."""
