"""Python's operators, and functions of one or two operands: plain, recorded and deferred operands in one frame, else the general path.

What a callable uses (the function, the class, the bound operator) is looked up once, when it is made, and while contents are plain it reads
no setting. `HOST.quick` runs a function with floating-point warnings off, in a context that cannot be entered twice, by another thread or
by a finalizer. In that case the general path takes over, as it does for operands that do not broadcast. Results without axes, which NumPy
returns as scalars, become elements (`imperative.element`) where a class has them.
"""

# pyright: reportPossiblyUnboundVariable=false, reportOptionalMemberAccess=false
# Fragments share variables with their callers, and tests that hold in a caller hold in them: a checker sees neither.

from ..device import CPU
from ..dtype import NAME_OF
from ..imperative.cell import PLAIN, Value, wrap
from ..imperative.deferral import join, now
from ..imperative.guards import has_gradient, is_plain, is_watched
from ..imperative.storage import applied
from ..imperative.tape import tls
from ..imperative.views import AXES_REVERSED, GAPS
from .contents import (
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
from .fragments import (
    BOOL,
    RECOVERABLE,
    agree,
    agrees,
    alone,
    bound_op,
    fn,
    general,
    has_general,
    is_recordable,
    memory,
    operand,
    owned,
    powers,
    return_general,
    return_joined,
    return_of_value_and_number,
    return_of_values,
    return_recorded,
    reverse,
    run,
    run_number,
    runs_now,
    takes_numbers,
    typed,
)

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
        # Python then tries the other operand's reflected operator
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
    # a view's content has been read above: reading it again might record it again
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
    # a small Value, such as a parameter: whether a tape knows it makes no difference here
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
