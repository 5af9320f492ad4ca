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
from ..namespace import BLOCK
from . import cache
from .compiler import Compiler, Function, compiler
from .kernel import Structure, kernel_text, structure_of
from .passes import kept_steps
from .primitives import Unsupported
from .reductions import leaves

#: Structures that are remembered.
REMEMBERED = 1024
#: Elements of an inner axis at which halves meet: a multiple of what lies in a cache line.
GRAIN = 64
#: Nanoseconds of an element of a simple step and of any other, and nanoseconds of work from which a second thread pays.
SIMPLE, OTHER, THREADED = 0.05, 0.2, 100_000

Kernel = Callable[..., None]
#: Makes a function of arrays that runs a part of the space: begin, end and size of each axis.
Part = Callable[[list[tuple[int, int, int]]], Callable[..., int]]


class _Code:
    """What is known of one structure: how often it was used, and its function if it has one."""

    __slots__ = ("function", "uses")

    def __init__(self) -> None:
        self.uses = 0
        self.function: Function | None = None


_known: "OrderedDict[str, _Code]" = OrderedDict()
_lock = threading.Lock()
_local = threading.local()


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
        if function is None or (structure.has_rows and not 0 < space[-1] <= BLOCK):
            self._chosen = self._default()
        else:
            self._chosen = _runner(function, self.program, structure, space, self._default)
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
        arity = len(structure.dtypes) + len(structure.outputs)
        return _loaded(llvm, kernel_text(structure, llvm.machine), 3 if structure.has_rows else 1, arity)
    except (Unsupported, RuntimeError):  # RuntimeError: another version of LLVM may not read the text
        Stats.refused += 1
        return None


def _loaded(llvm: Compiler, text: str, pointers: int, arity: int) -> Function:
    """The function of a text, from the disk if it is there."""
    key = llvm.key(text)
    code = cache.load(key)
    if code is not None:
        Stats.loaded += 1
        return llvm.function(code, pointers, arity)
    code = llvm.object_code(text)
    cache.store(key, code)
    Stats.compiled += 1
    return llvm.function(code, pointers, arity)


def _runner(function: Function, program: RowProgram, structure: Structure, space: tuple[int, ...], default: Callable[[], Kernel]) -> Kernel:
    """A function of arrays around machine code: its bounds are made once, and large spaces are cut in two."""
    inputs = len(program.inputs)
    is_small = program.nanoseconds(SIMPLE, OTHER) < THREADED or workers.THREADS == 1
    part = _rows(function, structure, space[-1]) if structure.has_rows else _part(function)
    cut = None if is_small else _axis_to_cut(space[:-1] if structure.has_rows else space)
    call = part([(0, n, n) for n in space]) if cut is None else _on_two(part, space, cut)

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


def _part(function: Function) -> Part:
    """Parts of an element-wise kernel."""

    def part(axes: list[tuple[int, int, int]]) -> Callable[..., int]:
        bounds = _bounds(axes)
        return lambda *arrays: function(bounds, *arrays)

    return part


def _rows(function: Function, structure: Structure, length: int) -> Part:
    """Parts of a kernel that reduces rows of a length."""
    flat = [n for leaf in leaves(length) for n in leaf]
    table = (ctypes.c_int64 * len(flat))(*flat)
    needed = 8 * length * len(kept_steps(structure.passes()))

    def part(axes: list[tuple[int, int, int]]) -> Callable[..., int]:
        bounds = _bounds(axes)
        return lambda *arrays: function(bounds, table, _scratch(needed), *arrays)

    return part


def _scratch(needed: int) -> Any:
    """Memory of at least so many bytes, which is this thread's own."""
    memory = _local.__dict__.get("scratch")
    if memory is None or len(memory) < needed:
        memory = _local.scratch = (ctypes.c_char * max(needed, 4096))()
    return memory


def _axis_to_cut(space: tuple[int, ...]) -> int | None:
    """The first axis that is long enough for two halves, else the longest; None if there is nothing to cut."""
    if max(space, default=1) < 2:
        return None
    return next((k for k, n in enumerate(space) if n >= GRAIN), space.index(max(space)))


def _on_two(part: Part, space: tuple[int, ...], axis: int) -> Callable[..., int]:
    """Halves of an axis, on two threads."""
    half = space[axis] // 2
    if axis == len(space) - 1 and half > GRAIN:
        half -= half % GRAIN
    whole = [(0, n, n) for n in space]
    here, there = (part([*whole[:axis], (*ends, space[axis]), *whole[axis + 1 :]]) for ends in ((0, half), (half, space[axis])))

    def run(*arrays: np.ndarray) -> int:
        refused = [0, 0]

        def first_half() -> None:
            refused[0] = here(*arrays)

        def second_half() -> None:
            refused[1] = there(*arrays)

        workers.both(first_half, second_half)
        return max(refused)

    return run
