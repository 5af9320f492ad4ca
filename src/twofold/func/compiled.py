"""`jit`: a function that is traced once for each kind of arguments, and then runs as one program."""

import math
from collections.abc import Mapping, Sequence
from functools import wraps
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from ..assembly import FREE, assembled
from ..device import CPU, Device
from ..errors import WrongArgument
from ..graph.tables import TABLES
from ..imperative.array import Array
from ..imperative.cell import PLAIN, Cell, Operand, Value, new, wrap
from ..imperative.counters import COUNTERS
from ..imperative.dispatch import inline_key
from ..imperative.failure import host_results
from ..imperative.guards import is_differentiated, plain_or_value, runs_inline
from ..imperative.invoke import device_of
from ..imperative.residuals import InlineRun
from ..imperative.tape import tls
from ..imperative.trace import Source, Trace, drawn
from ..numpy import array as numpy_array
from ..opdef import BoundOp
from ..opdef.facets.execution import WHOLE
from ..program.cache import Cache, CacheEntry
from .pytree import LEAF, OPAQUE, Tree, flatten, unflatten
from .traced_calls import Function, Result, called, cell_value, operator_of, run

#: Number of kinds of arguments for which a function keeps its program.
HELD = 64
#: What stands for an array without a value. NumPy's scalars as well: elements of arrays are such, and would be one program for each value.
TRACED = (Array, np.ndarray, np.number, np.bool_)
#: The programs of all compiled functions, by the function.
_PROGRAMS: WeakKeyDictionary[Function, tuple[Cache, Cache]] = WeakKeyDictionary()
#: Classes of arguments that have leaves, and of those that are constants of the program.
TREES, CONSTANTS = frozenset({tuple, list, dict}), frozenset({int, float, bool, str, type(None)})

#: In `_at_once`: the programs of small arrays by kinds of arguments, and the function for all other calls.
shortcuts: Cache = FREE
at_length: Function = FREE


def jit(fun: Function) -> Function:
    """A function that runs as one compiled program. Python calls ``fun`` once for each kind of arguments.

    Parameters
    ----------
    fun
        Takes and returns pytrees. It is called with arrays that have no values: it cannot branch on them. It may transform functions, call
        blocks and draw random numbers, other ones in each run.

    Returns
    -------
    callable
        Takes the arguments of ``fun``. Arguments are of one kind if their arrays, and NumPy's scalars, have the same shapes and dtypes, and
        all others, such as Python numbers and strings, are equal: for each value of these there is a program.

    Raises
    ------
    AutogradError
        If ``fun`` asks for a value, or writes to an array from outside.
    WrongArgument
        If an argument is neither an array nor hashable.

    Notes
    -----
    Arrays from outside, such as the parameters of a block, are read at each call if operations use them whole. Views and elements of them,
    what ``fun`` computes from these alone, numbers of NumPy's generators, and Python values are constants of the first call. Moving
    averages of blocks change when backward of a recorded call runs. ``fun`` is traced again once an array that it read from outside is
    gone, such as that of a parameter that was initialized again.

    Examples
    --------
    >>> import twofold as mx
    >>> np = mx.np
    >>> step = mx.func.jit(lambda w, x: w - 0.1 * mx.func.grad(lambda w: ((w * x) ** 2).sum())(w))
    >>> step(np.array([1.0, 2.0]), np.array([1.0, 0.0])).tolist()
    [0.8, 2.0]
    """
    programs = Cache(HELD)  # of this function alone: another one may trace to other nodes for equal arguments
    shortcuts = Cache(HELD)

    def at_length(args: Sequence[Tree], options: Mapping[str, Tree], short: tuple[object, ...] | None, arrays: Sequence[Any]) -> Tree:
        leaves, structure = flatten((args, options))
        key: list[object] = [structure, tls.training]
        cells: list[Array] = []
        for value in leaves:
            if isinstance(value, TRACED):
                value = value if isinstance(value, Array) else numpy_array(value)
                cells.append(value)
                key += (value._kind, value.shape, value._dtype)
            else:
                # True, 1 and 1.0 are equal, as are the two zeros of floats
                key += (type(value), repr(value) if type(value) is float else value)
        try:
            found = programs.get_or(tuple(key), lambda: _compiled(fun, leaves, structure, cells))
            # traced once more only: arrays that go again and again cost a trace at each call, and are right
            if found.is_stale:
                programs.pop(tuple(key), None)
                found = programs.get_or(tuple(key), lambda: _compiled(fun, leaves, structure, cells))
        except TypeError as error:
            unhashable = next((v for v in leaves if not isinstance(v, TRACED) and type(v).__hash__ is None), None)
            if unhashable is None:
                raise
            raise WrongArgument("jit: an argument is neither an array nor hashable", type(unhashable).__name__, "pass arrays") from error
        results = found.result.tree(run(found.bound_op, [*cells, *found.operands()]))
        OPAQUE.update(map(type, cells))
        if short is not None and (made := _shortcut(found, arrays)) is not None:
            shortcuts.pop(short, None)
            shortcuts.add(short, made)
        return results

    compiled = wraps(fun)(assembled(_at_once, {"shortcuts": shortcuts, "at_length": at_length}))
    _PROGRAMS[compiled] = programs, shortcuts
    return compiled


def trace_again() -> None:
    """Drop the programs of all compiled functions: the next call of each traces it again, as operators may do something else now."""
    for caches in list(_PROGRAMS.values()):
        for cache in caches:
            cache.clear()


def _at_once(*args, **options):
    """Template of compiled functions: runs the program for small arrays on cpu(0) that are not recorded, without `invoke`'s frames."""
    leaves, structure = args, None
    if options:
        leaves, structure = flatten((args, options))
    else:
        for value in args:
            if value.__class__ in TREES:
                leaves, structure = flatten(args)
                break
    key = [structure, tls.training]
    arrays = []
    for value in leaves:
        kind = value.__class__
        if kind in OPAQUE:
            v = value._held
            if v.__class__ is Value and v.device is CPU and (tls.tape is None or not is_differentiated(v)):
                v = v.data
            if v.__class__ is not PLAIN or not runs_inline(v.size // WHOLE):
                return at_length(args, options, None, ())
            key.append(kind)
            key.append(v.shape)
            key.append(v.dtype)
            arrays.append(v)
        elif kind in CONSTANTS:
            key.append(kind)
            key.append(repr(value) if kind is float else value)
        else:
            return at_length(args, options, None, ())
    key = tuple(key)
    found = shortcuts.get(key)
    if found is None or found.generation != TABLES.generation:
        return at_length(args, options, key, arrays)
    found.used = True
    COUNTERS.inline += 1
    arrays += found.constants
    results = host_results(found.function, found.run, arrays)
    if (cls := found.cls) is not None:
        result = new(cls)
        v = results[0]
        result._held = plain_or_value(v)
        return result
    leaves = []
    # results of the operation only: others are what backward would read
    for cls, v in zip(found.classes, results, strict=False):
        result = new(cls)
        result._held = plain_or_value(v)
        leaves.append(result)
    return unflatten(found.structure, leaves)


class _Outside(NamedTuple):
    """An input that is no argument.

    Attributes
    ----------
    value, source, device
        Its value when the function was traced, its source if it has one, and the device.
    is_state
        Whether backward may write to it.
    """

    value: Operand
    source: Source | None
    device: Device
    is_state: bool

    def now(self, is_first: bool) -> Operand | Cell:
        """Its present value; the array itself for a state. The first call has the random keys that were drawn when it was traced."""
        if self.source is None:
            return self.value
        if self.source.cell is None:
            return self.value if is_first else drawn(self.source.shape, self.device)
        cell = self.source.cell()
        # gone since `is_stale` was asked
        if cell is None:
            return wrap(Cell, self.value) if self.is_state else self.value
        return cell if self.is_state else cell._content


class _Compiled(CacheEntry):
    """A traced function: the operator, what it reads from outside, and the form of its result."""

    def __init__(self, bound_op: BoundOp, outside: Sequence[_Outside], result: Result) -> None:
        self.bound_op, self.outside, self.result = bound_op, outside, result
        self.has_run = False

    def operands(self) -> list[Operand | Cell]:
        """What it reads from outside in a call."""
        is_first, self.has_run = not self.has_run, True
        return [outside.now(is_first) for outside in self.outside]

    @property
    def is_stale(self) -> bool:
        """Whether an array from outside is gone, as a parameter's that was initialized again: the function reads another one now."""
        return any(o.source is not None and o.source.cell is not None and o.source.cell() is None for o in self.outside)


def _compiled(fun: Function, leaves: Sequence[object], structure: Tree, cells: Sequence[Array]) -> _Compiled:
    # without values, so that whatever the function does holds for all arguments of this kind
    trace = Trace("jit", runs="again")
    values = [cell_value(c) for c in cells]
    inner = iter([wrap(c._kind, trace.argument(None, *v.type, v.device)) for c, v in zip(cells, values, strict=True)])
    args, options = unflatten(structure, [next(inner) if isinstance(v, TRACED) else v for v in leaves])
    del inner
    (result,) = called(trace, fun, list(args), options)
    sources, first = trace.sources_by_place(), len(cells)
    # an array of the function's own is gone by now: its value is a constant, and no state that anybody sees
    sources = {k: s for k, s in sources.items() if s.cell is None or s.cell() is not None}
    changes = [c for c in trace.changes if all(k < first or k in sources for k in c.places(trace.inputs).values())]
    states = {k for c in changes for k in c.places(trace.inputs).values()}
    outside = [_Outside(v, sources.get(k), device_of(v), k in states) for k, v in enumerate(trace.operands[first:], first)]
    made = result.arrays
    return _Compiled(operator_of(("jit", *made), trace.inputs, lambda: made, changes=changes), outside, result)


class _Shortcut(CacheEntry):
    """A program for small arrays.

    Attributes
    ----------
    function, run
        See `InlineRun`.
    constants
        What it takes after the arrays.
    structure, classes, cls
        The form of its result, the classes of the arrays in it, and the only one if the result is an array.
    generation
        The generation of nodes: another one has other settings.
    """

    def __init__(self, inline: InlineRun, constants: list[Any], result: Result) -> None:
        self.function, self.run, self.constants = inline.function, inline.run, constants
        self.structure, self.classes = result.structure, result.classes
        self.cls = result.classes[0] if result.structure == LEAF else None
        self.generation = TABLES.generation


def _shortcut(compiled: _Compiled, arrays: Sequence[Any]) -> _Shortcut | None:
    """The shortcut for small arrays of these types, if there may be one, and the program has run often enough to be compiled."""
    if not arrays or None in compiled.result.nodes or any(o.source is not None for o in compiled.outside):
        return None
    contents = [*arrays, *[o.value for o in compiled.outside]]
    inline = compiled.bound_op.inline.get(inline_key(contents))
    # what decides about large operands is their present size, and the type of a result of unknown shape is found by running
    if inline is None or inline.largest == math.inf or inline.given[: len(arrays)] != tuple(range(len(arrays))):
        return None
    constants = [v.data if isinstance(v := contents[k], Value) else v for k in inline.given[len(arrays) :]]
    if any(isinstance(v, PLAIN) and not runs_inline(v.size // WHOLE) for v in constants):
        return None
    return _Shortcut(inline, constants, compiled.result)
