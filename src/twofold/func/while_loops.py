"""`while_loop` and `fori_loop`: loops that keep nothing of their steps, so that values may decide how many there are."""

from operator import index

import numpy as np

from ..device import current_device
from ..errors import ParameterError, ShapeError, WrongArgument
from ..graph.build import G
from ..graph.control_flow import SubGraph
from ..graph.ir import Node, leaf
from ..imperative.array import Array
from ..imperative.cell import wrap
from ..imperative.invoke import device_of
from ..imperative.trace import Trace
from ..symbol.symbol import Symbol
from . import symbolic_loops
from .loops import check_carry, scanned
from .pytree import LEAF, Tree
from .symbolic_loops import has_symbols
from .traced_calls import Function, Result, arguments, called, cell_value, operator_of, run, with_numbers


def while_loop(cond_fun: Function, body_fun: Function, init_val: Tree) -> Tree:
    """Carry a state through a loop while a condition of it holds, as one operation of a program.

    Parameters
    ----------
    cond_fun
        Takes the state, and returns an array of one element: not 0 for one more step.
    body_fun
        Takes the state, and returns the next one, of the same structure, shapes and dtypes. Both are called once, with arrays that have no
        values.
    init_val
        The first state, a pytree of arrays.

    Returns
    -------
    pytree
        The first state for which the condition does not hold.

    Raises
    ------
    ShapeError
        If the state changes its shapes or dtypes, or the condition has more than one element.
    WrongArgument
        If the state changes its structure, or has no arrays.
    ParameterError
        If a function draws random numbers.
    AutogradError
        If a function asks for a value, or writes to an array from outside; and for a gradient in reverse mode, which would need the states
        of all steps: `scan` and `fori_loop` with a fixed number of steps have one. Forward mode is possible.

    Notes
    -----
    As in JAX. Under `vmap` the loop runs until no example goes on, if the condition differs between examples.

    Examples
    --------
    >>> import twofold as mx
    >>> np = mx.np
    >>> halved = mx.func.jit(lambda x: mx.func.while_loop(lambda v: v > 1, lambda v: v / 2, x))
    >>> float(halved(np.array(24.0))), float(halved(np.array(0.5)))
    (0.75, 0.5)
    """
    return _looped("while_loop", cond_fun, body_fun, init_val)


def fori_loop(lower: int | Array, upper: int | Array, body_fun: Function, init_val: Tree) -> Tree:
    """Carry a state through a loop over the integers from ``lower`` to ``upper`` - 1, as one operation of a program.

    Parameters
    ----------
    lower, upper
        Integers, or arrays of one, whose values need not be known. With integers there is a gradient in reverse mode, as of `scan`; with
        arrays there is none, as of `while_loop`.
    body_fun
        Takes ``(i, state)`` and returns the next state. It is called once, with arrays that have no values.
    init_val
        The first state, a pytree of arrays.

    Returns
    -------
    pytree
        The last state; the first one if ``upper`` is not above ``lower``.

    Raises
    ------
    ShapeError, WrongArgument, ParameterError, AutogradError
        As `while_loop`; with integers, random numbers are drawn anew in each step.

    Examples
    --------
    >>> import twofold as mx
    >>> np = mx.np
    >>> float(mx.func.fori_loop(0, 5, lambda i, total: total + i, np.array(0.0)))
    10.0
    >>> count = mx.func.jit(lambda n: mx.func.fori_loop(0, n, lambda i, total: total + i, np.array(0.0)))
    >>> float(count(np.array(4)))
    6.0
    """
    if not isinstance(lower, (Array, Symbol)) and not isinstance(upper, (Array, Symbol)):
        begin, end = index(lower), index(upper)
        if has_symbols(init_val):
            return symbolic_loops.fori_loop(begin, end, body_fun, init_val)
        return scanned("fori_loop", lambda state, i: (body_fun(i, state), None), init_val, np.arange(begin, end), None, False)[0]
    first, last = [_bound(name, bound) for name, bound in (("lower", lower), ("upper", upper))]

    def step(state: Tree) -> Tree:
        i, end, inner = state
        return i + 1, end, body_fun(i, inner)

    return _looped("fori_loop", lambda state: state[0] < state[1], step, (first, last, init_val))[2]


def _bound(name: str, bound: int | Array) -> Array | Symbol | np.ndarray:
    """A bound of `fori_loop` as an int64 array without axes. An integer becomes one of the kind that the state has.

    Raises
    ------
    ShapeError, WrongArgument
        If it has more than one element, or is no integer.
    """
    if isinstance(bound, Symbol):
        return symbolic_loops.bound(bound)
    if not isinstance(bound, Array):
        return np.array(index(bound), "int64")
    if bound.size != 1:
        raise ShapeError(
            f"fori_loop: {name} has one element", f"shape {bound.shape}", "pass one integer; vmap runs a loop for each of many"
        )
    if np.dtype(bound.__numpy_dtype__).kind not in "iu":
        raise WrongArgument(f"fori_loop: {name} is no integer", f"dtype {bound._dtype}", "cast it with astype")
    return bound.reshape(()).astype("int64")


def _looped(what: str, cond_fun: Function, body_fun: Function, init_val: Tree) -> Tree:
    if has_symbols(init_val):
        return symbolic_loops.while_loop(what, cond_fun, body_fun, init_val)
    start = arguments(what, [init_val])
    states = [cell_value(c) for c in start.cells]
    if not states:
        raise WrongArgument(f"{what}: the state has no arrays", "nothing that could change", "pass a pytree of arrays")
    device = next((device_of(v) for v in states), None) or current_device()
    # a trace without values: the functions stand for every step
    trace = Trace(what)
    carry = [trace.argument(None, *v.type, device) for v in states]
    results = [
        called(trace, f, start.trees([wrap(c._kind, v) for c, v in zip(start.cells, carry, strict=True)]), {})[0]
        for f in (cond_fun, body_fun)
    ]
    # both are over the same leaves: the state, then what either reads from outside
    test, new = _test(what, results[0]), with_numbers(results[1], start.cells[0]._kind, trace.inputs[: len(states)])
    check_carry(what, start.structures[0], trace.inputs[: len(states)], new)
    if any(source.cell is None for source in trace.sources_by_place().values()):
        todo = "use scan, or fori_loop with a fixed number of steps, which draw anew in each step"
        raise ParameterError(f"{what}: a function draws random numbers, and the number of steps is not known", None, todo)
    leaves, count = trace.inputs, len(states)
    inputs = [leaf((what, k), n.shape, n.dtype, n.tracked) for k, n in enumerate(leaves)]

    def make() -> list[Node]:
        body, goes_on = SubGraph.of(new.arrays, leaves, "while"), SubGraph.of([G.reshape(test, shape=())], leaves, "while test")
        found = G.while_loop(*inputs, test=goes_on, body=body, variables=count, limit=None)
        return list(found) if isinstance(found, tuple) else [found]

    bound_op = operator_of((what, test, *new.arrays, *leaves), inputs, make)
    return new.tree(run(bound_op, [*states, *trace.operands[count:]]))


def _test(what: str, result: Result) -> Node:
    """The node of the condition.

    Raises
    ------
    ShapeError, WrongArgument
        If it is not one array of one element.
    """
    if result.structure != LEAF or result.nodes[0] is None:
        raise WrongArgument(
            f"{what}: the condition is no array", type(result.classes[0]).__name__, "return a comparison of the state's arrays"
        )
    if result.nodes[0].size != 1:
        todo = "reduce it by all() or any()"
        raise ShapeError(f"{what}: the condition has one element", f"shape {result.nodes[0].shape}", todo)
    return result.nodes[0]
