"""Calls of operators on cells: inspect the operands once, let `dispatch` decide how to run, return the contents of the new cells."""

from collections.abc import Sequence
from typing import Any, TypeAlias
from weakref import ref

import numpy as np

from ..assembly import fragment, inlined
from ..backend.kernel import Array
from ..backend.loader import backend_for
from ..device import CPU, Device, current_device
from ..dtype import FLOATS, WHOLE
from ..errors import DeviceError, DTypeError, StorageError
from ..graph.build import apply
from ..graph.ir import Application, Node, leaf
from ..graph.tables import bound_tables
from ..opdef import BoundOp, Op
from ..opdef.conventions import operator_scalar
from ..program.interpret import interpret_once, is_direct
from ..scheduler.observers import LISTENERS, report_arrays
from ..scheduler.streams import run_on
from ..strictness import tolerate
from .cell import ALWAYS, HOST, PLAIN, Cell, Content, Operand, Value, content_of
from .counters import COUNTERS
from .deferral import defer, defer_recorded
from .dispatch import ExecutionMode, execution_mode, inline_key
from .failure import host_results
from .guards import is_differentiated, is_exposed, is_plain, runs_inline
from .on_backward import hook_of
from .recording import enter, record_again, save_for_backward, scalar_entry
from .residuals import InlineRun, NodeCache, cache_of, runner
from .scalars import Scalar, scalar_node
from .sites import site_runs_inline
from .tape import Tape, TapeEntry, tls
from .trace import Trace, next_key
from .user_function import UserFunction
from .window import force

#: An operand as the caller passes it; a Value stands for itself.
Argument: TypeAlias = Cell | Value | Scalar | UserFunction | None


@fragment
def data_of(v: Operand) -> Array:
    """The array of a content, computed if it is pending; Python scalars and users' objects are returned unchanged."""
    return v if not isinstance(v, Value) else force(v) if v.data is None else v.data


@fragment
def device_of(v: Content) -> Device:
    """Where a content lives."""
    return v.device if isinstance(v, Value) else CPU


@fragment
@inlined
def host_of(cell: Cell) -> np.ndarray:
    """A NumPy array with a cell's content; it may share memory."""
    v = content_of(cell)
    if v.__class__ is PLAIN:
        return v
    device = device_of(v)
    return run_on(device, backend_for(device).to_host, data_of(v))


def type_of(v: Operand) -> tuple[tuple[int, ...], str]:
    """Shape and dtype name of a content; a user's object is an operand of type ``object``."""
    if isinstance(v, Value):
        return v.type
    return HOST.type_of(v) if v.__class__ is PLAIN else ((), "object")


@inlined
def content(data: Array, device: Device) -> Content:
    """A fresh, unshared array as the content of a cell, plain if possible."""
    if LISTENERS:
        report_arrays((data,), device)
    return data if device is CPU and is_plain(data) else Value(data, device=device)


def full_content(value: float, shape: tuple[int, ...], dtype: str, device: Device) -> Content:
    """A new content with every element equal to ``value``."""
    backend = backend_for(device)
    return content(backend.copy(backend.constant(value, shape, dtype), device), device)


@fragment
@inlined
def contents_of(arrays: Sequence[Array], device: Device) -> list[Content]:
    """Fresh arrays as contents of cells."""
    if device is CPU:
        found: list[Content] = []
        for a in arrays:
            found.append(a if is_plain(a) else Value(a))  # noqa: PERF401  a comprehension is a frame
        return found
    return [Value(a, device=device) for a in arrays]


@fragment
def _inspected(op: Op, contents: Sequence[Any]) -> tuple[Device | None, bool, bool, bool, bool, bool]:
    """What decides how an operation runs.

    Returns
    -------
    tuple
        The operands' device (None if all are scalars); whether the operation is recorded; whether it has scalar operands; whether an
        operand is pending, large, or not an array of the host library; whether code outside the library sees the buffer of an operand;
        and whether all operands are computed, in the host library's arrays on cpu(0).
    """
    recording = tls.tape is not None
    waits_from, picks = op.execution.waits_from, op.execution.picks
    where = None
    tracked = scalars = lazy = exposed = False
    ready = True
    for k, v in enumerate(contents):
        if v.__class__ is PLAIN:
            if where is not CPU:
                where = CPU if where is None else _common(op, where, CPU)
        elif v.__class__ is Value:
            if v.device is not where:
                where = v.device if where is None else _common(op, where, v.device)
            if recording and not tracked and is_differentiated(v):
                tracked = True
            if v.data.__class__ is not PLAIN:
                lazy, ready = True, False
            else:
                ready = ready and v.device is CPU
                # the size of the first content does not matter if the operator reads only a part of it
                lazy = lazy or (not runs_inline(v.data.size // waits_from) and (k > 0 or not picks))
            exposed = exposed or is_exposed(v)
        elif v is not None:
            scalars = True
            if isinstance(v, Value):  # a subclass, `storage.SparseValue`
                raise StorageError(f"{op.spoken}: an operand is sparse", None, "convert it with tostype('default')")
            if not isinstance(v, OPERANDS):
                raise DTypeError(f"{op.spoken}: an operand is not an array", type(v).__name__, "create one with nd.array")
    return where, tracked, scalars, lazy, exposed, ready


@inlined
def invoke(bound_op: BoundOp, args: Sequence[Argument], device: Device | None = None) -> list[Content]:
    """Apply an operator to cells, Python scalars and None (an omitted optional input).

    Parameters
    ----------
    bound_op
        The operator with its parameters.
    args
        One per input, then one per scalar parameter.
    device
        The result's device if no operand is an array; None: the current device.

    Returns
    -------
    list
        The contents of the results, hidden ones included.

    Raises
    ------
    DeviceError
        If arrays live on devices with different memory.
    StorageError
        If an operand is sparse: `storage.by_storage` has these.
    """
    contents: list[Operand] = []
    tape = tls.tape
    tracked = False
    for a in args:  # read each content once: for a large view the read is a copy, for a tracked view it is recorded
        v: Any = content_of(a) if isinstance(a, Cell) else a
        contents.append(v)
        if tape is not None and not tracked and v.__class__ is Value and is_differentiated(v):
            tracked = True
    found = None
    if tracked and tape is not None:
        again = record_again(bound_op, args, contents, tape)
        if again is not None:
            return again
    else:
        found = _run_cached(bound_op, contents)
        if found is not None and found is not WAITS:
            return found
    # the general path: whatever the two short paths above cannot run arrives here
    op = bound_op.op
    facts = _inspected(op, contents)  # one name: see `assembly`, which writes the fragment in
    where, tracked, scalars, lazy, exposed, ready = facts
    if where is None:
        where = device or current_device()
    if bound_op.draws and len(args) < len(op.inputs) + len(op.scalars):
        args, contents = _with_key(op, args, contents, where)
    if scalars and bound_op.legacy and op.elementwise:
        contents = _legacy_scalars(bound_op, contents)
    if isinstance(tape, Trace) and (tracked or bound_op.draws):
        return [*tape.add(bound_op, args, contents, where)]
    if lazy and ready and not tracked:
        lazy = not op.execution.alone and (op.execution.waits_from == 1 or not _has_small_results(bound_op, contents))
    mode = execution_mode(where, tracked=tracked, lazy=lazy, exposed=exposed, inline=op.dynamic_shape)
    if mode is ExecutionMode.INLINE:
        return _inline(bound_op, contents, where)
    # an operation on cpu(0) that might wait runs immediately if its operands are ready and its site does not wait
    may_run = where is CPU and ready and found is None and not LISTENERS
    if mode is ExecutionMode.DEFERRED:
        if may_run and site_runs_inline(contents):
            return _inline(bound_op, contents, where)
        return [*defer(bound_op, _captured(args, contents), where)]
    assert tape is not None
    inline = mode is ExecutionMode.RECORDED_DEFERRED and may_run and site_runs_inline(contents)
    # how it would run if its results turned out to be large
    later = execution_mode(where, tracked=True, lazy=True, exposed=exposed, inline=inline or op.dynamic_shape)
    may_wait = later is ExecutionMode.RECORDED_DEFERRED
    return _record(bound_op, args, contents, where, tape, ExecutionMode.RECORDED if inline else mode, may_wait)


def _has_small_results(bound_op: BoundOp, contents: Sequence[Operand]) -> bool:
    """Whether the results of a whole program on ready operands are small: then it gains nothing by waiting for others."""
    key = inline_key(contents)
    if key not in bound_op.largest:
        bound_op.largest[key] = max([part.size for part in _application(bound_op, contents).parts])
    return runs_inline(bound_op.largest[key])


#: Returned by `_run_cached` in place of results if the operation waits; compared by identity.
WAITS: list[Content] = []


@inlined
def _run_cached(bound_op: BoundOp, contents: Sequence[Operand]) -> list[Content] | None:
    """The short path of `_inline` for operations that are not recorded, on ready arrays on cpu(0) of known types; None for others."""
    v: Any = contents[0] if len(contents) == 1 else None
    is_large, waits_from = False, bound_op.op.execution.waits_from
    if v.__class__ is PLAIN:
        arrays = [v]
        found = bound_op.inline.get((v.shape, v.dtype))
    else:
        key: list[object] = []
        arrays, dtype = [], None
        for v in contents:
            if v.__class__ is Value:  # a parameter, or what a tape has saved
                if v.device is not CPU:
                    return None
                v = v.data
                if v.__class__ is not PLAIN:
                    return None
                if not runs_inline(v.size // waits_from):
                    is_large = True
            if v.__class__ is PLAIN:
                if dtype is None:
                    dtype = v.dtype
                key.append(v.shape)
                key.append(v.dtype)
            elif v is None:
                key.append(None)
                continue
            elif dtype is None or dtype.kind != "f":  # next to integers a scalar may change the dtype
                return None
            elif v.__class__ is float or (v.__class__ is int and bound_op.legacy and bound_op.op.elementwise):
                key.append(float)
                v = float(v)  # as `_legacy_scalars`
            else:
                return None
            arrays.append(v)
        found = bound_op.inline.get(tuple(key)) if dtype is not None else None
    if found is None:
        return None
    # for the last condition see `_has_small_results`
    if (
        is_large
        and not bound_op.op.execution.alone
        and (waits_from == 1 or not runs_inline(found.largest))
        and (LISTENERS or not site_runs_inline(arrays))
    ):
        return WAITS
    COUNTERS.inline += 1
    results = host_results(found.function, found.run, arrays)
    if len(results) > found.count:
        results = results[: found.count]
    if runs_inline(found.largest):  # then each result is small, and can be a plain content
        return results
    return contents_of(results, CPU)


#: Operands other than arrays: Python scalars, and user code (an object with forward and backward).
OPERANDS = (int, float, UserFunction)


def _common(op: Op, a: Device, b: Device) -> Device:
    """The common device of operands on two devices: the first, if both share the host's memory."""
    if a.shares_memory_with(b):
        return a
    raise DeviceError(f"{op.spoken}: operands are on different devices", f"{a} and {b}", "copy one with as_in_context")


def _with_key(op: Op, args: Sequence[Argument], contents: list[Operand], device: Device) -> tuple[Sequence[Any], list[Operand]]:
    """The operands and their contents with a random key, drawn now, inserted where the operator expects it."""
    at = len(op.inputs) - 1
    # drawn now even if the operation is deferred: the stream must not depend on the schedule
    key = next_key(device)
    return [*args[:at], key, *args[at:]], [*contents[:at], key, *contents[at:]]


def _legacy_scalars(bound_op: BoundOp, contents: list[Operand]) -> list[Operand]:
    dtype = next((type_of(v)[1] for v in contents if v.__class__ is PLAIN or v.__class__ is Value), None)
    if dtype is None or (dtype in FLOATS and all(v.__class__ not in (int, bool) for v in contents)):
        return contents
    return [operator_scalar(bound_op, v, dtype) if isinstance(v, (int, float)) else v for v in contents]


@inlined
def _captured(args: Sequence[object], contents: Sequence[Any]) -> list[Operand]:
    """Contents as Values, which tapes and windows may hold; an injected key becomes a separate Value."""
    out: list[Operand] = []
    for owner, v in zip(args, contents, strict=True):
        if v.__class__ is PLAIN:
            v = owner._capture() if isinstance(owner, Cell) else Value(v)
            if is_exposed(v):  # a small view of exported memory
                v = v.steady()
        out.append(v)
    return out


def _application(bound_op: BoundOp, contents: Sequence[Operand]) -> Application:
    """The application to leaves of the operands' types; Python scalars other than literals are leaves too."""
    nodes: list[Node | None] = []
    for k, v in enumerate(contents):
        if v is None:
            nodes.append(None)
        elif isinstance(v, (int, float)):
            nodes.append(scalar_node(v, ("in", k)))
        else:
            nodes.append(leaf(("in", k), *type_of(v)))
    return apply(bound_op, tuple(nodes))


def _inline(bound_op: BoundOp, contents: Sequence[Operand], device: Device) -> list[Content]:
    COUNTERS.inline += 1
    key = inline_key(contents) if device is CPU or device.is_host else None
    found = bound_op.inline.get(key) if key else None
    if found is None:
        bound_tables()  # tapes and windows limit the size of the tables when they begin; this operation has neither
        node = _application(bound_op, contents)
        is_known = node.cache is not None
        if not is_known and device is CPU and not LISTENERS and is_direct(node):
            node.cache = NodeCache()  # the next use prepares a program
            return [content(interpret_once(node, backend_for(device), _arrays(contents, range(len(contents)))), device)]
        found = InlineRun(node, runner(node, backend_for(device), is_known))
        if key and found.function is not None:
            bound_op.inline[key] = found
    arrays = _arrays(contents, found.given)
    results = found.run(arrays) if device is CPU and not LISTENERS else run_on(device, found.run, arrays)
    return contents_of(results if len(results) == found.count else results[: found.count], device)


def _arrays(contents: Sequence[Any], given: Sequence[int]) -> list[Array]:
    """The arrays (or Python scalars) of contents, as a program takes them."""
    arrays = []
    for k in given:
        v = contents[k]
        if v.__class__ is Value:
            data = v.data
            arrays.append(force(v) if data is None else data)
        else:
            arrays.append(v)
    return arrays


@inlined
def _record(
    bound_op: BoundOp, args: Sequence[Any], values: list[Any], device: Device, tape: Tape, mode: ExecutionMode, may_wait: bool
) -> list[Value]:
    COUNTERS.recorded += 1
    if tape.device is not device:
        tape.device = device if tape.device is None else False  # False: several
    entries: list[Any] = []
    nodes: list[Any] = []
    for k, v in enumerate(values):
        if v.__class__ is PLAIN:
            owner = args[k]
            v = owner._capture() if isinstance(owner, Cell) else Value(v)
            if is_exposed(v):
                v = v.steady()
            values[k] = v
        if isinstance(v, Value):
            entry = v.entry
            if entry is None or entry.tape is not tape:
                entry = enter(v, tape)
        elif v is None:
            entries.append(None)
            nodes.append(None)
            continue
        else:
            entry = scalar_entry(v, tape)
        entries.append(entry)
        nodes.append(entry.node)
    inputs = tuple(nodes)
    node = bound_op.typed.get(inputs)
    if node is None:
        node = apply(bound_op, inputs)
    cache = node.cache
    if cache is None or cache.saves is None:
        cache = cache_of(node)
    entry = TapeEntry(node, tuple(entries), (), tape)
    parts = (entry,) if node.results is None else [TapeEntry(p, (entry,), (), tape) for p in node.parts]
    hooked = bound_op.op.backward_rule is not None
    kept: Sequence[Value | None]
    if may_wait and not runs_inline(cache.largest):  # small operands with a large result, which later operations may read
        mode = ExecutionMode.RECORDED_DEFERRED
    if mode is ExecutionMode.RECORDED_DEFERRED:  # values for backward are saved only if the window runs before backward joins it
        outs, kept = defer_recorded(entry, values, parts, device, tape, hooked)
    else:
        tape.whole = False
        run = cache.run.get(device.device_type) or runner(node, backend_for(device))
        arrays = _arrays(values, cache.given)
        datas = run(arrays) if device is CPU and not LISTENERS else run_on(device, run, arrays)
        outs = [Value(datas[k], r, None, device) for k, r in enumerate(parts)] if len(parts) > 1 else [Value(datas[0], entry, None, device)]
        kept = _twins(outs, cache, hooked) if cache.read or hooked else [None] * len(outs)
        if cache.saves:
            residual = [Value(d, None, None, device) for d in datas[len(parts) :]]
            results = [*kept, *residual]
            save_for_backward(entry, values, results, tape)
    if hooked:
        entry.hook = hook_of(bound_op, node, cache, args, kept)
    return outs


def _twins(outs: Sequence[Value], cache: NodeCache, every: bool) -> list[Value | None]:
    """Second Values, without tape entries (which would be cycles), of the outputs that backward reads, or of all. None may be donated."""
    twins: list[Value | None] = [None] * len(outs)
    for k in range(len(outs)) if every else cache.read:
        out = outs[k]
        twins[k] = twin = Value(out.data, None, None, out.device, ALWAYS)
        out.sharing = ref(twin)  # a write to it is not in place while the tape, or a window with backward, reads the twin
    return twins


def warn_if_gradient_rounds(v: Content, what: str) -> None:
    """Warn if a content's gradient would be rounded to integers or bools."""
    dtype = type_of(v)[1]
    if dtype in WHOLE:
        kind = "bools" if dtype == "bool" else "integers"
        tolerate(f"{what}: the gradient of {kind} is rounded to {kind}", dtype, "cast the array with astype", DTypeError)
