"""Templates of short calls that make arrays: of shapes, numbers, lists and random numbers."""

# pyright: reportPossiblyUnboundVariable=false, reportOptionalMemberAccess=false
# Fragments share variables with their callers, and tests that hold in a caller hold in them: a checker sees neither.

from operator import attrgetter

import numpy as np

from ..assembly import FREE, Function, fragment
from ..dtype import NAME_OF
from ..imperative.cell import PLAIN
from ..imperative.element import NATIVE
from ..imperative.guards import is_small
from ..imperative.tape import tls
from ..scheduler.observers import LISTENERS
from ..signal_handlers import unless_signalled
from .contents import BFLOAT16, cls, element, is_numpys, return_element, return_small
from .short import OWN_OPTIONS, REFUSED, as_numpys, atoms, device_is_chosen, general, is_alone, memory, numpys, ready_parts, return_kept

#: `like`: NumPy's function of shape and dtype.
filled: Function = FREE

raw = attrgetter("_raw")
NUMBERS = NATIVE | {bool, int, float, complex}


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
            return_kept(w)
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


def of_bytes(buffer, dtype=float, count=-1, offset=0, *more, **options):
    """A new array of the elements in bytes. Other memory is shared."""
    if buffer.__class__ is bytes and is_alone(more, options) and not device_is_chosen():
        try:
            v = numpys(buffer, dtype, count, offset).copy()
        except unless_signalled(REFUSED):
            return general(buffer, dtype, count, offset)
        return_kept(v)
    return general(buffer, dtype, count, offset, *more, **options)


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
def return_made(value, given, dtype):
    """Return NumPy's array of a value, which has been made of the given one; if NumPy refuses it, the general function finds out."""
    try:
        v = np.array(value, dtype)
    except unless_signalled(REFUSED):
        return general(given, dtype)
    return_kept(v)


@fragment
def return_converted(given, dtype):
    """Return the array of a nested list that begins with a number, or of arrays. What else is in it NumPy finds, but no tape entries."""
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
        return_made(given, given, dtype)
    if first.__class__ is cls and first is given[0] and not device_is_chosen() and tls.tape is None:
        ready = ready_parts(given)
        if ready is not None:
            return_made(ready, given, dtype)


def array(object, dtype=None, *more, copy=True, **options):
    """A new array of a number or nested lists, or a copy of an array."""
    if copy is True and is_alone(more, options):
        kind = object.__class__
        if kind is list or kind is tuple:
            return_converted(object, dtype)
        elif kind is cls:
            w = object._held
            if w.__class__ is PLAIN:
                if dtype is None:
                    v = w.copy()
                    return_small(v)
                if w.dtype is not BFLOAT16 and not device_is_chosen():
                    return_made(w, object, dtype)
        elif (kind in NUMBERS or is_numpys(object, kind)) and not device_is_chosen():
            return_made(object, object, dtype)
    if copy is not True:
        options["copy"] = copy
    return general(object, dtype, *more, **options)


def asarray(a, dtype=None, *more, **options):
    """An array of a number or nested lists, or an array itself."""
    kind = a.__class__
    if is_alone(more, options):
        if kind is cls:
            if dtype is None:
                return a
            v = a._held
            if v.__class__ is PLAIN and v.dtype is not BFLOAT16 and not device_is_chosen():
                try:
                    w = as_numpys(v, dtype)
                except unless_signalled(REFUSED):
                    return general(a, dtype)
                if w is v:
                    return a
                return_kept(w)
        elif kind is list or kind is tuple:
            return_converted(a, dtype)
        elif (kind in NUMBERS or is_numpys(a, kind)) and not device_is_chosen():
            return_made(a, a, dtype)
    return general(a, dtype, *more, **options)
