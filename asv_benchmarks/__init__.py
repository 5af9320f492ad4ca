"""Benchmarks: against hand-written NumPy in one process (`ratios`), and over the history (`benchmarks`, run by asv)."""
