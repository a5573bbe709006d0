"""Operands into L2 and L1: pads, packs, hoisting, fill peeling."""
