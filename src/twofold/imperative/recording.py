"""Records operations on the tape: how operands enter it, the short path of known operations, and what is saved for backward."""

from collections.abc import Sequence
from typing import Any
from weakref import ref

from ..config import SETTINGS
from ..device import CPU
from ..graph.ir import Application, Constant, Leaf, const, leaf
from ..opdef.spec import Sig
from ..scheduler.observers import LISTENERS
from .cell import HOST, PLAIN, Cell, Value
from .counters import COUNTERS
from .failure import after_failure
from .handle import Handle
from .record import Rec, Tape
from .scalars import LITERALS, Scalar, is_literal, scalar_key, scalar_leaf, scalar_node
from .sites import runs_at_once


def enter(v: Value, tape: Tape) -> Rec:
    """The record on a tape of a value that was not computed on it: a new leaf, or a bridge from an older tape."""
    rec = v.rec
    if rec is not None and not rec.inputs and isinstance(rec.node, Leaf) and rec.node.name == tape.leaves:
        tape.leaves += 1  # the same leaf as in the last iteration
        tape.entered.append(rec)
        rec.tape = tape
        return rec
    if rec is not None and rec.is_used:  # backward has freed the operation that computed it: from now on it is a constant
        rec = None
    if rec is not None and isinstance(rec.node, Leaf) and rec.node.name == tape.leaves:  # the same bridge
        tape.enter(rec)
        return rec
    tracked = rec is not None and rec.node.tracked
    shape, dtype = v.type
    node = leaf(tape.leaves, shape, dtype, tracked)
    grad = rec.grad if rec is not None else None
    bridge: tuple[Rec, ...] = ()
    if rec is not None and tracked and grad is None:
        bridge = (rec,) if isinstance(rec.node, Application) or rec.devices is not None else rec.inputs
        COUNTERS.bridged += 1
    rec = v.rec = Rec(node, bridge, (), None, grad)
    tape.enter(rec)
    return rec


#: The devices of tapes whose operations may all be on cpu(0).
_HERE = (CPU, None)
_literal_recs = {scalar_key(x): Rec(const(x), (), (), None) for x in (*LITERALS, False, True)}
#: The records of Python ints that are literals. Bools are found under equal keys: ask only with ints.
LITERAL_RECS = {x: _literal_recs[scalar_key(x)] for x in LITERALS}


def scalar_rec(x: Scalar | Handle, tape: Tape) -> Rec:
    """The record of a Python scalar: a literal, or a fresh leaf so that its value is not part of the structure."""
    if is_literal(x):
        return _literal_recs[scalar_key(x)]
    node = scalar_leaf(x, tape.leaves)
    tape.leaves += 1
    return Rec(node, (), (x,), tape)


def rec_of(v: Value | Scalar | Handle | None, tape: Tape) -> Rec | None:
    """The record of an operand on a tape."""
    if v is None:
        return None
    if not isinstance(v, Value):
        return scalar_rec(v, tape)
    rec = v.rec  # read once: another thread may enter the value on its own tape
    return rec if rec is not None and rec.tape is tape else enter(v, tape)


def record_again(sig: Sig, args: Sequence[Any], contents: list[Any], tape: Tape) -> list[Any] | None:
    """Record a known operation that does not wait, on arrays and numbers, one of which is tracked. None for others, left to `invoke`.

    ``contents`` are those of the operands ``args``; arrays among them become Values. What this captures or enters on the tape stays
    there, as `invoke` would have it. Numbers enter last, when the operation is known.
    """
    recs: list[Any] = []
    nodes: list[Any] = []
    arrays, scalars = [], []
    for k, v in enumerate(contents):
        if v.__class__ is PLAIN:
            if v.size >= SETTINGS.defer_elements or not isinstance(args[k], Cell):
                return None
            contents[k] = v = args[k]._capture()
        if v.__class__ is Value:
            rec, data = v.rec, v.data
            if data.__class__ is not PLAIN or v.device is not CPU:
                return None
            if rec is None:
                rec = enter(v, tape)
            elif rec.tape is not tape:
                if rec.node.__class__ is Leaf and rec.node.name == tape.leaves and not rec.inputs:  # the commonest case of `enter`
                    tape.leaves += 1
                    tape.entered.append(rec)
                    rec.tape = tape
                else:
                    rec = enter(v, tape)
            recs.append(rec)
            nodes.append(rec.node)
            arrays.append(data)
        else:
            if v is not None:
                if sig.legacy or (v.__class__ is not float and v.__class__ is not int):  # `invoke` casts MXNet's
                    return None
                scalars.append(k)
            recs.append(None)
            nodes.append(None)
    if scalars:
        arrays = _with_scalars(contents, scalars, nodes, tape)
    node = sig.typed.get(tuple(nodes))
    if node is None:
        return None
    plan = node.cache
    if plan is None or plan.again is None or LISTENERS or tape.device not in _HERE:
        return None
    if plan.largest >= SETTINGS.defer_elements and not runs_at_once():
        return None
    COUNTERS.recorded += 1
    tape.device, tape.whole = CPU, False
    for k in scalars:
        recs[k] = scalar_rec(contents[k], tape)
    try:
        results = HOST.quick(plan.again, arrays)
    except Exception as error:
        results = after_failure(error, plan.run["cpu"], arrays)
    rec = Rec(node, tuple(recs), (), tape)
    outs = [Value(results[0], rec)] if len(node.parts) == 1 else _several(rec, node, results)
    if plan.saves:
        save_for_backward(rec, contents, results, tape)
        for k in plan.read:
            outs[k].borrow = tape.ref
    return outs


def _several(rec: Rec, node: Application, results: Sequence[Any]) -> list[Value]:
    """The results of an operation that has several. In `record_again` a comprehension would slow down every use of ``rec``."""
    return [Value(results[k], Rec(part, (rec,), (), rec.tape)) for k, part in enumerate(node.parts)]


def _with_scalars(contents: Sequence[Any], scalars: Sequence[int], nodes: list[Any], tape: Tape) -> list[Any]:
    """Add the nodes that the scalars at some positions would have on the tape; returns what the operation's program takes."""
    number = tape.leaves
    for k in scalars:
        nodes[k] = found = scalar_node(contents[k], number)
        number += found.__class__ is Leaf
    given = [v for v, node in zip(contents, nodes, strict=True) if node is not None and node.__class__ is not Constant]
    return [v.data if v.__class__ is Value else v for v in given]


def save_for_backward(rec: Rec, values: Sequence[Any], results: Sequence[Any], tape: Tape) -> None:
    """Save what backward reads of an operation's operands (contents), which are lent to the tape, and of its results.

    ``results`` are the results and the residuals after them, as arrays or as Values without records: a result's own Value has the record,
    which would close a reference cycle. The caller sees to it that those in ``NodePlan.read`` are not written in place.
    """
    node: Any = rec.node
    plan = node.cache
    rec.saved = saved = []
    for k in plan.lends:
        v = values[k]
        if v.__class__ is Value:  # else a scalar
            b = v.borrow
            if (b is None or (b.__class__ is ref and b() is None)) and v.borrow is b:  # no call from here to the store: see `Value`
                v.borrow = tape.ref
            elif b is not tape.ref:
                v = v.lend(tape)
        saved.append(v)
    for k in plan.keeps:
        saved.append(results[k])  # noqa: PERF401  a comprehension is a frame
