"""What is known of tensors before anything runs: constants, and what is made of nothing but constants."""
