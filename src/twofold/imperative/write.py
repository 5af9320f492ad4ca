"""Writes into cells, also through views and while recording: in place if nothing else sees the buffer, else as a new value.

A view is a root cell and a chain of view operations: bound operators of ``slice``, ``reshape``, ``permute_dims``, ``broadcast_to`` and, for
the result of `detach`, ``stop_gradient``. A read applies them in turn, a write goes back through them. Operations read C-contiguous
arrays only, in every mode: a view that is not contiguous is copied when it is read.
"""

import math
from collections.abc import Callable
from functools import partial
from operator import itemgetter
from typing import Any

import numpy as np

from ..assembly import inlined
from ..backend.kernel import Array
from ..backend.loader import backend_for
from ..backend.protocol import Backend
from ..device import CPU
from ..dtype import NAME_OF
from ..errors import AutogradError, ParameterError
from ..graph.build import apply
from ..graph.ir import Application, Node, leaf
from ..opdef import BoundOp
from ..ops import primitive_math
from ..ops.primitive_gather import index_update
from ..ops.primitive_shape import slice_update
from ..program.interpret import namespace_of
from ..scheduler.observers import LISTENERS
from ..signal_handlers import unless_signalled
from .cell import HOST, PLAIN, Cell, Content, Value, alias, content_of, wrap, writable
from .concurrent_writes import replace, written_in_place
from .counters import COUNTERS
from .deferral import join_or_flush, twin_of
from .guards import apart, has_gradient, is_small, is_tracked, is_visible, runs_inline
from .invoke import content, data_of, device_of, full_content, invoke, type_of
from .recording import enter
from .strided_view import view_shape
from .tape import Tape, TapeEntry, Variable, tls
from .trace import TracedEntry

Chain = tuple[BoundOp, ...]
#: The target of `write`: None for everything, a (begin, end, step) triple for each axis, or ``index`` with its cells.
Key = tuple[Any, ...] | None
#: The value that `write` writes: a cell, a Python scalar or a NumPy array.
Assigned = Cell | float | np.ndarray


def look(backend: Backend, data: Array, chain: Chain) -> Array:
    """The part of an array that a chain of view operations selects, sharing its memory."""
    steps = _steps.get((chain, backend))
    if steps is None:
        if len(_steps) >= _MOST_CHAINS:
            _steps.clear()
        steps = _steps[chain, backend] = [_step(backend, bound_op) for bound_op in chain]
    for step in steps:
        data = step(data)
    return data


#: The functions that apply a chain, by chain and backend, so that a known chain costs one look-up.
_steps: dict[tuple[Chain, Backend], list[Callable[[Array], Array]]] = {}
_MOST_CHAINS = 4096


def _step(backend: Backend, bound_op: BoundOp) -> Callable[[Array], Array]:
    selects = bound_op.op.layout.selects
    if selects is not None and backend is HOST and HOST.target.plain is not None:
        return itemgetter(selects(**bound_op.params))  # NumPy's own indexing is one call into C
    return partial(getattr(namespace_of(backend), bound_op.op.name), **bound_op.params)


@inlined
def read(root: Cell, chain: Chain) -> Content:
    """The content of a view: recorded if the root is, else an alias of the root's buffer if it is C-contiguous there, else a copy."""
    v = content_of(root)
    if v.__class__ is PLAIN:
        return HOST.as_array(look(HOST, v, chain))
    tracked = is_tracked(v)
    if tracked and (part := recorded_part(v, chain)) is not None:
        return part
    if tracked or not is_visible(v):
        for bound_op in chain:
            v = untracked(v) if bound_op.op.detaches else invoke(bound_op, (wrap(Cell, v),))[0]
        return v
    seen = look(HOST, v.data, chain)
    data = HOST.as_array(seen)
    # `as_array` copies an array that is not contiguous: the copy shares nothing with the root
    return alias(data, v) if data is seen else Value(data, device=v.device)


@inlined
def read_inline(root: Cell, chain: Chain) -> tuple[Content, Array] | None:
    """The root's content, and NumPy's view of the part that a chain selects; None if the read must wait or be recorded.

    A small part of a large pending array does not wait in a window, since a program would depend on the part's position.
    """
    v = content_of(root)
    if v.__class__ is PLAIN:
        return v, look(HOST, v, chain)
    if is_tracked(v) or v.device is not CPU:
        return None
    if v.data is None:
        shape = v.type[0]
        if runs_inline(math.prod(shape)) or not runs_inline(math.prod(view_shape(shape, chain))):
            return None
    data = data_of(v)
    return (v, look(HOST, data, chain)) if data.__class__ is PLAIN else None


@inlined
def recorded_part(v: Value, chain: Chain, seen: Array = None, is_copy: bool = False) -> Value | None:
    """A copy of a small part of a ready tracked array, or a large part without gaps itself; None for anything else.

    The read is recorded like its view operations. Their gradients read only shapes, so only the last result is computed, and a backward
    that joins a window does not need the others.

    Parameters
    ----------
    v
        The root's content.
    chain
        The operations that select the part.
    seen
        NumPy's view of the part, or the part's only element, if known.
    is_copy
        Whether ``seen`` is a copy already.
    """
    tape, data, entry = tls.tape, v.data, v.entry
    if tape is None or entry is None or data.__class__ is not PLAIN or v.device is not CPU or tape.device not in (CPU, None) or LISTENERS:
        return None
    if tape.__class__ is not Tape:  # a trace
        return None
    if seen is None:
        seen = look(HOST, data, chain)
    is_large = not is_small(seen)
    if not chain or (is_large and (seen.__class__ is not PLAIN or not seen.flags.c_contiguous)):
        return None
    for bound_op in chain:
        if bound_op.op.detaches:
            return None
    if entry.tape is not tape:
        entry = enter(v, tape)
        if not has_gradient(entry):  # backward has freed the operation that computed it
            return None
    for bound_op in chain:
        node = bound_op.typed.get((entry.node,))
        entry = TapeEntry(apply(bound_op, (entry.node,)) if node is None else node, (entry,), (), tape)
    COUNTERS.recorded += 1
    tape.device = CPU
    if is_large and not is_copy:
        part = alias(seen, v)
        part.entry = entry
        return part
    # without `order`, `np.array` would keep the order of a transposed view, and so would the results of operations on it; the `copy` of
    # an element, which may be NumPy's scalar, is no array
    return Value(seen if is_copy else np.array(seen, order="C"), entry)


def untracked(v: Content) -> Content:
    """The same content without its tape entry."""
    if not isinstance(v, Value) or v.entry is None:
        return v
    if isinstance(v.entry, TracedEntry):
        return invoke(primitive_math.stop_gradient.bind(), (wrap(Cell, v),))[0]
    pending = twin_of(v) if v.data is None else None
    return alias(data_of(v), v) if pending is None else pending


@inlined
def write(root: Cell, chain: Chain, key: Key, value: Assigned) -> None:
    """``root[chain][key] = value``.

    Parameters
    ----------
    root, chain
        The cell, and the view of it to write.
    key
        None for all of it, a tuple of (begin, end, step) triples, or ``(index key, index cells…)`` for integer arrays.
    value
        A cell, a Python scalar, or a NumPy array that fits.

    Raises
    ------
    ParameterError
        If the view is read-only.
    """
    v = content_of(root)
    val = content_of(value) if isinstance(value, Cell) else value
    tracked = is_tracked(v) or is_tracked(val)
    if v.__class__ is Value and not tracked and (v.producer is not None or v.data is None) and v.device is CPU:
        # running the operations that wait to read the array costs less than copying all of it for a small write
        _settle(v, reads_first=v.sharing is None and _is_small_part(v, chain, key))
    if tracked or (v.__class__ is Value and not is_visible(v)):
        chain = _let_through(root, chain)
        COUNTERS.rebound += 1
        is_lost = key is None and v.__class__ is Value and v.data is None and _is_lost(v, chain)
        # a write to a GPU's array may take its memory, which a content that is being replaced does not give
        if is_lost or v.__class__ is not Value or tls.tape is not None or v.pinned or not v.device.is_host:
            root._rebind(_written(_replacing(v) if is_lost else root, chain, key, value))
        else:
            replace(root, lambda _: _written(root, chain, key, value))
        return
    source = data_of(val)
    _change(root, chain, lambda part: _store(part, key, source))


@inlined
def change_inline(root: Cell, chain: Chain, change: Callable[[Array], object]) -> bool:
    """Change ``root[chain]`` by a function of NumPy's array; False if the root is tracked, or is not on cpu(0).

    Such changes are not deferred, whatever their size: there is nothing to fuse with them.

    Parameters
    ----------
    root, chain
        The cell, and the view of it to change.
    change
        Writes to the array that it is called with.
    """
    v = content_of(root)
    if v.__class__ is Value:
        if is_tracked(v) or v.device is not CPU or data_of(v).__class__ is not PLAIN:
            return False
        _settle(v, reads_first=v.sharing is None)
    _change(root, chain, change)
    return True


def _change(root: Cell, chain: Chain, change: Callable[[Array], object]) -> None:
    """Change part of a ready array: in place, or in a copy if others see the buffer.

    Raises
    ------
    ParameterError
        If the view is read-only.
    """
    try:
        _change_part(root, chain, change)
    except ValueError:
        own = _let_through(root, chain)
        if own == chain:
            raise
        _change_part(root, own, change)


def _change_part(root: Cell, chain: Chain, change: Callable[[Array], object]) -> None:
    v = content_of(root)
    if v.__class__ is PLAIN:
        COUNTERS.in_place += 1
        change(look(HOST, v, chain))
        return
    # exported memory is written in place whatever else sees it: code outside the library looks for the new elements there
    if (v.exclusive or v.pinned) and written_in_place(root, v, lambda: change(look(HOST, v.data, chain))):
        COUNTERS.in_place += 1
        renew_leaf(v)
        return

    def changed(v: Any) -> Content:
        COUNTERS.copied += 1
        device, data = device_of(v), HOST.copy(data_of(v), device_of(v))
        change(look(HOST, data, chain))
        return content(data, device)

    replace(root, changed)


@inlined
def _is_small_part(v: Value, chain: Chain, key: Key) -> bool:
    """Whether a write selects a small part of a large array."""
    shape = v.type[0]
    return runs_inline(_selected_size(view_shape(shape, chain), key)) and not runs_inline(math.prod(shape))


def _settle(v: Value, reads_first: bool) -> None:
    """Before a write, compute the array and, if ``reads_first``, run its pending readers: that takes less time than a copy.

    A window with recorded operations stays open, so that backward can join it.
    """
    producer, tape = v.producer, tls.tape
    if producer is None:  # another thread has just computed it
        return
    if reads_first and not producer[0].closed and (tape is None or producer[0] not in tape.windows):
        producer[0].finish()
    is_done = producer[0].is_done and v.data is not None
    if is_done and v.producer is producer:
        v.producer = None  # so that the next write need not look for readers


def _is_lost(v: Value, chain: Chain) -> bool:
    """Whether a content could not be computed, and a view selects all of it: a write must not read it, as that raises the error."""
    producer, shape = v.producer, v.type[0]
    is_failed = producer is not None and producer[0].is_done and v.data is None
    return is_failed and math.prod(view_shape(shape, chain)) == math.prod(shape)


def _replacing(v: Value) -> Cell:
    """Zeros in the place of a content that could not be computed."""
    shape, dtype = v.type
    return wrap(Cell, full_content(0, shape, dtype, v.device))


def _selected_size(shape: tuple[int, ...], key: Key) -> int:
    """How many elements a key of `write` selects."""
    if key and isinstance(key[0], BoundOp):
        return max(math.prod(a.shape) for a in key[1:])
    return math.prod(shape if key is None else [len(range(*slice(*k).indices(n))) for k, n in zip(key, shape, strict=True)])


def _store(target: Array, key: Key, source: Array) -> None:
    indexed = key is not None and bool(key) and isinstance(key[0], BoundOp)
    # NumPy itself looks for memory that is read and written only where there are several axes, and not for index arrays
    if source.__class__ is PLAIN and (indexed or target.ndim == 1):
        source = apart(source, target)
    if key is None:
        HOST.write(target, ..., source)
    elif indexed:
        bound_op, *arrays = key
        places = tuple(slice(None) if k is None else data_of(arrays[k]._content) for k in bound_op.params["key"])
        HOST.write(target, places, source)
    else:
        HOST.write(target, tuple(slice(*k) for k in key), source)


def _written(root: Cell, chain: Chain, key: Key, value: Assigned) -> Content:
    """The root's new content, computed by recorded or deferred operations."""
    v = content_of(root)
    # `detach` stops gradients of reads; the elements that a write reaches are the root's own
    if chain and chain[0].op.detaches:
        return _written(root, chain[1:], key, value)
    if chain:
        inner = wrap(Cell, invoke(chain[0], (root,))[0])
        return _put_back(root, chain[0], wrap(Cell, _written(inner, chain[1:], key, value)))
    if isinstance(value, np.ndarray):
        value = wrap(Cell, Value(backend_for(device_of(v)).from_host(value, device_of(v)), device=device_of(v)))
    if key is None:
        key = tuple((None, None, None) for _ in type_of(v)[0])
    if key and isinstance(key[0], BoundOp):
        bound_op, *arrays = key
        # the operator of a read with these indices becomes that of a write, with the same operands
        return invoke(index_update.bind(key=bound_op.params["key"]), (root, value, *arrays))[0]
    return invoke(slice_update.bind(key=key), (root, value))[0]


def _put_back(root: Cell, bound_op: BoundOp, new: Cell) -> Content:
    """The root's content with the part that a view operation selects replaced by ``new``."""
    rule = bound_op.op.layout.put_back_rule
    assert rule is not None  # as `write` has checked
    update = rule(type_of(root._content)[0], **bound_op.params)
    return invoke(update, (new,) if len(update.op.inputs) == 1 else (root, new))[0]


def _let_through(root: Cell, chain: Chain) -> Chain:
    found = writable(root, chain)
    if found is not None:
        return found
    raise ParameterError(
        "assignment destination is read-only",
        f"a view or copy of shape {view_shape(type_of(root._content)[0], chain)} that cannot be written through",
        "write to the array that it was made from (c.real = …, x[i, j] = …), or into a copy",
    ) from None


def renew_leaf(v: Value) -> None:
    """Make the Value a new leaf after a write in place: nodes are compared by identity, and two contents must not share a node."""
    entry = v.entry
    if entry is not None:
        shape, dtype = v.type
        if entry.grad is None:
            v.entry = history_of(v)
            return
        v.entry = TapeEntry(leaf("variable", shape, dtype, entry.grad.tracked), (), (), None, entry.grad)


@inlined
def history_of(v: Value) -> TapeEntry | None:
    """The history of a recorded result after an unrecorded write: a leaf that continues it.

    Its gradient is that of what was recorded, as if the write had not happened, as in MXNet.
    """
    entry = v.entry
    if not has_gradient(entry):
        return None
    shape, dtype = v.type
    older = (entry,) if isinstance(entry.node, Application) else entry.inputs
    return TapeEntry(leaf("written", shape, dtype, True), older, (), None) if older else None


def mark(cell: Cell, variable: Variable, before: Content | None = None) -> None:
    """Make a cell's content a leaf that wants a gradient; ``before`` is the content that it replaces, if any."""
    v = cell._content
    node = _leaf_of(before, variable)
    if v.__class__ is PLAIN and node is not None and v.shape == node.shape and NAME_OF[v.dtype] == node.dtype:
        cell._content = Value(v, TapeEntry(node, (), (), None, variable))
        return
    v = cell._capture()
    if isinstance(v.entry, TracedEntry) and v.entry.tape is tls.tape:
        todo = "differentiate with the transforms of func inside it"
        raise AutogradError("attach_grad: the array is traced by a transform of func", f"shape {v.type[0]}", todo)
    if v.sharing is not None or (v.entry is not None and v.entry.tape is not None):  # a tape refers to this Value by its entry
        cell._content = v = alias(data_of(v), v)
    shape, dtype = v.type
    if node is None or node.shape != shape or node.dtype != dtype:
        node = leaf("variable", shape, dtype, variable.tracked)
    v.entry = TapeEntry(node, (), (), None, variable)


def _leaf_of(before: Content | None, variable: Variable) -> Node | None:
    """The leaf of a variable's former content: with it, the next content gets the same number in the next iteration."""
    if not isinstance(before, Value) or before.entry is None or before.entry.grad is not variable:
        return None
    node = before.entry.node
    return None if isinstance(node, Application) else node


@inlined
def update_in_place(root: Cell, chain: Chain, operation: Callable[..., object], other: Cell | Array) -> bool:
    """Try ``root[chain] = operation(root[chain], other)`` in place; False if the buffer is shared or the operands do not fit."""
    v = content_of(root)
    val = content_of(other) if isinstance(other, Cell) else other
    if is_tracked(v) or is_tracked(val):  # a tape may need the old content
        return False
    if v.__class__ is not PLAIN:
        # the result of the program that the operator joins overwrites the buffer
        if not chain and v.device.is_host and not v.pinned and join_or_flush(v, val):
            return False
        # the buffer must be this array's alone
        if not is_visible(v) or not (v.exclusive or v.pinned):
            return False
    dtype = type_of(v)[1]
    # a cast would round otherwise than the operation out of place does
    if isinstance(val, (int, float)):
        source = HOST.scalar(val, dtype)
    elif type_of(val)[1] == dtype:
        source = data_of(val)
    else:
        return False
    target = look(HOST, v if v.__class__ is PLAIN else v.data, chain)
    try:
        if v.__class__ is PLAIN:
            HOST.quietly(operation, target, source, target)
        elif not written_in_place(root, v, lambda: HOST.quietly(operation, target, source, target)):
            return False
    except unless_signalled((ValueError, TypeError)):
        return False
    COUNTERS.in_place += 1
    if v.__class__ is Value:
        renew_leaf(v)
    return True
