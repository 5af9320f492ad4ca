"""Functions of ``twofold.np`` that combine elements along axes: sums, extrema, tests, cumulative sums, norms. `means` has the means.

``dtype`` is the dtype to compute in, ``out`` an array to write to, ``where`` selects elements, ``initial`` is the starting value; all as
in NumPy.
"""

import math
from collections.abc import Callable
from functools import partial, wraps
from operator import index
from typing import Any

import numpy as np

from ..calls.host_calls import is_recorded, refuse_cut, to_numpy
from ..device import CPU
from ..dtype import NAME_OF, NUMPY, dtype_name, has_nan
from ..errors import DTypeError, NoSuchAxis, ParameterError, WrongArgument, own_error
from ..imperative.array import apply_op
from ..imperative.cell import HOST, PLAIN, Value, new
from ..imperative.counters import COUNTERS
from ..imperative.deferral import DIRECT
from ..imperative.guards import is_tracked
from ..imperative.invoke import content, invoke
from ..imperative.views import GAPS
from ..ndarray.types import ArrayLike, Axis, DTypeLike, Scalar
from ..opdef import BoundOp, Op, normalized_axes, normalized_axis, reduced_shape
from ..opdef.frontend import named
from ..ops import primitive_reduce, primitive_shape
from ..scheduler.observers import LISTENERS
from ..signal_handlers import unless_signalled
from .array import Out, ndarray
from .creation import full_like, operand
from .fallback import by_numpy
from .ufuncs import ACCUMULATE, REDUCE, chosen, deliver, function_of, mask_of
from .view_operands import permuted


def run(op: Op, *arrays: ndarray, **params: object) -> ndarray:
    """Run an operator on arrays."""
    return apply_op(op, *arrays, cls=ndarray, **params)


def reducer(op: Op, to_places: bool = False) -> Callable[..., ndarray]:
    """The function ``(array, axis, keepdims, **params) -> array`` of a reduction; ``to_places`` if it gives a position without an axis."""
    # parsed parameters, by axis and keepdims: a repeated reduction costs one look-up
    bound_ops: dict[tuple[object, ...], BoundOp] = {}
    functions: dict[tuple[object, ...], Callable[[np.ndarray], Any]] = {}

    def reduced(x: ndarray, axis: Axis, keepdims: bool, **params: float | str | None) -> ndarray:
        if x._held is None and (axis is not None or not to_places) and (below := _below(x, axis)) is not None:
            shape = reduced_shape(x.shape, axis, True) if keepdims else None
            found = reduced(*below, False, **params)
            return found if shape is None else run(primitive_shape.reshape, found, shape=shape)
        key = axis, keepdims, *params.values()
        bound_op = bound_ops.get(key)
        if bound_op is None:
            bound_op = bound_ops[key] = op.bind(axis=axis, keepdims=keepdims, **params)
        result = new(ndarray)  # as `wrap` does, without its frame
        v: Any = x._held
        if v.__class__ is Value and (data := _inline_operand(v)) is not None:
            try:
                if op.primitive:
                    function = functions.get(key)
                    if function is None:
                        function = functions[key] = partial(getattr(HOST.xp, op.name), axis=axis, keepdims=keepdims, **params)
                    result._held = content(HOST.as_array(HOST.quick(function, data)), CPU)
                    COUNTERS.inline += 1
                    return result
                program = bound_op.inline.get((data.shape, data.dtype))  # `invoke` makes it at the second use
                if program is not None:
                    [found] = HOST.quick(program.function, [data])
                    result._held = content(found, CPU)
                    COUNTERS.inline += 1
                    return result
            except unless_signalled(Exception):  # `invoke` finds a result, or raises an error that says what to do
                pass
        result._held = invoke(bound_op, (x,))[0]
        return result

    return reduced


def _inline_operand(v: Value) -> np.ndarray | None:
    """The array of a large content. A reduction reads it immediately if it is ready: fusing it with other operations gains little.

    None for very large ones, which programs reduce on several threads.
    """
    data = v.data
    if data.__class__ is not PLAIN or data.nbytes > DIRECT or v.device is not CPU or LISTENERS or is_tracked(v):
        return None
    return data


def _below(x: Any, axis: Axis) -> tuple[ndarray, Axis] | None:
    """The array that a large view shows with its axes in another order, and its axes to reduce: as NumPy, in the order of the memory.

    None if the view is another one, or the axes that are left would be in another order. The choice depends only on the expression and on
    sizes, so every mode has the same bits.
    """
    found = permuted(x)
    if found is None or x.size < GAPS:
        return None
    root, order = found
    if axis is None:
        return root, None
    axes = normalized_axes(axis, x.ndim)
    left = [a for k, a in enumerate(order) if k not in axes]
    if left != sorted(left):
        return None
    return root, order[axes[0]] if isinstance(axis, int) else tuple([order[k] for k in axes])


def ready_operand(a: Any, dtype: DTypeLike = None, out: Out = None) -> ndarray:
    """The operand of a reduction, cast to the dtype to compute in, which is at least as wide as that of ``out``."""
    x = a if a.__class__ is ndarray else operand(a)
    if dtype is None and isinstance(out, (ndarray, np.ndarray)):
        dtype = NAME_OF.get(np.result_type(x.dtype, out.dtype))
    return x if dtype is None else x.astype(dtype_name(dtype), copy=False)


def _initial(value: Scalar, result: ndarray) -> ndarray:
    """The start value, in the dtype of the result.

    Raises
    ------
    MXNetError
        If it is not a scalar, or the dtype cannot hold it.
    """
    if is_recorded(value) and isinstance(value, ndarray) and not value.ndim:
        return value.astype(result._dtype, copy=False)
    refuse_cut("initial", value, result)
    try:
        host = np.asarray(to_numpy(value), NUMPY[result._dtype])
    except (TypeError, ValueError) as error:
        raise own_error("initial: the dtype cannot hold the value", error) from error
    if host.ndim:
        raise DTypeError("initial is not a number", str(host.shape), "pass a number")
    return operand(host, result.context)


def _axis(axis: Any) -> Axis:
    if axis is None or isinstance(axis, (int, tuple)):
        return axis
    if not isinstance(axis, list) and not hasattr(axis, "__index__"):
        raise WrongArgument("axis is no integer", repr(axis), "pass an integer, a tuple of integers, or None for all axes")
    return tuple(axis) if isinstance(axis, list) else index(axis)


def axis_of(x: ndarray, axis: Axis, is_mean: bool = False) -> Axis:
    """The axes of a reduction, which may be 0 or -1 for a 0-d array. NumPy allows that for all reductions but means."""
    if axis is None:
        return None
    given = _axis(axis)
    if x.ndim == 0 and (bool(given) if isinstance(given, tuple) else is_mean):
        raise NoSuchAxis("axis is out of range", f"{axis} for 0 dimensions", "leave axis out")
    return None if x.ndim == 0 and given in (0, -1) else given


def _total(op: Op, name: str, neutral: int, combine: str, noun: str) -> Callable[..., ndarray]:
    reduced = reducer(op)

    @named(name, f"{noun} of elements along axes (all if ``axis`` is None); small integers and bools are combined in 64 bits.")
    def total(
        a: ArrayLike,
        axis: Axis = None,
        dtype: DTypeLike = None,
        out: Out = None,
        keepdims: bool = False,
        initial: Scalar | None = None,
        where: ArrayLike = True,
    ) -> ndarray:
        x = ready_operand(a, dtype, out)
        if where is not True:
            x = chosen(mask_of(where), x, neutral)  # masked elements become the neutral one, which changes no result
        result = reduced(x, axis_of(x, axis), bool(keepdims))
        if dtype is not None:
            result = result.astype(dtype, copy=False)
        return deliver(result if initial is None else function_of(combine)(result, _initial(initial, result)), out, "unsafe")

    return total


sum, prod = _total(primitive_reduce.sum, "sum", 0, "add", "Sum"), _total(primitive_reduce.prod, "prod", 1, "multiply", "Product")


def _extremum(op: Op, name: str, combine: str, worst: str, beyond: float) -> Callable[..., ndarray]:
    reduced = reducer(op)

    @named(name, f"The {worst} element along axes (of all if ``axis`` is None); NaN if there is one.")
    def extremum(
        a: ArrayLike, axis: Axis = None, out: Out = None, keepdims: bool = False, initial: Scalar | None = None, where: ArrayLike = True
    ) -> ndarray:
        x = ready_operand(a)
        axis = axis_of(x, axis)
        start = None if initial is None else _initial(initial, x)
        if where is not True:
            if start is None:
                what = f"reduction operation '{combine}' does not have an identity, so to use a where mask one has to specify 'initial'"
                raise ParameterError(what, None, "pass initial")
            # a recorded start value must not get a gradient once for each masked element
            x = chosen(mask_of(where), x, beyond if is_recorded(start) else start)
        if x.size == 0 and 0 in [x.shape[k] for k in normalized_axes(axis, x.ndim)]:
            if start is None:
                raise ParameterError(
                    f"zero-size array to reduction operation {combine} which has no identity", str(x.shape), "pass initial"
                )
            # operators have no start value: NumPy fills the result with it
            return by_numpy(getattr(np, name), (x,), {"axis": axis, "keepdims": keepdims, "initial": initial, "out": out})
        result = reduced(x, axis, bool(keepdims))
        return deliver(result if start is None else function_of(combine)(result, start), out, "unsafe")

    return extremum


max = _extremum(primitive_reduce.max, "max", "maximum", "largest", -np.inf)
min = _extremum(primitive_reduce.min, "min", "minimum", "smallest", np.inf)
amax, amin = max, min


def ptp(a: ArrayLike, axis: Axis = None, out: Out = None, keepdims: bool = False) -> ndarray:
    """The difference between the largest and the smallest element along axes."""
    return deliver(max(a, axis, keepdims=keepdims) - min(a, axis, keepdims=keepdims), out, "same_kind")


def _test(op: Op, name: str, neutral: bool, doc: str) -> Callable[..., ndarray]:
    reduced = reducer(op)

    @named(name, doc)
    def test(a: ArrayLike, axis: Axis = None, out: Out = None, keepdims: bool = False, *, where: ArrayLike = True) -> ndarray:
        x = ready_operand(a)
        if where is not True:
            x = chosen(mask_of(where), x.astype("bool", copy=False), neutral)
        return deliver(reduced(x, axis_of(x, axis), bool(keepdims)), out, "unsafe")

    return test


any = _test(primitive_reduce.any, "any", False, "Whether any element along axes is non-zero.")
all = _test(primitive_reduce.all, "all", True, "Whether all elements along axes are non-zero.")


def _place(op: Op, name: str, doc: str) -> Callable[..., ndarray]:
    reduced = reducer(op, to_places=True)

    @named(name, doc)
    def place(a: ArrayLike, axis: int | None = None, out: Out = None, *, keepdims: bool = False) -> ndarray:
        x = ready_operand(a)
        if axis is not None:
            axis = None if axis_of(x, index(axis)) is None else normalized_axis(index(axis), x.ndim)
        if x.size == 0:
            if axis is None or x.shape[axis] == 0:
                raise ParameterError(f"attempt to get {name} of an empty sequence", str(x.shape), "pass at least one element")
            return by_numpy(getattr(np, name), (x, axis), {"out": out, "keepdims": keepdims})
        if isinstance(out, (ndarray, np.ndarray)) and not np.can_cast(out.dtype, np.int64):
            raise DTypeError(f"{name}: out cannot hold indices", str(out.dtype), "pass an array of integers")
        return deliver(reduced(x, axis, bool(keepdims)), out, "unsafe")

    return place


argmax = _place(
    primitive_reduce.argmax, "argmax", "Index of the first largest element along an axis, in the flattened array if it is None."
)
argmin = _place(
    primitive_reduce.argmin, "argmin", "Index of the first smallest element along an axis, in the flattened array if it is None."
)


# cumulative sums and counts


def cumsum(a: ArrayLike, axis: int | None = None, dtype: DTypeLike = None, out: Out = None) -> ndarray:
    """Cumulative sums along an axis, or of the flattened array if None."""
    return _scan(primitive_reduce.cumulative_sum, a, axis, dtype, out)


def cumprod(a: ArrayLike, axis: int | None = None, dtype: DTypeLike = None, out: Out = None) -> ndarray:
    """Cumulative products along an axis, or of the flattened array if None."""
    return _scan(primitive_reduce.cumulative_prod, a, axis, dtype, out)


def _scan(op: Op, a: ArrayLike, axis: int | None, dtype: DTypeLike, out: Out) -> ndarray:
    x = ready_operand(a, dtype, out)
    x = x.reshape(-1) if axis is None or not x.ndim else x
    result = run(op, x, axis=0 if axis is None else normalized_axis(axis, x.ndim))
    return deliver(result if dtype is None else result.astype(dtype, copy=False), out, "unsafe")


def cumulative_sum(
    x: ArrayLike, /, *, axis: int | None = None, dtype: DTypeLike = None, out: Out = None, include_initial: bool = False
) -> ndarray:
    """Cumulative sums along an axis; the array API's name. With ``include_initial`` a 0 is prepended."""
    return _cumulative(cumsum, 0, operand(x), axis, dtype, out, include_initial)


def cumulative_prod(
    x: ArrayLike, /, *, axis: int | None = None, dtype: DTypeLike = None, out: Out = None, include_initial: bool = False
) -> ndarray:
    """Cumulative products along an axis; the array API's name. With ``include_initial`` a 1 is prepended."""
    return _cumulative(cumprod, 1, operand(x), axis, dtype, out, include_initial)


def _cumulative(
    function: Callable[..., ndarray], first: int, x: ndarray, axis: int | None, dtype: DTypeLike, out: Out, include_initial: bool
) -> ndarray:
    if axis is None and x.ndim > 1:
        raise ParameterError("For arrays which have more than one dimension ``axis`` argument is required", str(x.shape), "pass axis")
    x = x if x.ndim else x.reshape(1)
    result = function(x, axis or 0, dtype)
    if include_initial:
        shape = [1 if k == (axis or 0) % x.ndim else n for k, n in enumerate(x.shape)]
        result = run(primitive_shape.concat, full_like(result, first, shape=shape), result, axis=(axis or 0) % x.ndim)
    return deliver(result, out, "unsafe")


def count_nonzero(a: ArrayLike, axis: Axis = None, *, keepdims: bool = False) -> ndarray:
    """Number of non-zero elements along axes."""
    return sum(ready_operand(a).astype("bool", copy=False), axis, keepdims=keepdims)


# norms


def norm_along(a: ndarray, ord: float, axis: tuple[int, ...], keepdims: bool) -> ndarray:
    """The norm of the vectors along axes, of an array of real numbers."""
    # NumPy has the same special cases: they are faster and more accurate than powers
    if ord == 2:
        return function_of("sqrt")(sum(function_of("square")(a), axis, keepdims=keepdims))
    size = function_of("absolute")(a)
    if math.isinf(ord):
        return (max if ord > 0 else min)(size, axis, keepdims=keepdims)
    if ord == 0:
        return sum((size != 0).astype(a.dtype), axis, keepdims=keepdims)
    if ord == 1:
        return sum(size, axis, keepdims=keepdims)
    return sum(size**ord, axis, keepdims=keepdims) ** (1 / ord)


# without NaN


def _without_nan(name: str, neutral: float, reduce: Callable[..., ndarray]) -> Callable[..., ndarray]:
    @named(name, f"As `{reduce.__name__}`, with NaN as {neutral:g}.")
    @wraps(reduce)
    def function(a: ArrayLike, *args: object, **options: object) -> ndarray:
        x = ready_operand(a)
        return reduce(chosen(function_of("isnan")(x), neutral, x) if has_nan(x._dtype) else x, *args, **options)

    return function


nansum, nanprod = _without_nan("nansum", 0, sum), _without_nan("nanprod", 1, prod)


# here, since `ufuncs` is a lower module and cannot import this one
REDUCE.update(add=sum, multiply=prod, maximum=max, minimum=min, logical_and=all, logical_or=any)
ACCUMULATE.update(add=cumsum, multiply=cumprod)
