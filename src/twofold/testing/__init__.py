"""Checks that ship with the package: whether an adapter keeps the protocol, whether an operator does what its declaration says."""
