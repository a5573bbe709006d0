"""Orders of output tiles: what each loads into a small fast memory, and the order that loads the least."""
