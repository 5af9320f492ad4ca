"""`jit`: a function that is traced once for each kind of arguments, and then runs as one program."""

from collections.abc import Sequence
from functools import wraps
from typing import NamedTuple

import numpy as np

from ..device import Device
from ..errors import WrongArgument
from ..imperative.array import Array
from ..imperative.cell import Operand, Value, wrap
from ..imperative.generator import STREAMS
from ..imperative.invoke import device_of
from ..imperative.tape import tls
from ..imperative.trace import Source, Trace
from ..numpy import array as numpy_array
from ..opdef import BoundOp
from ..program.cache import Cache, CacheEntry
from .pytree import Tree, flatten, unflatten
from .traced_calls import Function, Result, called, cell_value, class_of, operator_of, run

#: Number of kinds of arguments for which a function keeps its program.
HELD = 64
#: What stands for an array without a value. NumPy's scalars as well: elements of arrays are such, and would be one program for each value.
TRACED = (Array, np.ndarray, np.number, np.bool_)


def jit(fun: Function) -> Function:
    """A function that runs as one compiled program. Python calls ``fun`` once for each kind of arguments.

    Parameters
    ----------
    fun
        Takes and returns pytrees. It is called with arrays that have no values: it cannot branch on them. It may transform functions, call
        blocks and draw random numbers of ``mx.nd``.

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
    what ``fun`` computes from these alone, numbers of NumPy's generators, and Python values are constants of the first call.

    Examples
    --------
    >>> import twofold as mx
    >>> np = mx.np
    >>> step = mx.func.jit(lambda w, x: w - 0.1 * mx.func.grad(lambda w: ((w * x) ** 2).sum())(w))
    >>> step(np.array([1.0, 2.0]), np.array([1.0, 0.0])).tolist()
    [0.8, 2.0]
    """
    programs = Cache(HELD)  # of this function alone: another one may trace to other nodes for equal arguments

    @wraps(fun)
    def compiled(*args: Tree, **options: Tree) -> Tree:
        leaves, structure = flatten((args, options))
        key: list[object] = [structure, tls.training]
        cells: list[Array] = []
        for value in leaves:
            if isinstance(value, TRACED):
                value = value if isinstance(value, Array) else numpy_array(value)
                cells.append(value)
                key += (type(value)._root or type(value), value.shape, value._dtype)
            else:
                # True, 1 and 1.0 are equal
                key += (type(value), value)
        try:
            found = programs.get_or(tuple(key), lambda: _compiled(fun, leaves, structure, cells))
        except TypeError as error:
            unhashable = next((v for v in leaves if not isinstance(v, TRACED) and type(v).__hash__ is None), None)
            if unhashable is None:
                raise
            raise WrongArgument("jit: an argument is neither an array nor hashable", type(unhashable).__name__, "pass arrays") from error
        return found.result.tree(run(found.bound_op, [*cells, *[outside.now() for outside in found.outside]]))

    return compiled


class _Outside(NamedTuple):
    """An input that is no argument: its value when the function was traced, its source if it has one, and the device."""

    value: Operand
    source: Source | None
    device: Device

    def now(self) -> Operand:
        """Its present value."""
        if self.source is None:
            return self.value
        if self.source.cell is None:
            return Value(STREAMS.next_key(self.device), device=self.device)
        cell = self.source.cell()
        # an array of the function's own is gone, and its value has not changed
        return self.value if cell is None else cell._content


class _Compiled(CacheEntry):
    """A traced function: the operator, what it reads from outside, and the form of its result."""

    def __init__(self, bound_op: BoundOp, outside: Sequence[_Outside], result: Result) -> None:
        self.bound_op, self.outside, self.result = bound_op, outside, result


def _compiled(fun: Function, leaves: Sequence[object], structure: Tree, cells: Sequence[Array]) -> _Compiled:
    # without values, so that whatever the function does holds for all arguments of this kind
    trace = Trace("jit")
    values = [cell_value(c) for c in cells]
    inner = iter([wrap(class_of(c), trace.argument(None, *v.type, v.device)) for c, v in zip(cells, values, strict=True)])
    args, options = unflatten(structure, [next(inner) if isinstance(v, TRACED) else v for v in leaves])
    del inner
    (result,) = called(trace, fun, list(args), options)
    sources, first = trace.sources_by_place(), len(cells)
    outside = [_Outside(v, sources.get(k), device_of(v)) for k, v in enumerate(trace.operands[first:], first)]
    made = result.arrays
    return _Compiled(operator_of(("jit", *made), trace.inputs, lambda: made), outside, result)
