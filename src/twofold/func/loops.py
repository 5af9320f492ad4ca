"""`scan`, `cond` and `switch`: a loop and choices, each one operation of functions that are traced once."""

from collections.abc import Sequence

import numpy as np

from ..backend.loader import backend_for
from ..device import current_device
from ..errors import ShapeError, WrongArgument
from ..graph.build import G
from ..graph.control_flow import SubGraph, apply_foreach, first_difference
from ..graph.ir import Node, leaf
from ..imperative.array import Array
from ..imperative.cell import Value, wrap
from ..imperative.invoke import device_of
from ..imperative.trace import Trace, drawn
from ..numpy.array import ndarray
from ..symbol.symbol import Symbol
from . import symbolic_loops
from .pytree import Structure, Tree, count_of, shown
from .symbolic_loops import has_symbols
from .traced_calls import Arguments, Function, Result, arguments, called, cell_value, operator_of, run, with_numbers


def scan(f: Function, init: Tree, xs: Tree = None, length: int | None = None, reverse: bool = False) -> tuple[Tree, Tree]:
    """Carry a state through a loop over the first axis of arrays, as one operation of a program.

    Parameters
    ----------
    f
        Takes ``(carry, x)`` and returns ``(new carry, y)``, pytrees of arrays. It is called once, with arrays that have no values; ``x``
        holds a slice of each array of ``xs``. The new carry has the structure, shapes and dtypes of the old one.
    init
        The first carry.
    xs
        A pytree of arrays of shape (steps, …), or None.
    length
        Number of steps; needed only without ``xs``.
    reverse
        Whether the loop runs from the last slice to the first. The results keep the order of ``xs``.

    Returns
    -------
    tuple
        The last carry, and the values of y, stacked: arrays of shape (steps, …).

    Raises
    ------
    ShapeError
        If arrays of ``xs`` have other numbers of steps, or the carry changes its shape or dtype.
    WrongArgument
        If ``f`` returns no pair, or a carry of another structure.
    AutogradError
        If ``f`` asks for a value, or writes to an array from outside.

    Notes
    -----
    Random numbers are drawn anew in each step. Numbers in the carry or in y become arrays. In a hybridized block the loop is
    a node of the block's graph, as are the other loops and choices of this module.

    Examples
    --------
    >>> import twofold as mx
    >>> np = mx.np
    >>> total, sums = mx.func.scan(lambda carry, x: (carry + x, carry + x), np.array(0.0), np.array([1.0, 2.0, 3.0]))
    >>> float(total), sums.tolist()
    (6.0, [1.0, 3.0, 6.0])
    """
    return scanned("scan", f, init, xs, length, reverse)


def scanned(what: str, f: Function, init: Tree, xs: Tree, length: int | None, reverse: bool) -> tuple[Tree, Tree]:
    """`scan`, with the name of the function for messages."""
    if has_symbols(init, xs):
        return symbolic_loops.scan(what, f, init, xs, length, reverse)
    given = arguments(what, [init, xs])
    carried = count_of(given.structures[0])
    start, data = Arguments(given.cells[:carried], given.structures[:1]), Arguments(given.cells[carried:], given.structures[1:])
    steps = _steps({c.shape[0] if c.shape else None for c in data.cells}, length)
    states, rows = [cell_value(c) for c in start.cells], [cell_value(c) for c in data.cells]
    device = next((device_of(v) for v in (*states, *rows)), None) or current_device()
    # a trace without values: the body stands for every step
    trace = Trace(what, runs="each step")
    slices = [wrap(c._kind, trace.argument(None, v.type[0][1:], v.type[1], device)) for c, v in zip(data.cells, rows, strict=True)]
    carry = [wrap(c._kind, trace.argument(None, *v.type, device)) for c, v in zip(start.cells, states, strict=True)]
    new, outs = called(trace, f, [*start.trees(carry), *data.trees(slices)], {}, "carry, y")
    old = trace.inputs[len(rows) : len(rows) + len(states)]
    kind = given.cells[0]._kind if given.cells else ndarray
    new, outs = with_numbers(new, kind, old), with_numbers(outs, kind)
    check_carry(what, start.structures[0], old, new)

    # random keys are slices: each step has its own. Without any, the steps are counted
    outside = trace.inputs[len(rows) + len(states) :]
    of_keys = {trace.inputs[k]: source.shape for k, source in trace.sources_by_place().items() if source.cell is None}
    keys = [n for n in outside if n in of_keys]
    closure = [(n, v) for n, v in zip(outside, trace.operands[len(rows) + len(states) :], strict=True) if n not in of_keys]
    rows += [drawn((steps, *of_keys[n]), device) for n in keys]
    counter = [] if rows else [leaf("step", (), "int64")]
    rows += [Value(backend_for(device).from_host(np.arange(steps), device), device=device) for _ in counter]
    data_leaves = [*trace.inputs[: len(slices)], *keys, *counter]
    leaves = [*data_leaves, *trace.inputs[len(slices) : len(slices) + len(states)], *(n for n, _ in closure)]
    count, ends = len(data_leaves), len(data_leaves) + len(states)
    inputs = [leaf(("scan", k), (steps, *n.shape) if k < count else n.shape, n.dtype, n.tracked) for k, n in enumerate(leaves)]

    def make() -> list[Node]:
        body = SubGraph.of([*outs.arrays, *new.arrays], leaves, "scan")
        stacks = [G.flip(i, 0) if reverse else i for i in inputs[:count]]
        # further results, the states before each step, are for gradients only
        found = apply_foreach(body, stacks, inputs[count:ends], inputs[ends:])[: len(body.outputs)]
        ys = [G.flip(y, 0) if reverse else y for y in found[: len(outs.arrays)]]
        return [*found[len(ys) :], *ys]

    bound_op = operator_of(("scan", steps, reverse, count, *new.arrays, "and", *outs.arrays, *leaves), inputs, make)
    contents = run(bound_op, [*rows, *states, *(v for _, v in closure)])
    return new.tree(contents[: len(states)]), outs.tree(contents[len(states) :])


def cond(pred: Array | bool, true_fun: Function, false_fun: Function, *operands: Tree) -> Tree:
    """Compute one of two functions, chosen by a value that need not be known while a function around it is traced.

    Parameters
    ----------
    pred
        An array of one element, or a number: not 0 for the first function.
    true_fun, false_fun
        Take the operands and return pytrees of arrays of one structure, with the same shapes and dtypes. Both are called once, with arrays
        that have no values; only the chosen one is computed, except under `vmap`: if ``pred`` differs between examples, both are.
    *operands
        Pytrees of arrays.

    Returns
    -------
    pytree
        What the chosen function returns.

    Raises
    ------
    ShapeError
        If ``pred`` has more than one element, or the functions return arrays of other shapes or dtypes.
    WrongArgument
        If they return other structures, or something that is no array.
    AutogradError
        If one asks for a value, or writes to an array from outside.

    Notes
    -----
    As in JAX. Values that the functions read from outside have gradients too.

    Examples
    --------
    >>> import twofold as mx
    >>> np = mx.np
    >>> root = mx.func.jit(lambda x: mx.func.cond(x.sum() > 0, np.sqrt, np.negative, x))
    >>> root(np.array([4.0])).tolist(), root(np.array([-4.0])).tolist()
    ([2.0], [4.0])
    """
    return _chosen("cond", pred, (true_fun, false_fun), operands)


def switch(index: Array | int, branches: Sequence[Function], *operands: Tree) -> Tree:
    """Compute one of several functions, chosen by a number that need not be known while a function around it is traced.

    Parameters
    ----------
    index
        An array of one integer, or an integer. Below 0 it chooses the first function, and beyond the end the last one, as in JAX.
    branches
        Functions as for `cond`. Each is called once, with arrays that have no values.
    *operands
        Pytrees of arrays.

    Returns
    -------
    pytree
        What the chosen function returns.

    Raises
    ------
    ShapeError, WrongArgument, AutogradError
        As `cond`; also if there is no function, or the index is no integer.

    Examples
    --------
    >>> import twofold as mx
    >>> np = mx.np
    >>> pick = mx.func.jit(lambda k, x: mx.func.switch(k, [np.sin, np.square, np.negative], x))
    >>> pick(np.array(1), np.array([3.0])).tolist(), pick(np.array(7), np.array([3.0])).tolist()
    ([9.0], [-3.0])
    """
    functions = list(branches)
    if not functions:
        raise WrongArgument("switch: there is no function", "an empty sequence", "pass functions")
    chosen = index if isinstance(index, Symbol) else next(iter(arguments("switch", [index]).cells), None)
    if chosen is None or (not isinstance(chosen, Symbol) and np.dtype(chosen.__numpy_dtype__).kind not in "iu"):
        raise WrongArgument("switch: the index is no integer", type(index).__name__, "pass an array of one integer; cond takes a condition")

    # a place that is known among symbols: the other functions would not be part of the graph anyway
    if has_symbols(operands) and not isinstance(chosen, Symbol):
        return functions[min(max(int(chosen.item()), 0), len(functions) - 1)](*operands)

    # by halves: a function is reached by as many choices as their number has digits, in base two
    def among(first: int, last: int, place: Tree, *given: Tree) -> Tree:
        if last - first == 1:
            return functions[first](*given)
        middle = (first + last) // 2
        halves = [lambda k, *g: among(first, middle, k, *g), lambda k, *g: among(middle, last, k, *g)]
        return _chosen("switch", place < middle, halves, (place, *given))

    return among(0, len(functions), chosen, *operands)


def _chosen(what: str, pred: Array | bool, functions: Sequence[Function], operands: Sequence[Tree]) -> Tree:
    """What the first of two functions returns where a condition holds, else what the second one does."""
    if has_symbols(pred, operands):
        return symbolic_loops.cond(what, pred, functions, operands)
    chosen, given = arguments(what, [pred]), arguments(what, operands)
    if [c.size for c in chosen.cells] != [1]:
        found = ", ".join(f"shape {c.shape}" for c in chosen.cells) or "no array"
        name = "pred" if what == "cond" else "the index"
        raise ShapeError(f"{what}: {name} has one element", found, "reduce it by all() or any(), or choose between elements by np.where")
    predicate, values = cell_value(chosen.cells[0]), [cell_value(c) for c in given.cells]
    device = next((device_of(v) for v in (*values, predicate)), None) or current_device()
    # both functions are traced over the same leaves, so that either branch takes the same arrays
    trace = Trace(what)
    inner = [trace.argument(None, *v.type, device) for v in values]
    both = [called(trace, f, given.trees([wrap(c._kind, v) for c, v in zip(given.cells, inner, strict=True)]), {})[0] for f in functions]
    kind = given.cells[0]._kind if given.cells else ndarray
    # a number in one result becomes an array of the other's dtype
    both = [with_numbers(one, kind, other.nodes) for one, other in (both, both[::-1])]
    _check_branches(what, *both)
    leaves = trace.inputs
    inputs = [leaf(("cond", "pred"), *predicate.type), *(leaf(("cond", k), n.shape, n.dtype, n.tracked) for k, n in enumerate(leaves))]

    def make() -> list[Node]:
        then, otherwise = (SubGraph.of(branch.arrays, leaves, "cond") for branch in both)
        found = G.cond(G.reshape(inputs[0], shape=()), *inputs[1:], then=then, otherwise=otherwise)
        return list(found) if isinstance(found, tuple) else [found]

    bound_op = operator_of(("cond", *both[0].arrays, "or", *both[1].arrays, *leaves), inputs, make)
    return both[0].tree(run(bound_op, [predicate, *values, *trace.operands[len(values) :]]))


def _check_branches(what: str, first: Result, second: Result) -> None:
    """Check that both functions return the same.

    Raises
    ------
    WrongArgument
        If they return other structures, or something that is no array.
    ShapeError
        If shapes or dtypes differ.
    """
    if None in (*first.nodes, *second.nodes):
        other = next(c for r in (first, second) for n, c in zip(r.nodes, r.classes, strict=True) if n is None)
        raise WrongArgument(f"{what}: a function returns something that is no array", type(other).__name__, "return np.array(…) of it")
    if first.structure != second.structure:
        given = f"{shown(first.structure)} and {shown(second.structure)}"
        raise WrongArgument(f"{what}: the functions return different structures", given, "return arrays nested in the same way")
    if found := first_difference(first.arrays, second.arrays):
        k, one, other = found
        kind = "arrays" if len(first.arrays) == 1 else f"arrays, number {k},"
        raise ShapeError(
            f"{what}: the functions return {kind} of different types",
            f"{one} and {other}",
            "return the same shapes and dtypes; astype converts",
        )


def _steps(sizes: set[int | None], length: int | None) -> int:
    """Number of steps.

    Raises
    ------
    ShapeError
        If it is unknown, ambiguous or negative.
    """
    if None in sizes:
        todo = "pass arrays of shape (steps, …); a list is a pytree of its items, so pass np.array(xs) for a list of numbers"
        raise ShapeError("scan: an array of xs has no axis", "shape ()", todo)
    if length is not None and length < 0:
        raise ShapeError("scan: the number of steps is negative", length, "pass a length of 0 or more")
    found = sizes | ({length} if length is not None else set())
    (steps, *others) = found or {None}
    if steps is None or others:
        given = ", ".join(map(str, found)) or "neither xs nor length"
        raise ShapeError("scan: the number of steps is not clear", given, "pass arrays of the same first axis, or length")
    return steps


def check_carry(what: str, structure: Structure, old: Sequence[Node], new: Result) -> None:
    """Check that the carry keeps its structure and types.

    Raises
    ------
    WrongArgument
        If its structure changes.
    ShapeError
        If the shape or dtype of an array changes.
    """
    if new.structure != structure or None in new.nodes:
        given = f"{shown(new.structure)} for {shown(structure)}"
        raise WrongArgument(f"{what}: the new carry differs from the old one", given, "return arrays nested in the same way")
    if found := first_difference(old, new.arrays):
        k, before, after = found
        part = "the carry" if len(old) == 1 else f"array {k} of the carry"
        raise ShapeError(
            f"{what}: {part} changes its type from one step to the next",
            f"{before} becomes {after}",
            "return a carry of the shapes and dtypes of init; astype converts",
        )
