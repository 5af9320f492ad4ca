"""Dry runs: a program runs on placeholder arrays and launches nothing, to find the kernels that it will launch.

The same code as in a real run finds the facts that a kernel's source depends on (memory layouts, which operands are scalars): views have
their strides, and the same copies are made. Only calls by the program itself are part of the dry run; a signal handler or finalizer that
calls the adapter on the same thread computes as usual. A dry run stops at a loop, because a loop's body is a separate program.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from threading import get_ident
from typing import TypeVar

import cupy
import numpy as np

from twofold.backend.kernel import Array

from .library import runtime

Result = TypeVar("Result")

#: The address of every placeholder; there is no memory behind it.
PLACEHOLDER_ADDRESS = 1 << 46


class DataDependent(Exception):
    """The rest of the program depends on array contents, or runs other programs: the dry run ends here."""


#: Threads in a dry run. Usually empty; testing that is cheaper than asking for the thread's id, so hot paths check it first.
ACTIVE: set[int] = set()
# of the parent's threads only the forking one exists in a child, which may reuse the other threads' numbers
os.register_at_fork(after_in_child=lambda: ACTIVE.intersection_update({get_ident()}))


def in_dry_run() -> bool:
    """Whether this thread is in a dry run."""
    return bool(ACTIVE) and get_ident() in ACTIVE


def dry_run(run: Callable[[Sequence[Array]], object], arrays: Sequence[Array]) -> None:
    """Run a function on placeholders as far as it gets; a stream must be current."""
    thread = get_ident()
    try:
        ACTIVE.add(thread)
        with suppress(Exception):  # the real run will raise it
            run(arrays)
    finally:
        ACTIVE.discard(thread)


def outside_dry_run(function: Callable[..., Result], *args: object) -> Result:
    """Suspend this thread's dry run and call a function that is not part of it.

    Raises
    ------
    DataDependent
        If an argument, or an element of a list argument, is a placeholder: then the call is part of the dry run after all.
    """
    if any(a.data.mem.ptr == PLACEHOLDER_ADDRESS for a in arrays_in(args)):
        raise DataDependent
    thread = get_ident()
    ACTIVE.discard(thread)
    try:
        return function(*args)
    finally:
        ACTIVE.add(thread)


def arrays_in(values: Sequence[object]) -> Iterator[cupy.ndarray]:
    """All CuPy arrays among values, including those in nested lists and tuples."""
    for value in values:
        if isinstance(value, cupy.ndarray):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from arrays_in(value)


def placeholder(shape: tuple[int, ...], dtype: np.dtype, strides: tuple[int, ...] | None = None) -> cupy.ndarray:
    """An array without memory on the current device; C-contiguous unless strides (in bytes) are given."""
    memory = cupy.cuda.UnownedMemory(PLACEHOLDER_ADDRESS, 1, None, runtime.getDevice())
    return cupy.ndarray(shape, dtype, cupy.cuda.MemoryPointer(memory, 0), strides)
