"""Kernels that are blocked ufuncs at their structure's first use and machine code from its second on, small ones later."""

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from twofold.backend.forks import BUILDING, LOCKS
from twofold.backend.kernel import SIMPLE as SIMPLE_STEPS
from twofold.backend.kernel import RowProgram
from twofold.config import SETTINGS
from twofold.dtype import NUMPY

from .. import workers
from ..blocked import compile_kernel
from ..namespace import BLOCK
from . import cache
from .callables import FOREIGN, KEEPS, RELEASES, TELLS, function_of
from .compiler import Code, Compiler, compiler
from .kernel import kernel_text
from .pairs import pair, waiting
from .primitives import APPROXIMATE, Unsupported
from .reductions import leaves
from .strided import in_order, numbers_of
from .structure import Layout, Structure, element_strides, structure_of

#: Structures that are remembered.
REMEMBERED = 1024
#: Ways in which arrays lie that a kernel keeps machine code for.
FORMS = 16
#: Elements of a row from which whole vectors of other than simple steps cost less than a copy of strided inputs.
SHORT = 8
#: Which use of a structure compiles it, if one use takes at least so many nanoseconds, and if it takes less.
WORTH, SOON, LATE = 10_000, 2, 1000
#: Elements of an inner axis at which halves meet: a multiple of what lies in a cache line.
GRAIN = 64
#: Nanoseconds of an element of a simple step and of any other, and of work from which a second thread pays: if it waits, and if not.
SIMPLE, OTHER, PAIRED, THREADED = 0.05, 0.2, 20_000, 100_000
#: Nanoseconds of work from which other threads of Python may run meanwhile.
RELEASED = 5_000

Kernel = Callable[..., None]
#: Strides of the arrays that a kernel is called with.
Key = tuple[tuple[int, ...], ...]
#: Begin, end and size of an axis.
Extent = tuple[int, int, int]


class _Known:
    """What is known of one structure: how often it was used, which thread compiles it, whether that is done, and what it gave."""

    __slots__ = ("code", "compiler", "is_compiled", "ready", "uses")

    def __init__(self) -> None:
        self.uses, self.is_compiled = 0, False
        self.compiler: int | None = None
        self.ready = threading.Event()
        self.code: Code | None = None


_known: "OrderedDict[str, _Known]" = OrderedDict()
#: Held for moments, while the table is in use.
_lock = threading.RLock()
LOCKS.append(_lock)


class Stats:
    """Counts of what happened, for tests and reports.

    Attributes
    ----------
    compiled, loaded, refused
        Structures compiled, found on disk, and left to the default kernels.
    """

    compiled = loaded = refused = 0


def _in_child() -> None:
    """What another thread was about to compile nobody compiles here."""
    for known in _known.values():
        if known.compiler != threading.get_ident():
            known.compiler = None


os.register_at_fork(after_in_child=_in_child)


def jit_kernel(program: RowProgram) -> Kernel:
    """A kernel of a program, as `compile_kernel` makes them.

    Parameters
    ----------
    program
        Any row program; one with a step that is not supported stays with the default kernel, and so does one that computes random
        numbers by functions of which machine code gives other bits: a seed gives the same numbers at every use.

    Returns
    -------
    callable
        Takes whole arrays: inputs, then outputs.
    """
    return _JitKernel(program) if APPROXIMATE.isdisjoint(program.drawn) else compile_kernel(program)


class _Default:
    """The kernel of blocked ufuncs, made when it is first called."""

    __slots__ = ("kernel", "program")

    def __init__(self, program: RowProgram) -> None:
        self.program = program
        self.kernel: Kernel | None = None

    def __call__(self, *arrays: np.ndarray) -> None:
        if self.kernel is None:
            self.kernel = compile_kernel(self.program)
        self.kernel(*arrays)


class _Form:
    """A kernel for arrays that lie in one way.

    Attributes
    ----------
    key
        The arrays' strides.
    structure, layout
        What decides its text, and the sizes that the text leaves open.
    known
        What is known of the structure.
    run
        What is called, when that is decided.
    """

    __slots__ = ("key", "known", "layout", "run", "structure")

    def __init__(self, key: Key, structure: Structure, layout: Layout) -> None:
        self.key, self.structure, self.layout = key, structure, layout
        self.run: Kernel | None = None
        with _lock:
            self.known = _remembered(repr(structure))


class _JitKernel:
    """Chooses between the two forms at each call until machine code is there, or known to be impossible.

    From then on calls go to the machine code for arrays that lie as the first ones did; it looks at those it is given, and hands
    others to `_other`. Uses of a small kernel are only counted until it is about to be compiled: they must cost next to nothing.
    """

    __slots__ = ("_default", "_first", "_forms", "_small", "program")

    def __init__(self, program: RowProgram) -> None:
        self.program = program
        self._default = _Default(program)
        self._first: Kernel | None = None
        self._small: _Known | None = None
        self._forms: dict[Key, _Form] = {}

    @property
    def form(self) -> str:
        """What its calls run."""
        if self._first is None:
            return "ufuncs so far"
        return "ufuncs" if self._first is self._default else "machine code"

    def __call__(self, *arrays: np.ndarray) -> None:
        run = self._first
        if run is None:
            small = self._small
            if small is not None and small.uses < LATE - 1 and not small.is_compiled:
                small.uses += 1
                run = self._default.kernel or self._default
            else:
                run = self._other
        run(*arrays)

    def _other(self, *arrays: np.ndarray) -> None:
        """Run the form for these arrays, or the default kernel."""
        key = _key(arrays)
        form = self._forms.get(key) or self._formed(key, arrays)
        if form is None:
            self._copied(*arrays)
        else:
            (form.run or self._choose(form, arrays))(*arrays)

    def _formed(self, key: Key, arrays: Sequence[np.ndarray]) -> _Form | None:
        """A form for arrays; None if there is none for them as they are."""
        types, steps = self.program.inputs, self.program.steps
        dtypes, count = [*[t.dtype for t in types], *[steps[k].dtype for k in self.program.outputs]], len(types)
        if len(key) != len(dtypes) or not all(a.flags.aligned and a.dtype == NUMPY[d] for a, d in zip(arrays, dtypes, strict=True)):
            return None
        inputs, packed = arrays[:count], [a.flags.c_contiguous for a in arrays]
        strides = [] if all(packed) else [element_strides(a) for a in inputs]
        if strides and not (all(packed[count:]) and all(a.shape == t.shape for a, t in zip(inputs, types, strict=True))):
            return None
        form = _Form(key, *structure_of(self.program, strides))
        if strides and form.layout.space[-1] < SHORT and not all(step.op in SIMPLE_STEPS for step in self.program.steps):
            form.run = self._copied
        if len(self._forms) >= FORMS:
            self._forms.clear()
        self._forms[key] = form
        return form

    def _choose(self, form: _Form, arrays: Sequence[np.ndarray]) -> Kernel:
        structure, known = form.structure, form.known
        with _lock:
            known.uses += 1
            if not known.is_compiled and known.compiler is None:
                first_use = self._first_use()
                if known.uses < first_use:
                    self._small = known if first_use == LATE and not structure.columns else None
                    return self._default
                known.compiler = threading.get_ident()
                known.ready.clear()
                is_mine = True
            else:
                is_mine = False
        if not known.is_compiled and not _compile(known, structure, is_mine):
            return self._default
        if structure.has_rows and not 0 < form.layout.space[-1] <= BLOCK:
            run: Kernel = self._default
        elif known.code is None:
            run = self._copied if structure.columns else self._default
        else:
            run = _runner(known.code, self.program, form, arrays, partial(self._refused, form.key))
        form.run = run
        if run != self._copied:
            self._first = self._first or run
        return run

    def _refused(self, key: Key, *arrays: np.ndarray) -> None:
        """Run arrays that a form's machine code does not take: they lie otherwise, or over one another, or are wrong."""
        if _key(arrays) == key:
            self._copied(*arrays)
        else:
            self._other(*arrays)

    def _copied(self, *arrays: np.ndarray) -> None:
        """Run copies of inputs that cannot be read where they lie; what is wrong otherwise the default kernel will say."""
        count = len(self.program.inputs)
        outputs = arrays[count:]
        packed = [*[in_order(a, outputs) for a in arrays[:count]], *outputs]
        if any(a is not b for a, b in zip(packed, arrays, strict=True)):
            self._other(*packed)
        else:
            self._default(*arrays)

    def _first_use(self) -> int:
        """Which use of the structure compiles it."""
        if SETTINGS.jit_eager:
            return 1
        return SOON if self.program.nanoseconds(SIMPLE, OTHER) >= WORTH else LATE


def _key(arrays: Sequence[np.ndarray]) -> Key:
    return tuple([a.strides for a in arrays if type(a) is np.ndarray])


def _compile(known: _Known, structure: Structure, is_mine: bool) -> bool:
    """Compile a structure, or wait for the thread that does; False if this thread is in the midst of it, or the other was interrupted."""
    if not is_mine:
        if known.compiler == threading.get_ident():  # a signal handler or a finalizer came in between
            return False
        known.ready.wait()
        return known.is_compiled
    try:
        with BUILDING:
            known.code = _code_of(structure)
        known.is_compiled = True
    finally:
        known.compiler = None
        known.ready.set()
    return True


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


def _runner(code: Code, program: RowProgram, form: _Form, arrays: Sequence[np.ndarray], refused: Kernel) -> Kernel:
    """A function of arrays that lie as these do, around machine code; large spaces are cut in two."""
    structure, space = form.structure, form.layout.space
    work = program.nanoseconds(SIMPLE, OTHER)
    strides = numbers_of(structure, form.layout, arrays) if structure.columns else []
    table = [n for leaf in leaves(space[-1]) for n in leaf] if structure.has_rows else []

    def part(axes: Sequence[Extent], when_refused: Kernel, lock: int) -> Kernel:
        numbers = [*[n for axis in axes for n in axis], *strides, *table]
        return function_of(code.address, code.library, numbers, when_refused, lock)

    whole = [(0, n, n) for n in space]
    alone = part(whole, refused, RELEASES if work >= RELEASED else KEEPS)
    cut = _axis_to_cut(space[:-1] if structure.has_rows else space) if work >= PAIRED and workers.THREADS > 1 else None
    if cut is None:
        return alone
    first, second = _halves(whole, cut)
    if work >= THREADED:
        alone = _on_two(part(first, _refuse, RELEASES), part(second, _refuse, RELEASES), refused)
    own = compiler()
    assert own is not None  # it has made the code
    return pair(own, code.address, part(first, refused, TELLS), part(second, refused, FOREIGN), alone)


def _axis_to_cut(space: tuple[int, ...]) -> int | None:
    """The first axis that is long enough for two halves, else the longest; None if there is nothing to cut."""
    if max(space, default=1) < 2:
        return None
    return next((k for k, n in enumerate(space) if n >= GRAIN), space.index(max(space)))


class _Refused(Exception):
    """A half of the work was given arrays that it does not take."""


def _refuse(*arrays: np.ndarray) -> None:
    raise _Refused


def _halves(whole: Sequence[Extent], axis: int) -> list[list[Extent]]:
    """A space cut in two along an axis."""
    size = whole[axis][-1]
    half = size // 2
    if axis == len(whole) - 1 and half > GRAIN:
        half -= half % GRAIN
    return [[*whole[:axis], (*end, size), *whole[axis + 1 :]] for end in ((0, half), (half, size))]


def _on_two(here: Kernel, there: Kernel, refused: Kernel) -> Kernel:
    """Halves on two threads, of which the other one is woken, and waits for more afterwards; both take the arrays, or neither does."""

    def run(*arrays: np.ndarray) -> None:
        own, computed = compiler(), []

        def half(kernel: Kernel) -> None:
            kernel(*arrays)
            computed.append(kernel)

        try:
            workers.both(partial(half, here), partial(half, there), None if own is None else waiting(own))
        except _Refused:
            if computed:  # one of them had no memory for its scratch; the other's results may lie over what it read
                raise MemoryError from None
            refused(*arrays)

    return run
