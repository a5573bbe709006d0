"""Memrefs to the `npu` dialect: what each engine does, in order, and who waits for whom."""
