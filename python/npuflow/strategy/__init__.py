"""What to do with each op: grid, tiles, packed shape, depths; what fits; what is chosen when nothing is said."""
