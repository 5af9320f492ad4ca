"""Functions of ``twofold.np`` that create arrays: from values, filled, ranges. Dtypes are NumPy's: numbers give float64 or int64.

NumPy arrays are copied, never shared. Data without a dtype here (text, objects, dates, records) remains a NumPy array. ``order`` and
``subok`` never have an effect: arrays are in row-major order, and there is one class. ``device`` and ``ctx`` are synonyms.
"""

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from ..calls.host_calls import called, is_recorded, refuse_cut, refuse_foreign, stacked, to_numpy, with_own_arrays
from ..device import Device, current_device, interned
from ..dtype import NAME_OF, NUMPY, dtype_name, numpy_dtype
from ..errors import DTypeError, ParameterError, UnsupportedDType, WrongType
from ..imperative.array import Array, adopted, from_host
from ..imperative.tape import tls
from ..imperative.views import changeable, view_of
from ..ndarray.new_arrays import allocate, exchanged, fill
from ..ndarray.types import ArrayLike, DeviceLike, DTypeLike, Order, Shape
from ..opdef.frontend import named
from ..suggestions import operand_here
from .array import ndarray
from .bound_views import broadcast_to
from .flat import flatiter, whole_of
from .forms import FORMS


def device_of_keywords(device: DeviceLike, ctx: DeviceLike) -> Device:
    """The device passed under either name (the array API's ``"cpu"`` too); the current one if neither is given."""
    chosen = ctx if device is None else device
    return current_device() if chosen is None else interned(chosen)


def _type(dtype: DTypeLike, function: str = "", *arguments: object) -> Any:
    """The dtype of a new array; ``arguments`` are those before it, the shape first, for the error.

    Raises
    ------
    DTypeError
        If it is an integer, which is a size here, as in ``zeros(3, 4)``.
    """
    if isinstance(dtype, int) and not isinstance(dtype, bool):
        given, todo = f"dtype={dtype}", "name the dtype, such as 'int32'"
        if arguments and isinstance(arguments[0], int):
            sizes = [*map(str, arguments), str(dtype)]
            given, value = f"{function}({', '.join(sizes)})", f", {sizes.pop()}" if function == "full" else ""
            todo = f"pass the shape as a tuple: {function}(({', '.join(sizes)}){value})"
        raise DTypeError(f"Cannot interpret '{dtype}' as a data type", given, todo)
    return float if dtype is None else dtype


def array(
    object: ArrayLike,
    dtype: DTypeLike = None,
    *,
    copy: bool | None = True,
    order: Order = "K",
    subok: bool = False,
    ndmin: int = 0,
    ndmax: int = 0,
    device: DeviceLike = None,
    ctx: DeviceLike = None,
) -> ndarray:
    """Create an array from anything array-like.

    Parameters
    ----------
    object
        An array, a number, or nested sequences of them.
    dtype
        The data type; inferred as in NumPy if None.
    copy
        If not True, a suitable `ndarray` is returned unchanged. False raises an error if a copy is needed.
    order, subok
        Have no effect.
    ndmin
        Minimum number of axes; new ones come first.
    ndmax
        Maximum depth at which nested sequences become axes, if not 0; deeper ones require an object ``dtype``. Needs NumPy 2.4.
    device, ctx
        The device; if None, that of the source if it is an array, else the current one.

    Returns
    -------
    ndarray
        A NumPy array if the dtype is not supported here.
    """
    if isinstance(object, Array):
        out = _converted(object, dtype, copy, None if device is None and ctx is None else device_of_keywords(device, ctx))
    elif tls.tape is not None and isinstance(object, (list, tuple)) and is_recorded(object):
        # arrays of one dtype are joined directly; for other inputs NumPy finds the common dtype
        kinds = {item._dtype if isinstance(item, ndarray) else None for item in object}
        if dtype is None and not ndmax and len(kinds) == 1 and None not in kinds:
            out = stacked(object, ndarray, operand)
        else:
            kind = _host(_of_zeros(object), dtype, {"ndmax": ndmax} if ndmax else {})[0].dtype
            out = stacked(object, ndarray, lambda item: operand(item).astype(kind, copy=False))
        out = out if device is None and ctx is None else out.as_in_ctx(device_of_keywords(device, ctx))
    else:
        host, fresh = _host(object, dtype, {"ndmin": ndmin, "ndmax": ndmax} if ndmax else {})
        supported = host.dtype in NAME_OF
        if copy is False and (supported or fresh):
            raise ParameterError("array: a copy is needed", type(object).__name__, "leave copy out")
        if not supported:
            return cast("ndarray", np.array(host, copy=None if fresh else copy, ndmin=ndmin))
        out = changeable((adopted if fresh else from_host)(ndarray, host, device_of_keywords(device, ctx)))
    return out if out.ndim >= ndmin else out.reshape((1,) * (ndmin - out.ndim) + out.shape)


def _converted(source: Array, dtype: DTypeLike, copy: bool | None, device: Device | None) -> ndarray:
    out = source if isinstance(source, ndarray) else view_of(ndarray, source, ())
    where = out.context if device is None else device
    # a transfer or a cast is a copy already: no second one for ``copy=True``
    fresh = where is not out.context or (dtype is not None and dtype_name(dtype) != out._dtype)
    if copy is False and fresh:
        raise ParameterError("array: a copy is needed", f"{out._dtype} on {out.context}", "leave copy out")
    out = out.as_in_ctx(where)
    out = out if dtype is None else out.astype(dtype, copy=False)
    return changeable(out.copy()) if copy and not fresh else out


def _host(object: ArrayLike, dtype: Any, limits: dict[str, Any]) -> tuple[Any, bool]:
    """An array-like as a NumPy array, and whether it is the only owner of its memory.

    Raises
    ------
    WrongType
        If it stands for an array but is none, such as a symbol or a parameter.
    """
    try:
        host = np.array(to_numpy(object), dtype, copy=None, **limits)
    except TypeError:
        numpy_dtype(dtype)  # as in `called`
        raise
    except ValueError as error:
        _check_is_no_stand_in(object)
        host = np.array(with_own_arrays(object, error), dtype, copy=None, **limits)
    if host.dtype.char == "O" and dtype is None:
        _check_is_no_stand_in(object)
    # an object with a buffer or ``__array__`` may share its memory with the result; sequences and scalars never do
    return host, host is not object and isinstance(object, (list, tuple, int, float, complex, np.generic))


def _of_zeros(value: object) -> Any:
    """Nested sequences with zeros in place of arrays, whose values are not known while a function is traced."""
    if isinstance(value, Array):
        return np.broadcast_to(np.zeros((), value.__numpy_dtype__), value.shape)
    return [_of_zeros(v) for v in value] if isinstance(value, (list, tuple)) else value


def _check_is_no_stand_in(given: object) -> None:
    if todo := operand_here(given):
        raise WrongType("an operand is no array", type(given).__name__, todo)


def from_dlpack(x: object, /, *, device: DeviceLike | None = None, copy: bool | None = None) -> ndarray:
    """An array that shares memory with another library's array, through DLPack.

    Parameters
    ----------
    x
        An array with ``__dlpack__``.
    device
        The device of the result; that of ``x`` if None.
    copy
        Whether to copy the elements. If None, only where memory cannot be shared: if it is read-only, not in C order, or on another device.

    Returns
    -------
    ndarray
        Writes to it change ``x`` too, and the reverse, unless it is a copy.

    Raises
    ------
    ParameterError
        If ``copy`` is False and memory cannot be shared.
    DTypeError
        If ``x`` has no ``__dlpack__``, or its memory is on a device other than a CPU or an NVIDIA GPU.

    Examples
    --------
    >>> import numpy
    >>> import twofold as mx
    >>> a = numpy.zeros(3)
    >>> x = mx.np.from_dlpack(a)
    >>> x[0] = 5
    >>> a
    array([5., 0., 0.])
    """
    refuse_cut("from_dlpack", (x,), np.empty(0))
    found = exchanged(ndarray, x, copy)
    where = found.context if device is None else device_of_keywords(device, None)
    if copy is False and where is not found.context:
        raise ParameterError("from_dlpack: a copy is needed", f"{found.context} for {where}", "leave copy or device out")
    return found.as_in_ctx(where)


def asarray(
    a: ArrayLike,
    dtype: DTypeLike = None,
    order: Order = None,
    *,
    device: DeviceLike = None,
    copy: bool | None = None,
    ctx: DeviceLike = None,
) -> ndarray:
    """The array itself if suitable, which includes its memory order, else a new one; parameters as for `array`."""
    if dtype is None and device is None and ctx is None and copy is None and isinstance(a, ndarray):
        found = whole_of(a) if a.__class__ is flatiter else a
    else:
        found = array(a, dtype, copy=copy, device=device, ctx=ctx)
    if order is not None:
        np.array(0, order=order)  # raises NumPy's errors
        if order.upper() in ("C", "F") and isinstance(a, ndarray) and not copy and not found.flags[order.upper()]:
            if copy is False:
                raise ParameterError("asarray: an array in that memory order would be a copy", f"order={order!r}", "pass copy=None")
            return found.copy()
    return found


def operand(a: ArrayLike, device: Device | None = None) -> ndarray:
    """An operand of a function: `asarray`, placed on a device if it is not an `ndarray` yet.

    Raises
    ------
    UnsupportedDType
        If it remains a NumPy array, or NumPy leaves operations with it to its class.
    """
    if isinstance(a, ndarray):
        return whole_of(a) if a.__class__ is flatiter else a
    refuse_foreign(a)
    found = array(a, copy=None, device=None if isinstance(a, Array) else device)
    if not isinstance(found, ndarray):
        raise UnsupportedDType("an operand is not an array of numbers", repr(a)[:60], "compute with numpy")
    return found


def operands(*values: ArrayLike) -> list[ndarray]:
    """The operands of a function. New arrays are placed on the device of the first operand that already is an `ndarray`."""
    # the usual case, arrays alone, takes one loop without a call
    for v in values:
        if v.__class__ is not ndarray:
            device = next((v.context for v in values if isinstance(v, Array)), None)
            return [operand(v, device) for v in values]
    arrays: Any = values
    return list(arrays)


def ascontiguousarray(a: ArrayLike, dtype: DTypeLike = None) -> ndarray:
    """The array itself if it is in row-major order, else a copy; it has at least one axis."""
    out = operand(a if dtype is None else asarray(a, dtype))
    out = out if out.shape else out.reshape(1)
    return out if out.flags.c_contiguous else out.copy()


def copy(a: ArrayLike, order: Order = "K", subok: bool = False) -> ndarray:
    """A new array with the contents of an array-like."""
    return array(a)


def zeros(shape: Shape, dtype: DTypeLike = float, order: Order = "C", *, device: DeviceLike = None, ctx: DeviceLike = None) -> ndarray:
    """An array of zeros.

    Parameters
    ----------
    shape
        Sizes of the axes, or a single size.
    dtype
        The data type; float64 if not given.
    order
        Has no effect.
    device, ctx
        The device; the current one if None.
    """
    return changeable(fill(ndarray, shape, 0, _type(dtype, "zeros", shape), device_of_keywords(device, ctx)))


def ones(shape: Shape, dtype: DTypeLike = None, order: Order = "C", *, device: DeviceLike = None, ctx: DeviceLike = None) -> ndarray:
    """An array of ones; parameters as for `zeros`."""
    return changeable(fill(ndarray, shape, 1, _type(dtype, "ones", shape), device_of_keywords(device, ctx)))


def empty(shape: Shape, dtype: DTypeLike = float, order: Order = "C", *, device: DeviceLike = None, ctx: DeviceLike = None) -> ndarray:
    """An uninitialized array; parameters as for `zeros`."""
    return changeable(allocate(ndarray, shape, _type(dtype, "empty", shape), device_of_keywords(device, ctx)))


def full(
    shape: Shape, fill_value: ArrayLike, dtype: DTypeLike = None, order: Order = "C", *, device: DeviceLike = None, ctx: DeviceLike = None
) -> ndarray:
    """An array filled with a value, which is broadcast to its shape and determines the default dtype. Other parameters as for `zeros`."""
    where = device_of_keywords(device, ctx)
    if isinstance(fill_value, (bool, int, float)):
        kind = np.asarray(fill_value).dtype if dtype is None else _type(dtype, "full", shape, fill_value)
        return changeable(fill(ndarray, shape, fill_value, kind, where))
    value = operand(fill_value, where)
    out = empty(shape, value.dtype if dtype is None else dtype, device=where)
    out[...] = value
    return out


def _like(name: str, make: Callable[..., ndarray]) -> Callable[..., ndarray]:
    @named(f"{name}_like", f"A new array as `{name}` makes it, of another array's shape, dtype and device where these are not given.")
    def function(
        a: ArrayLike,
        dtype: DTypeLike = None,
        order: Order = "K",
        subok: bool = True,
        shape: Shape | None = None,
        *,
        device: DeviceLike = None,
        ctx: DeviceLike = None,
    ) -> ndarray:
        model = operand(a)
        where = model.context if device is None and ctx is None else device_of_keywords(device, ctx)
        return make(model.shape if shape is None else shape, model.dtype if dtype is None else dtype, device=where)

    return function


zeros_like, ones_like, empty_like = _like("zeros", zeros), _like("ones", ones), _like("empty", empty)


def full_like(
    a: ArrayLike,
    fill_value: ArrayLike,
    dtype: DTypeLike = None,
    order: Order = "K",
    subok: bool = True,
    shape: Shape | None = None,
    *,
    device: DeviceLike = None,
    ctx: DeviceLike = None,
) -> ndarray:
    """An array filled with a value, with another array's shape, dtype and device unless given."""
    model = operand(a)
    where = model.context if device is None and ctx is None else device_of_keywords(device, ctx)
    return full(model.shape if shape is None else shape, fill_value, model.dtype if dtype is None else dtype, device=where)


# ranges: NumPy computes them on the host, so every value is NumPy's to the last bit


def computed(host: ArrayLike, device: DeviceLike = None, ctx: DeviceLike = None) -> ndarray:
    """A new result from NumPy as an array on a device."""
    values: Any = np.asarray(host)
    return changeable(adopted(ndarray, values, device_of_keywords(device, ctx))) if values.dtype in NAME_OF else values


def arange(
    start: float | ndarray,
    stop: float | ndarray | None = None,
    step: float | ndarray | None = None,
    dtype: DTypeLike = None,
    *,
    device: DeviceLike = None,
    ctx: DeviceLike = None,
) -> ndarray:
    """Evenly spaced values in [start, stop), or in [0, start) without a stop; the spacing is ``step``, by default 1."""
    bounds = (0, start, 1 if step is None else step) if stop is None else (start, stop, 1 if step is None else step)
    kind: Any = dtype
    host = called(np.arange, *[b.item() if isinstance(b, Array) else b for b in bounds], dtype=kind)
    refuse_cut("arange", bounds, host)
    return computed(host, device, ctx)


def _spaced(function: Callable[..., Any]) -> Callable[..., ndarray]:
    @named(function.__name__, f"As ``numpy.{function.__name__}``, on a device.")
    def spaced(
        start: ArrayLike,
        stop: ArrayLike,
        num: int = 50,
        *args: object,
        device: DeviceLike = None,
        ctx: DeviceLike = None,
        **options: object,
    ) -> Any:
        if is_recorded((start, stop)):
            return FORMS[function](start, stop, num, *args, **options)
        got = called(function, to_numpy(start), to_numpy(stop), num, *args, **options)
        return (computed(got[0], device, ctx), got[1]) if isinstance(got, tuple) else computed(got, device, ctx)

    return spaced


linspace, logspace, geomspace = _spaced(np.linspace), _spaced(np.logspace), _spaced(np.geomspace)


def eye(
    N: int,
    M: int | None = None,
    k: int = 0,
    dtype: DTypeLike = float,
    order: Order = "C",
    *,
    device: DeviceLike = None,
    ctx: DeviceLike = None,
) -> ndarray:
    """Ones on diagonal ``k`` of an (N, M) array, zeros elsewhere; M is N if None."""
    return computed(called(np.eye, N, M, k, NUMPY[dtype_name(_type(dtype))]), device, ctx)


def identity(n: int, dtype: DTypeLike = None, *, device: DeviceLike = None, ctx: DeviceLike = None) -> ndarray:
    """Ones on the main diagonal of an (n, n) array, zeros elsewhere."""
    return eye(n, dtype=dtype, device=device, ctx=ctx)


def tri(
    N: int, M: int | None = None, k: int = 0, dtype: DTypeLike = float, *, device: DeviceLike = None, ctx: DeviceLike = None
) -> ndarray:
    """Ones on and below diagonal ``k`` of an (N, M) array, zeros above."""
    return computed(called(np.tri, N, M, k, NUMPY[dtype_name(_type(dtype))]), device, ctx)


def meshgrid(*xi: ArrayLike, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> tuple[ndarray, ...]:
    """Coordinate arrays of a grid, from one coordinate vector per axis.

    Parameters
    ----------
    *xi
        Vectors or scalars.
    copy
        If false, return read-only views of the vectors.
    sparse
        Return arrays of size 1 along all axes except their own.
    indexing
        ``"xy"`` swaps the first two axes, ``"ij"`` keeps their order.
    """
    if indexing not in ("xy", "ij"):
        raise ParameterError("meshgrid: unknown indexing", repr(indexing), "use 'xy' or 'ij'")
    places = list(range(len(xi)))
    if indexing == "xy" and len(xi) > 1:
        places[:2] = 1, 0
    vectors = [operand(x).reshape(-1) for x in xi]
    columns = [v.reshape([-1 if k == at else 1 for k in range(len(xi))]) for v, at in zip(vectors, places, strict=True)]
    sizes: dict[int, int] = dict(zip(places, [v.size for v in vectors], strict=True))
    shape = tuple(sizes[k] for k in range(len(xi)))
    wide: Sequence[ndarray] = columns if sparse else [broadcast_view(c, shape) for c in columns]
    return tuple(w.copy() if copy else w for w in wide)


def broadcast_view(a: ndarray, shape: tuple[int, ...]) -> ndarray:
    """A read-only view of an array broadcast to a shape."""
    return a._view(broadcast_to(shape))


def read_only(a: ndarray) -> ndarray:
    """A read-only view: of a copy that stands for a view of NumPy's, or of an array that NumPy makes read-only."""
    return broadcast_view(a, a.shape)
