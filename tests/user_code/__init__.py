"""User-written operators."""
