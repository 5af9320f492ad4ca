"""Benchmarks: against hand-written NumPy in one process (`ratios`), and along the history (`benchmarks`, run by asv)."""
