"""Calls of NumPy's functions on folding arrays: which arrays the functions get, and which of their results fold.

A function that keeps nothing of its operands gets the memory itself. Every other function gets views over the lease, so that anything that
it keeps or returns keeps the lease alive.
"""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from . import error_state
from .array import LEAST, NDARRAY, FoldingArray, looking, offset_in, owned
from .importing import is_own
from .memory import Memory
from .reasons import numpys
from .rules import is_foldable
from .sites import PATHS, Site

#: Functions whose results share no memory with the operands, and that call no code of other libraries or of the program.
FRESH = {
    np.sum, np.prod, np.mean, np.std, np.var, np.max, np.min, np.amax, np.amin, np.argmax, np.argmin, np.any, np.all, np.cumsum,
    np.cumprod, np.dot, np.inner, np.vdot, np.sort, np.argsort, np.searchsorted, np.nonzero, np.count_nonzero, np.concatenate, np.take,
    np.repeat, np.where, np.clip, np.round, np.copy, np.bincount, np.lexsort, np.partition, np.argpartition, np.shares_memory,
    np.may_share_memory, np.result_type, np.can_cast, np.array_equal, np.zeros_like, np.ones_like, np.empty_like, np.full_like,
}  # fmt: skip
#: The position of ``out`` among the positional arguments of the functions and of the methods with that name: the array counts too.
OUT_AT = {
    "sum": 3, "prod": 3, "mean": 3, "std": 3, "var": 3, "max": 2, "min": 2, "amax": 2, "amin": 2, "any": 2, "all": 2, "argmax": 2,
    "argmin": 2, "cumsum": 3, "cumprod": 3, "dot": 2, "take": 3, "compress": 3, "choose": 2, "trace": 5, "round": 2, "clip": 3,
    "concatenate": 2,
}  # fmt: skip
#: Functions whose results stay NumPy's own arrays: broadcast arrays warn when they are written.
NUMPYS = {np.broadcast_arrays}
#: Python's numbers, which NumPy converts.
NUMBERS = {int, float, complex, bool}
Args = tuple[object, ...]
Options = dict[str, object]
KNOWN = {FoldingArray, NDARRAY, int, float, bool, complex, str, type(None), tuple, list, dict, type, slice}


class Given:
    """The operands of a call.

    Attributes
    ----------
    fresh
        Whether the function keeps no operand, and its results share no memory with the operands.
    arrays
        Folding arrays, with the views that stand for them in the call.
    others
        NumPy's own arrays.
    """

    __slots__ = ("arrays", "fresh", "others")

    def __init__(self, fresh: bool) -> None:
        self.fresh = fresh
        self.arrays: list[tuple[FoldingArray, np.ndarray]] = []
        self.others: list[np.ndarray] = []

    def plain(self, x: Any) -> Any:
        """An operand with NumPy's arrays for folding ones."""
        t = type(x)
        if t is FoldingArray:
            # A view of the lease, since a function could set the shape or the flags of its argument.
            view = x.ready() if self.fresh else x.shown().view()
            self.arrays.append((x, view))
            return view
        if t is NDARRAY:
            self.others.append(x)
        elif t is tuple or t is list:
            return t([self.plain(y) for y in x])
        elif t is dict:
            return {k: self.plain(y) for k, y in x.items()}
        return x

    def folded(self, found: Any, where: Site, owners: dict[int, Memory] | None = None) -> Any:
        """A function's result. Large arrays in it become folding arrays if only this call knows them, or if they are views of one."""
        t = type(found)
        if t is NDARRAY:
            return self._folded(found, where, owners)
        if t is tuple or t is list:
            # Several results may be views of one new array, such as the parts of a split: they share one `Memory`.
            owners = {}
            return t([self.folded(y, where, owners) for y in found])
        if isinstance(found, tuple) and type(found).__module__.startswith("numpy"):  # a named tuple of NumPy's
            owners = {}
            return type(found)(*[self.folded(y, where, owners) for y in found])
        return found

    def _folded(self, found: np.ndarray, where: Site, owners: dict[int, Memory] | None) -> FoldingArray | np.ndarray:
        base = found.base
        for x, view in self.arrays:
            if found is view:
                return x
            # A view of this operand: its base is the lease, the view that stood for the operand, or the memory itself.
            if base is not None and (base is view.base or base is view or base is x.memory.root):
                return part_of(x.memory, found, where)
        if found.size < LEAST:
            return found
        # A result that may share memory with one of NumPy's arrays stays NumPy's: any code may write that memory.
        for other in self.others:
            if found is other or (base is not None and np.may_share_memory(found, other)):
                return found
        return owned(found, where, owners)


def part_of(memory: Memory, found: np.ndarray, where: Site) -> FoldingArray | np.ndarray:
    """A view of the memory that a function returned: a large view folds, a small one is handed out over the lease.

    NumPy may have based the view on the wrong array of these two. A folding array based on the lease would keep the lease alive, and
    operations on it would never wait. A small view based on the memory would not keep the lease alive, and a pending operation could miss
    its writes.
    """
    folds, is_ours = found.size >= LEAST and is_foldable(found.dtype) and where.is_own, found.base is memory.root
    if folds and is_ours:
        return looking(memory, found, where)
    if not folds and not is_ours:
        return found

    def over(row_major: np.ndarray) -> np.ndarray:
        # The constructor takes only memory in row-major order as its buffer; strides do the rest.
        return np.ndarray(found.shape, found.dtype, row_major, offset_in(memory.owner, found), found.strides)

    view = memory.of_owner(over) if folds else over(memory.leased())
    if not found.flags.writeable:
        view.flags.writeable = False
    return looking(memory, view, where) if folds else view


def now(fn: Callable[..., object], args: Args, options: Options, where: Site) -> object:
    """The result of a NumPy function, computed now."""
    PATHS["now"] += 1
    given = Given(fn in FRESH)
    # Without `fresh` all operands are views over leases, which may be written directly.
    if given.fresh:
        args = with_target(args, fn.__name__, given)
    if "out" in options:
        options = with_targets(options, given)
    found = fn(*given.plain(args), **(given.plain(options) if options else options))
    return found if fn in NUMPYS else given.folded(found, where)


def with_target(args: tuple[Any, ...], name: str, given: Given) -> Args:
    """The positional arguments, with a view over a lease for the array that is to be written."""
    at = OUT_AT.get(name)
    if at is None or len(args) <= at or type(args[at]) is not FoldingArray:
        return args
    view = args[at].shown().view()
    given.arrays.append((args[at], view))
    return (*args[:at], view, *args[at + 1 :])


def with_targets(options: Options, given: Given) -> Options:
    """The options, with views over leases for the arrays that are to be written."""

    def target(x: object) -> object:
        if type(x) is not FoldingArray:
            return x
        view = x.shown().view()
        given.arrays.append((x, view))
        return view

    out = options["out"]
    return options | {"out": tuple([target(x) for x in out]) if type(out) is tuple else target(out)}


def ufunc_now(ufunc: np.ufunc, args: tuple[Any, ...], options: Options, where: Site) -> object:
    """The result of a ufunc, computed now."""
    PATHS["now"] += 1
    # The usual call has plain operands and one new result. Nothing can keep a view, so NumPy gets the memory itself, without a lease.
    if not options and ufunc.nout == 1:
        arrays: list[object] = []
        for x in args:
            t = type(x)
            if t is FoldingArray:
                arrays.append(x.ready())
            elif t is NDARRAY or t in NUMBERS or issubclass(t, np.generic):
                arrays.append(x)
            else:
                break
        else:
            found = error_state.call(ufunc, arrays, options, where)
            return owned(found, where) if type(found) is NDARRAY and found.size >= LEAST else found
    # An operand of another class may run code of its own, which could keep the arrays that it gets.
    given = Given(all(type(x) in KNOWN or isinstance(x, np.generic) for x in args))
    # NotImplemented makes Python ask the other operand's class: a class of the program gets the folding array, not a view.
    if not given.fresh and any(overrides(x) for x in args):
        return NotImplemented
    if "out" in options:
        options = with_targets(options, given)
    args = given.plain(args)
    return given.folded(error_state.call(ufunc, args, given.plain(options), where), where)


def overrides(x: object) -> bool:
    """Whether the operand's class belongs to the program and computes ufuncs, so that it is given the folding arrays."""
    return getattr(type(x), "__array_ufunc__", None) is not None and is_programs(type(x))


def is_programs(cls: type) -> bool:
    """Whether a class that is no array belongs to the program. Libraries and subclasses of `ndarray` get NumPy's arrays."""
    if cls is FoldingArray or issubclass(cls, NDARRAY):
        return False
    module = sys.modules.get(cls.__module__)
    return module is None or is_own(vars(module))


def method_now(ufunc: np.ufunc, method: str, args: Args, options: Options, where: Site) -> object:
    """The result of a method of a ufunc, computed now."""
    given = Given(True)
    if any(overrides(x) for x in args if type(x) is not FoldingArray):
        return NotImplemented
    # ``ufunc.at`` writes into its first operand, so the pending operations that read this memory are computed first.
    if method == "at" and type(args[0]) is FoldingArray:
        args = (args[0].shown(), *args[1:])
    if "out" in options:
        options = with_targets(options, given)
    found = error_state.call(getattr(ufunc, method), given.plain(args), given.plain(options), where)
    where.count(numpys(f"{ufunc.__name__}.{method}"))
    return given.folded(found, where)
