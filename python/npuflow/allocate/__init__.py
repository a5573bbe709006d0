"""Where the buffers of one memory lie: lifetimes and sizes in, addresses out, and nothing overlaps while it lives."""
