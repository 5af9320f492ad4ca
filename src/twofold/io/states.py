"""The checks of a state that an iterator is to continue from, before it changes anything."""

from collections.abc import Callable, Mapping
from math import inf
from typing import Any

import numpy as np

from ..errors import ParameterError

Check = Callable[[object], bool]


def checked_state(title: str, state: object, **checks: Check) -> Mapping[str, Any]:
    """The state with the entries to check.

    Parameters
    ----------
    title
        Of the iterator, for errors.
    state
        The given result of `state_dict`.
    checks
        Whether a value is possible, by its name.

    Raises
    ------
    ParameterError
        If it is not a mapping, or lacks a value, or a value is impossible.

    Examples
    --------
    >>> checked_state("An iterator", {"at": 4}, at=whole_number(0, 10))
    {'at': 4}
    """
    todo = "pass what state_dict() of an iterator created alike has returned"
    if not isinstance(state, Mapping):
        raise ParameterError(f"{title}: not the state of an iterator", repr(state)[:100], todo)
    missing = [name for name in checks if name not in state]
    if missing:
        keys = ", ".join(map(str, state))[:100] or "nothing"
        raise ParameterError(f"{title}: the state of another iterator: it has no {', '.join(missing)}", keys, todo)
    for name, fits in checks.items():
        if not fits(state[name]):
            raise ParameterError(f"{title}: the state of another iterator: its {name} cannot be", repr(state[name])[:100], todo)
    return state


def whole_number(first: float = 0, last: float = inf) -> Check:
    """Whether a value is an integer within limits, which are possible themselves."""
    # ``bool`` is a subclass of ``int``, and JSON's true is no position
    return lambda value: isinstance(value, (int, np.integer)) and not isinstance(value, bool) and bool(first <= value <= last)


def rows_below(count: int, is_order: bool = False) -> Check:
    """Whether a value is a list of row numbers; for an order, of each of them once."""

    def check(value: object) -> bool:
        if not isinstance(value, (list, tuple)) or not all(map(whole_number(0, count - 1), value)):
            return False
        return not is_order or len(value) == len(set(value)) == count

    return check


def is_flag(value: object) -> bool:
    """Whether a value is True or False."""
    return isinstance(value, bool)


def is_state(value: object) -> bool:
    """Whether a value may be the state of another iterator."""
    return isinstance(value, Mapping)
