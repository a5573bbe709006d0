"""Kernels as a device runs them: what they do to its vector unit, how long that takes, how much code it is."""
