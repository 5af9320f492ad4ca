"""Templates of short calls: functions that call NumPy's own on the contents of small arrays, and make one array for its result.

Each template serves one form of arguments. Other calls go to the general function, and so does a call that NumPy refuses: the general
function finds a result, or raises an error that says what to do.
"""

# pyright: reportPossiblyUnboundVariable=false, reportOptionalMemberAccess=false
# Fragments share variables with their callers, and tests that hold in a caller hold in them: a checker sees neither.

from collections.abc import Mapping
from operator import attrgetter

import numpy as np

from ..assembly import FREE, Function, fragment
from ..device import DEFAULTS, ENTERED
from ..dtype import NAME_OF, NUMPY
from ..imperative.cell import PLAIN
from ..imperative.element import NATIVE
from ..imperative.guards import is_small, is_tracked
from ..imperative.tape import tls
from ..imperative.views import AXES_REVERSED
from ..scheduler.observers import LISTENERS
from ..signal_handlers import unless_signalled
from .contents import cls, content, element, new_array, return_array, return_element, return_result, return_small
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
#: `contracted`: the sum of products by subscripts of several of NumPy's arrays.
contract: Function = FREE
#: `like`: NumPy's function of shape and dtype.
filled: Function = FREE
#: Known beforehand: whether NumPy's function takes the place of the general one for views too; and whether a reduction takes ``out`` and
#: ``keepdims``.
of_views: bool = FREE
keeps: bool = FREE

raw = attrgetter("_raw")
BFLOAT16 = NUMPY["bfloat16"]
#: Keywords that NumPy lacks, or with which its rounding is not ours.
OWN_OPTIONS = frozenset({"ctx", "device", "initial"})
NUMBERS = NATIVE | {bool, int, float, complex}
SINGLE_AND_DOUBLE = (NUMPY["float64"], NUMPY["float32"])
#: One look-up each, where `np.add.reduce` takes three.
square, total, square_root, outer_product = np.square, np.add.reduce, np.sqrt, np.multiply.outer


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
            if a.__class__ is not PLAIN or a.dtype is BFLOAT16:
                return at_length(general, numpys, args, options)
        elif a.dtype is BFLOAT16:
            return of_large(general, numpys, args, options)
    elif kind is element:
        a = a._raw
    elif kind not in atoms or (first and device_is_chosen()):
        return at_length(general, numpys, args, options)


@fragment
def return_kept(v):
    """Return a new array around NumPy's fresh one, if Twofold has its dtype."""
    if v.dtype in NAME_OF:
        return_small(v)


@fragment
def ready_parts(given):
    """NumPy's arrays of several arrays; None if some are not at hand."""
    ready = []
    for a in given:
        kind = a.__class__
        if not is_at_hand(a, kind):
            ready = None
            break
        v = content(a)
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
            if value.__class__ not in atoms or name in OWN_OPTIONS:
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
    return_element(v)
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
        and (axis is None or axis.__class__ is int)
        and ((keepdims is False and out is None) or keeps)
    ):
        v = content(a)
        if v is None and keeps and a._steps is None and a._key is AXES_REVERSED and axis is not None and out is None and not keepdims:
            m = a._under._held if a._under.__class__ is cls else None
            if m.__class__ is PLAIN and m.ndim == 2 and -3 < axis < 2 and m.dtype is not BFLOAT16:
                v = reduce(m, ~axis)  # that of the matrix along its other axis, as by `reductions._below`
                return_result(v)
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
            return r
    return general(a, *more, **options)


def norm(x, ord=None, axis=None, *more, **options):
    """The 2-norm of all elements, with the bits of its operators."""
    kind = x.__class__
    if ord is None and axis is None and kind is cls and is_alone(more, options):
        v = content(x)
        if v.__class__ is PLAIN and v.dtype in SINGLE_AND_DOUBLE:
            try:
                # not `np.linalg.norm`, which takes a dot product and rounds differently
                v = square_root(total(square(v), None))
                return_result(v)
            except unless_signalled(REFUSED):
                pass
    return general(x, ord, axis, *more, **options)


def product(a, b, *more, **options):
    """``np.dot``, by the method, whose place machine code may have taken."""
    if a.__class__ is cls and b.__class__ is cls and is_alone(more, options):
        return a.dot(b)
    return general(a, b, *more, **options)


def dot(a, b, *more, **options):
    """Products of vectors and matrices. Those of views, which may be transposed, and of large arrays are the operator's."""
    if is_alone(more, options):
        kind = a.__class__
        v = memory(a, kind)
        kind = b.__class__
        w = memory(b, kind)
        if v.__class__ is PLAIN and w.__class__ is PLAIN and 0 < v.ndim < 3 and 0 < w.ndim < 3:
            if v.dtype is BFLOAT16 or w.dtype is BFLOAT16:
                return a @ b
            if a._held is None or b._held is None:
                if v.ndim == 2 or w.ndim == 2:  # a matrix may be transposed
                    return a @ b
                v = content(a)
                w = content(b)
                if v.__class__ is not PLAIN or w.__class__ is not PLAIN:
                    return a @ b
            try:
                v = numpys(v, w)
                return_result(v)
            except unless_signalled(REFUSED):
                pass
    return general(a, b, *more, **options)


def outer(x, y, *more, **options):
    """All products of the elements of two vectors."""
    if is_alone(more, options):
        kind = x.__class__
        other = y.__class__
        if kind is cls and other is cls:
            a = content(x)
            b = content(y)
            if a.__class__ is PLAIN and b.__class__ is PLAIN and a.ndim == 1 == b.ndim:
                try:
                    v = outer_product(a, b)
                except unless_signalled(REFUSED):
                    return general(x, y)
                return_small(v)
    return general(x, y, *more, **options)


def contracted(subscripts, /, *arrays, **options):
    """Sums of products of several arrays by Einstein's convention."""
    if not options and not LISTENERS and subscripts.__class__ is str and len(arrays) > 1:
        ready = ready_parts(arrays)
        if ready is not None:
            try:
                v = contract(subscripts, ready)
                return_result(v)
            except unless_signalled(REFUSED):
                pass
    return general(subscripts, *arrays, **options)


def like(a, dtype=None, *more, **options):
    """A new array of the shape and dtype of another one."""
    if is_alone(more, options):
        kind = a.__class__
        v = memory(a, kind)
        if v.__class__ is PLAIN and is_small(v):
            try:
                w = filled(v.shape, v.dtype if dtype is None else dtype)
            except unless_signalled(REFUSED):
                return general(a, dtype)
            if w.dtype in NAME_OF:
                return_array(w)
    return general(a, dtype, *more, **options)


def drawn(*args, **options):
    """Random numbers, by shapes and parameters that are numbers."""
    # the default device may be another than cpu(0), where NumPy's array would have to be copied; a traced function draws when it runs
    if LISTENERS or device_is_chosen() or tls.tape is not None:
        return general(*args, **options)
    for value in args:
        if value.__class__ not in atoms and (value.__class__ is not tuple or not atoms.issuperset(map(type, value))):
            return general(*args, **options)
    if options:
        for name, value in options.items():
            if (value.__class__ not in atoms and (value.__class__ is not tuple or not atoms.issuperset(map(type, value)))) or (
                name in OWN_OPTIONS
            ):
                return general(*args, **options)
    try:
        v = numpys(*args, **options)
    except unless_signalled(REFUSED):
        return general(*args, **options)
    if v.__class__ is PLAIN:
        return_small(v)
    return_element(v)
    return v


def of_shape(shape, dtype=None, *more, **options):
    """A new array of a shape."""
    kind = shape.__class__
    if (kind is int or kind is tuple) and is_alone(more, options) and not device_is_chosen():
        try:
            v = numpys(shape, dtype)
        except unless_signalled(REFUSED):
            return general(shape, dtype)
        if dtype is None or v.dtype in NAME_OF:
            return_small(v)
    return general(shape, dtype, *more, **options)


def of_numbers(*args, **options):
    """A new array of one to three numbers."""
    n = len(args)
    if not options and not LISTENERS and 0 < n < 4 and not device_is_chosen():
        first = args[0].__class__
        last = args[-1].__class__
        if (first is int or first is float) and (last is int or last is float) and (n < 3 or args[1].__class__ in NUMBERS):
            try:
                v = numpys(*args)
            except unless_signalled(REFUSED):
                return general(*args)
            return_kept(v)
    return general(*args, **options)


@fragment
def return_converted(given, dtype):
    """Return the array of a nested list that begins with a number. What else is in it NumPy finds, but no tape entries."""
    first = given
    while first.__class__ is list or first.__class__ is tuple:
        first = first[0] if first else 0.0  # pyright: ignore[reportIndexIssue]  # a list or tuple
    if first.__class__ is element and not device_is_chosen():  # they have no tape entries
        try:
            given = list(map(raw, given))
        except AttributeError:  # not all are elements
            given = [k._raw if k.__class__ is element else k for k in given]
        first = given[0]
    # while recording, an array deeper in the list might have a gradient, which NumPy's conversion would lose
    if first.__class__ in NUMBERS and not device_is_chosen() and tls.tape is None:
        try:
            v = np.array(given, dtype)
        except unless_signalled(REFUSED):
            return general(given, dtype)
        return_kept(v)


def array(object, dtype=None, *more, **options):
    """A new array of nested lists, or a copy of an array."""
    if is_alone(more, options):
        kind = object.__class__
        if kind is list or kind is tuple:
            return_converted(object, dtype)
        elif kind is cls and dtype is None:
            v = object._held
            if v.__class__ is PLAIN:
                v = v.copy()
                return_array(v)
    return general(object, dtype, *more, **options)


def asarray(a, dtype=None, *more, **options):
    """An array of nested lists, or an array itself."""
    kind = a.__class__
    if is_alone(more, options):
        if kind is cls and dtype is None:
            return a
        if kind is list or kind is tuple:
            return_converted(a, dtype)
    return general(a, dtype, *more, **options)


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
