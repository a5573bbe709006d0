"""Parts of results and what they read: tiles of layers with their halos and padding, and chains of fused ops. Pure."""
