"""Tiered compilation: a kernel runs as blocked ufuncs first, and as machine code from its structure's second use on, small ones later.

LLVM itself takes 0.1 s to load. It is loaded for the first structure only after all kernels together have done so much work that the
program is not a short one. Work is estimated from sizes, so every run of a program decides in the same way.
"""

import math
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import partial
from types import BuiltinFunctionType
from weakref import WeakValueDictionary

import numpy as np

from twofold.backend import workers
from twofold.backend.forks import BUILDING, LOCKS
from twofold.backend.kernel import SIMPLE as SIMPLE_STEPS
from twofold.backend.kernel import Formed, RowProgram
from twofold.backend.strides import Sizes
from twofold.config import SETTINGS
from twofold.dtype import NUMPY
from twofold.signal_handlers import unless_signalled

from ..blocked import compile_kernel
from ..namespace import BLOCK
from .availability import is_loaded
from .callables import KEEP_GIL, RELEASE_GIL, REPORT_REFUSAL, WITHOUT_GIL, builtin_of
from .compiler import Code, Compiler, compiler
from .handoff import split_kernel, starting_helpers
from .kernel import kernel_ir
from .primitives import APPROXIMATE, Unsupported
from .reduction_loops import summation_leaves
from .strided import as_kernel_input, layout_numbers
from .structure import Extents, Structure, element_strides, structure_of

#: Structures in the table; the least recently used are dropped.
MAX_ENTRIES = 1024
#: Input layouts for which a kernel keeps machine code.
MAX_VARIANTS = 16
#: Shorter rows of strided inputs are copied first: machine code would compute mostly masked-off lanes, which only simple steps afford.
SHORT = 8
#: A use that takes at least WORTH nanoseconds compiles its structure at the SOON-th use. A shorter one does so after as many uses as take
#: PAYS nanoseconds, or at the LATE-th: by then blocked ufuncs, which take some eight times as long, have taken as long as compiling does.
WORTH, SOON, PAYS, LATE = 10_000, 2, 1_000_000, 1000
#: Nanoseconds of such uses, over all structures, from which LLVM is loaded.
LOADED_FROM = 10_000_000
#: A split of the innermost axis is at a multiple of this many elements, so that no cache line is written by both threads.
GRAIN = 64
#: Estimated nanoseconds per element of a simple step and of any other.
SIMPLE, OTHER = 0.05, 0.2
#: Nanoseconds of work from which a second thread pays: if the helper is spinning (see `handoff`), and if it must be woken.
SPLIT, WAKE = 20_000, 100_000
#: Nanoseconds of work from which the GIL is released.
RELEASE_FROM = 5_000

Kernel = Callable[..., None]
#: Strides of the arrays in a call.
Key = tuple[tuple[int, ...], ...]
#: Begin, end and size of an axis.
Extent = tuple[int, int, int]


class _Entry:
    """The state of one structure: its uses, the thread that compiles it, whether that is done, and its machine code, if any."""

    __slots__ = ("code", "compiler", "is_compiled", "ready", "uses")

    def __init__(self) -> None:
        self.uses, self.is_compiled = 0, False
        self.compiler: int | None = None
        self.ready = threading.Event()
        self.code: Code | None = None


_entries: "OrderedDict[str, _Entry]" = OrderedDict()
#: Guards the table; held only briefly, never while compiling. A fork takes it (see `forks`), so that a child finds the table intact.
_lock = threading.RLock()
LOCKS.append(_lock)


class Stats:
    """Statistics, for tests and reports.

    Attributes
    ----------
    compiled, loaded, refused
        Structures compiled; loaded from disk; and unsupported, which stay with blocked ufuncs.
    """

    compiled = loaded = refused = 0


class _Work:
    """The work that kernels did before LLVM was loaded, in estimated nanoseconds. `_lock` guards it."""

    done = 0.0


def _in_child() -> None:
    """In a forked child: compilations by other threads of the parent never finish here, so any thread may start them again."""
    for entry in _entries.values():
        if entry.compiler != threading.get_ident():
            entry.compiler = None


os.register_at_fork(after_in_child=_in_child)


def jit_kernel(program: RowProgram) -> Kernel:
    """A kernel for a program, called like those of `compile_kernel`.

    Parameters
    ----------
    program
        Any row program. A program with an unsupported step always runs in blocked ufuncs. So does one that draws random numbers by
        functions whose machine code differs from NumPy's in the last bits: a seed must give the same numbers at every use.

    Returns
    -------
    callable
        Takes whole arrays, inputs then outputs.
    """
    return _JitKernel(program) if APPROXIMATE.isdisjoint(program.drawn) else compile_kernel(program)


class _Default:
    """The kernel of blocked ufuncs, created at its first call. Equal programs share it: a network repeats its layers."""

    __slots__ = ("__weakref__", "_packed", "kernel", "program")

    def __init__(self, program: RowProgram) -> None:
        self.program = program
        self.kernel: Kernel | None = None
        self._packed: tuple[Structure, Extents, str] | None = None

    @classmethod
    def of(cls, program: RowProgram) -> "_Default":
        """The kernel of all programs that equal this one, while one of them exists."""
        # equal numbers may differ: 0.0 and -0.0
        exact = [repr(a.value) for step in program.steps for a in step.args if a.kind == "const"]
        key = program, tuple(exact), repr([step.params for step in program.steps if step.params])
        found = _defaults.get(key)
        if found is None:
            found = _defaults[key] = cls(program)
        return found

    def structure(self, strides: Sequence[Sizes]) -> tuple[Structure, Extents, str]:
        """The structure and sizes for inputs of these strides (see `structure_of`), and the structure's key."""
        if strides:
            return _with_key(*structure_of(self.program, strides))
        if self._packed is None:
            self._packed = _with_key(*structure_of(self.program))
        return self._packed

    def __call__(self, *arrays: np.ndarray) -> None:
        if self.kernel is None:
            self.kernel = compile_kernel(self.program)
        self.kernel(*arrays)


_defaults: "WeakValueDictionary[object, _Default]" = WeakValueDictionary()


def _with_key(structure: Structure, extents: Extents) -> tuple[Structure, Extents, str]:
    return structure, extents, repr(structure)


class _Variant:
    """A kernel for one combination of array strides.

    Attributes
    ----------
    key
        The strides.
    structure, extents
        What the machine code depends on, and the sizes that it leaves open.
    entry
        The state of the structure.
    run
        The function to call, once that is decided.
    """

    __slots__ = ("entry", "extents", "key", "run", "structure")

    def __init__(self, key: Key, structure: Structure, extents: Extents, name: str) -> None:
        self.key, self.structure, self.extents = key, structure, extents
        self.run: Kernel | None = None
        with _lock:
            self.entry = _entry_of(name)


class _JitKernel(Formed):
    """A kernel in two tiers: blocked ufuncs until machine code exists.

    From then on calls go straight to the machine code of the first variant, which checks its arguments and hands others to `_dispatch`.
    The uses of a small kernel are only counted until it is compiled, because the lookup would cost more than the kernel.
    """

    __slots__ = ("_counting", "_default", "_first", "_nanoseconds", "_variants", "program")

    def __init__(self, program: RowProgram) -> None:
        self.program, self._nanoseconds = program, program.nanoseconds(SIMPLE, OTHER)
        self._default = _Default.of(program)
        self._first: Kernel | None = None
        self._counting: _Entry | None = None
        self._variants: dict[Key, _Variant] = {}

    @property
    def form(self) -> str:
        """The tier that calls run at present, for `explain`."""
        if self._first is None:
            return "ufuncs so far"
        return "ufuncs" if self._first is self._default else "machine code"

    def __call__(self, *arrays: np.ndarray) -> None:
        run = self._first
        if run is None:
            entry = self._counting
            if entry is not None and entry.uses < LATE - 1 and not entry.is_compiled:
                entry.uses += 1
                run = self._default.kernel or self._default
            else:
                run = self._dispatch
        run(*arrays)

    def _dispatch(self, *arrays: np.ndarray) -> None:
        """Run the variant for these arrays, creating it if necessary."""
        key = _key(arrays)
        variant = self._variants.get(key) or self._new_variant(key, arrays)
        if variant is None:
            self._run_on_copies(*arrays)
        else:
            (variant.run or self._choose(variant, arrays))(*arrays)

    def _new_variant(self, key: Key, arrays: Sequence[np.ndarray]) -> _Variant | None:
        """Create the variant for arrays; None if machine code cannot read them as they are."""
        types, steps = self.program.inputs, self.program.steps
        dtypes, count = [*[t.dtype for t in types], *[steps[k].dtype for k in self.program.outputs]], len(types)
        if len(key) != len(dtypes) or not all(a.flags.aligned and a.dtype == NUMPY[d] for a, d in zip(arrays, dtypes, strict=True)):
            return None
        inputs, packed = arrays[:count], [a.flags.c_contiguous for a in arrays]
        strides = [] if all(packed) else [element_strides(a) for a in inputs]
        if strides and not (all(packed[count:]) and all(a.shape == t.shape for a, t in zip(inputs, types, strict=True))):
            return None
        variant = _Variant(key, *self._default.structure(strides))
        if strides and variant.extents.space[-1] < SHORT and not all(step.op in SIMPLE_STEPS for step in self.program.steps):
            variant.run = self._run_on_copies
        if len(self._variants) >= MAX_VARIANTS:  # drop all at once: few programs alternate between this many layouts
            self._variants.clear()
        self._variants[key] = variant
        return variant

    def _choose(self, variant: _Variant, arrays: Sequence[np.ndarray]) -> Kernel:
        structure, entry = variant.structure, variant.entry
        with _lock:
            entry.uses += 1
            if not entry.is_compiled and entry.compiler is None:
                if not self._is_due(entry):
                    self._counting = entry if self._first_use() == LATE and not structure.row_strides else None
                    return self._default
                entry.compiler = threading.get_ident()
                entry.ready.clear()
                is_mine = True
            else:
                is_mine = False
        if not entry.is_compiled and not _compile(entry, structure, is_mine):
            return self._default
        if structure.has_rows and not 0 < variant.extents.space[-1] <= BLOCK:
            run: Kernel = self._default
        elif entry.code is None:
            run = self._run_on_copies if structure.row_strides else self._default
        else:
            run = _bind(entry.code, self.program, variant, arrays, partial(self._on_refusal, variant.key))
        variant.run = run
        # machine code that checks its arguments can be called directly; copying cannot be the first choice for all arrays
        if run != self._run_on_copies:
            self._first = self._first or run
        return run

    def _on_refusal(self, key: Key, *arrays: np.ndarray) -> None:
        """The fallback of a variant's machine code, for arrays with other strides, overlapping ones, or invalid ones."""
        if _key(arrays) == key:
            self._run_on_copies(*arrays)
        else:
            self._dispatch(*arrays)

    def _run_on_copies(self, *arrays: np.ndarray) -> None:
        """Run on copies of the inputs that cannot be read in place; the default kernel reports any other fault of the arguments."""
        count = len(self.program.inputs)
        outputs = arrays[count:]
        packed = [*[as_kernel_input(a, outputs) for a in arrays[:count]], *outputs]
        if any(a is not b for a, b in zip(packed, arrays, strict=True)):
            self._dispatch(*packed)
        else:
            self._default(*arrays)

    def _is_due(self, entry: _Entry) -> bool:
        """Whether a structure that was used once more is compiled now. `_lock` is held."""
        first_use, work = self._first_use(), self._nanoseconds
        if first_use < LATE:
            _Work.done += work
        elif entry.uses >= LATE:
            _Work.done += work * LATE
        is_worth_loading = SETTINGS.jit_eager or is_loaded() or _Work.done >= LOADED_FROM
        if entry.uses >= LATE and not is_worth_loading:
            entry.uses = 0  # small uses are looked at by the thousand
        return is_worth_loading and entry.uses >= first_use

    def _first_use(self) -> int:
        """The use of the structure at which it is compiled."""
        if SETTINGS.jit_eager:
            return 1
        return SOON if self._nanoseconds >= WORTH else min(LATE, math.ceil(PAYS / max(self._nanoseconds, 1)))


def _key(arrays: Sequence[np.ndarray]) -> Key:
    return tuple([a.strides for a in arrays if type(a) is np.ndarray])


def _compile(entry: _Entry, structure: Structure, is_mine: bool) -> bool:
    """Compile a structure, or wait for the thread that does; False if that is this thread, or if the other one was interrupted."""
    if not is_mine:
        if entry.compiler == threading.get_ident():  # a signal handler or finalizer interrupted the compilation: waiting would deadlock
            return False
        entry.ready.wait()
        return entry.is_compiled
    try:
        with BUILDING:
            entry.code = _machine_code(structure)
        entry.is_compiled = True
    finally:
        entry.compiler = None
        entry.ready.set()
    return True


def _entry_of(key: str) -> _Entry:
    """The entry of a structure, moved to the end of the table; the least recently used one is dropped."""
    found = _entries.pop(key, None) or _Entry()
    _entries[key] = found
    if len(_entries) > MAX_ENTRIES:
        _entries.popitem(last=False)
    return found


def _machine_code(structure: Structure) -> Code | None:
    """The machine code of a structure; None if it stays with blocked ufuncs."""
    llvm = compiler()
    if llvm is None:
        return None
    try:
        return _load_or_compile(llvm, kernel_ir(structure, llvm.machine))
    except unless_signalled((Unsupported, RuntimeError)):  # RuntimeError: a version of LLVM that does not accept the IR
        Stats.refused += 1
        return None


def _load_or_compile(llvm: Compiler, ir: str) -> Code:
    """The machine code of some IR, from the cache on disk or compiled."""
    code, is_new = llvm.stored_object_code(ir)
    if is_new:
        Stats.compiled += 1
    else:
        Stats.loaded += 1
    return llvm.loaded(code)


def _bind(code: Code, program: RowProgram, variant: _Variant, arrays: Sequence[np.ndarray], refused: Kernel) -> Kernel:
    """Bind machine code to the sizes and strides of these arrays; a large space is split over two threads."""
    structure, space = variant.structure, variant.extents.space
    work = program.nanoseconds(SIMPLE, OTHER)
    strides = layout_numbers(structure, variant.extents, arrays) if structure.row_strides else []
    table = [n for leaf in summation_leaves(space[-1]) for n in leaf] if structure.has_rows else []

    def part(axes: Sequence[Extent], when_refused: Kernel, lock: int) -> BuiltinFunctionType:
        numbers = [*[n for axis in axes for n in axis], *strides, *table]
        return builtin_of(code.address, code.library, numbers, when_refused, lock)

    whole = [(0, n, n) for n in space]
    alone = part(whole, refused, RELEASE_GIL if work >= RELEASE_FROM else KEEP_GIL)
    cut = _axis_to_cut(space[:-1] if structure.has_rows else space) if work >= SPLIT and workers.count() > 1 else None
    if cut is None:
        return alone
    first, second = _halves(whole, cut)
    own = compiler()
    assert own is not None  # it compiled the code
    halves = part(first, refused, REPORT_REFUSAL), part(second, refused, WITHOUT_GIL)
    wakes = work >= WAKE
    return split_kernel(own, code.address, *halves, starting_helpers(own, alone) if wakes else alone, wakes)


def _axis_to_cut(space: tuple[int, ...]) -> int | None:
    """The axis to split: the first that is long enough for two halves, else the longest; None if all have size 1."""
    if max(space, default=1) < 2:
        return None
    return next((k for k, n in enumerate(space) if n >= GRAIN), space.index(max(space)))


def _halves(whole: Sequence[Extent], axis: int) -> list[list[Extent]]:
    """A space split in two along an axis."""
    size = whole[axis][-1]
    half = size // 2
    if axis == len(whole) - 1 and half > GRAIN:
        half -= half % GRAIN
    return [[*whole[:axis], (*end, size), *whole[axis + 1 :]] for end in ((0, half), (half, size))]
