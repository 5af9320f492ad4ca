"""Checks that ship with the package: conformance of adapters to the protocol, and of operators to their declarations."""
