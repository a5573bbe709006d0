"""Runs IR on the CPU: random data, JIT, IREE as the independent judge, and comparison with stated error bounds."""
