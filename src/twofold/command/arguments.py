"""Arguments of the command line: numbers, shapes, and which options take the next word."""

import argparse
import math
from collections.abc import Callable


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


def fraction_and_factor(text: str) -> tuple[float, float]:
    """A number from 0 to 1 and one of 1 or more, such as ``0.01,1.34``."""
    try:
        fraction, factor = map(float, text.split(","))
    except ValueError:
        fraction = factor = 0.0
    if not (0 <= fraction <= 1 <= factor < math.inf):
        raise argparse.ArgumentTypeError(f"must be a share and a factor of 1 or more, such as 0.01,1.34, not {text!r}")
    return fraction, factor


def named_shape(text: str) -> tuple[str, tuple[int, ...]]:
    """A name and a shape, such as ``data=32,3,224,224``."""
    name, _, sizes = text.rpartition("=")
    fields = [field.strip() for field in sizes.strip("() ").rstrip(",").split(",")]
    # `isdecimal` also refuses an empty field, as two commas or no sizes leave it
    if not name or not all(field.isdecimal() for field in fields):
        raise argparse.ArgumentTypeError(f"must be a name and sizes, such as data=32,3,224,224, not {text!r}")
    return name, tuple(map(int, fields))


def valued_options(add_arguments: Callable[[argparse.ArgumentParser], None]) -> frozenset[str]:
    """The options that take the next word, of a program that declares its arguments by a function."""
    parser = argparse.ArgumentParser(add_help=False)
    add_arguments(parser)
    # `argparse` has no other list of the added options
    return frozenset(option for action in parser._actions if action.nargs != 0 for option in action.option_strings)
