"""NumPy scripts, run by NumPy and by Twofold in its place: ``make bench-scripts``."""
