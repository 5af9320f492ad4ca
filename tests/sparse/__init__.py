"""Sparse storage: arrays, operators, gradients, updates."""
