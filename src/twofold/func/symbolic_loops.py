"""Loops and choices of symbols, which hybridized blocks compose: `scan` and its relatives as nodes of the block's graph.

The nodes are those of ``F.contrib``. Here they take and return pytrees, have a slice of a vector without axes, and need no limit of steps.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import symbol as sym
from ..errors import ShapeError, WrongArgument
from ..symbol import control_flow
from ..symbol.namespace import find_attribute
from ..symbol.symbol import Symbol
from .pytree import Structure, Tree, flatten, shown, unflatten
from .traced_calls import Function, parts_of

#: What may stand for a symbol without axes.
NUMBERS = (int, float, np.generic, np.ndarray)


def _numpy() -> Any:
    """The functions of NumPy's dialect; they have arrays without axes. Loaded when a block needs them."""
    return find_attribute("np")


def has_symbols(*trees: Tree) -> bool:
    """Whether symbols are among the leaves, so that a block's graph is being composed."""
    return any(isinstance(leaf, Symbol) for leaf in flatten(trees)[0])


class _Symbols:
    """The leaves of a pytree as symbols.

    Attributes
    ----------
    leaves, structure
        Symbols of one output each, and how they are nested.
    """

    def __init__(self, what: str, tree: Tree, is_numpy: bool = False) -> None:
        found, structure = flatten(tree)
        # an operator with several results returns a symbol of several outputs, where one of arrays returns a list
        if any(isinstance(v, Symbol) and len(v.heads) > 1 for v in found):
            found, structure = flatten(unflatten(structure, [list(v) if isinstance(v, Symbol) and len(v.heads) > 1 else v for v in found]))
        self.structure = structure
        is_numpy = is_numpy or any(v._is_numpy for v in found if isinstance(v, Symbol))
        self.leaves = [v if isinstance(v, Symbol) else _constant(what, v, is_numpy) for v in found]

    def tree(self, leaves: Sequence[Symbol]) -> Tree:
        """Other symbols, nested in the same way and of the same kinds."""
        return unflatten(self.structure, [_of_kind(s, old) for s, old in zip(leaves, self.leaves, strict=True)])


def _of_kind(symbol: Symbol, like: Symbol) -> Symbol:
    return symbol.as_np_ndarray() if like._is_numpy else symbol.as_nd_ndarray()


def _constant(what: str, value: object, is_numpy: bool) -> Symbol:
    """A number as a symbol without axes.

    Raises
    ------
    WrongArgument
        If it is no number.
    """
    number = np.asarray(value) if isinstance(value, NUMBERS) else None
    if number is None or number.shape:
        todo = "pass what hybrid_forward got, or declare the array by params.get_constant"
        raise WrongArgument(f"{what}: an array in a hybridized block is no symbol", type(value).__name__, todo)
    dtype = "float32" if number.dtype == np.float64 else number.dtype.name
    found = _numpy().full((1,), number.item(), dtype=dtype)
    return _without_axis(found if is_numpy else found.as_nd_ndarray())


def _without_axis(symbol: Symbol) -> Symbol:
    """A symbol without its first axis, of one element; no axis need be left, unlike in ``F.squeeze``."""
    return _of_kind(_numpy().squeeze(symbol.as_np_ndarray(), axis=0), symbol)


def _counted(first: int, last: int, like: Symbol | None) -> Symbol:
    """Integers as a vector."""
    numbers = sym.arange(first, last, dtype="int64")
    return numbers if like is None else _of_kind(numbers, like)


def scan(what: str, f: Function, init: Tree, xs: Tree, length: int | None, reverse: bool) -> tuple[Tree, Tree]:
    """`func.scan` of symbols."""
    if length is not None and length < 1:
        # a size of 0 is one that is not known yet
        raise ShapeError(f"{what}: a loop in a hybridized block has at least one step", length, "leave the loop out for 0 steps")
    is_numpy = any(s._is_numpy for s in flatten((init, xs))[0] if isinstance(s, Symbol))
    start, rows = _Symbols(what, init, is_numpy), _Symbols(what, xs, is_numpy)
    # with an axis of one element, so that a slice of a vector has an axis as MXNet's have
    streams = [sym.expand_dims(s.as_nd_ndarray(), axis=1) for s in rows.leaves]
    if not streams and length is None:
        raise ShapeError(
            f"{what}: the number of steps is not clear", "neither xs nor length", "pass arrays of the same first axis, or length"
        )
    if length is not None:
        # a stream whose slices nobody reads: it counts the steps, and those of other streams must be as many
        streams.append(sym.expand_dims(_counted(0, length, None), axis=1))
    if reverse:
        streams = [sym.reverse(s, axis=0) for s in streams]
    # what `f` returns is known once the body has been composed
    ends: list[_Symbols] = []

    def body(slices: Sequence[Symbol], states: Sequence[Symbol]) -> tuple[list[Symbol], list[Symbol]]:
        given = [_without_axis(s) for s in slices[: len(rows.leaves)]]
        carry, y = parts_of(what, f(start.tree(states), rows.tree(given)), "carry, y")
        new, outs = _Symbols(what, carry, is_numpy), _Symbols(what, y, is_numpy)
        _check_nested(f"{what}: the new carry differs from the old one", new.structure, start.structure)
        ends.extend([new, outs])
        return [sym.expand_dims(o.as_nd_ndarray(), axis=0) for o in outs.leaves], new.leaves

    stacked, last = control_flow.foreach(body, streams, start.leaves, what)
    ys = [sym.squeeze(y, axis=1) for y in stacked]
    return ends[0].tree(last), ends[1].tree([sym.reverse(y, axis=0) if reverse else y for y in ys])


def fori_loop(lower: int, upper: int, body_fun: Function, init_val: Tree) -> Tree:
    """`func.fori_loop` of symbols, with integers as bounds."""
    if upper <= lower:
        return init_val
    like = next(s for s in flatten(init_val)[0] if isinstance(s, Symbol))
    steps = _counted(lower, upper, like)
    return scan("fori_loop", lambda state, i: (body_fun(i, state), None), init_val, steps, None, False)[0]


def while_loop(what: str, cond_fun: Function, body_fun: Function, init_val: Tree) -> Tree:
    """`func.while_loop` of symbols."""
    start = _Symbols(what, init_val)
    ends: list[_Symbols] = []

    def goes_on(*state: Symbol) -> Symbol:
        return _scalar(f"{what}: the condition is no array", cond_fun(start.tree(state)))

    def step(*state: Symbol) -> tuple[list[Symbol], list[Symbol]]:
        new = _Symbols(what, body_fun(start.tree(state)))
        _check_nested(f"{what}: the new carry differs from the old one", new.structure, start.structure)
        ends.append(new)
        return [], new.leaves

    _, last = control_flow.looped(goes_on, step, start.leaves, None, what)
    return ends[0].tree(last)


def bound(value: Symbol) -> Symbol:
    """A bound of a loop as an integer without axes."""
    return _of_kind(_numpy().reshape(value.as_np_ndarray(), ()), value).astype("int64")


def cond(what: str, pred: object, functions: Sequence[Function], operands: Sequence[Tree]) -> Tree:
    """`func.cond` of symbols: what the first of two functions returns where a condition holds, else what the second one does."""
    given = _Symbols(what, tuple(operands))
    if not isinstance(pred, Symbol):
        pred = _constant(what, pred, False)
    ends: list[_Symbols] = []

    def branch(function: Function) -> list[Symbol]:
        found = _Symbols(what, function(*given.tree(given.leaves)))
        ends.append(found)
        if len(ends) == 2:
            _check_nested(f"{what}: the functions return different structures", found.structure, ends[0].structure)
        return found.leaves

    found = control_flow.cond(pred, lambda: branch(functions[0]), lambda: branch(functions[1]), what)
    return ends[0].tree(found)


def _scalar(mistake: str, value: Tree) -> Symbol:
    """A condition.

    Raises
    ------
    WrongArgument
        If it is no symbol.
    """
    if not isinstance(value, Symbol):
        raise WrongArgument(mistake, type(value).__name__, "return a comparison of the state's arrays")
    return value


def _check_nested(mistake: str, found: Structure, wanted: Structure) -> None:
    """Check that two pytrees have one structure.

    Raises
    ------
    WrongArgument
        If they do not.
    """
    if found != wanted:
        raise WrongArgument(mistake, f"{shown(found)} for {shown(wanted)}", "return arrays nested in the same way")
