"""Fragments of operators of one or two operands: NumPy's function is called on them, or the operation is recorded or deferred."""

# pyright: reportPossiblyUnboundVariable=false, reportOptionalMemberAccess=false
# Fragments share variables with their callers, and tests that hold in a caller hold in them: a checker sees neither.

from typing import Any

import numpy as np

from ..assembly import FREE, Function, fragment
from ..device import CPU
from ..dtype import COMPLEX, INTEGERS, NAME_OF, NUMPY, keeps
from ..imperative import recording
from ..imperative.cell import PLAIN, Value, wrap
from ..imperative.deferral import join, now
from ..imperative.guards import has_gradient, is_small
from ..imperative.recording import LITERAL_ENTRIES
from ..imperative.scalars import FLOAT_LEAVES, INTEGER_LEAVES
from ..imperative.storage import applied
from ..imperative.tape import TapeEntry, tls
from ..opdef import BoundOp
from ..signal_handlers import unless_signalled
from .contents import BFLOAT16, asarray, cls, legacy, new_array, quick, scalar_of

#: NumPy's function; for single elements Python's operator.
fn: Function = FREE
#: The general path for the given operands; may return `NotImplemented`.
general: Function = FREE
#: The bound operator, its applications by nodes, and the classes that the other operand may have.
bound_op: BoundOp = FREE
typed: dict[Any, Any] = FREE
operand: tuple[type, ...] = FREE
#: In-place operators: the memory that may be written, and that of an operand.
owned: Function = FREE
memory: Function = FREE
#: The matrix product of which an operand is a view.
view_product: Function = FREE
#: Functions that ``**`` calls for some exponents.
roots: dict[float, Function] = FREE
# The names below are known in advance: `assembled` leaves out the branches that they rule out.

#: Whether the operands are exchanged, as in ``__radd__``; the first operand is then a number.
reverse: bool = FREE
#: Whether `general` is given.
has_general: bool = FREE
#: Whether the operator may run at once on ready operands (see `deferral.now`).
runs_now: bool = FREE
#: Whether the operator is never part of a fused kernel, so that this path does not add it to a window (see `Execution.alone`).
alone: bool = FREE
#: Whether the other operand may be a Python number.
takes_numbers: bool = FREE
#: Whether for operands of one dtype NumPy's result is MXNet's even for integers (see `Front.wraps`).
wraps: bool = FREE
#: Whether the operator is ``**`` by NumPy's rules.
powers: bool = FREE
#: Whether there are `roots`.
has_roots: bool = FREE
#: Whether the operator is a matrix product with a way of its own for views.
has_view_product: bool = FREE

#: NumPy's errors for calls that the general path can answer, or refuse with an error that says what to do.
RECOVERABLE = (RuntimeError, ValueError, TypeError, MemoryError)
#: Dtypes whose squares differ between the operator, ``x ** 2``, and the function `power`: bools give int8 in NumPy, not int64, and complex
#: numbers are multiplied, in a fifth of the time.
SQUARED = frozenset({"bool", *COMPLEX})
#: The dtypes of exponents that may be negative, which is an error if the bases are integers.
SIGNED = frozenset(name for name in INTEGERS if name.startswith("int"))
BOOL = NUMPY["bool"]
ROOTED = frozenset({"float16", "float32", "float64"})
squared = np.square


@fragment
def run(a, b):
    """NumPy's function of C-contiguous arrays, which gives a C-contiguous array, or a scalar for 0-d arrays."""
    return (quick(fn, b, a) if reverse else quick(fn, a, b)) if legacy else fn(b, a) if reverse else fn(a, b)


@fragment
def in_order(x, y):
    """Two operands in the order of the operation."""
    return (y, x) if reverse else (x, y)


@fragment
def number(x):
    """A Python number as an operand: MXNet's float arrays take integers as floats."""
    return float(x) if legacy else x


@fragment
def run_number(a, x, kind):
    """The same of an array and a Python number; NumPy's operator squares, too, with the bits of the power."""
    return (
        run(a, scalar_of(x, NAME_OF[a.dtype]))
        if legacy
        else run(a, quick(scalar_of, x, "bfloat16"))  # NumPy would make float32 of it
        if a.dtype is BFLOAT16
        else squared(a)
        if powers and not reverse and x == 2 and (kind is int or a.dtype.kind == "f")
        else run(a, x)
    )


@fragment
def run_recorded(a, x, kind, dtype):
    """The same of a recorded array's data."""
    return (
        quick(squared, a.data)
        if powers and not reverse and kind is int
        else quick(fn, scalar_of(x, dtype), a.data)
        if reverse
        else quick(fn, a.data, scalar_of(x, dtype))
    )


@fragment
def agrees(a):
    """Whether NumPy's result for an array of this dtype is that of the convention: floats, if integers would give another one."""
    return not legacy or a.dtype.kind == "f"


@fragment
def agree(a, b):
    """The same of two arrays."""
    return not legacy or (a.dtype is b.dtype and (wraps or a.dtype.kind == "f"))


@fragment
def is_recordable(node):
    """Whether a structure has been recorded before, in a form for which the short path suffices."""
    return node is not None and node.cache is not None and node.cache.fast and is_small(node)


@fragment
def return_joined(v):
    """Return a new array around a deferred result."""
    r = new_array()
    r._held = v
    return r


@fragment
def return_recorded(out, node, entries, operands, tape):
    """Return a new array around a result, with its entry on the tape."""
    # of operands without axes NumPy returns a scalar
    if out.__class__ is not PLAIN:
        out = asarray(out)
    tape.whole = False
    entry = TapeEntry(node, entries, (), tape)
    r = new_array()
    r._held = made = Value(out, entry)
    if node.cache.saves:
        recording.save_for_backward(entry, operands, (out,), tape)  # a call: written into every operator it delays the import by 5 %
        if node.cache.read:
            made.sharing = tape.ref
    return r


@fragment
def return_of_values(self, other, a, b):
    """Return the recorded or deferred result of two operands with these contents, if their structure is known."""
    tape = tls.tape
    entry_a = a.entry
    entry_b = b.entry
    # 1. Recorded. The general path enters operands that are not on this tape yet, and waits for pending ones.
    if tape is not None and (has_gradient(entry_a) or has_gradient(entry_b)):
        if entry_a is not None and entry_b is not None and entry_a.tape is tape and entry_b.tape is tape:
            node = typed.get(in_order(entry_a.node, entry_b.node))
            # A known primitive with one result: its program would call just this function, so the bits are those of `invoke`.
            if is_recordable(node) and a.data is not None and b.data is not None and a.device is CPU and b.device is CPU:
                try:
                    out = quick(fn, b.data, a.data) if reverse else quick(fn, a.data, b.data)
                except unless_signalled(RECOVERABLE):
                    return general_of_two(self, other)
                return_recorded(out, node, in_order(entry_a, entry_b), in_order(a, b), tape)
    # 2. Unrecorded, at a site whose windows do not pay: NumPy's function at once, which for simple operations has the bits of a program.
    # 3. Unrecorded, large or pending: a node in the window. Whatever program it becomes part of gives the same bits (laws.md, 1).
    elif not powers or in_order(a, b)[1].type[1] not in SIGNED:
        if (runs_now and a.device is CPU and b.device is CPU and (v := now(fn, in_order(a.data, b.data))) is not None) or (
            not alone and (v := join(typed, in_order(a, b))) is not None
        ):
            return_joined(v)


@fragment
def return_of_value_and_number(self, other, a, kind):
    """The same of an operand and a number."""
    tape = tls.tape
    entry_a = a.entry
    # Unrecorded, as for two arrays. Squares of bools and complex numbers are another operator, which the general path calls; there errors
    # of negative powers of integers are raised.
    if (
        (tape is None or not has_gradient(entry_a))
        and (not powers or other != 2 or a.type[1] not in SQUARED)
        and (not powers or kind is float or (a.type[1] not in SIGNED if reverse else other >= 0))
        and (legacy or kind is float or 0 <= other < 128 or keeps(a.type[1], other))  # else it has a wider dtype, or raises
    ):
        if (
            (runs_now and a.device is CPU and (v := now(fn, in_order(a.data, other))) is not None)
            # as in `run_number`: a program multiplies, too
            or (powers and not reverse and other == 2 and kind is int and a.device is CPU and (v := now(squared, (a.data,))) is not None)
        ) or (not alone and (v := join(typed, in_order(a, number(other)))) is not None):
            return_joined(v)
    elif (
        tape is not None
        and entry_a is not None
        and entry_a.tape is tape
        and a.data is not None
        and a.device is CPU
        and (legacy or (entry_a.node.dtype != "bool" and (kind is int or entry_a.node.dtype not in INTEGERS)))  # else NumPy promotes
        and (not powers or kind is float or (not reverse and other == 2))  # programs know better ways for integers
    ):
        # The number's node, as `recording.scalar_entry` would make it: a literal is part of the structure, any other number the next leaf.
        # ``tape.leaves`` grows only when the operation is certain to be recorded here; otherwise the general path takes the same number.
        n = tape.leaves
        if legacy:  # in NumPy's promotion integers are of another kind
            node_b = FLOAT_LEAVES[n]
        else:
            entry_b = None
            if kind is float:
                node_b = FLOAT_LEAVES[n]
            elif (entry_b := LITERAL_ENTRIES.get(other)) is None:
                node_b = INTEGER_LEAVES[n]
            else:
                node_b = entry_b.node
        node = typed.get(in_order(entry_a.node, node_b))
        if is_recordable(node):
            try:
                out = run_recorded(a, other, kind, entry_a.node.dtype)
            except unless_signalled(RECOVERABLE):
                return general_of_two(self, other)
            if legacy or entry_b is None:
                tape.leaves, entry_b = n + 1, TapeEntry(node_b, (), (other,), tape)
            return_recorded(out, node, in_order(entry_a, entry_b), in_order(a, number(other)), tape)


@fragment
def return_general(x, a, y, b, kind):
    """Return the general path's result of two operands with these contents. Views are not read again, which might be recorded again."""
    if x._held is None and a.__class__ is Value:
        x = wrap(cls, a)
    if kind is cls and y._held is None and b.__class__ is Value:
        y = wrap(cls, b)
    return general_of_two(x, y)


@fragment
def general_of_two(x, y):
    """The general path's result of two operands in the order in which they were given."""
    return general(x, y) if has_general else applied(bound_op, in_order(x, y))
