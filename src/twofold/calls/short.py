"""Templates of short calls: functions that call NumPy's own on the contents of small arrays, and make one array for its result.

Each template serves one form of arguments. Other calls go to the general function, and so does a call that NumPy refuses: the general
function finds a result, or raises an error that says what to do.
"""

# pyright: reportPossiblyUnboundVariable=false, reportOptionalMemberAccess=false
# Fragments share variables with their callers, and tests that hold in a caller hold in them: a checker sees neither.

from collections.abc import Mapping

import numpy as np

from ..assembly import FREE, Function, fragment
from ..device import DEFAULTS, ENTERED
from ..dtype import NAME_OF
from ..imperative.cell import PLAIN
from ..imperative.guards import is_tracked, plain_or_value
from ..imperative.tape import tls
from ..imperative.views import AXES_REVERSED, CHANGEABLE, GAPS, is_changeable
from ..scheduler.observers import LISTENERS
from ..signal_handlers import unless_signalled
from .contents import BFLOAT16, cls, content, contiguous, element, is_numpys, new_array, packed, return_element, return_result, return_small
from .fragments import RECOVERABLE

#: NumPy's function, and the front end's general one.
numpys: Function = FREE
general: Function = FREE
#: `any_call`: the functions for arguments that it does not look into, for large ready arrays, and for other results; and the classes of
#: arguments that are passed on unchanged.
at_length: Function = FREE
of_large: Function = FREE
finished: Function = FREE
atoms: frozenset[type] = FREE
#: `reduction`: NumPy's function of array, axis, dtype, out and keepdims.
reduce: Function = FREE
#: `known`: what reads an attribute.
get: Function = FREE
#: `by_method`: the method's name, and with how many arguments it means the same as the function.
method: str = FREE
counts: tuple[int, ...] = FREE
#: Known beforehand: whether the method's options are the function's.
named: bool = FREE
#: Known beforehand: whether NumPy's function takes the place of the general one for views too; and whether a reduction takes ``out`` and
#: ``keepdims``.
of_views: bool = FREE
keeps: bool = FREE

#: The other axis of a matrix.
OTHER_AXIS = {-2: 1, -1: 0, 0: -1, 1: -2}
#: Has an item while machine code has taken the place of methods.
MACHINE_CODE: list[object] = []
#: Keywords that NumPy lacks, or with which its rounding is not ours.
OWN_OPTIONS = frozenset({"ctx", "device", "initial"})
as_numpys = np.asarray


class NotPlain(Exception):
    """NumPy cannot take an argument unchanged."""


#: Exceptions after which the general function is called.
REFUSED = (*RECOVERABLE, IndexError, OverflowError, NotPlain)

# ---------------------------------------------------------------------------------------------------------- fragments


@fragment
def is_alone(more: tuple[object, ...], options: Mapping[str, object]) -> bool:
    """Whether nothing follows the parameters that a template spells out."""
    return not more and not options and not LISTENERS


@fragment
def device_is_chosen() -> object:
    """Whether this thread has chosen a device for new arrays; as long as no thread has, without looking for what this one has."""
    return ENTERED and DEFAULTS.stack


@fragment
def is_at_hand(a, kind):
    """Whether an argument is an array, or a view whose memory can be read: reading a recorded view makes and records a copy each time."""
    return kind is cls and (a._held is not None or ((of := a._of) is not None and (of.__class__ is PLAIN or tls.tape is None)))


@fragment
def memory(a, kind):
    """NumPy's array of a small array or of a view; None for anything else."""
    return None if kind is not cls else a._held if a._held is not None else a._seen if a._of is not None else None


@fragment
def is_atomic(value, kind):
    """Whether an argument is passed on unchanged: a number, a name, or a list of such."""
    # (its first item tells most lists of arrays)
    return kind in atoms or (
        (kind is tuple or kind is list) and (not value or value[0].__class__ in atoms) and atoms.issuperset(map(type, value))
    )


@fragment
def return_unless_taken(a, args, options, first):
    """Put NumPy's array or scalar in place of an argument of `any_call`. If there is none, return the result of another function."""
    kind = a.__class__
    if kind is cls:
        x = a
        a = x._held
        if a.__class__ is not PLAIN:
            if a is not None:
                if tls.tape is not None and is_tracked(a):
                    return general(*args, **options)
                return of_large(general, numpys, args, options)
            # a view
            if not of_views or x._of.__class__ is not PLAIN:
                if tls.tape is not None and is_tracked(whole := x._base._content):
                    return general(*args, **options)
                return at_length(general, numpys, args, options)
            a = content(x)
            a = packed(x, a)
            if a.__class__ is not PLAIN or a.dtype is BFLOAT16:
                return at_length(general, numpys, args, options)
        elif a.dtype is BFLOAT16:
            return of_large(general, numpys, args, options)
    elif kind is element:
        a = a._raw
    elif is_atomic(a, kind):
        if first and device_is_chosen():
            return at_length(general, numpys, args, options)
    elif not is_numpys(a, kind) or device_is_chosen():
        return at_length(general, numpys, args, options)


@fragment
def return_kept(v):
    """Return a new array around NumPy's fresh one, if Twofold has its dtype."""
    if v.dtype in NAME_OF:
        return_small(v)


@fragment
def ready_parts(given):
    """NumPy's arrays of several arrays and lists of numbers; None if some are not at hand."""
    ready = []
    for part in given:
        kind = part.__class__
        if is_at_hand(part, kind):
            v = content(part)
        elif is_numpys(part, kind) and not device_is_chosen():
            v = part
        elif (
            (kind is list or kind is tuple)
            and atoms.issuperset(map(type, part))
            and not device_is_chosen()
            and (v := as_numpys(part)).dtype in NAME_OF
        ):
            pass
        else:
            ready = None
            break
        if v.__class__ is not PLAIN or v.dtype is BFLOAT16:
            ready = None
            break
        ready.append(v)
    return ready


# ---------------------------------------------------------------------------------------------------------- templates


def any_call(*args, **options):
    """Any function, of one to three arguments that are arrays, numbers or names."""
    # 1. Calls that this template does not look into. `at_length` takes any number and kind of arguments, or leaves them to `general`.
    n = len(args)
    if LISTENERS or n > 3 or n == 0:
        return at_length(general, numpys, args, options)
    if options:
        for name, value in options.items():
            kind = value.__class__
            if not is_atomic(value, kind) or name in OWN_OPTIONS:
                return at_length(general, numpys, args, options)
    # 2. Up to three arguments become NumPy's, one by one, without a list. If the first is a number there may be no array at all, and the
    # result belongs on the current device.
    a = args[0]
    b = c = None
    return_unless_taken(a, args, options, True)
    try:
        if n == 1:
            v = numpys(a, **options) if options else numpys(a)
        else:
            b = args[1]
            return_unless_taken(b, args, options, False)
            if n == 2:
                v = numpys(a, b, **options) if options else numpys(a, b)
            else:
                c = args[2]
                return_unless_taken(c, args, options, False)
                v = numpys(a, b, c, **options) if options else numpys(a, b, c)
    except unless_signalled(REFUSED):
        return general(*args, **options)
    # 3. A fresh array (not an argument or a view of one) becomes a content directly, if it is row-major and Twofold has its dtype.
    if v.__class__ is PLAIN:
        if v.base is None and v is not a and v is not b and v is not c and (v.ndim < 2 or v.flags.c_contiguous) and v.dtype in NAME_OF:
            return_small(v)
        if v is a and args[0].__class__ is cls and args[0]._held is v:
            return args[0]
    return_element(v)
    if v.__class__ in atoms:
        return v
    # 4. Views, tuples, and arguments that NumPy has written to.
    try:
        return finished(v, (a, b, c)[:n], args)
    except unless_signalled(REFUSED):
        return general(*args, **options)


def reduction(a, axis=None, *more, out=None, keepdims=False, **options):
    """A reduction of an array over all axes or one."""
    kind = a.__class__
    if (
        is_at_hand(a, kind)
        and is_alone(more, options)
        and (axis is None or axis.__class__ is int or axis.__class__ is tuple)
        and ((keepdims is False and out is None) or keeps)
    ):
        v = content(a)
        if v is None and keeps and axis.__class__ is int and a._steps is None and a._key is AXES_REVERSED and out is None and not keepdims:
            m = a._under._held if a._under.__class__ is cls else None
            if m.__class__ is PLAIN and m.ndim == 2 and axis in OTHER_AXIS and m.dtype is not BFLOAT16:
                v = reduce(m, OTHER_AXIS[axis])  # that of the matrix along its other axis, as by `reductions._below`
                return_result(v)
        v = packed(a, v)
        if v.__class__ is PLAIN and v.dtype is not BFLOAT16:
            try:
                if out is not None:
                    if out.__class__ is cls and (w := out._held).__class__ is PLAIN and w.dtype is v.dtype and w.ndim:
                        reduce(v, axis, None, w, keepdims)
                        return out
                    return general(a, axis, out=out, keepdims=keepdims)
                v = reduce(v, axis, None, None, keepdims) if keepdims else reduce(v, axis)
                return_result(v)
            except unless_signalled(REFUSED):
                pass
    if out is not None:
        options["out"] = out
    if keepdims is not False:
        options["keepdims"] = keepdims
    return general(a, axis, *more, **options)


def copied(a, *more, **options):
    """A copy of an array."""
    kind = a.__class__
    if is_alone(more, options):
        v = a._held if kind is cls else None
        if v is None and kind is cls and (of := a._of).__class__ is PLAIN and of is a._base._held:
            v = a._seen
        if v.__class__ is PLAIN:
            v = numpys(v)
            r = new_array()
            r._held = v
            if not v.ndim and is_changeable(a):
                r._key = CHANGEABLE
            return r
    return general(a, *more, **options)


def in_rows(a, dtype=None, *more, **options):
    """An array with its elements in row-major order: itself, or a copy."""
    kind = a.__class__
    if is_at_hand(a, kind) and dtype is None and is_alone(more, options):
        v = memory(a, kind)
        if v.__class__ is PLAIN and v.ndim:
            if v.flags.c_contiguous:
                return a
            if v.size < GAPS and v.dtype is not BFLOAT16:
                v = v.copy()
                return_small(v)
    return general(a, dtype, *more, **options)


def copied_to(dst, src, *more, **options):
    """``np.copyto`` of a number, or between arrays of one dtype: an assignment."""
    kind = dst.__class__
    other = src.__class__
    if kind is cls is other and is_alone(more, options):
        v = memory(dst, kind)
        w = memory(src, other)
        if v.__class__ is PLAIN is w.__class__ and v.dtype is w.dtype and w.ndim <= v.ndim:
            dst[...] = src
            return None
    elif kind is cls and (other is int or other is float) and is_alone(more, options):
        v = memory(dst, kind)
        if v.__class__ is PLAIN and v.dtype.kind in ("f" if other is float else "fiu"):  # others may be refused
            dst[...] = src
            return None
    return general(dst, src, *more, **options)


def writing(*args, **options):
    """A function that writes to its first argument, of numbers, lists of numbers and whole arrays."""
    v = args[0]._held if args and args[0].__class__ is cls else None
    if v.__class__ is PLAIN and v.dtype is not BFLOAT16 and not options and not LISTENERS and tls.tape is None:
        given = [v]
        for x in args[1:]:
            kind = x.__class__
            if kind is cls:
                w = x._held
                if w.__class__ is not PLAIN or w is v:
                    return general(*args)
                given.append(w)
            elif is_atomic(x, kind):
                given.append(x)
            else:
                return general(*args)
        try:
            return numpys(*given)
        except unless_signalled(REFUSED):
            pass
    return general(*args, **options)


def places(a, *more, **options):
    """Where elements are not 0: an array of indices for each axis."""
    kind = a.__class__
    if is_at_hand(a, kind) and is_alone(more, options):
        v = content(a)
        v = packed(a, v)
        if v.__class__ is PLAIN and v.ndim:
            found = []
            for r in v.nonzero():
                r = contiguous(r)
                made = new_array()
                made._held = plain_or_value(r)
                found.append(made)
            return tuple(found)
    return general(a, *more, **options)


def diag(v, k=0, *more, **options):
    """The matrix with a vector on a diagonal. The diagonal of a matrix is a view."""
    kind = v.__class__
    if is_at_hand(v, kind) and is_alone(more, options):
        a = content(v)
        if a.__class__ is PLAIN and a.ndim == 1 and a.dtype is not BFLOAT16:
            try:
                a = numpys(a, k)
                return_small(a)
            except unless_signalled(REFUSED):
                pass
    elif kind is list and v and atoms.issuperset(map(type, v)) and is_alone(more, options) and not device_is_chosen():
        try:
            a = numpys(v, k)
            return_kept(a)
        except unless_signalled(REFUSED):
            pass
    return general(v, k, *more, **options)


def known(a, *more, **options):
    """What is known of an array without its elements."""
    return get(a) if a.__class__ is cls and is_alone(more, options) else general(a, *more, **options)


def by_method(a, *more, **options):
    """A view that a method of the array makes."""
    if a.__class__ is cls and len(more) in counts:
        if not options:
            return getattr(a, method)(*more)
        if named:
            return getattr(a, method)(*more, **options)
    return general(a, *more, **options)


def joined(arrays, axis=0, *more, **options):
    """Arrays joined along an axis that is given."""
    if is_alone(more, options) and (arrays.__class__ is list or arrays.__class__ is tuple) and axis.__class__ is int:
        ready = ready_parts(arrays)
        if ready is not None:
            try:
                v = numpys(ready, axis)
            except unless_signalled(REFUSED):
                return general(arrays, axis, *more, **options)
            if v.ndim < 2 or v.flags.c_contiguous:
                return_small(v)
    return general(arrays, axis, *more, **options)


def stacked(tup, *more, **options):
    """Arrays joined along an axis that the function's name implies."""
    if is_alone(more, options) and (tup.__class__ is list or tup.__class__ is tuple):
        ready = ready_parts(tup)
        if ready is not None:
            try:
                v = numpys(ready)
            except unless_signalled(REFUSED):
                return general(tup, *more, **options)
            if v.ndim < 2 or v.flags.c_contiguous:
                return_small(v)
    return general(tup, *more, **options)
