"""What exists only because MXNet named it so, or because old scripts expect an old Python and NumPy."""
