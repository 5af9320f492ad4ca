"""What carries messages and sums between the processes of a cluster. Each transport is in a file of its own, imported where it is used."""

from .protocols import Transport

__all__ = ["Transport"]
