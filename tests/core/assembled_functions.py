"""Templates and fragments for the tests of assembled functions."""

from typing import Any

from twofold.assembly import FREE, fragment

scale: Any = FREE
doubles: bool = FREE


@fragment
def is_even(n):
    """Whether a number is even."""
    return n % 2 == 0


@fragment
def half_or_next(n):
    """The step of Collatz's sequence."""
    if is_even(n):
        found = n // 2
        return found
    found = 3 * n + 1
    return found


@fragment
def return_if_small(n, limit=3):
    """Return from the caller."""
    if n < limit:
        return "small"


@fragment
def has_name(entry):
    """Whether something has a name."""
    return entry is not None and len(entry) > 0


@fragment
def return_clashing(n):
    """Return with a variable that callers may have, too."""
    made = [n]
    return made


@fragment
def return_unless_stepped(n):
    """Replace a variable of the caller by the next number of the sequence, or return."""
    if n < 0:
        return "negative"
    n = half_or_next(n)


def stepping(a, b):
    """Steps two variables."""
    return_unless_stepped(b)
    return a, b


def template(n):
    """A template."""
    return_if_small(n)
    m = half_or_next(n)
    if doubles and n:
        m = m * 2
    elif not doubles:
        m = m * scale
    return m, is_even(m), m or None


def counted(read):
    """Reads a value once."""
    return has_name(entry := read()), entry


def clashing(made):
    """Calls a fragment with one of its own variables."""
    return_clashing(made)


def failing(n):
    """Fails in a fragment."""
    return is_even(n)
