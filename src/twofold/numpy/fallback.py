"""Functions without an operator: NumPy itself, on copies in host memory.

They work on any device: results are placed on the device of the first array among the arguments. For recorded arrays a function in `FORMS`
is computed by its form, which has a gradient. Any other function that would compute floating-point results from recorded arrays raises,
since the gradient would be lost. The exception is a function that only moves elements into an array: the move is recorded.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import wraps
from typing import Any, TypeVar

import numpy as np

from ..calls import host_calls
from ..calls.host_calls import arrays_in, is_recorded, map_nested, refuse_cut, to_numpy
from ..device import Device, current_device
from ..dtype import NAME_OF
from ..errors import AutogradError, ParameterError, UnsupportedDType, WrongArgument
from ..imperative.array import Array, adopted, apply_op
from ..imperative.cell import is_view
from ..imperative.guards import apart
from ..imperative.trace import is_followed
from ..named_out import naming_out
from ..ndarray.types import DeviceLike
from ..ops import primitive_gather, primitive_shape
from .array import ndarray
from .creation import computed, device_of_keywords, operand
from .followed_writes import writer_of
from .forms import FORMS
from .host_steps import host_step
from .indexing import changed_inline
from .short_calls import SHORTER, short_call, short_form

T = TypeVar("T")
#: Functions that take their arrays as one sequence.
JOINING = frozenset({"column_stack", "concatenate", "dstack", "hstack", "stack", "vstack"})
#: Functions that write to their first argument, with the position and keyword of the argument that holds the new elements. None: the
#: elements of the first argument are reordered.
WRITES_FIRST: dict[str, tuple[int, str] | None] = {
    "copyto": (1, "src"),
    "fill_diagonal": (1, "val"),
    "place": (2, "vals"),
    "put": (2, "v"),
    "put_along_axis": (2, "values"),
    "putmask": (2, "values"),
    "shuffle": None,
}
#: Functions that only read dtypes: no array is copied to the host for them.
ASKS_DTYPES = frozenset({"can_cast", "common_type", "min_scalar_type", "promote_types", "result_type", "isdtype"})


def by_numpy(function: Callable[..., object], args: tuple[Any, ...], options: dict[str, Any], *, writes: int | None = None) -> Any:
    """Call a NumPy function.

    Parameters
    ----------
    function, args, options
        The call; it may contain our arrays anywhere, including in nested sequences. ``out`` is written to.
    writes
        Position of the argument that the function writes to, if any.
    """
    arrays = arrays_in((args, options))
    name = getattr(function, "__qualname__", "a function of NumPy")
    device = arrays[0].context if arrays else current_device()
    # NotImplemented: this form has no gradient for these arguments. NumPy computes them, unless that would cut a gradient.
    if is_recorded(arrays) and (form := FORMS.get(function)) is not None:
        found = form(*args, **options)
        if found is not NotImplemented:
            return found
    if writes is None and options.get("out") is None and any(map(is_followed, arrays)):
        found = host_step(function, args, options)
        if found is not NotImplemented:
            return found
    if writes is not None and isinstance(args[writes], Array):
        target: Any = args[writes]
        if (writer := writer_of(function.__name__, args, options)) is not None:
            return writer(*args, **options)
        if is_recorded(arrays):
            _move_recorded(function, target, args, options)
            return None
        if isinstance(target, ndarray):
            # NumPy writes to the array's own memory, if the change need not wait or be recorded
            others = to_numpy(tuple(a for k, a in enumerate(args) if k != writes))
            named = to_numpy(options)

            def change(host: np.ndarray) -> None:
                given = [apart(other, host) for other in others]
                function(*given[:writes], host, *given[writes:], **{key: apart(other, host) for key, other in named.items()})

            if changed_inline(target, change):
                return None
        host = target.asnumpy()  # a copy: NumPy's writes reach the array only through the assignment below, which the tape sees
        given = [host if k == writes else to_numpy(a) for k, a in enumerate(args)]
        result = function(*given, **to_numpy(options))
        target[...] = host
        return _arrays_from(result, device)
    refuse_cut(name, arrays, (options.get("out"), () if writes is None else args[writes]))  # before anything is written
    try:
        found = host_calls.by_numpy(function, args, options, ndarray)
    except AutogradError as error:
        if not any(map(is_followed, arrays)):
            raise
        what = f"{error.what.partition(':')[0]}: {name} reads the values of an array, which are not known while its function is traced"
        raise AutogradError(what, None, "compute it outside, and pass the result as an argument") from None
    if isinstance(found, ndarray):  # ``out``, or an argument
        return found
    result = _arrays_from(found, device)
    refuse_cut(name, arrays, result)
    return result


def _move_recorded(function: Callable[..., Any], target: Any, args: tuple[Any, ...], options: dict[str, Any]) -> None:
    """Write to a recorded array, or write recorded values to an array, as an operation with a gradient.

    NumPy's function runs on numbers that stand for elements: the target's are numbered first, then those of the values. Positions,
    repetitions and broadcasting are therefore NumPy's by construction.

    Raises
    ------
    AutogradError
        If the function does more than move elements.
    """
    name = getattr(function, "__name__", "")
    if name not in WRITES_FIRST:
        refuse_cut(name, (args, options), target)
    numbers, sources = np.arange(target.size).reshape(target.shape), [target.reshape(-1)]
    given, named, values = list(args), dict(options), WRITES_FIRST.get(name)
    # NumPy writes to the array of element numbers, which afterwards says where each element of the target comes from
    given[0] = numbers
    if values is not None:
        place, keyword = values
        new = operand(given[place] if place < len(given) else named[keyword], target.context)
        if name == "copyto":  # element numbers have one dtype, so the cast that NumPy may refuse is tried on dummies
            np.copyto(np.empty((), target.dtype), np.empty((), new.dtype), casting=named.get("casting", "same_kind"))
        sources.append(new.astype(target.dtype, copy=False).reshape(-1))
        numbered = np.arange(target.size, target.size + new.size).reshape(new.shape)
        if place < len(given):
            given[place] = numbered
        else:
            named[keyword] = numbered
    function(*[to_numpy(a) for a in given], **to_numpy(named))
    elements = apply_op(primitive_shape.concat, *sources, cls=ndarray, axis=0)
    target[...] = apply_op(primitive_gather.take, elements, adopted(ndarray, numbers, target.context), cls=ndarray, axis=0)


def _arrays_from(value: object, device: Device) -> Any:
    """The value with Twofold arrays in place of NumPy arrays and scalars, unless Twofold lacks their dtype."""

    def array_from(item: Any) -> Any:
        if isinstance(item, np.generic):
            return adopted(ndarray, np.asarray(item), device) if item.dtype in NAME_OF else item
        if item.__class__ is not np.ndarray or item.dtype not in NAME_OF:
            return item
        # a view is copied: it may show an argument's memory, or keep a large array alive
        return computed(item if item.flags.owndata and item.flags.c_contiguous else np.array(item, order="C"), device)

    return map_nested(value, array_from)


def within_device(device: DeviceLike, ctx: DeviceLike) -> AbstractContextManager[object]:
    """A context in which arrays are made on the device passed under either name.

    Without one, none is entered: once a program has chosen a device, every array that it makes takes a step more.
    """
    return nullcontext() if device is ctx is None else device_of_keywords(device, ctx)


def wrapped(function: Callable[..., object]) -> Callable[..., Any]:
    """A NumPy function wrapped for our arrays."""
    name = function.__name__
    writes = 0 if name in WRITES_FIRST else None
    with_out = naming_out(function)

    @wraps(function, updated=())
    def call(*args: object, device: DeviceLike = None, ctx: DeviceLike = None, **options: object) -> Any:
        if name in ASKS_DTYPES:
            return function(*[a.dtype if isinstance(a, ndarray) else a for a in args], **options)
        # `by_numpy` writes to ``out`` by that name alone, and NumPy reads the other arguments in memory that it must not overwrite
        args, options = with_out(args, options)
        if "overwrite_input" in options:
            options["overwrite_input"] = False
        if writes is not None:
            args = host_calls.first_by_position(args, options)
        if device is ctx is None:  # the usual case, without three functions of a context
            return by_numpy(function, args, options, writes=writes)
        # results of a call without arrays are put on the current device
        with device_of_keywords(device, ctx):
            return by_numpy(function, args, options, writes=writes)

    recorded = "with a gradient" if function in FORMS else "without a gradient"
    call.__doc__ = f"``{function.__module__ or 'numpy'}.{name}``, computed on the host; {recorded}.\n\n{function.__doc__ or ''}"
    if name in WRITES_FIRST:
        return short_form(call, function) if function in SHORTER else call
    return short_call(call, function, of_large=True, copies=True)


def guarded(function: Callable[..., T], numpys: Callable[..., object]) -> Callable[..., T]:
    """One of our functions, with NumPy's as the fallback for operands of unsupported dtypes."""
    name = function.__name__

    @wraps(function)
    def call(*args: object, **options: object) -> T:
        try:
            return function(*args, **options)
        except UnsupportedDType:
            return by_numpy(numpys, args, options)
        except (TypeError, ValueError):
            # here, and not in these functions: their signatures are NumPy's, and a check would take time in each call
            if name in JOINING and len(args) > 1 and isinstance(args[1], (Array, np.ndarray)):
                todo = f"pass the arrays as one list or tuple: {name}([a, b])"
                raise WrongArgument(f"{name}: the arrays are not in a list", f"{len(args)} arguments", todo) from None
            raise

    return call


@wraps(np.unique_values, assigned=("__name__", "__qualname__"), updated=())
def ordered_unique_values(x: Any, /) -> Any:
    """The distinct elements, in order; NaN is distinct from itself."""
    # NumPy's come in any order, and scikit-learn, which sorts these, takes those of other libraries as they come
    return np.unique(x, equal_nan=False)


class vectorize(np.vectorize):  # type: ignore[misc]
    """NumPy's ``vectorize``, with our arrays as arguments and results."""

    def __call__(self, *args: object, **options: object) -> Any:
        """Apply the function to every element of the broadcast arguments, on the host and without a gradient.

        Raises
        ------
        AutogradError
            While a function around is traced: the elements have no values then.
        """
        if any(map(is_followed, arrays_in((args, options)))):
            todo = "use func.vmap, whose function takes arrays without the axis, or call the function with whole arrays"
            raise AutogradError("vectorize: calls a Python function of elements whose values are not known", None, todo)
        return by_numpy(super().__call__, args, options)


def objects_of(value: Any) -> Any:
    """A recorded array as NumPy's array of objects, its elements; anything else as NumPy takes it."""
    if not is_recorded(value):
        return to_numpy(value)
    x = operand(value)
    found = np.empty(x.shape, object)
    for place in np.ndindex(x.shape):
        found[place] = x[place]
    return found


@wraps(np.nditer, assigned=("__name__", "__qualname__"), updated=())
def nditer(op: object, *args: object, **options: object) -> np.nditer:
    """NumPy's iterator over copies of arrays of ours, which it cannot write to, in the order of their memory.

    Raises
    ------
    AutogradError
        If an array is recorded.
    ParameterError
        If the function would write to one of Twofold's arrays.
    """
    refuse_cut("nditer", (op, args, options), np.empty(0))
    try:
        return np.nditer(map_nested(op, _laid_out), *to_numpy(args), **to_numpy(options))
    except ValueError as error:
        if "read-only" not in str(error):
            raise
        raise ParameterError(
            f"nditer: arrays of twofold.np cannot be written through an iterator: {error}",
            None,
            "write to x[index], or use x.asnumpy()",
        ) from None


def _laid_out(value: Any) -> Any:
    """A copy in the order of the memory that a view shows; other arrays as NumPy's."""
    host = to_numpy(value)
    if not isinstance(value, ndarray) or not is_view(value) or not host.ndim:
        return host
    layout = value._strided
    axes = layout.axes_in("K")
    forwards = tuple([slice(None, None, -1 if layout.strides[k] < 0 else 1) for k in axes])
    memory = np.ascontiguousarray(host.transpose(axes)[forwards])
    memory.flags.writeable = False
    return memory[forwards].transpose(np.argsort(axes))
