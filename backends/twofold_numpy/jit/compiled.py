"""Kernels that are blocked ufuncs at their structure's first use and machine code from its second on, small ones later."""

import os
import threading
from collections import OrderedDict
from collections.abc import Callable
from functools import partial

import numpy as np

from twofold.backend.kernel import RowProgram
from twofold.dtype import NUMPY

from .. import workers
from ..blocked import compile_kernel
from ..namespace import BLOCK
from . import cache
from .callables import function_of
from .compiler import Code, Compiler, compiler
from .kernel import Structure, kernel_text, structure_of
from .primitives import Unsupported
from .reductions import leaves

#: Structures that are remembered.
REMEMBERED = 1024
#: Which use of a structure compiles it, if one use takes at least so many nanoseconds, and if it takes less.
WORTH, SOON, LATE = 10_000, 2, 1000
#: Elements of an inner axis at which halves meet: a multiple of what lies in a cache line.
GRAIN = 64
#: Nanoseconds of an element of a simple step and of any other, and nanoseconds of work from which a second thread pays.
SIMPLE, OTHER, THREADED = 0.05, 0.2, 100_000
#: Nanoseconds of work from which other threads of Python may run meanwhile.
RELEASED = 5_000

Kernel = Callable[..., None]
#: Begin, end and size of an axis.
Extent = tuple[int, int, int]


class _Known:
    """What is known of one structure: how often it was used, whether it was compiled, and its machine code if that succeeded."""

    __slots__ = ("code", "is_compiled", "uses")

    def __init__(self) -> None:
        self.uses, self.is_compiled = 0, False
        self.code: Code | None = None


_known: "OrderedDict[str, _Known]" = OrderedDict()
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


class _Default:
    """The kernel of blocked ufuncs, made when it is first called."""

    __slots__ = ("_kernel", "program")

    def __init__(self, program: RowProgram) -> None:
        self.program = program
        self._kernel: Kernel | None = None

    def __call__(self, *arrays: np.ndarray) -> None:
        if self._kernel is None:
            self._kernel = compile_kernel(self.program)
        self._kernel(*arrays)


class _JitKernel:
    """Chooses between the two forms at each call until machine code is there, or known to be impossible."""

    __slots__ = ("_default", "_of", "_run", "program")

    def __init__(self, program: RowProgram) -> None:
        self.program = program
        self._default = _Default(program)
        self._run: Kernel | None = None
        self._of: tuple[Structure, tuple[int, ...], _Known] | None = None

    def __call__(self, *arrays: np.ndarray) -> None:
        (self._run or self._choose())(*arrays)

    def _choose(self) -> Kernel:
        structure, space, known = self._of or self._met()
        with _lock:
            known.uses += 1
            if not known.is_compiled:
                if known.uses < (SOON if self.program.nanoseconds(SIMPLE, OTHER) >= WORTH else LATE):
                    return self._default
                known.code, known.is_compiled = _code_of(structure), True
        if known.code is None or (structure.has_rows and not 0 < space[-1] <= BLOCK):
            run: Kernel = self._default
        else:
            run = _runner(known.code, self.program, structure, space, self._default)
        self._run, self._of = run, None
        return run

    def _met(self) -> tuple[Structure, tuple[int, ...], _Known]:
        """The structure, the sizes of its axes, and what is known of it."""
        structure, space = structure_of(self.program)
        with _lock:
            self._of = structure, space, _remembered(repr(structure))
        return self._of


def _remembered(key: str) -> _Known:
    """The entry of a structure; the least recently met is forgotten."""
    found = _known.pop(key, None) or _Known()
    _known[key] = found
    if len(_known) > REMEMBERED:
        _known.popitem(last=False)
    return found


def _code_of(structure: Structure) -> Code | None:
    """Machine code of a structure; None if it is to stay with the default kernel."""
    llvm = compiler()
    if llvm is None:
        return None
    try:
        return _loaded(llvm, kernel_text(structure, llvm.machine))
    except (Unsupported, RuntimeError):  # RuntimeError: another version of LLVM may not read the text
        Stats.refused += 1
        return None


def _loaded(llvm: Compiler, text: str) -> Code:
    """The machine code of a text, from the disk if it is there."""
    key = llvm.key(text)
    code = cache.load(key)
    if code is not None:
        Stats.loaded += 1
        return llvm.loaded(code)
    code = llvm.object_code(text)
    cache.store(key, code)
    Stats.compiled += 1
    return llvm.loaded(code)


def _runner(code: Code, program: RowProgram, structure: Structure, space: tuple[int, ...], default: Kernel) -> Kernel:
    """A function of arrays around machine code; large spaces are cut in two. Arrays that are strided are copied first."""
    dtypes, work = [NUMPY[t.dtype] for t in program.inputs], program.nanoseconds(SIMPLE, OTHER)
    table = [n for leaf in leaves(space[-1]) for n in leaf] if structure.has_rows else []
    cut = _axis_to_cut(space[:-1] if structure.has_rows else space) if work >= THREADED and workers.THREADS > 1 else None

    def refused(*arrays: np.ndarray) -> None:
        packed = [*map(np.ascontiguousarray, arrays, dtypes), *arrays[len(dtypes) :]]
        if any(a is not b for a, b in zip(packed, arrays, strict=True)):
            run(*packed)
        else:  # what is wrong the default kernel will say
            default(*arrays)

    def part(axes: list[Extent], when_refused: Kernel) -> Kernel:
        numbers = [n for axis in axes for n in axis] + table
        return function_of(code.address, code.library, numbers, when_refused, work >= RELEASED)

    run = part([(0, n, n) for n in space], refused) if cut is None else _on_two(part, space, cut, refused)
    return run


def _axis_to_cut(space: tuple[int, ...]) -> int | None:
    """The first axis that is long enough for two halves, else the longest; None if there is nothing to cut."""
    if max(space, default=1) < 2:
        return None
    return next((k for k, n in enumerate(space) if n >= GRAIN), space.index(max(space)))


class _Refused(Exception):
    """A half of the work was given arrays that it does not take."""


def _refuse(*arrays: np.ndarray) -> None:
    raise _Refused


def _on_two(part: Callable[[list[Extent], Kernel], Kernel], space: tuple[int, ...], axis: int, refused: Kernel) -> Kernel:
    """Halves of an axis, on two threads; both take the arrays, or neither does."""
    half = space[axis] // 2
    if axis == len(space) - 1 and half > GRAIN:
        half -= half % GRAIN
    whole = [(0, n, n) for n in space]
    ends = (0, half), (half, space[axis])
    here, there = (part([*whole[:axis], (*end, space[axis]), *whole[axis + 1 :]], _refuse) for end in ends)

    def run(*arrays: np.ndarray) -> None:
        try:
            workers.both(partial(here, *arrays), partial(there, *arrays))
        except _Refused:
            refused(*arrays)

    return run
