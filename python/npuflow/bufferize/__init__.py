"""Tensors to memrefs with memory spaces: none = L3, 1 = L2, 2 = L1."""
