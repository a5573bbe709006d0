"""Strategies searched with the simulator's word: candidates in the estimate's order, each compiled and timed."""
