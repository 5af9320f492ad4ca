"""Templates of short calls of NumPy's ufuncs, of one operand and of two."""

# pyright: reportPossiblyUnboundVariable=false, reportOptionalMemberAccess=false
# Fragments share variables with their callers, and tests that hold in a caller hold in them: a checker sees neither.

from typing import Any

from ..assembly import FREE, Function, fragment
from ..imperative.cell import PLAIN, Value
from ..scheduler.observers import LISTENERS
from ..signal_handlers import unless_signalled
from .contents import BFLOAT16, cls, content, element, is_numpys, native, new_array, packed, return_result
from .short import REFUSED, device_is_chosen, general, numpys, return_kept

#: The operator's function for contents of any kind.
function: Function = FREE
#: NumPy's ufuncs of one or two elements with one result, as far as they have been called on arrays.
direct: set[object] = FREE
MISSING = object()
#: Known beforehand: whether the ufunc has an operator.
has_function: bool = FREE


def ufunc_of_one(self, x, /, *more, out=None, **options):
    """The call of a ufunc of one operand."""
    kind = x.__class__
    if more or options or LISTENERS:
        return general(self, x, *more, out=out, **options)
    if kind is cls:
        a = content(x)
        if has_function and a.__class__ is not PLAIN and out is None:
            if x._held is None and a.__class__ is Value:  # reading it once more might be recorded once more
                x = new_array()
                x._held = a
            return function(x)
        a = packed(x, a)
    elif kind is element:
        a = x._raw
    elif kind in native and out is None and not device_is_chosen():
        try:  # functions of NumPy's scalars alone give such scalars
            return numpys(x)
        except unless_signalled(REFUSED):
            return general(self, x)
    elif (kind is float or kind is int or kind is bool or is_numpys(x, kind)) and not device_is_chosen():
        a = x
    else:
        return general(self, x, out=out)
    if a.__class__ is not Value and a is not None:
        try:
            if out is not None:  # NumPy writes to a small array that was given as ``out``
                if out.__class__ is cls and (v := out._held).__class__ is PLAIN and v.ndim:
                    numpys(a, v)
                    return out
                return general(self, x, out=out)
            v = numpys(a)
            return_result(v)
        except unless_signalled(REFUSED):
            pass
    return general(self, x, out=out)


@fragment
def number_beside_bfloat16(a, b):
    """Whether one of two operands is a Python float, and the other one of bfloat16."""
    return (b.__class__ is float and a.__class__ is PLAIN and a.dtype is BFLOAT16) or (
        a.__class__ is float and b.__class__ is PLAIN and b.dtype is BFLOAT16
    )


def ufunc_of_two(self, x, y, /, *more, out=None, **options):
    """The call of a ufunc of two operands."""
    kind = x.__class__
    # Further arguments, ``where`` or ``dtype``, have rules of their own; listeners are told of calls by the general path.
    if more or options or LISTENERS:
        return general(self, x, y, *more, out=out, **options)
    # 1. The first operand is an array: recorded, large or pending ones go to the operator's own short paths (`arithmetic.binary`).
    if kind is cls:
        a = content(x)
        if has_function and a.__class__ is not PLAIN and out is None:
            if x._held is None and a.__class__ is Value:  # as in `ufunc_of_one`
                x = new_array()
                x._held = a
            # a ufunc raises for an operand of an unknown class, where an operator lets Python ask that class
            v = function(x, y)
            return general(self, x, y) if v is NotImplemented else v
        a = packed(x, a)
    # 2. It is a scalar. With a Python number the result may belong on the current device, which a ``with`` block has changed.
    elif kind is element:
        a = x._raw
    elif (kind in native or kind is float or kind is int) and not device_is_chosen():
        other = y.__class__
        if out is None and (other in native or (kind in native and (other is float or other is int))):
            try:
                return numpys(x, y)
            except unless_signalled(REFUSED):
                return general(self, x, y)
        a = x
    elif (kind is bool or is_numpys(x, kind)) and not device_is_chosen():
        a = x
    else:
        return general(self, x, y, out=out)
    # The second operand likewise, now that the device is settled.
    kind = y.__class__
    if kind is cls:
        b = content(y)
        b = packed(y, b)
    elif kind is element:
        b = y._raw
    elif kind is float or kind is int or kind is bool or kind in native or is_numpys(y, kind):
        b = y
    else:
        return general(self, x, y, out=out)
    # 3. Both are arrays or scalars that NumPy takes, ready and unrecorded: result and promotion are NumPy's by definition, but for
    # floats beside bfloat16, of which NumPy would make float32. A content None is that of a large view with gaps.
    if a.__class__ is not Value and b.__class__ is not Value and b is not None and not number_beside_bfloat16(a, b):
        try:
            if out is not None:
                if out.__class__ is cls and (v := out._held).__class__ is PLAIN and v.ndim:
                    numpys(a, b, out=v)  # by name: `maximum` and `minimum` warn of a third operand
                    return out
                return general(self, x, y, out=out)
            v = numpys(a, b)
            return_result(v)
        except unless_signalled(REFUSED):
            pass
    return general(self, x, y, out=out)


@fragment
def at_hand(x, kind):
    """NumPy's array or scalar of an operand; None for one that NumPy cannot take now."""
    if kind in native:
        a = x
    elif kind is cls:
        a = content(x)
    elif kind is element:
        a = x._raw
    elif is_numpys(x, kind):
        a = x
    else:
        a = None
    return a


def where(condition, x: Any = MISSING, y: Any = MISSING, /, *more, **options):
    """The elements of one array or of another; of a mask alone, where it is true."""
    if condition.__class__ is cls and not more and not options and not LISTENERS:
        if x is MISSING:
            return condition.nonzero()
        a = content(condition)
        kind = x.__class__
        b = at_hand(x, kind)
        if kind is float or kind is int:
            b = x
        kind = y.__class__
        c = at_hand(y, kind)
        if kind is float or kind is int:
            c = y
        if (
            a.__class__ is PLAIN
            and b.__class__ is not Value
            and c.__class__ is not Value
            and b is not None
            and c is not None
            and (b.__class__ is not PLAIN or b.dtype is not BFLOAT16)
            and (c.__class__ is not PLAIN or c.dtype is not BFLOAT16)
        ):
            try:
                v = numpys(a, b, c)
                return_kept(v)
            except unless_signalled(REFUSED):
                pass
    return general(condition, *(() if x is MISSING else (x,) if y is MISSING else (x, y)), *more, **options)


def array_ufunc(self, ufunc, method, x, y=MISSING, /, *more, **options):
    """``__array_ufunc__``: NumPy's ufuncs and the operators of its scalars, which are the elements of arrays, come here."""
    if ufunc in direct and method == "__call__" and not more and not options and not LISTENERS:
        kind = x.__class__
        a = at_hand(x, kind)
        if a.__class__ is PLAIN or kind in native:
            try:
                if y is MISSING:
                    v = ufunc(a)
                    return_result(v)
                else:
                    kind = y.__class__
                    b = at_hand(y, kind)
                    if b.__class__ is PLAIN or kind in native or kind is element:
                        v = ufunc(a, b)
                        return_result(v)
            except unless_signalled(REFUSED):
                pass
    return general(self, ufunc, method, x, *more, **options) if y is MISSING else general(self, ufunc, method, x, y, *more, **options)
