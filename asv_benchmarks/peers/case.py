"""What a library does for an item: a call to be timed, and the arrays it has computed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

#: Operations in one call, where one alone is too short to be timed with what belongs to it (a record scope, a wait).
REPEATED = 50


def is_done() -> None:
    """Wait for nothing: the call has waited itself."""


class Case:
    """One way of doing an item.

    Parameters
    ----------
    call
        Does the work once and waits for what it gives; or, on a device, issues it.
    result
        The arrays that the calls so far have computed, as NumPy's, in the order that all libraries share.
    operations
        How often the work is in one call.
    wait
        Waits, after so many calls, for all that they have issued.
    """

    def __init__(
        self, call: Callable[[], Any], result: Callable[[], list[Any]], operations: int = 1, wait: Callable[[], Any] = is_done
    ) -> None:
        self.call, self.result, self.operations, self.wait = call, result, operations, wait


def pure(function: Callable[[], Any], to_numpy: Callable[[Any], Any], wait: Callable[[Any], Any] | None = None) -> Case:
    """A case without state: what ``function`` gives, an array or a tuple of them, is its result."""
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
