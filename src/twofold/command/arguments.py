"""Numbers as arguments of the command line."""

import argparse
import math

__all__ = ["count", "positive_integer", "positive_number"]


def count(text: str) -> int:
    """An integer of 0 or more."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"must be an integer of 0 or more, not {text!r}")
    return int(text)


def positive_integer(text: str) -> int:
    """An integer above 0."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a positive integer, not {text!r}")
    return int(text)


def positive_number(text: str) -> float:
    """A finite number above 0."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"must be a number above 0, not {text!r}")
    return value
