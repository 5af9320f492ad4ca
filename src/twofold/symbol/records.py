"""A recorded computation as a symbol: what ``autograd.get_symbol`` gives. Arrays that it started from become variables."""

from collections.abc import Callable
from typing import Any

from ..errors import AutogradError
from ..graph.build import item
from ..graph.ir import Application, Constant, applies
from ..imperative.record import Rec
from ..opdef.params import text
from ..opdef.spec import Op
from .naming import NameManager
from .node import VARIABLE, Head, SymbolNode
from .symbol import Symbol

Params = dict[str, Any]
#: Primitives that have no registered name: (operator of two arrays, of an array and a scalar, of a scalar and an array).
_BINARY = {
    "add": ("broadcast_add", "_plus_scalar", "_plus_scalar"),
    "subtract": ("broadcast_sub", "_minus_scalar", "_rminus_scalar"),
    "multiply": ("broadcast_mul", "_mul_scalar", "_mul_scalar"),
    "divide": ("broadcast_div", "_div_scalar", "_rdiv_scalar"),
    "power": ("broadcast_power", "_power_scalar", "_rpower_scalar"),
    "remainder": ("broadcast_mod", "_mod_scalar", "_rmod_scalar"),
    "maximum": ("broadcast_maximum", "_maximum_scalar", "_maximum_scalar"),
    "minimum": ("broadcast_minimum", "_minimum_scalar", "_minimum_scalar"),
    "equal": ("broadcast_equal", "_equal_scalar", "_equal_scalar"),
    "not_equal": ("broadcast_not_equal", "_not_equal_scalar", "_not_equal_scalar"),
    "greater": ("broadcast_greater", "_greater_scalar", "_lesser_scalar"),
    "greater_equal": ("broadcast_greater_equal", "_greater_equal_scalar", "_lesser_equal_scalar"),
    "less": ("broadcast_lesser", "_lesser_scalar", "_greater_scalar"),
    "less_equal": ("broadcast_lesser_equal", "_lesser_equal_scalar", "_greater_equal_scalar"),
}


def _slice(p: Params) -> Params:
    return {k: tuple(triple[n] for triple in p["key"]) for n, k in enumerate(("begin", "end", "step"))}


#: Other primitives: the operator, and its parameters from the primitive's.
_OTHERS: dict[str, tuple[str, Callable[[Params], Params]]] = {
    "reshape": ("Reshape", lambda p: {"shape": p["shape"]}),
    "permute_dims": ("transpose", lambda p: {"axes": p["axes"]}),
    "broadcast_to": ("broadcast_to", lambda p: {"shape": p["shape"]}),
    "slice": ("slice", _slice),
    "contiguous": ("_copy", lambda p: {}),
    "astype": ("Cast", lambda p: {"dtype": p["dtype"]}),
    "concat": ("Concat", lambda p: {"dim": p["axis"]}),
    "matmul": ("dot", lambda p: {}),
    "sum": ("sum", lambda p: p),
    "max": ("max", lambda p: p),
    "min": ("min", lambda p: p),
    "prod": ("prod", lambda p: p),
    "where": ("where", lambda p: {}),
}


def symbol_from_record(rec: Rec) -> Symbol:
    """The computation that led to a record.

    Raises
    ------
    AutogradError
        If its graph was already used by backward, or holds an operator that symbols do not have.
    """
    made: dict[int, SymbolNode] = {}
    stack = [(rec, False)]
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
            stack.extend((i, False) for i in reversed(owner.inputs) if i is not None and not _is_scalar(i))
    return Symbol([_head(rec, made)])


def _owner(rec: Rec) -> Rec:
    """The record of the whole application, for one of its several results."""
    return rec.inputs[0] if applies(rec.node, item) else rec


def _head(rec: Rec, made: dict[int, SymbolNode]) -> Head:
    owner = _owner(rec)
    return Head(made[id(owner)], rec.node.sig.params["place"] if owner is not rec and isinstance(rec.node, Application) else 0)


def _is_scalar(rec: Rec) -> bool:
    return rec.node.dtype in ("weakf", "weaki") or isinstance(rec.node, Constant)


def _number(rec: Rec) -> Any:
    return rec.node.number if isinstance(rec.node, Constant) else rec.saved[0]


def _node(rec: Rec, made: dict[int, SymbolNode]) -> SymbolNode:
    assert isinstance(rec.node, Application)
    op, params = rec.node.sig.op, rec.node.sig.params
    arrays = [i for i in rec.inputs if i is not None and not _is_scalar(i)]
    numbers = [_number(i) for i in rec.inputs if i is not None and _is_scalar(i)]
    name, attrs = _named(op, params, [i is not None and _is_scalar(i) for i in rec.inputs], numbers)
    hint = name.strip("_").lower()
    return SymbolNode(name, NameManager.current.get(None, hint), attrs, [_head(i, made) for i in arrays])


def _named(op: Op, params: Params, scalar: list[bool], numbers: list[Any]) -> tuple[str, dict[str, str]]:
    if op.names:
        given = {k: text(v) for k, v in params.items() if k not in op.training and v != op.params[k].default}
        return op.names[0], given | {k: str(v) for k, v in zip(op.scalars, numbers, strict=False)}
    if op.name in _BINARY:
        both, right, left = _BINARY[op.name]
        return (left if scalar[0] else right, {"scalar": str(numbers[0])}) if numbers else (both, {})
    if op.name in _OTHERS and not numbers:
        name, convert = _OTHERS[op.name]
        return name, {k: text(v) for k, v in convert(params).items() if v is not None}
    raise AutogradError("get_symbol: an operation has no counterpart in symbols", op.title, "compute it with an operator of mx.nd")
