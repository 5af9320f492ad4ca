"""Kernels that are blocked ufuncs at their structure's first use and machine code from its second on."""

import ctypes
import os
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np

from twofold.backend.kernel import RowProgram

from .. import workers
from ..blocked import compile_kernel
from . import cache
from .compiler import Compiler, Function, compiler
from .kernel import Structure, kernel_text, structure_of
from .primitives import Unsupported

#: Structures that are remembered.
REMEMBERED = 1024
#: Elements of an inner axis at which halves meet: a multiple of what lies in a cache line.
GRAIN = 64
#: Nanoseconds of an element of a simple step and of any other, and nanoseconds of work from which a second thread pays.
SIMPLE, OTHER, THREADED = 0.05, 0.2, 100_000

Kernel = Callable[..., None]


class _Code:
    """What is known of one structure: how often it was used, and its function if it has one."""

    __slots__ = ("function", "uses")

    def __init__(self) -> None:
        self.uses = 0
        self.function: Function | None = None


_known: "OrderedDict[str, _Code]" = OrderedDict()
_lock = threading.Lock()


class Stats:
    """Counts of what happened, for tests and reports.

    Attributes
    ----------
    compiled, loaded, refused
        Structures compiled, found on disk, and left to the default kernels.
    """

    compiled = loaded = refused = 0


def _after_fork() -> None:
    """Another thread of the parent may have held the lock."""
    global _lock
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_after_fork)


def jit_kernel(program: RowProgram) -> Kernel:
    """A kernel of a program, as `compile_kernel` makes them.

    Parameters
    ----------
    program
        Any row program; one with a step that is not supported stays with the default kernel.

    Returns
    -------
    callable
        Takes whole arrays: inputs, then outputs.
    """
    return _JitKernel(program)


class _JitKernel:
    """Chooses between the two forms at each call until machine code is there, or known to be impossible."""

    __slots__ = ("_blocked", "_chosen", "program")

    def __init__(self, program: RowProgram) -> None:
        self.program = program
        self._blocked: Kernel | None = None
        self._chosen: Kernel | None = None

    def __call__(self, *arrays: np.ndarray) -> None:
        chosen = self._chosen
        if chosen is None:
            chosen = self._choose()
        chosen(*arrays)

    def _choose(self) -> Kernel:
        structure, space = structure_of(self.program)
        with _lock:
            code = _remembered(repr(structure))
            code.uses += 1
            if code.uses == 1:
                return self._default()
            if code.uses == 2:
                code.function = _function(structure)
            function = code.function
        self._chosen = self._default() if function is None else _runner(function, self.program, space, self._default)
        return self._chosen

    def _default(self) -> Kernel:
        if self._blocked is None:
            self._blocked = compile_kernel(self.program)
        return self._blocked


def _remembered(key: str) -> _Code:
    """The entry of a structure; the least recently met is forgotten."""
    code = _known.pop(key, None) or _Code()
    _known[key] = code
    if len(_known) > REMEMBERED:
        _known.popitem(last=False)
    return code


def _function(structure: Structure) -> Function | None:
    """Machine code of a structure; None if it is to stay with the default kernel."""
    llvm = compiler()
    if llvm is None:
        return None
    try:
        return _loaded(llvm, kernel_text(structure, llvm.machine), len(structure.dtypes) + len(structure.outputs))
    except (Unsupported, RuntimeError):  # RuntimeError: another version of LLVM may not read the text
        Stats.refused += 1
        return None


def _loaded(llvm: Compiler, text: str, arity: int) -> Function:
    """The function of a text, from the disk if it is there."""
    key = llvm.key(text)
    code = cache.load(key)
    if code is not None:
        Stats.loaded += 1
        return llvm.function(code, arity)
    code = llvm.object_code(text)
    cache.store(key, code)
    Stats.compiled += 1
    return llvm.function(code, arity)


def _runner(function: Function, program: RowProgram, space: tuple[int, ...], default: Callable[[], Kernel]) -> Kernel:
    """A function of arrays around machine code: its bounds are made once, and large spaces are cut in two."""
    inputs = len(program.inputs)
    is_small = program.nanoseconds(SIMPLE, OTHER) < THREADED or workers.THREADS == 1
    call = _on_one(function, [(0, n, n) for n in space]) if is_small else _on_two(function, space)

    def run(*arrays: np.ndarray) -> None:
        if call(*arrays):  # an array is strided: try a copy; what is wrong otherwise, the default kernel will say
            packed = [*map(np.ascontiguousarray, arrays[:inputs]), *arrays[inputs:]]
            if call(*packed):
                default()(*arrays)

    return run


def _bounds(axes: list[tuple[int, int, int]]) -> Any:
    """Begin, end and size of each axis, as the kernel takes them."""
    flat = [n for axis in axes for n in axis]
    return (ctypes.c_int64 * len(flat))(*flat)


def _on_one(function: Function, axes: list[tuple[int, int, int]]) -> Callable[..., int]:
    bounds = _bounds(axes)
    return lambda *arrays: function(bounds, *arrays)


def _on_two(function: Function, space: tuple[int, ...]) -> Callable[..., int]:
    """Halves of the first axis that is long enough, on two threads."""
    axis = next((k for k, n in enumerate(space) if n >= GRAIN), space.index(max(space)))
    half = space[axis] // 2
    if axis == len(space) - 1 and half > GRAIN:
        half -= half % GRAIN
    whole = [(0, n, n) for n in space]
    first, second = ([*whole[:axis], (*part, space[axis]), *whole[axis + 1 :]] for part in ((0, half), (half, space[axis])))
    here, there = _on_one(function, first), _on_one(function, second)

    def run(*arrays: np.ndarray) -> int:
        refused = [0, 0]

        def first_half() -> None:
            refused[0] = here(*arrays)

        def second_half() -> None:
            refused[1] = there(*arrays)

        workers.both(first_half, second_half)
        return max(refused)

    return run
