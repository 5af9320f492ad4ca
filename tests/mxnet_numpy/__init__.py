"""MXNet's NumPy dialect against the real one."""
