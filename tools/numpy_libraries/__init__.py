"""Runs the tests of libraries that are built on NumPy with folding arrays."""
