"""What to do with each op: grid, tile sizes, packed shape, buffer depths; what fits; what is chosen when nothing is said."""
