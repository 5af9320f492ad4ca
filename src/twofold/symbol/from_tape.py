"""Converts a recorded computation to a symbol, for ``autograd.get_symbol``. The arrays that it started from become variables."""

from ..errors import AutogradError
from ..graph.build import item
from ..graph.ir import Application, Constant, applies
from ..imperative.tape import TapeEntry
from ..opdef import Op
from ..opdef.params import text
from .naming import NameManager
from .node import VARIABLE, Head, SymbolNode
from .symbol import Symbol

Params = dict[str, object]


def symbol_from_entry(entry: TapeEntry) -> Symbol:
    """The computation that led to a record.

    Raises
    ------
    AutogradError
        If its graph was already used by backward, or has an operation without a symbol counterpart.
    """
    # an explicit stack, since tapes are deeper than Python's stack; a record is pushed a second time, to be converted after its inputs
    made: dict[int, SymbolNode] = {}
    stack = [(entry, False)]
    while stack:
        r, ready = stack.pop()
        owner = _owner(r)
        if id(owner) in made:
            continue
        if not isinstance(owner.node, Application):
            made[id(owner)] = SymbolNode(VARIABLE, NameManager.current.get(None, "var"), {})
        elif ready:
            made[id(owner)] = _node(owner, made)
        else:
            if owner.tape is None:
                raise AutogradError("get_symbol: this graph was already used by backward()", None, "call it before, or retain the graph")
            stack.append((r, True))
            # Reversed, so that the first input is converted first: automatic names count in the order of the computation.
            stack.extend((i, False) for i in reversed(owner.inputs) if i is not None and not _is_scalar(i))
    return Symbol([_head(entry, made)])


def _owner(entry: TapeEntry) -> TapeEntry:
    """The record of the operation. Each of several results has a separate record, whose only input is the operation's record."""
    return entry.inputs[0] if applies(entry.node, item) else entry


def _head(entry: TapeEntry, made: dict[int, SymbolNode]) -> Head:
    owner = _owner(entry)
    return Head(made[id(owner)], entry.node.bound_op.params["place"] if owner is not entry and isinstance(entry.node, Application) else 0)


def _is_scalar(entry: TapeEntry) -> bool:
    return entry.node.dtype in ("weakf", "weaki") or isinstance(entry.node, Constant)


def _number(entry: TapeEntry) -> object:
    return entry.node.number if isinstance(entry.node, Constant) else entry.saved[0]


def _node(entry: TapeEntry, made: dict[int, SymbolNode]) -> SymbolNode:
    assert isinstance(entry.node, Application)
    op, params = entry.node.bound_op.op, entry.node.bound_op.params
    arrays = [i for i in entry.inputs if i is not None and not _is_scalar(i)]
    numbers = [_number(i) for i in entry.inputs if i is not None and _is_scalar(i)]
    name, attrs = _named(op, params, [i is not None and _is_scalar(i) for i in entry.inputs], numbers)
    hint = name.strip("_").lower()
    return SymbolNode(name, NameManager.current.get(None, hint), attrs, [_head(i, made) for i in arrays])


def _named(op: Op, params: Params, scalar: list[bool], numbers: list[object]) -> tuple[str, dict[str, str]]:
    if op.names:
        # like composed symbols: only attributes that differ from the defaults, and no training flag, which belongs to a run
        given = {k: text(v) for k, v in params.items() if k not in op.training and v != op.params[k].default}
        return op.names[0], given | {k: str(v) for k, v in zip(op.scalars, numbers, strict=False)}
    # a NumPy operation: the names of MXNet's operators for two arrays, array and scalar, and scalar and array
    if op.symbolic.symbol is not None and (not numbers or len(op.symbolic.symbol) == 3):
        name = op.symbolic.symbol[0] if not numbers else op.symbolic.symbol[2 if scalar[0] else 1]
        given = params if op.symbolic.symbol_params is None else op.symbolic.symbol_params(**params)
        attrs = {k: text(v) for k, v in given.items() if v is not None}
        return name, attrs | ({"scalar": str(numbers[0])} if numbers else {})
    raise AutogradError("get_symbol: an operation has no counterpart in mx.sym", op.title, "compute it with an operator of mx.nd")
