"""Compatibility: names that exist only because MXNet had them, and shims for scripts written for an old Python and NumPy."""
