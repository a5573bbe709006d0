"""Input in, normalised linalg on tensors out: what a contraction and its surroundings are, and what is refused."""
