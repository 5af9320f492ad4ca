"""Short calls: NumPy's own function on the contents of small arrays, and one cell for its result.

A small, ready array in host memory that is not recorded holds NumPy's array, and what a function of ``twofold.np`` computes of such arrays
is by definition what NumPy computes. So every function is wrapped in one that calls NumPy's at once where all its arguments are such
arrays, numbers, names, or nested sequences of these. Anything else goes the general way, and so does a call that NumPy refuses: the general
way raises an error that says what to do, or finds a result. It also makes results that show an argument's memory, which are views.
"""

from collections.abc import Callable, Sequence
from functools import wraps
from math import prod
from types import EllipsisType, NoneType
from typing import Any, TypeVar

import numpy as np

from ..config import SETTINGS
from ..device import DEFAULTS
from ..dtype import NAME_OF, NUMPY
from ..imperative.cell import HOST, PLAIN, Value
from ..imperative.element import NATIVE
from ..imperative.fast import RECOVERABLE
from ..scheduler.observers import LISTENERS
from .array import ndarray, ndarrayElement, ndarrayView

F = TypeVar("F", bound=Callable[..., Any])
new = object.__new__
#: The classes of arguments that are passed on as they are.
ATOMS = NATIVE | {bool, int, float, complex, str, type, slice, range, NoneType, EllipsisType, np.dtype, *[type(d) for d in NUMPY.values()]}
#: Keywords that NumPy lacks, or with which its rounding is not ours.
OWN_OPTIONS = frozenset({"ctx", "device", "initial"})
#: Elements from which a view is not copied for NumPy's function: what `reductions` does with it must not depend on settings.
LARGE = 65_536
BFLOAT16 = NUMPY["bfloat16"]


class NotPlain(Exception):
    """An argument is not one that NumPy can take as it is."""


#: Stands for no first argument.
NOTHING = NotPlain()
#: What sends a call the general way.
REFUSED = (*RECOVERABLE, IndexError, NotPlain)


def short_call(function: Callable[..., Any], numpys: Callable[..., Any], of_views: bool = True) -> Callable[..., Any]:
    """A function with NumPy's own in its place where all arguments are small arrays of the host or no arrays.

    Parameters
    ----------
    function
        The general one.
    numpys
        NumPy's function or method of the same meaning.
    of_views
        Whether it takes NumPy's place for views too.
    """
    at_length = _at_length if of_views else _by_itself
    if PLAIN is not np.ndarray:
        return function
    numpys = getattr(numpys, "_implementation", numpys)  # without NumPy's search for arrays of other libraries

    @wraps(function, updated=())
    def call(a: Any = NOTHING, /, *more: Any, **options: Any) -> Any:
        # the commonest calls, of one array or of none, are written out
        kind = a.__class__
        if kind is ndarray:
            v = a._v
            if v.__class__ is not PLAIN or v.dtype is BFLOAT16 or LISTENERS:
                return function(a, *more, **options)
        elif (kind in ATOMS or ((kind is list or kind is tuple) and ATOMS.issuperset(map(type, a)))) and not (LISTENERS or DEFAULTS.stack):
            v = a
        else:
            return at_length(function, numpys, () if a is NOTHING else (a, *more), options)
        given: Any = (v,)
        try:
            if more:
                given = [v]
                for item in more:
                    kind = item.__class__
                    if kind is ndarray:
                        item = item._v
                        if item.__class__ is not PLAIN or item.dtype is BFLOAT16:
                            return function(a, *more, **options)
                    elif kind not in ATOMS:
                        return at_length(function, numpys, (a, *more), options)
                    given.append(item)
            if options:
                for name, value in options.items():
                    if value.__class__ not in ATOMS or name in OWN_OPTIONS:
                        return at_length(function, numpys, (a, *more), options)
            result = numpys(*given, **options) if options else numpys(*given)
        except REFUSED:
            return function(a, *more, **options)
        if result.__class__ is PLAIN:
            if (
                result.base is None
                and (result is not v if not more else id(result) not in map(id, given))
                and (result.ndim < 2 or result.flags.c_contiguous)
                and result.dtype in NAME_OF
                and result.size < SETTINGS.defer_elements
            ):
                c = new(ndarray)
                c._v = result
                return c
        elif result.__class__ in NATIVE:
            c = new(ndarrayElement)
            c._raw = result
            return c
        try:
            return _finished(result, given, (a, *more))
        except NotPlain:
            return function(a, *more, **options)

    return call


def _finished(result: Any, given: Sequence[Any], args: tuple[Any, ...]) -> Any:
    """Other results of `short_call`."""
    for v, argument in zip(given, args, strict=True):
        if v is result and v is not argument:  # NumPy may have written to it
            return argument
    return _wrapped(result, [v for v in given if v.__class__ is PLAIN])


def _at_length(function: Callable[..., Any], numpys: Callable[..., Any], args: tuple[Any, ...], given_options: dict[str, Any]) -> Any:
    """`short_call` with arguments of any kind."""
    arrays: list[Any] = []
    options = given_options
    try:
        if LISTENERS:
            raise NotPlain
        given = [a if a.__class__ in ATOMS else _plain(a, arrays) for a in args]
        if options:
            if not OWN_OPTIONS.isdisjoint(options) or options.get("out") is not None:
                raise NotPlain
            options = {name: _plain(value, arrays) for name, value in options.items()}
        if not arrays and DEFAULTS.stack:
            raise NotPlain
        result = numpys(*given, **options)
    except REFUSED:
        return function(*args, **given_options)
    for a in args:  # an argument itself, which NumPy may have written to
        if (a.__class__ is ndarray and a._v is result) or (a.__class__ is ndarrayView and getattr(a, "_seen", None) is result):
            return a
    try:
        return _wrapped(result, arrays)
    except NotPlain:
        return function(*args, **given_options)


def _by_itself(function: Callable[..., Any], numpys: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """The general function, in place of `_at_length`."""
    return function(*args, **options)


def _plain(value: Any, arrays: list[Any]) -> Any:
    """An argument as NumPy takes it; the contents of arrays among it are added to a list.

    Raises
    ------
    NotPlain
        If it holds anything but small arrays of the host, numbers and names.
    """
    kind = value.__class__
    if kind is list or kind is tuple:
        if ATOMS.issuperset(map(type, value)):
            return value
        items = []
        for item in value:
            if item.__class__ is ndarray:  # the commonest items are written out
                v = item._v
                if v.__class__ is not PLAIN or v.dtype is BFLOAT16:
                    raise NotPlain
                arrays.append(v)
                items.append(v)
            elif item.__class__ is ndarrayElement:
                items.append(item._raw)
            else:
                items.append(_plain(item, arrays))
        return items if kind is list else tuple(items)
    if kind is ndarrayElement:
        return value._raw
    if kind is ndarray or kind is ndarrayView:
        if kind is ndarrayView and prod(value.shape) >= LARGE:
            raise NotPlain  # before it is copied
        v = value._v
        if v.__class__ is PLAIN and v.dtype is not BFLOAT16:
            v = v if kind is ndarray or value._of.__class__ is PLAIN else _read_only(v)
            arrays.append(v)
            return v
    elif kind in ATOMS:
        return value
    raise NotPlain


def _read_only(v: np.ndarray) -> np.ndarray:
    """A view through which NumPy cannot write. A function that wants to goes the general way."""
    v = v.view()
    v.flags.writeable = False
    return v


def _wrapped(result: Any, arrays: list[Any]) -> Any:
    """A result of NumPy's with arrays in place of NumPy's, unless Twofold lacks their dtype.

    Raises
    ------
    NotPlain
        If it shows the memory of an argument.
    """
    kind = result.__class__
    if kind is PLAIN:
        base = result.base
        for v in arrays:
            if result is v or (base is not None and (base is v or base is v.base)):
                raise NotPlain
        if result.dtype not in NAME_OF:
            return result
        if base is not None and getattr(base, "size", None) != result.size:  # part of an array that nobody else needs
            result = np.array(result)
        fresh = result if result.flags.c_contiguous else HOST.as_array(result)
        c = new(ndarray)
        c._v = fresh if fresh.size < SETTINGS.defer_elements else Value(fresh)
        return c
    if kind in NATIVE:
        c = new(ndarrayElement)
        c._raw = result
        return c
    if isinstance(result, (list, tuple)):
        items = [_wrapped(item, arrays) for item in result]
        return kind(items) if kind is list or kind is tuple else kind(*items)
    return result


def short_ufunc(numpys: np.ufunc, function: Callable[..., Any] | None, general: Callable[..., Any]) -> Callable[..., Any]:
    """The ``__call__`` of a ufunc with one result.

    Parameters
    ----------
    numpys
        NumPy's.
    function
        The fast function of its operator, for arrays with contents of any kind; None if it has no primitive.
    general
        The ``__call__`` for everything else.
    """
    if PLAIN is not np.ndarray or numpys.nin > 2 or numpys.nout > 1:
        return general
    return (_of_one if numpys.nin == 1 else _of_two)(numpys, function, general)


def _of_one(numpys: np.ufunc, function: Callable[..., Any] | None, general: Callable[..., Any]) -> Callable[..., Any]:
    def call(self: Any, x: Any, /, *more: Any, **options: Any) -> Any:
        kind = x.__class__
        if more or options or LISTENERS:
            return general(self, x, *more, **options)
        if kind is ndarray or kind is ndarrayView:
            a = x._operand
            if a.__class__ is not PLAIN and function is not None:
                return function(x)
        elif kind is ndarrayElement:
            a = x._raw
        elif (kind is float or kind is int) and not DEFAULTS.stack:
            a = x
        else:
            return general(self, x)
        if a.__class__ is Value or a is None:
            return general(self, x)
        try:
            v = numpys(a)
        except RECOVERABLE:
            return general(self, x)
        if v.__class__ is PLAIN:
            c = new(ndarray)
            c._v = v
            return c
        if v.__class__ in NATIVE:
            c = new(ndarrayElement)
            c._raw = v
            return c
        return general(self, x)

    return call


def _of_two(numpys: np.ufunc, function: Callable[..., Any] | None, general: Callable[..., Any]) -> Callable[..., Any]:
    def call(self: Any, x: Any, y: Any, /, *more: Any, **options: Any) -> Any:
        kind = x.__class__
        if more or options or LISTENERS:
            return general(self, x, y, *more, **options)
        if kind is ndarray or kind is ndarrayView:
            a = x._operand
            if function is not None and a.__class__ is not PLAIN:
                v = function(x, y)
                return general(self, x, y) if v is NotImplemented else v
        elif kind is ndarrayElement:
            a = x._raw
        elif (kind is float or kind is int) and not DEFAULTS.stack:
            a = x
        else:
            return general(self, x, y)
        kind = y.__class__
        if kind is ndarray or kind is ndarrayView:
            b = y._operand
        elif kind is ndarrayElement:
            b = y._raw
        elif kind is float or kind is int:
            b = y
        else:
            return general(self, x, y)
        if a.__class__ is Value or b.__class__ is Value or b is None:
            return general(self, x, y)
        try:
            v = numpys(a, b)
        except RECOVERABLE:
            return general(self, x, y)
        if v.__class__ is PLAIN:
            c = new(ndarray)
            c._v = v if v.size < SETTINGS.defer_elements else Value(v)
            return c
        if v.__class__ in NATIVE:
            c = new(ndarrayElement)
            c._raw = v
            return c
        return general(self, x, y)

    return call
