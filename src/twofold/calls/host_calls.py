"""NumPy's functions on the contents of arrays: finding arrays among arguments, joining recorded ones, refusing calls that cut gradients."""

import re
import sys
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import numpy as np

from ..dtype import NAME_OF, NUMPY, is_float, numpy_dtype
from ..errors import AutogradError, DTypeError, UnsupportedDType, own_error
from ..imperative.array import Array, apply_op
from ..imperative.cell import Cell
from ..imperative.guards import is_tracked
from ..imperative.invoke import host_of
from ..imperative.tape import tls
from ..ops import joining

A = TypeVar("A", bound=Array)
#: What NumPy says of shapes that no memory has room for; its exception is a ValueError like any other.
TOO_LARGE = re.compile("too big|too large|Maximum allowed")
#: The names of the argument of NumPy's functions that is written to.
WRITTEN = ("a", "arr", "dst", "x")
#: Classes of values that hold no arrays.
ATOMS = frozenset({bool, int, float, complex, str, type(None)})
#: Functions that order elements. They get bfloat16 as float32: its own comparison leaves NaN anywhere.
ORDERING: frozenset[Callable[..., Any]] = frozenset({
    np.partition, np.argpartition, np.ndarray.argpartition, np.lexsort, np.searchsorted, np.ndarray.searchsorted, np.digitize,
    np.median, np.percentile, np.quantile, np.nanmedian, np.nanpercentile, np.nanquantile,
    np.unique, np.unique_all, np.unique_counts, np.unique_inverse, np.unique_values,
    np.intersect1d, np.isin, np.setdiff1d, np.setxor1d, np.union1d,
})  # fmt: skip


def to_numpy(value: Any) -> Any:
    """The value with NumPy arrays in place of Twofold's, in lists, tuples and dictionaries too.

    They are read-only: the memory may be shared with other arrays, and a write would escape the tape.
    """
    if isinstance(value, Cell):
        host = host_of(value).view()  # a view, so that the owner's array stays writable
        host.setflags(write=False)
        return host
    if value.__class__ is list or value.__class__ is tuple:
        items = [v if v.__class__ in ATOMS else to_numpy(v) for v in value]
        return items if value.__class__ is list else tuple(items)
    return {k: to_numpy(v) for k, v in value.items()} if isinstance(value, dict) and value else value


def _ordered(function: Callable[..., Any], *args: object, **options: object) -> Any:
    """Call a function of `ORDERING` with bfloat16; results are bfloat16 again if there is no other float."""
    floats = {dtype for a in _all_arrays_in((args, options)) if is_float(NAME_OF.get(dtype := a.dtype, ""))}
    half = NUMPY["bfloat16"]

    def cast(value: Any, before: Any, after: Any) -> Any:
        return value.astype(after) if isinstance(value, (np.ndarray, np.generic)) and value.dtype == before else value

    wide = map_nested(args, partial(cast, before=half, after=np.float32))
    found = called(function, *wide, **map_nested(options, partial(cast, before=half, after=np.float32)))
    return map_nested(found, partial(cast, before=np.float32, after=half)) if len(floats) == 1 else found


def called(function: Callable[..., Any], *args: object, **options: object) -> Any:
    """Call a function of NumPy.

    Raises
    ------
    DeviceOutOfMemory
        If its result does not fit into memory.
    ParameterError
        If a size is too large for any memory.
    DTypeError
        If the dtype is unknown.
    """
    try:
        return function(*args, **options)
    except TypeError:
        numpy_dtype(options.get("dtype"))  # raises the error that suggests a name, if this is the reason
        raise
    except (MemoryError, OverflowError, ValueError) as error:
        if gives_own_array(error):
            return function(*with_own_arrays(args, error), **with_own_arrays(options, error))
        if isinstance(error, ValueError) and not TOO_LARGE.search(str(error)):
            raise
        raise own_error(f"{getattr(function, '__name__', 'NumPy')}: the result is too large", error) from error


def gives_own_array(error: Exception) -> bool:
    """Whether NumPy refuses what the method ``__array__`` of an object gives: in a program, an array of Twofold's."""
    return "__array__ method not producing" in str(error)


def with_own_arrays(value: Any, error: Exception) -> Any:
    """The value with NumPy's arrays in place of objects whose methods ``__array__`` give arrays of Twofold's.

    Raises
    ------
    ValueError
        The given one, if it has another reason.
    """
    if not gives_own_array(error):
        raise error
    return map_nested(value, _converted)


def _converted(value: Any) -> object:
    if not hasattr(value.__class__, "__array__") or isinstance(value, (Array, np.generic, np.ndarray)):
        return to_numpy(value)
    found = value.__array__()
    refuse_cut("__array__", found, np.empty(0))
    return to_numpy(found) if isinstance(found, Array) else value


def first_by_position(args: tuple[Any, ...], options: dict[str, Any]) -> tuple[Any, ...]:
    """The positional arguments of a function that writes to its first one, which is taken from the options if it is named there."""
    return args or tuple([options.pop(name) for name in WRITTEN if name in options])


def by_numpy(function: Callable[..., Any], args: tuple[object, ...], options: dict[str, Any], itself: type[Array] | None = None) -> Any:
    """Call NumPy on the arrays' contents, and write the result to ``out`` if that is a Twofold array.

    Where NumPy returns an argument, as `asanyarray` does, the result is that array itself if its class is ``itself``.

    Raises
    ------
    DTypeError
        If the result cannot be cast to the dtype of ``out``.
    DeviceOutOfMemory, ParameterError
        If the result is too large; see `called`.
    """
    run = called
    if function in ORDERING:
        ordered: Any = args[0] if args else next(iter(options.values()), None)
        if ordered.__class__ in (list, tuple) and ordered:  # the keys of `lexsort`
            ordered = ordered[0]
        if getattr(ordered, "_dtype", None) == "bfloat16":
            run = _ordered
    out = options.get("out")
    targets = out if isinstance(out, tuple) else (out,)
    if not any(isinstance(t, Array) for t in targets):
        given = to_numpy(args)
        found = run(function, *given, **to_numpy(options))
        if itself is not None and found.__class__ is np.ndarray:
            return next((a for a, v in zip(args, given, strict=True) if v is found and isinstance(a, itself)), found)
        return found
    result = run(function, *to_numpy(args), **to_numpy({k: v for k, v in options.items() if k != "out"}))
    for target, new in zip(targets, result if isinstance(result, tuple) else (result,), strict=True):
        if target is None:
            continue
        if not np.can_cast(new.dtype, target.dtype, "same_kind"):
            raise DTypeError(f"Cannot cast output from {new.dtype} to {target.dtype}", None, "pass an array of a different dtype")
        # through the array's own assignment, which knows tapes, windows and views
        target[...] = new
    return targets[0] if len(targets) == 1 else targets


def map_nested(value: Any, change: Callable[[Any], Any]) -> Any:
    """The value with a function applied to every item of its nested lists, tuples (named ones too) and dictionaries."""
    if isinstance(value, (list, tuple)):
        items = [map_nested(v, change) for v in value]
        return value.__class__(items) if value.__class__ in (list, tuple) else value.__class__(*items)
    return {k: map_nested(v, change) for k, v in value.items()} if isinstance(value, dict) else change(value)


def arrays_in(value: object) -> list[Array]:
    """The arrays of ours in nested sequences and dictionaries."""
    return [a for a in _all_arrays_in(value) if isinstance(a, Array)]


def _all_arrays_in(value: object) -> list[Array | np.ndarray]:
    found: list[Array | np.ndarray] = []
    _add_arrays(value, found)
    return found


def _add_arrays(value: object, found: list[Array | np.ndarray]) -> None:
    """Add the arrays in nested sequences and dictionaries to a list, which takes half the time of nested generators."""
    if isinstance(value, (Array, np.ndarray)):
        found.append(value)
    elif isinstance(value, (list, tuple)):
        if not ATOMS.issuperset(map(type, value)):  # a long list of numbers takes no Python call for each
            for v in value:
                if v.__class__ not in ATOMS:
                    _add_arrays(v, found)
    elif isinstance(value, dict):
        if value:
            _add_arrays(list(value.values()), found)
    elif isinstance(value, slice):
        _add_arrays((value.start, value.stop, value.step), found)


def _may_have_gradient(a: Array | np.ndarray) -> bool:
    dtype = NUMPY[a._dtype] if isinstance(a, Array) else a.dtype
    # an array of objects may hold floats; the kind of bfloat16 is "V"
    return dtype.kind in "fcO" or is_float(NAME_OF.get(dtype, ""))


def is_recorded(value: object) -> bool:
    """Whether an array in nested sequences and dictionaries is on the tape, so that results computed from it have a gradient."""
    return tls.tape is not None and value.__class__ not in ATOMS and any(map(_is_recorded, arrays_in(value)))


def _is_recorded(a: Array) -> bool:
    if a._held is not None or a._gradient is not None:  # a view may be a variable itself
        return is_tracked(a._content)
    # `detach` gives a view, and a view's root is on the tape whether or not the view lets gradients through
    return not any(bound_op.op.detaches for bound_op in a._chain) and is_tracked(a._base._content)


def stacked(items: object, cls: type[A], convert: Callable[[Any], A]) -> A:
    """Nested sequences that contain recorded arrays, converted one by one and joined by recorded operations.

    NumPy's own conversion of such a sequence would drop the arrays from the tape.
    """
    if not isinstance(items, (list, tuple)):
        return convert(items)
    return apply_op(joining.stack, *[stacked(item, cls, convert) for item in items], cls=cls)


def refuse_cut(name: str, args: object, results: object) -> None:
    """Raise where a function without a gradient rule computes floating-point results, or fills arrays, from recorded arrays.

    Integers and bools (indices, counts, tests) have no gradient anyway. Arrays of NumPy's among the results are outside the tape.

    Raises
    ------
    AutogradError
        If the gradient would be cut.
    """
    # the cheap conditions first: results are few, while arguments may be long lists
    if tls.tape is not None and any(map(_may_have_gradient, _all_arrays_in(results))) and is_recorded(args):
        raise AutogradError(
            f"{name} has no gradient",
            "a recorded array",
            "pass x.detach(), or call it inside autograd.pause(), if the result is to be a constant",
        )


def refuse_foreign(value: object) -> None:
    """Raise where NumPy leaves operations with an operand to its class, which Twofold's arrays do not keep.

    These are matrices, masks and units, and objects with ``__array_ufunc__``, such as those of pandas. While recording, the latter are
    converted, as their own results would have no gradient.

    Raises
    ------
    UnsupportedDType
        If it is of such a class.
    """
    cls = value.__class__
    if not issubclass(cls, np.ndarray):
        if not hasattr(cls, "__array_ufunc__") or isinstance(value, (Array, np.generic)) or tls.tape is not None:
            return
    elif cls is np.ndarray or getattr(value, "__array_priority__", 0) <= 0:
        return
    masked = sys.modules.get("numpy.ma")  # NumPy imports it when somebody asks for it
    if masked is not None and isinstance(value, masked.MaskedArray):
        todo = "pass a.filled(value), or compute with numpy.ma"
        raise UnsupportedDType("an operand has a mask, which would be lost", repr(value)[:60], todo)
    raise UnsupportedDType("an operand is of a class of its own, which would be lost", cls.__name__, "pass numpy.asarray(a)")
