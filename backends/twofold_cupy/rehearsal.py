"""Rehearsals: a program runs on arrays that are nowhere, and launches nothing, so that it is known early which texts it will launch.

What a text depends on (how arrays lie, which are numbers) is found out by the code that finds it out at a run: views have their
strides, copies are made where they will be. Whoever calls the adapter meanwhile in the same thread, as a signal handler or a finalizer
may, computes for real: only what a program calls by itself is rehearsed. A loop ends a rehearsal: its body is a program of its own.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from threading import get_ident
from typing import Any

import cupy
import numpy as np

from .library import runtime

#: Where arrays of a rehearsal are said to be: no memory is there.
NOWHERE = 1 << 46


class Unforeseen(Exception):
    """What follows depends on what is in arrays, or runs other programs."""


#: The threads that rehearse. Mostly there is none, which is quicker to see than which thread this is.
ACTIVE: set[int] = set()
os.register_at_fork(after_in_child=lambda: ACTIVE.intersection_update({get_ident()}))


def rehearses() -> bool:
    """Whether this thread does."""
    return bool(ACTIVE) and get_ident() in ACTIVE


def rehearse(run: Callable[[Sequence[Any]], Any], arrays: Sequence[Any]) -> None:
    """Run a function of arrays, which are nowhere, as far as that goes; a stream is entered."""
    thread = get_ident()
    try:
        ACTIVE.add(thread)
        with suppress(Exception):  # the run itself will say what is wrong
            run(arrays)
    finally:
        ACTIVE.discard(thread)


def for_real(function: Callable[..., Any], *args: Any) -> Any:
    """Call a function that has nothing to do with the rehearsal that this thread is in.

    Raises
    ------
    Unforeseen
        If it has to do with it, as an array among its arguments, or a list of them, is nowhere.
    """
    if any(a.data.mem.ptr == NOWHERE for a in arrays_in(args)):
        raise Unforeseen
    thread = get_ident()
    ACTIVE.discard(thread)
    try:
        return function(*args)
    finally:
        ACTIVE.add(thread)


def arrays_in(values: Sequence[Any]) -> Iterator[cupy.ndarray]:
    """The arrays among values, and in lists of them."""
    for value in values:
        if isinstance(value, cupy.ndarray):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from arrays_in(value)


def phantom(shape: tuple[int, ...], dtype: np.dtype[Any], strides: tuple[int, ...] | None = None) -> cupy.ndarray:
    """An array that is nowhere, on the current device; in row-major order if no strides in bytes are given."""
    memory = cupy.cuda.UnownedMemory(NOWHERE, 1, None, runtime.getDevice())
    return cupy.ndarray(shape, dtype, cupy.cuda.MemoryPointer(memory, 0), strides)
