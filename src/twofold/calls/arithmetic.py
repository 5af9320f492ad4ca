"""Python's operators, and functions of one or two operands: plain, recorded and deferred operands in one frame, else the general path.

A callable's function, class and bound operator are looked up once, when it is made, and while contents are plain it reads no setting.
`HOST.quick` runs a function with floating-point warnings off, in a context that cannot be entered twice, by another thread or by a
finalizer. In that case the general path takes over, as it does for operands that do not broadcast. Results without axes, which NumPy
returns as scalars, become elements (`imperative.element`) where a class has them.
"""

# pyright: reportPossiblyUnboundVariable=false, reportOptionalMemberAccess=false
# Fragments share variables with their callers, and tests that hold in a caller hold in them: a checker sees neither.

from ..assembly import fragment
from ..device import CPU
from ..dtype import NAME_OF
from ..imperative.cell import PLAIN, Value, content_of, wrap
from ..imperative.deferral import join, now, now_by_program
from ..imperative.guards import has_gradient, is_plain, is_replaced, is_watched
from ..imperative.sites import SITES
from ..imperative.storage import applied
from ..imperative.tape import tls
from ..imperative.views import AXES_REVERSED, GAPS, is_changeable
from ..signal_handlers import unless_signalled
from .contents import (
    BFLOAT16,
    cls,
    content,
    contiguous,
    element,
    elements,
    is_numpys,
    legacy,
    native,
    part,
    quick,
    return_array,
    return_element,
    return_result,
    return_small,
    scalar_of,
)
from .fragments import (
    BOOL,
    RECOVERABLE,
    ROOTED,
    agree,
    agrees,
    alone,
    bound_op,
    fn,
    general,
    has_general,
    has_roots,
    has_view_product,
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
    roots,
    run,
    run_number,
    runs_now,
    squared,
    takes_numbers,
    typed,
    view_product,
)


@fragment
def return_product_of_view(x, y, swapped):
    """Return the matrix product of a view and an array, ``swapped`` if the view is the second operand, if both can be read now.

    A transposed matrix times a vector is the vector times the matrix.
    """
    # Views made by a short path (``_steps`` is None), whose elements can be read without recording the read.
    if (
        y.__class__ is cls
        and (y._held is not None or (y._steps is None and (y._of.__class__ is PLAIN or tls.tape is None)))
        and x._steps is None
        and (x._of.__class__ is PLAIN or tls.tape is None)
    ):
        b = content(y)
        # Aᵀ · v is v · A, and v · Aᵀ is A · v, without a copy of A. The general path exchanges the operands too, so the bits are the same.
        if x._key is AXES_REVERSED and b.__class__ is PLAIN and b.ndim == 1 and x._under.__class__ is cls:
            a = x._under._held
            if a.__class__ is PLAIN and a.ndim == 2:
                try:
                    v = fn(a, b) if swapped else fn(b, a)
                    return_result(v)
                except unless_signalled(RECOVERABLE):
                    pass
        # Contiguous operands (`content` copies small parts), which the operator would multiply too: small matrices, or none transposed.
        # Products with large transposed matrices are left to the general path: BLAS reads these in place, which may round differently.
        a = content(x)
        if (
            a.__class__ is PLAIN
            and b.__class__ is PLAIN
            and (
                (a.ndim == 2 == b.ndim and a.size < GAPS and b.size < GAPS)
                or (x._key is not AXES_REVERSED and (y._held is not None or y._key is not AXES_REVERSED))
            )
        ):
            try:
                v = fn(b, a) if swapped else fn(a, b)
                return_result(v)
            except unless_signalled(RECOVERABLE):
                pass


@fragment
def return_of_parts(self, other, a, b, kind):
    """Return the result of operands of which one or two are parts with gaps.

    NumPy reads them where they are if its function has the same bits for parts, and to square them; else they are copied first.
    """
    p = part(self) if a is None else a
    q = None
    if kind is cls:
        q = part(other) if b is None else b
    elif kind is float or kind is int:
        q = other
    if p.__class__ is PLAIN and q is not None and q.__class__ is not Value and (not powers or p.dtype is not BOOL):
        try:
            if runs_now:
                v = fn(q, p) if reverse else fn(p, q)
            elif powers and not reverse and kind is int and other == 2:
                v = squared(p)
            else:
                p = contiguous(p)
                q = contiguous(q) if kind is cls else q
                v = fn(q, p) if reverse else fn(p, q)
        except unless_signalled(RECOVERABLE):
            v = None
        if v.__class__ is PLAIN and v.flags.c_contiguous:
            return_small(v)


# ---------------------------------------------------------------------------------------------------------- templates


def binary(self, other):
    """An operator of two operands, or of an array and a number."""
    kind = other.__class__
    if has_roots and (kind is float or kind is int) and other in roots:
        a = self._held
        if a.dtype.kind == "f" and a.dtype is not BFLOAT16 if a.__class__ is PLAIN else self._dtype in ROOTED:
            return roots[other](self)
    if has_view_product:  # before a view is read, which may be recorded
        if self._held is None:
            return_product_of_view(self, other, False)
            return view_product(self, other)
        if other.__class__ is cls and other._held is None:
            return_product_of_view(other, self, True)
            return view_product(self, other)
    a = content(self)
    if kind is cls:
        b = content(other)
        # Both small, ready and unrecorded: the result is NumPy's by definition, or by MXNet's rules as well (`agree`).
        if a.__class__ is PLAIN:
            if b.__class__ is PLAIN and agree(a, b):
                try:
                    v = run(a, b)
                    return_result(v)
                except unless_signalled(RECOVERABLE):
                    pass
        # Both recorded, large or pending. If only one of them is, the general path takes over.
        elif a.__class__ is Value and b.__class__ is Value:
            return_of_values(self, other, a, b)
    elif kind is float or kind is int:
        # NumPy promotes the number itself; MXNet's rules give it the array's dtype (`run_number`). The square of bools is left out, since
        # NumPy's operator and its function `power` give it different dtypes.
        if a.__class__ is PLAIN and takes_numbers and agrees(a) and (not powers or a.dtype is not BOOL or other != 2):
            try:
                v = run_number(a, other, kind)
                return_result(v)
            except unless_signalled(RECOVERABLE):
                pass
        elif a.__class__ is Value:
            return_of_value_and_number(self, other, a, kind)
    elif elements and (kind in native or kind is element or kind is complex or (kind is bool and not powers) or is_numpys(other, kind)):
        # An element is NumPy's scalar, which has a dtype and promotes by it; a total holds one. NumPy promotes bools and complex numbers.
        if a.__class__ is PLAIN:
            b = other._raw if kind is element else other
            try:
                v = run(a, b)
                return_result(v)
            except unless_signalled(RECOVERABLE):
                pass
    # Lists, NumPy's arrays and objects of unknown classes: for NotImplemented, Python calls the other operand's class.
    elif not isinstance(other, operand):
        return general(self, other) if has_general else NotImplemented
    if not legacy and takes_numbers and (a is None or (kind is cls and b is None)):  # a ufunc's operand is a part
        return_of_parts(self, other, a, b, kind)
    return_general(self, a, other, b, kind)


def unary(self):
    """An operator of one operand."""
    # The cases are those of `binary`: small and unrecorded, then large or pending, then recorded on this tape in a known structure.
    a = content(self)
    if a.__class__ is PLAIN and agrees(a):
        try:
            # MXNet's functions do not warn of floating-point errors; NumPy's do, as its users expect
            v = quick(fn, a) if legacy else fn(a)
            return_result(v)
        except unless_signalled(RECOVERABLE):
            pass
    elif a.__class__ is Value:
        tape = tls.tape
        entry_a = a.entry
        if tape is None or not has_gradient(entry_a):
            if (SITES and a.device is CPU and (v := now(fn, (a.data,)) if runs_now else now_by_program(bound_op, a.data)) is not None) or (
                not alone and (v := join(typed, (a,))) is not None
            ):
                return_joined(v)
        elif entry_a.tape is tape and a.data is not None and a.device is CPU:
            node = typed.get((entry_a.node,))
            # a known primitive, whose program is one call of this function, with the same bits
            if is_recordable(node):
                try:
                    out = quick(fn, a.data)
                except unless_signalled(RECOVERABLE):
                    return general(self) if has_general else applied(bound_op, (self,))
                return_recorded(out, node, (entry_a,), (a,), tape)
    elif not legacy and a is None and (p := part(self)) is not None:
        try:
            v = fn(p if runs_now else contiguous(p))  # by NumPy's function, a part read where it is may have other bits
            if v.flags.c_contiguous:
                return_small(v)
        except unless_signalled(RECOVERABLE):
            pass
    # a view's content has been read above; reading it again might record the read again
    if self._held is None and a.__class__ is Value:
        self = wrap(cls, a)
    return general(self) if has_general else applied(bound_op, (self,))


def unary_of_element(self):
    """An operator of a single element: Python's own on NumPy's scalar, which is faster than any ufunc."""
    try:
        v = fn(self._raw)
    except unless_signalled(RECOVERABLE):
        return general(self)
    return_element(v)
    return general(self)


def binary_of_element(self, other):
    """The same of an element and an element, number or array."""
    kind = other.__class__
    if kind is element:
        b = other._raw
    elif kind is float or kind is int or kind in native:
        b = other
    elif kind is cls:
        b = content(other)
        if b.__class__ is not PLAIN:
            return general(self, other)
    else:
        return general(self, other)
    try:
        v = fn(b, self._raw) if reverse else fn(self._raw, b)
    except unless_signalled(RECOVERABLE):
        return general(self, other)
    return_element(v)
    return_array(v)
    return general(self, other)


def comparison(self, other):
    """A comparison of floats in host memory. Bools have no gradient, so there is nothing to record."""
    a = content_of(self)
    # a small Value, such as a parameter; MXNet's comparisons give floats, which are recorded, with gradients of 0
    if a.__class__ is Value and a.device is CPU and is_plain(data := a.data):
        entry = a.entry
        if legacy and tls.tape is not None and has_gradient(entry):
            return general(self, other)
        a = data
    # floats of one dtype, which NumPy compares directly; the general path has the rules for promotion and for integers
    if a.__class__ is PLAIN and a.dtype.kind == "f":
        kind = other.__class__
        if kind is float or kind is int:
            b = scalar_of(other, NAME_OF[a.dtype])
        else:
            b = content_of(other) if isinstance(other, cls) and other._legacy is self._legacy else None
        if b.__class__ is PLAIN and a.dtype is b.dtype:  # NumPy's own dtypes are singletons, and identity is faster
            try:
                v = fn(a, b)
            except unless_signalled(ValueError):  # shapes that do not broadcast: the general path raises for them
                return general(self, other)
            if legacy and v.__class__ is PLAIN:  # MXNet's comparisons return the operands' dtype, not bool
                v = v.astype(a.dtype)
            return_result(v)
    return general(self, other)


def in_place(self, other):
    """NumPy writes to host memory that no tape or window watches."""
    # The memory ``v`` to write, None if something else reads it. A plain content belongs to its cell alone.
    v = of = self._held
    if v is not None:
        if v.__class__ is not PLAIN:
            v = owned(self)
    # A view's data is current while its base has the content from which the view was taken. That content must not be watched either.
    elif (
        (of := self._of) is not None
        and of is self._base._held
        and (of.__class__ is PLAIN or not (self._gradient is not None or is_watched(of)))
    ):
        v = self._seen
    else:
        of = self._base._held  # see `writes_in_place`
        v = owned(self)
    # A result without axes is a scalar to NumPy, which cannot be changed; an array that the program has made, or a view, can.
    if v is not None and (v.ndim or is_changeable(self)):
        kind = other.__class__
        if kind is cls:
            b = content(other)
            if b.__class__ is not PLAIN:
                b = memory(other)
        else:
            b = other._raw if kind is element else other
            kind = b.__class__
            if kind is not float and kind is not int and kind is not bool and kind is not PLAIN and kind not in native:
                return general(self, other)
        if b is not None and not is_replaced(of, self if self._held is not None else self._base):
            try:
                # NumPy's own in-place operator: it casts within a kind, and where the operands overlap it reads before it writes
                fn(v, b, v)
            except unless_signalled((TypeError, ValueError)):  # `general` raises an error that says what to do
                pass
            else:
                return self
    return general(self, other)


def in_place_by_legacy(self, other):
    """The same by MXNet's convention, for floats of one dtype: the general path converts other operands."""
    a = self._held
    if a is None:  # the part of its root that the view shows, if that may be written now
        of = self._base._held
        a = self._seen if of is not None and self._of is of and (of.__class__ is PLAIN or owned(of)) else None
    # integers are left out: MXNet converts numbers to their dtype, and some operators wrap where NumPy raises
    if a.__class__ is PLAIN and a.dtype.kind == "f":
        kind = other.__class__
        if kind is float or kind is int:
            b = scalar_of(other, NAME_OF[a.dtype])
        else:
            b = content_of(other) if isinstance(other, cls) and other._legacy is legacy else None
        if b.__class__ is PLAIN and b.dtype is a.dtype and (self._held is not None or not is_replaced(of, self._base)):
            try:
                quick(fn, a, b, a)
            except unless_signalled(RECOVERABLE):
                pass
            else:  # outside: an error behind the write must not add again
                return self
    return general(self, other)
