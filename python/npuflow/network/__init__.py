"""Whole functions: what is compiled as one, and what runs one after the other."""
