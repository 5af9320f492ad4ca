"""Transforms of functions."""
