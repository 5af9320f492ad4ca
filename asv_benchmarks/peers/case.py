"""A library's implementation of an item: the call to time, and the arrays it computes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

#: Operations per call if a single one is too short to time together with its overhead (a record scope, a wait).
REPEATED = 50


def is_done() -> None:
    """Do nothing: the call itself has waited."""


class Case:
    """One variant of an item.

    Parameters
    ----------
    call
        Does the work once and waits for its results; on a device, only issues it.
    result
        Returns the arrays computed so far, as NumPy arrays, in an order common to all libraries.
    operations
        Number of repetitions within one call.
    wait
        Waits for all work that the calls have issued.
    """

    def __init__(
        self, call: Callable[[], Any], result: Callable[[], list[Any]], operations: int = 1, wait: Callable[[], Any] = is_done
    ) -> None:
        self.call, self.result, self.operations, self.wait = call, result, operations, wait


def pure(function: Callable[[], Any], to_numpy: Callable[[Any], Any], wait: Callable[[Any], Any] | None = None) -> Case:
    """A stateless case, whose result is what ``function`` returns: an array or a tuple of arrays."""
    if wait is None:
        call = function
    else:

        def call() -> Any:
            out = function()
            wait(out)
            return out

    def result() -> list[Any]:
        out = call()
        return [to_numpy(a) for a in (out if isinstance(out, (tuple, list)) else [out])]

    return Case(call, result)


def in_a_row(function: Callable[[], Any], to_numpy: Callable[[Any], Any], wait: Callable[[Any], Any] | None = None) -> Case:
    """A case that calls ``function`` `REPEATED` times and waits for the last array."""

    def call() -> Any:
        for _ in range(REPEATED):
            out = function()
        if wait is not None:
            wait(out)
        return out

    return Case(call, lambda: [to_numpy(call())], REPEATED)
