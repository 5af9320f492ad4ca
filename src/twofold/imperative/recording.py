"""Records operations on the tape: how operands enter it, the short path of known operations, and the values saved for backward."""

from collections.abc import Sequence
from typing import Any

from ..assembly import fragment, inlined
from ..backend.kernel import Array
from ..device import CPU
from ..errors import AutogradError
from ..graph.ir import Application, Constant, Leaf, const, leaf
from ..opdef import BoundOp
from ..scheduler.observers import LISTENERS
from .cell import PLAIN, Cell, Content, Operand, Value, lent
from .counters import COUNTERS
from .failure import host_results
from .guards import has_gradient, is_small, runs_inline
from .scalars import LITERALS, Scalar, is_literal, scalar_key, scalar_leaf, scalar_node
from .sites import site_runs_inline
from .tape import Tape, TapeEntry
from .user_function import UserFunction


@inlined
def enter(v: Value, tape: Tape) -> TapeEntry:
    """The entry on a tape of a value that was not computed on it: a new leaf, or a bridge from an older tape."""
    if tape.__class__ is not Tape:
        raise AutogradError("a copy between devices is not traced", None, "copy the arguments before the transform of func")
    entry = v.entry
    if entry is not None and not entry.inputs and isinstance(entry.node, Leaf) and entry.node.name == tape.leaves:
        tape.leaves += 1  # the same leaf as in the last iteration
        tape.entered.append(entry)
        entry.tape = tape
        return entry
    if entry is not None and entry.is_used:  # backward has freed the operation that computed the value, which is a constant from now on
        entry = None
    if entry is not None and isinstance(entry.node, Leaf) and entry.node.name == tape.leaves:  # the same bridge
        tape.enter(entry)
        return entry
    tracked = has_gradient(entry)
    shape, dtype = v.type
    node = leaf(tape.leaves, shape, dtype, tracked)
    grad = entry.grad if entry is not None else None
    bridge: tuple[TapeEntry, ...] = ()
    if entry is not None and tracked and grad is None:
        # a leaf that is a bridge itself is passed over, so that a chain of tapes does not become a chain of bridges
        bridge = (entry,) if isinstance(entry.node, Application) or entry.devices is not None else entry.inputs
        COUNTERS.bridged += 1
    entry = v.entry = TapeEntry(node, bridge, (), None, grad)
    tape.enter(entry)
    return entry


_literal_entries = {scalar_key(x): TapeEntry(const(x), (), (), None) for x in (*LITERALS, False, True)}
#: The tape entries of Python ints that are literals. Bools are found under equal keys: ask only with ints.
LITERAL_ENTRIES = {x: _literal_entries[scalar_key(x)] for x in LITERALS}


def scalar_entry(x: Scalar | UserFunction, tape: Tape) -> TapeEntry:
    """The tape entry of a Python scalar: a literal, or a fresh leaf so that its value is not part of the structure."""
    if is_literal(x):
        return _literal_entries[scalar_key(x)]
    node = scalar_leaf(x, tape.leaves)
    tape.leaves += 1
    return TapeEntry(node, (), (x,), tape)


def entry_of(v: Value | Scalar | UserFunction | None, tape: Tape) -> TapeEntry | None:
    """The entry of an operand on a tape."""
    if v is None:
        return None
    if not isinstance(v, Value):
        return scalar_entry(v, tape)
    entry = v.entry  # read once: another thread may enter the value on its own tape
    return entry if entry is not None and entry.tape is tape else enter(v, tape)


@fragment
@inlined
def save_for_backward(entry: TapeEntry, values: Sequence[Operand], results: Sequence[Content], tape: Tape) -> None:
    """Save the operands (contents), which are lent to the tape, and the results that backward reads.

    ``results`` are the results and the residuals after them, as arrays or as Values without tape entries: a result's own Value has
    ``entry``, which would close a reference cycle. The caller ensures that results in ``NodeCache.read`` are not written in place.
    """
    node: Any = entry.node
    cache = node.cache
    entry.saved = saved = []
    for k in cache.lends:
        v = values[k]
        if v.__class__ is Value:  # else a scalar
            v = lent(v, tape)
        saved.append(v)
    for k in cache.keeps:
        saved.append(results[k])  # noqa: PERF401  a comprehension is a frame


@inlined
def record_again(bound_op: BoundOp, args: Sequence[Any], contents: list[Any], tape: Tape) -> list[Value] | None:
    """Record a known operation that does not wait, on arrays and numbers, one of them tracked. None for other operations: see `invoke`.

    ``contents`` are those of the operands ``args``; arrays among them become Values. After None, operands stay captured
    and entered on the tape, as `invoke` would have them. Numbers enter last, when the operation is known.
    """
    if tape.__class__ is not Tape:  # a trace takes every operation by `invoke`
        return None
    entries: list[Any] = []
    nodes: list[Any] = []
    arrays, scalars = [], []
    for k, v in enumerate(contents):
        if v.__class__ is PLAIN:
            if not is_small(v) or not isinstance(args[k], Cell):
                return None
            contents[k] = v = args[k]._capture()
        if v.__class__ is Value:
            entry, data = v.entry, v.data
            if data.__class__ is not PLAIN or v.device is not CPU:
                return None
            if entry is None:
                entry = enter(v, tape)
            elif entry.tape is not tape:
                if entry.node.__class__ is Leaf and entry.node.name == tape.leaves and not entry.inputs:  # the commonest case of `enter`
                    tape.leaves += 1
                    tape.entered.append(entry)
                    entry.tape = tape
                else:
                    entry = enter(v, tape)
            entries.append(entry)
            nodes.append(entry.node)
            arrays.append(data)
        else:
            if v is not None:
                if bound_op.legacy or (v.__class__ is not float and v.__class__ is not int):  # `invoke` casts MXNet's
                    return None
                scalars.append(k)
            entries.append(None)
            nodes.append(None)
    if scalars:
        arrays = _with_scalars(contents, scalars, nodes, tape)
    node = bound_op.typed.get(tuple(nodes))
    if node is None:
        return None
    cache = node.cache
    if cache is None or cache.again is None or LISTENERS or (tape.device is not CPU and tape.device is not None):
        return None
    if not runs_inline(cache.largest) and not site_runs_inline(contents):
        return None
    COUNTERS.recorded += 1
    tape.device, tape.whole = CPU, False
    for k in scalars:
        entries[k] = scalar_entry(contents[k], tape)
    results = host_results(cache.again.function, cache.again.run, arrays)
    entry = TapeEntry(node, tuple(entries), (), tape)
    outs = [Value(results[0], entry)] if node.results is None else _several(entry, node, results)
    if cache.saves:
        save_for_backward(entry, contents, results, tape)
        for k in cache.read:
            # backward reads this very buffer: no write in place while the tape lives
            outs[k].sharing = tape.ref
    return outs


def _several(entry: TapeEntry, node: Application, results: Sequence[Array]) -> list[Value]:
    """Several results of an operation. A comprehension in `record_again` itself would slow down every use of ``entry`` there."""
    return [Value(results[k], TapeEntry(part, (entry,), (), entry.tape)) for k, part in enumerate(node.parts)]


def _with_scalars(contents: Sequence[Any], scalars: Sequence[int], nodes: list[Any], tape: Tape) -> list[Array]:
    """Add the nodes that the scalars at some positions would have on the tape; returns the arguments of the operation's program."""
    number = tape.leaves
    for k in scalars:
        nodes[k] = found = scalar_node(contents[k], number)
        # literals are constants and take no number
        number += found.__class__ is Leaf
    given = [v for v, node in zip(contents, nodes, strict=True) if node is not None and node.__class__ is not Constant]
    return [v.data if v.__class__ is Value else v for v in given]
