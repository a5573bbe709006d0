"""Input in, normalised linalg on tensors out: one spelling for what means the same, and what is refused."""
