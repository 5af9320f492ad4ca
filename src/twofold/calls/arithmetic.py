"""Python's operators, and functions of one or two operands: plain, recorded and deferred operands in one frame, else the general path.

What a callable uses (the function, the class, the bound operator) is looked up once, when it is made, and while contents are plain it reads
no setting. `HOST.quick` runs a function with floating-point warnings off, in a context that cannot be entered twice, by another thread or
by a finalizer. In that case the general path takes over, as it does for operands that do not broadcast. Results without axes, which NumPy
returns as scalars, become elements (`imperative.element`) where a class has them.
"""

# pyright: reportPossiblyUnboundVariable=false, reportOptionalMemberAccess=false
# Fragments share variables with their callers, and tests that hold in a caller hold in them: a checker sees neither.

from typing import Any

import numpy as np

from ..assembly import FREE, Function, fragment
from ..device import CPU
from ..dtype import COMPLEX, NAME_OF, NUMPY
from ..imperative.array import AXES_REVERSED, GAPS
from ..imperative.cell import PLAIN, Value, wrap
from ..imperative.deferral import join, now
from ..imperative.guards import has_gradient, is_plain, is_small, is_watched
from ..imperative.recording import LITERAL_ENTRIES, save_for_backward
from ..imperative.scalars import FLOAT_LEAVES, INTEGER_LEAVES
from ..imperative.storage import applied
from ..imperative.tape import TapeEntry, tls
from ..opdef import BoundOp
from .contents import (
    asarray,
    cls,
    content,
    element,
    elements,
    legacy,
    native,
    quick,
    return_array,
    return_element,
    return_result,
    scalar_of,
    view,
)

#: NumPy's function; for single elements Python's operator.
fn: Function = FREE
#: The general path for what was given, `NotImplemented` included.
general: Function = FREE
#: The bound operator, its applications by nodes, and the classes that the other operand may have.
bound_op: BoundOp = FREE
typed: dict[Any, Any] = FREE
operand: tuple[type, ...] = FREE
#: In-place operators: the memory that may be written, and that of an operand.
owned: Function = FREE
memory: Function = FREE
#: Known in advance: whether operands are exchanged (the first is then a number); whether `general` is given; of the operator:
#: whether operations on ready operands may run at once (see `deferral.now`), never join a window by themselves, take numbers, and give
#: NumPy's result for integers too; and whether it is ``**`` by NumPy's rules.
reverse: bool = FREE
has_general: bool = FREE
runs_now: bool = FREE
alone: bool = FREE
takes_numbers: bool = FREE
wraps: bool = FREE
powers: bool = FREE

#: What NumPy raises where the general path raises an error that says what to do, or finds a way.
RECOVERABLE = (RuntimeError, ValueError, TypeError, MemoryError)
#: Dtypes whose squares differ between the operator, ``x ** 2``, and the function `power`: bools give int8 in NumPy, not int64, and complex
#: numbers are multiplied, in a fifth of the time.
SQUARED = frozenset({"bool", *COMPLEX})
BOOL = NUMPY["bool"]
squared = np.square

# ---------------------------------------------------------------------------------------------------------- fragments


@fragment
def run(a, b):
    """NumPy's function of C-contiguous arrays, hence such an array itself; of 0-d ones a scalar."""
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
    r = cls()
    r._content = v
    return r


@fragment
def return_recorded(out, node, entries, operands, tape):
    """Return a new array around a result, with its entry on the tape."""
    if out.__class__ is not PLAIN:
        out = asarray(out)
    tape.whole = False
    entry = TapeEntry(node, entries, (), tape)
    r = cls()
    r._content = v = Value(out, entry)
    if node.cache.saves:
        save_for_backward(entry, operands, (out,), tape)
        if node.cache.read:
            v.sharing = tape.ref
    return r


@fragment
def return_of_values(self, other, a, b):
    """Return the recorded or deferred result of two operands with these contents, if their structure is known."""
    tape = tls.tape
    ra = a.entry
    rb = b.entry
    if tape is not None and (has_gradient(ra) or has_gradient(rb)):
        if ra is not None and rb is not None and ra.tape is tape and rb.tape is tape:
            node = typed.get(in_order(ra.node, rb.node))
            if is_recordable(node) and a.data is not None and b.data is not None and a.device is CPU and b.device is CPU:
                try:
                    out = quick(fn, b.data, a.data) if reverse else quick(fn, a.data, b.data)
                except RECOVERABLE:
                    return general_of_two(self, other)
                return_recorded(out, node, in_order(ra, rb), in_order(a, b), tape)
    elif (runs_now and a.device is CPU and b.device is CPU and (v := now(fn, in_order(a.data, b.data))) is not None) or (
        not alone and (v := join(typed, in_order(a, b))) is not None
    ):
        return_joined(v)


@fragment
def return_of_value_and_number(self, other, a, kind):
    """The same of an operand and a number."""
    tape = tls.tape
    ra = a.entry
    if (tape is None or not has_gradient(ra)) and (not powers or other != 2 or a.type[1] not in SQUARED):
        if (runs_now and a.device is CPU and (v := now(fn, in_order(a.data, other))) is not None) or (
            not alone and (v := join(typed, in_order(a, number(other)))) is not None
        ):
            return_joined(v)
    elif (
        tape is not None
        and ra is not None
        and ra.tape is tape
        and a.data is not None
        and a.device is CPU
        and (not powers or kind is float or (not reverse and other == 2))  # programs know better ways for integers
    ):
        n = tape.leaves
        if legacy:  # in NumPy's promotion integers are of another kind
            lb = FLOAT_LEAVES[n]
        else:
            rb = None
            if kind is float:
                lb = FLOAT_LEAVES[n]
            elif (rb := LITERAL_ENTRIES.get(other)) is None:
                lb = INTEGER_LEAVES[n]
            else:
                lb = rb.node
        node = typed.get(in_order(ra.node, lb))
        if is_recordable(node):
            try:
                out = run_recorded(a, other, kind, ra.node.dtype)
            except RECOVERABLE:
                return general_of_two(self, other)
            if legacy or rb is None:
                tape.leaves, rb = n + 1, TapeEntry(lb, (), (other,), tape)
            return_recorded(out, node, in_order(ra, rb), in_order(a, number(other)), tape)


@fragment
def return_general(x, a, y, b, kind):
    """Return the general path's result of two operands with these contents. Views are not read again, which might be recorded again."""
    if x.__class__ is view and a.__class__ is Value:
        x = wrap(cls, a)
    if kind is view and b.__class__ is Value:
        y = wrap(cls, b)
    return general_of_two(x, y)


@fragment
def general_of_two(x, y):
    """The general path's result of two operands in the order in which they were given."""
    return general(x, y) if has_general else applied(bound_op, in_order(x, y))


# ---------------------------------------------------------------------------------------------------------- templates


def binary(self, other):
    """An operator of two operands, or of an array and a number."""
    a = content(self)
    kind = other.__class__
    if kind is cls or kind is view:
        b = content(other)
        if a.__class__ is PLAIN:
            if b.__class__ is PLAIN and agree(a, b):
                try:
                    v = run(a, b)
                    return_result(v)
                except RECOVERABLE:
                    pass
        elif a.__class__ is Value and b.__class__ is Value:
            return_of_values(self, other, a, b)
    elif kind is float or kind is int:
        if a.__class__ is PLAIN and takes_numbers and agrees(a) and (not powers or a.dtype is not BOOL or other != 2):
            try:
                v = run_number(a, other, kind)
                return_result(v)
            except RECOVERABLE:
                pass
        elif a.__class__ is Value:
            return_of_value_and_number(self, other, a, kind)
    elif elements and kind is element:
        if a.__class__ is PLAIN:
            try:
                v = run(a, other._raw)
                return_array(v)
            except RECOVERABLE:
                pass
    elif not isinstance(other, operand):
        return general(self, other) if has_general else NotImplemented
    return_general(self, a, other, b, kind)


def unary(self):
    """An operator of one operand."""
    a = content(self)
    if a.__class__ is PLAIN and agrees(a):
        try:
            v = quick(fn, a) if legacy else fn(a)
            return_result(v)
        except RECOVERABLE:
            pass
    elif a.__class__ is Value:
        tape = tls.tape
        ra = a.entry
        if tape is None or not has_gradient(ra):
            if (runs_now and a.device is CPU and (v := now(fn, (a.data,))) is not None) or (
                not alone and (v := join(typed, (a,))) is not None
            ):
                return_joined(v)
        elif ra.tape is tape and a.data is not None and a.device is CPU:
            node = typed.get((ra.node,))
            if is_recordable(node):
                try:
                    out = quick(fn, a.data)
                except RECOVERABLE:
                    return general(self) if has_general else applied(bound_op, (self,))
                return_recorded(out, node, (ra,), (a,), tape)
    if self.__class__ is view and a.__class__ is Value:
        self = wrap(cls, a)
    return general(self) if has_general else applied(bound_op, (self,))


def unary_of_element(self):
    """An operator of a single element: Python's own on NumPy's scalar, which is faster than any ufunc."""
    try:
        v = fn(self._raw)
    except RECOVERABLE:
        return general(self)
    return_element(v)
    return general(self)


def binary_of_element(self, other):
    """The same of an element and an element, number or array."""
    kind = other.__class__
    if kind is element:
        b = other._raw
    elif kind is float or kind is int:
        b = other
    elif kind is cls or kind is view:
        b = content(other)
        if b.__class__ is not PLAIN:
            return general(self, other)
    else:
        return general(self, other)
    try:
        v = fn(b, self._raw) if reverse else fn(self._raw, b)
    except RECOVERABLE:
        return general(self, other)
    return_element(v)
    return_array(v)
    return general(self, other)


def comparison(self, other):
    """A comparison of floats in host memory. It has no gradient, so there is nothing to record."""
    a = self._content
    if a.__class__ is Value and a.device is CPU and is_plain(data := a.data):
        a = data
    if a.__class__ is PLAIN and a.dtype.kind == "f":
        kind = other.__class__
        if kind is float or kind is int:
            b = scalar_of(other, NAME_OF[a.dtype])
        else:
            b = other._content if isinstance(other, cls) and other._legacy is self._legacy else None
        if b.__class__ is PLAIN and a.dtype is b.dtype:  # NumPy's own dtypes are singletons, and identity is faster
            try:
                v = fn(a, b)
            except ValueError:  # shapes that do not broadcast: the general path raises for them
                return general(self, other)
            if legacy and v.__class__ is PLAIN:  # MXNet's comparisons return the operands' dtype, not bool
                v = v.astype(a.dtype)
            return_result(v)
    return general(self, other)


def in_place(self, other):
    """NumPy writes to host memory that no tape or window watches."""
    kind = self.__class__
    if kind is not view:
        v = self._content
        if v.__class__ is not PLAIN:
            v = owned(self)
    elif (
        (of := self._of) is not None
        and of is self._base._content
        and (of.__class__ is PLAIN or not (self._gradient is not None or is_watched(of)))
    ):
        v = self._seen
    else:
        v = owned(self)
    if v is not None and (kind is view or v.ndim):
        kind = other.__class__
        if kind is cls or kind is view:
            b = content(other)
            if b.__class__ is not PLAIN:
                b = memory(other)
        else:
            b = other._raw if kind is element else other
            kind = b.__class__
            if kind is not float and kind is not int and kind is not PLAIN and kind not in native:
                return general(self, other)
        if b is not None:
            try:
                fn(v, b, v)
                return self
            except (TypeError, ValueError):  # `general` raises for it, with an error that says what to do
                pass
    return general(self, other)


def in_place_by_legacy(self, other):
    """The same by MXNet's convention, for floats of one dtype: the general path converts other operands."""
    if self.__class__ is cls:
        a = self._content
    else:  # the part of its root that it shows, if that may be written now
        a = self._base._content
        a = self._seen if self._of is a and (a.__class__ is PLAIN or owned(a)) else None
    # integers are left out: MXNet converts numbers to their dtype, and some operators wrap where NumPy raises
    if a.__class__ is PLAIN and a.dtype.kind == "f":
        kind = other.__class__
        if kind is float or kind is int:
            b = scalar_of(other, NAME_OF[a.dtype])
        else:
            b = other._content if isinstance(other, cls) and other._legacy is legacy else None
        if b.__class__ is PLAIN and b.dtype is a.dtype:
            try:
                quick(fn, a, b, a)
                return self
            except RECOVERABLE:
                pass
    return general(self, other)


def product_of_view(self, other):
    """The matrix product whose first operand is a view. A transposed matrix times a vector is the vector times the matrix."""
    kind = other.__class__
    if (kind is cls or (kind is view and other._steps is None and (other._of.__class__ is PLAIN or tls.tape is None))) and (
        self._steps is None and (self._of.__class__ is PLAIN or tls.tape is None)
    ):
        b = content(other)
        if self._key is AXES_REVERSED and b.__class__ is PLAIN and b.ndim == 1 and self._under.__class__ is cls:
            a = self._under._content
            if a.__class__ is PLAIN and a.ndim == 2:
                try:
                    v = fn(a, b) if reverse else fn(b, a)
                    return_result(v)
                except RECOVERABLE:
                    pass
        a = content(self)
        if (
            a.__class__ is PLAIN
            and b.__class__ is PLAIN
            and (
                (a.ndim == 2 == b.ndim and a.size < GAPS and b.size < GAPS)
                or (self._key is not AXES_REVERSED and (kind is cls or other._key is not AXES_REVERSED))
            )
        ):
            try:
                v = fn(b, a) if reverse else fn(a, b)
                return_result(v)
            except RECOVERABLE:
                pass
    return general(self, other)
