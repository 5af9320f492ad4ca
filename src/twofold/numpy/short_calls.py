"""Short calls: NumPy's own function is called on the contents of small arrays, and its result becomes one array.

A small, ready array in host memory that is not recorded holds a NumPy array, and the result of a ``twofold.np`` function of such arrays is
by definition NumPy's. So every function is wrapped (by the templates of `calls.short`): the wrapper calls NumPy's function directly if all
arguments are such arrays, numbers, names, or nested sequences of these. Any other call takes the general path, and so does a call that
NumPy rejects. The general path also makes results that share an argument's memory, which are views.
"""

from collections.abc import Callable, Sequence
from functools import partial, wraps
from math import prod
from operator import attrgetter
from types import EllipsisType, NoneType
from typing import Any

import numpy as np

from ..assembly import assembled, fragment, inlined
from ..calls import short, short_creation, short_products, ufuncs
from ..calls.short import BFLOAT16, OWN_OPTIONS, REFUSED, NotPlain
from ..calls.specialise import class_names
from ..dtype import NAME_OF, NUMPY
from ..imperative.cell import HOST, PLAIN
from ..imperative.element import NATIVE
from ..imperative.guards import plain_or_value
from ..imperative.trace import runs_again
from ..imperative.views import CHANGEABLE, GAPS, ready_memory
from ..origin import move_warnings
from ..scheduler.observers import LISTENERS
from ..signal_handlers import unless_signalled
from .array import ndarray, ndarrayElement

new = object.__new__
#: The classes of arguments that are passed on unchanged.
ATOMS = NATIVE | {bool, int, float, complex, str, bytes, type, slice, range, NoneType, EllipsisType, np.dtype}
ATOMS |= {type(d) for d in NUMPY.values()}
ATOMS |= {cls for cls in vars(np.dtypes).values() if isinstance(cls, type)}  # arrays of text, records and dates are NumPy's own


#: How many of their first arguments NumPy's functions only read, and all that are named but ``out``. These get the memory itself, as
#: these functions copy arrays that must not be written to.
READ: dict[Callable[..., object], int] = {np.interp: 3, np.take: 2, np.choose: 2, np.bincount: 2, np.convolve: 2, np.correlate: 2}


def short_call(
    function: Callable[..., object],
    numpys: Callable[..., object],
    *,
    of_views: bool = True,
    of_large: bool = False,
    reads_first: bool = False,
    copies: bool = False,
) -> Callable[..., Any]:
    """A function that calls NumPy's own instead if all its arguments are small host arrays or no arrays.

    Parameters
    ----------
    function
        The general one.
    numpys
        NumPy's function or method of the same meaning.
    of_views
        Whether NumPy's is called for views too.
    of_large
        Whether NumPy's is called for large ready arrays too, and reads views of them without a copy.
    reads_first
        Whether NumPy's never writes to its first argument. NumPy copies some arrays that it may not write to.
    copies
        Whether the general one copies what NumPy's function returns as a view.
    """
    if PLAIN is not np.ndarray:
        return function
    # the template calls one of these three if it cannot take the arguments; see the parameters
    reads = READ.get(numpys, int(reads_first))
    longer = {"content_of": _memory, "reads": reads} if of_large else {}
    longer |= {"copies": True} if copies else {}
    at_length = partial(_at_length, **longer) if longer else _at_length if of_views else _by_itself
    finished = partial(_finished, copies=True) if copies else _finished
    names = {"general": function, "at_length": at_length, "of_large": at_length if of_large else _by_itself, "finished": finished}
    call = _generated(short.any_call, _row_major_copy if numpys is np.ndarray.copy else numpys, names, of_views=of_views)
    template, known, names = SHORTER.get(numpys) or (None, {}, {})
    return wraps(function, updated=())(_generated(template, numpys, {"general": call, **names}, **known) if template else call)


def short_form(function: Callable[..., Any], numpys: Callable[..., Any], **names: object) -> Callable[..., Any]:
    """A function whose short path is only its template, which may use further names: NumPy's function rounds in another way."""
    template, known, own = SHORTER[numpys]
    return (
        wraps(function)(_generated(template, numpys, {"general": function, **own, **names}, **known)) if PLAIN is np.ndarray else function
    )


def _generated(template: Callable[..., Any], numpys: Callable[..., Any], names: dict[str, Any], **known: bool) -> Callable[..., Any]:
    """The function that a template generates for a NumPy function."""
    # without NumPy's search for arrays of other libraries
    return generated(template, {**names, "numpys": getattr(numpys, "_implementation", numpys)}, **known)


def generated(template: Callable[..., Any], names: dict[str, Any], **known: bool) -> Callable[..., Any]:
    """The function that a template generates for arrays of ``twofold.np``."""
    given = {**class_names(ndarray, ndarrayElement), "atoms": ATOMS, **names}
    return assembled(template, given, elements=True, of_any_rank=False, legacy=False, exact=False, **known)


#: A template, its fixed parameters, and the names that it uses.
Shape = tuple[Callable[..., Any], dict[str, bool], dict[str, Any]]


def _shorter() -> dict[Callable[..., Any], Shape]:
    """The templates of the commonest functions and methods of NumPy."""
    found: dict[Any, Shape] = {}
    reducing = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum, "any": np.logical_or, "all": np.logical_and}
    reductions: dict[str, Any] = {name: ufunc.reduce for name, ufunc in reducing.items()}  # NumPy's methods call these, with the same bits
    reductions |= {name: getattr(np.ndarray, name) for name in ("mean", "std", "var", "argmax", "argmin", "cumsum", "cumprod")}
    for name, reduce in reductions.items():
        shape = short.reduction, {"keeps": name in reducing or name == "mean"}, {"reduce": reduce}
        found[getattr(np, name)] = found[getattr(np.ndarray, name)] = shape
    for like, filled in ((np.zeros_like, np.zeros), (np.ones_like, np.ones), (np.empty_like, np.empty)):
        found[like] = short_creation.like, {}, {"filled": filled}
    methods = {"ravel": (0, 1), "reshape": (1,), "squeeze": (0, 1), "swapaxes": (2,), "transpose": (0, 1)}  # the last is `permute_dims` too
    for name, counts in methods.items():
        found[getattr(np, name)] = short.by_method, {"named": name != "transpose"}, {"method": name, "counts": counts}
    for name in ("shape", "size", "ndim"):
        found[getattr(np, name)] = short.known, {}, {"get": attrgetter(name)}
    writing = np.put, np.place, np.putmask, np.fill_diagonal, np.put_along_axis
    templates: dict[Callable[..., Any], tuple[Callable[..., Any], ...]] = {
        short_products.norm: (np.linalg.norm,),
        short_products.dot: (np.dot,),
        short_products.contracted: (np.einsum,),
        short.diag: (np.diag,),
        ufuncs.where: (np.where,),
        short.copied_to: (np.copyto,),
        short.writing: (*writing, np.ndarray.put, np.ndarray.partition),
        short.places: (np.nonzero, np.ndarray.nonzero),
        short_products.outer: (np.outer,),
        short.in_rows: (np.ascontiguousarray,),
        short_creation.of_shape: (np.zeros, np.ones, np.empty),
        short_creation.of_numbers: (np.arange, np.linspace, np.eye, np.identity),
        short.copied: (np.ndarray.copy, np.ndarray.flatten),
        short_creation.array: (np.array,),
        short_creation.asarray: (np.asarray, np.asanyarray),
        short_creation.of_bytes: (np.frombuffer,),
        short.joined: (np.concatenate, np.stack),
        short.stacked: (np.vstack, np.hstack, np.column_stack, np.dstack),
    }
    return found | {function: (template, {}, {}) for template, functions in templates.items() for function in functions}


SHORTER = _shorter()
#: Methods of NumPy's generators whose results are always new arrays of numbers, or numbers.
DRAWS = frozenset({
    "beta", "binomial", "chisquare", "exponential", "gamma", "geometric", "gumbel", "integers", "laplace", "logistic", "lognormal",
    "normal", "poisson", "rand", "randint", "randn", "random", "random_sample", "standard_exponential", "standard_normal", "uniform",
})  # fmt: skip


def short_draw(function: Callable[..., object], numpys: Callable[..., object], *, writes: bool) -> Callable[..., Any]:
    """As `short_call`, for a method of NumPy's generators, which may write to its argument: the general one where a function is traced."""
    if PLAIN is not np.ndarray:
        return function
    call = _generated(short.writing, numpys, {"general": function}) if writes else short_call(function, numpys)

    @wraps(function)
    def general(*args: object, **options: object) -> Any:
        return function(*args, **options) if runs_again() else call(*args, **options)

    return wraps(function)(_generated(short_creation.drawn, numpys, {"general": general})) if numpys.__name__ in DRAWS else general


@fragment
def is_new(a: np.ndarray) -> bool:
    """Whether an array of NumPy's may be a content as it is: nothing else has its memory, it is row-major, and Twofold has its dtype."""
    return a.base is None and a.flags.c_contiguous and a.dtype in NAME_OF


def _finished(result: Any, given: Sequence[Any], args: tuple[Any, ...], copies: bool = False) -> Any:
    """Other results of `short_call`; ``copies`` as for `_wrapped`."""
    if result.__class__ is tuple:
        for item in result:
            for v in given:
                if v is item:  # as in ``frexp(x, x)``
                    return tuple([_finished(each, given, args, copies) for each in result])
    else:
        for k, v in enumerate(given):
            if v is result and v is not (argument := args[k]):  # NumPy may have written to it, or to a copy
                # the content of this view was a copy of its part, so NumPy has not written to the view's own memory
                if argument.__class__ is ndarray and argument._held is None and argument._seen is not v:
                    raise NotPlain
                return argument
    return _wrapped(result, given, copies)


@inlined
def _at_length(
    function: Callable[..., Any],
    numpys: Callable[..., Any],
    args: tuple[Any, ...],
    given_options: dict[str, Any],
    content_of: Callable[[Any], np.ndarray] | None = None,
    reads: int = 0,
    copies: bool = False,
) -> Any:
    """`short_call` with arguments of any kind.

    ``content_of`` gives the array of an argument that need not be small; the first ``reads`` arguments are those that NumPy only reads;
    ``copies`` as for `_wrapped`.
    """
    arrays: list[Any] = []
    options = given_options
    try:
        if LISTENERS:
            raise NotPlain
        given = [
            a if a.__class__ in ATOMS else _plain(a, arrays, content_of if k >= reads or content_of is None else _first)
            for k, a in enumerate(args)
        ]
        if options:
            if not OWN_OPTIONS.isdisjoint(options) or options.get("out") is not None:
                raise NotPlain
            options = {name: _plain(value, arrays, _first if reads > 1 else content_of) for name, value in options.items()}
        # without an array among the arguments the result belongs on the current device, which a `with` block may have changed
        if not arrays and short.device_is_chosen():
            raise NotPlain
        result = numpys(*given, **options)
    except NotPlain:  # apart from the others, since it is usual, and no signal handler's
        return function(*args, **given_options)
    except unless_signalled(REFUSED):
        return function(*args, **given_options)
    # the commonest result is one new array: without two calls
    if result.__class__ is PLAIN and is_new(result):
        for v in arrays:
            if v is result:
                break
        else:
            c = new(ndarray)
            c._held = plain_or_value(result)
            if not result.ndim:
                c._key = CHANGEABLE
            return c
    # a result, or one of several, may be an argument itself, which NumPy may have written to
    try:
        if result.__class__ is tuple and not set(map(id, given)).isdisjoint(map(id, result)):
            own = [_argument_of(r, args, given) for r in result]
            return tuple([_wrapped(r, arrays, copies) if a is None else a for r, a in zip(result, own, strict=True)])
        argument = _argument_of(result, args, given) if result.__class__ is PLAIN else None
        return _wrapped(result, arrays, copies) if argument is None else argument
    except NotPlain:
        return function(*args, **given_options)


def _argument_of(result: Any, args: tuple[Any, ...], given: Sequence[Any]) -> ndarray | None:
    """The argument that holds or has shown a result's memory; None if there is none, or if NumPy has written to a copy of it."""
    for k, v in enumerate(given):
        if (
            v is result
            and (a := args[k]).__class__ is ndarray
            and (not v.flags.writeable or (a._held if a._held is not None else a._seen) is v)
        ):
            return a
    return None


def _by_itself(function: Callable[..., Any], numpys: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """The general function itself, instead of `_at_length`."""
    return function(*args, **options)


def _plain(value: Any, arrays: list[Any], content_of: Callable[[Any], np.ndarray] | None = None) -> Any:
    """An argument as NumPy takes it; the contents of arrays among it are added to a list. See `_at_length`.

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
            if item.__class__ is ndarray and (v := item._held) is not None:  # the commonest items are written out
                if v.__class__ is not PLAIN or v.dtype is BFLOAT16:
                    if content_of is None:
                        raise NotPlain
                    v = content_of(item)
                arrays.append(v)
                items.append(v)
            elif item.__class__ is ndarrayElement:
                items.append(item._raw)
            else:
                items.append(_plain(item, arrays, content_of))
        return items if kind is list else tuple(items)
    if kind is ndarrayElement:
        return value._raw
    if kind is ndarray:
        if content_of is not None:
            v = content_of(value)
            arrays.append(v)
            return v
        if value._held is None and prod(value.shape) >= GAPS:
            raise NotPlain  # before it is copied
        v = value._content
        if v.__class__ is PLAIN and v.dtype is not BFLOAT16:
            # a view of a Value shows a buffer that others may share: NumPy must not write to it
            v = v if value._held is not None or value._of.__class__ is PLAIN else _read_only(v)
            arrays.append(v)
            return v
    elif kind in ATOMS:
        return value
    elif kind is PLAIN and _is_like_ours(value, content_of is not None):
        arrays.append(value)
        return value
    raise NotPlain


def _is_like_ours(a: np.ndarray, of_large: bool) -> bool:
    """Whether NumPy may compute with an array of its own as with one of ours, which in large ones adds up other parts."""
    is_number = a.dtype in NAME_OF and a.dtype is not BFLOAT16
    return is_number and a.flags.c_contiguous and (of_large or a.size < GAPS) and not short.device_is_chosen()


def _row_major_copy(a: np.ndarray) -> np.ndarray:
    """``a.copy()``, which transposes a large array in tiles."""
    return a.copy() if a.flags.c_contiguous else HOST.as_array(a)  # which copies then


def _first(x: object) -> np.ndarray:
    """`_memory`, for an argument that NumPy does not write to."""
    v = ready_memory(x)
    if v is None or v.dtype is BFLOAT16:
        raise NotPlain
    return v


def _memory(x: Any) -> np.ndarray:
    """The memory of an array of any size that is ready and not recorded; NumPy must not write to a large one.

    Raises
    ------
    NotPlain
        If it is not.
    """
    v = _first(x)
    return v if x.__class__ is ndarray and x._held is v else _read_only(v)


def _read_only(v: np.ndarray) -> np.ndarray:
    """A view through which NumPy cannot write; a function that tries to takes the general path."""
    v = v.view()
    v.setflags(write=False)
    return v


@inlined
def _wrapped(result: Any, given: Sequence[Any], copies: bool = False) -> Any:
    """A result of NumPy's with its arrays replaced by ours, unless Twofold lacks their dtype.

    ``given`` are the arguments, or the arrays among them. ``copies`` says that what shows a part of an argument's memory is copied, which
    the general function would do.

    Raises
    ------
    NotPlain
        If it is an argument, or shows the memory of one.
    """
    kind = result.__class__
    if kind is PLAIN:
        base = result.base
        for v in given:
            if result is v or (base is not None and v.__class__ is PLAIN and (base is v or base is v.base)):
                if not copies or result is v:
                    raise NotPlain
                result = np.array(result, order="C")
                base = None
                break
        if result.dtype not in NAME_OF:
            return result
        if base is not None and getattr(base, "nbytes", None) != result.nbytes:  # part of an array without other users
            result = np.array(result)
        # contents are always in row-major order; NumPy's results have the order of their operands
        fresh = result if result.flags.c_contiguous else HOST.as_array(result)
        c = new(ndarray)
        c._held = plain_or_value(fresh)
        if not fresh.ndim:
            c._key = CHANGEABLE
        return c
    if kind in NATIVE:
        c = new(ndarrayElement)
        c._raw = result
        return c
    if isinstance(result, (list, tuple)):
        items = []
        for item in result:
            # several new arrays or numbers are the commonest results: without a call for each
            if item.__class__ is PLAIN and is_new(item):
                for v in given:
                    if v is item:
                        raise NotPlain
                c = new(ndarray)
                c._held = plain_or_value(item)
            elif item.__class__ in NATIVE:
                c = new(ndarrayElement)
                c._raw = item
            else:
                c = _wrapped(item, given, copies)
            items.append(c)
        # named tuples, which `numpy.linalg` returns, take their items as separate arguments
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
        The ``__call__`` for all other arguments.
    """
    if PLAIN is not np.ndarray or numpys.nin > 2 or numpys.nout > 1:
        return general
    template = (ufuncs.ufunc_of_one, ufuncs.ufunc_of_two)[numpys.nin - 1]
    return _generated(template, numpys, {"function": function, "general": general}, has_function=function is not None)


move_warnings()  # calls generated here and in `calls.arithmetic` run NumPy with floating-point warnings on
