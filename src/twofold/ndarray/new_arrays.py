"""The functions of ``mx.nd`` that create arrays: from values, from other libraries' arrays, constant ones and ranges."""

import warnings
from typing import Any, TypeVar

import numpy as np

from ..assembly import inlined
from ..backend.loader import backend_for
from ..calls.fragments import RECOVERABLE
from ..calls.host_calls import is_recorded, refuse_cut, stacked
from ..device import CPU, DEFAULTS, ENTERED, Device, chosen_device, interned
from ..dtype import NAME_OF, NUMPY, dtype_name
from ..errors import DTypeError, ParameterError
from ..imperative.array import Array, adopted, apply_op, from_host
from ..imperative.cell import HOST, PINNED, PLAIN, Value, new, wrap
from ..imperative.guards import is_plain, plain_or_value
from ..imperative.invoke import content, full_content, host_of
from ..imperative.storage import empty_array
from ..imperative.tape import tls
from ..ops import primitive_arithmetic
from ..scheduler.observers import LISTENERS
from ..signal_handlers import unless_signalled
from ..suggestions import operand_here
from .array import NDArray
from .dlpack import GPU_KINDS, HOST_KINDS, Capsule, Exporter
from .keywords import check_keywords
from .types import ArrayLike, DeviceLike, DTypeLike, Shape

A = TypeVar("A", bound=Array)
#: The dtypes of arrays that the short paths make, by the commonest of their names.
TYPES: dict[Any, np.dtype] = {name: dtype for d in NUMPY.values() for name, dtype in ((NAME_OF[d], d), (d, d), (d.type, d))}
TYPES = TYPES | {None: NUMPY["float32"], float: NUMPY["float64"], int: NUMPY["int64"]} if PLAIN is np.ndarray else {}

SHAPES = frozenset({int, tuple})


def array(source_array: object, ctx: DeviceLike = None, dtype: DTypeLike = None) -> NDArray:
    """Create an array from anything array-like. Inside ``record`` gradients flow to the arrays that it is made from.

    Parameters
    ----------
    source_array
        An array, a number, or nested lists of these.
    ctx
        The device; the current one if None.
    dtype
        float32 if None, or the source's own if it is an `NDArray`.

    Raises
    ------
    DTypeError
        If the source is not array-like.
    """
    kind = source_array.__class__
    if (kind is list or kind is np.ndarray) and ctx is None and tls.tape is None and not (LISTENERS or (ENTERED and DEFAULTS.stack)):
        try:
            values: Any = np.asarray(source_array)
            if kind is list and values.dtype.kind == "c":
                raise TypeError
            v = HOST.quick(values.astype, TYPES[dtype], "C")  # always a copy
        except unless_signalled((*RECOVERABLE, KeyError)):
            pass  # the general function finds a result, or raises an error that says what to do
        else:
            return _cell(v)
    if is_recorded(source_array):
        return _recorded_copy(source_array, chosen_device(ctx), dtype)
    if isinstance(source_array, NDArray) and source_array.stype != "default":
        return source_array.copyto(chosen_device(ctx)).astype(source_array._dtype if dtype is None else dtype)
    if isinstance(source_array, Array):
        host: Any = host_of(source_array)
        dtype = source_array._dtype if dtype is None else dtype
    else:
        host = source_array
    target = NUMPY[_dtype(dtype)]
    try:
        host = np.asarray(host)
        fresh = host.dtype != target
        if fresh:
            # only NumPy's arrays lose imaginary parts, as in MXNet
            if host.dtype.kind == "c" != target.kind and isinstance(source_array, (complex, list, tuple)):
                raise TypeError("complex numbers as elements of another dtype")
            with np.errstate(all="ignore"):
                host = host.astype(target, order="C")
    except (TypeError, ValueError) as error:
        given, todo = str(error), "pass numbers, nested lists of numbers or an array"
        if advice := operand_here(source_array):
            given, todo = type(source_array).__name__, advice
        elif unequal := _unequal(source_array):
            given, todo = unequal, "make all of them lists of one length, or an array of each"
        raise DTypeError("array: source_array must be array like object", given, todo) from None
    device = chosen_device(ctx)
    # An array made from a list has no other owner, so its memory is taken over. A NumPy array of the right dtype is the caller's: copy it.
    fresh = fresh or (host is not source_array and isinstance(source_array, (list, tuple)))
    return adopted(NDArray, host, device) if fresh else from_host(NDArray, host, device)


def _unequal(source: object) -> str:
    """How nested lists are no array: the lengths that differ at one depth; empty if none do."""
    level: list[Any] = [source]
    while level:
        lengths = {len(x): None for x in level if _has_items(x)}
        if len(lengths) > 1:
            found = [str(n) for n in lengths]
            return f"nested lists of the lengths {', '.join(found[:4])}{', …' if len(found) > 4 else ''}"
        if lengths and not all(map(_has_items, level)):
            return "lists beside numbers"
        level = [x for items in level for x in items] if lengths else []
    return ""


def _has_items(value: Any) -> bool:
    return isinstance(value, (list, tuple)) or (isinstance(value, (np.ndarray, Array)) and value.shape != ())


@inlined
def _cell(fresh: object) -> NDArray:
    """A new array around a new NumPy array, whose memory it takes over."""
    made = new(NDArray)
    made._held = plain_or_value(fresh)
    return made


def _recorded_copy(source: object, device: Device, dtype: DTypeLike) -> NDArray:
    """`array` of a recorded array, or of a list that contains one, as recorded operations."""
    if isinstance(source, Array):
        name = source._dtype if dtype is None else dtype_name(dtype)
        copied = apply_op(primitive_arithmetic.astype, source, cls=NDArray, dtype=name)
        return copied.as_in_context(device)
    return stacked(source, NDArray, lambda item: array(item, device, _dtype(dtype)))


def from_numpy(ndarray: np.ndarray, zero_copy: bool = True, array_cls: type[A] = NDArray) -> A:
    """A CPU array with the content and dtype of a NumPy array.

    Parameters
    ----------
    ndarray
        The NumPy array. It must be C-contiguous for ``zero_copy``.
    zero_copy
        Share memory: writes to the new array show in the NumPy array, which becomes read-only. A NumPy array that is read-only
        already is copied.
    array_cls
        Class of the result.

    Raises
    ------
    ParameterError
        If memory that is not C-contiguous should be shared.
    DTypeError
        If the source is not a NumPy array, or its dtype is not supported.
    """
    if not isinstance(ndarray, np.ndarray):
        raise DTypeError("from_numpy: the source is not a NumPy array", type(ndarray).__name__, "use mx.nd.array")
    dtype_name(ndarray.dtype)
    if not zero_copy or not ndarray.flags.writeable:
        return from_host(array_cls, ndarray, CPU)
    if not ndarray.flags.c_contiguous:
        raise ParameterError(
            "from_numpy: Only c-contiguous arrays are supported for zero-copy",
            f"strides {ndarray.strides} of shape {ndarray.shape}",
            "pass zero_copy=False or np.ascontiguousarray(…)",
        )
    # the view stays writable for us, while writes by its former owner, which no tape or window would see, raise
    shared = ndarray.view(np.ndarray)
    ndarray.flags.writeable = False
    return _wrap_pinned(array_cls, _adopt_host(shared), CPU)


class WritableMemory:
    """An array's memory, declared writable. NumPy imports a bare capsule as read-only, since it cannot state otherwise."""

    def __init__(self, array: np.ndarray) -> None:
        self.owner = array
        self.__array_interface__ = array.__array_interface__ | {"data": (array.__array_interface__["data"][0], False)}


def from_dlpack(dlpack: object) -> NDArray:
    """An array that shares memory with another library's array, through DLPack.

    Parameters
    ----------
    dlpack
        An array with ``__dlpack__``, or an unused capsule. Arrays that are read-only or not C-contiguous are copied. A bare capsule
        of GPU memory makes the host wait for the whole GPU, since a capsule cannot name a stream.

    Raises
    ------
    DTypeError
        If it is neither, its dtype is one that NumPy lacks (on the CPU, bfloat16), or its memory is on a device other than a CPU or an
        NVIDIA GPU.
    """
    return exchanged(NDArray, dlpack)


def exchanged(cls: type[A], dlpack: object, copy: bool | None = None) -> A:
    """`from_dlpack` for a class of arrays.

    Raises
    ------
    ParameterError
        If ``copy`` is False and the memory cannot be shared.
    """
    source = dlpack if isinstance(dlpack, Exporter) else Capsule(dlpack)
    kind, number = source.__dlpack_device__()
    if kind not in HOST_KINDS + GPU_KINDS:
        raise DTypeError("from_dlpack: device type is not supported", f"DLPack device type {kind}", "copy it to the CPU first")
    device = interned("gpu", number) if kind in GPU_KINDS else CPU
    try:
        data = _on_host(source) if device.is_host else _on_gpu(source, device, source is not dlpack)
    except (TypeError, ValueError, AttributeError, BufferError) as error:
        raise DTypeError(
            "from_dlpack: invalid DLPack tensor", f"{type(dlpack).__name__}: {error}", "pass an array or an unused capsule"
        ) from None
    if isinstance(data, np.ndarray):
        # NumPy marks every bare capsule read-only, so the flag is meaningful for arrays only.
        is_shared = data.flags.c_contiguous and (source is not dlpack or data.flags.writeable)
        if copy is False and not is_shared:
            why = "its memory is read-only" if data.flags.c_contiguous else "its elements are not in order in memory"
            raise ParameterError(f"from_dlpack: a copy is needed: {why}", None, "leave copy out")
        if copy or not is_shared:
            return from_host(cls, data, device)
        data = _adopt_host(data if data.flags.writeable else np.asarray(WritableMemory(data)))
    found = _wrap_pinned(cls, data, device)
    return found.copy() if copy else found


def _on_host(source: Exporter) -> np.ndarray:
    try:
        return np.from_dlpack(source)  # type: ignore[arg-type]
    except RuntimeError as error:
        given = f"{type(source).__name__}: {error}"
        raise DTypeError("from_dlpack: NumPy has no such dtype", given, "cast it to float32 first") from None


def _on_gpu(source: Exporter, device: Device, is_bare: bool) -> Any:
    """The producer's memory as an array of this package's adapter."""
    backend = backend_for(device)
    if is_bare:
        # a capsule cannot name the stream whose work fills its memory: all work on the device has to be done
        backend.synchronize(device, others=True)
    return backend.as_array(backend.from_dlpack(source))


def _adopt_host(array: np.ndarray) -> Any:
    """A NumPy array's memory as an array of the CPU's adapter."""
    return array if HOST.target.plain is not None else HOST.from_dlpack(array)


def _wrap_pinned(cls: type[A], data: object, device: Device) -> A:
    """An array over memory that is visible outside the library: written in place, never donated."""
    value = Value(data, device=device)
    value.sharing = PINNED
    return wrap(cls, value)


# constant arrays


def shape_of(shape: Shape) -> tuple[int, ...]:
    """The shape given by a size or a sequence of sizes."""
    given: Any = shape if isinstance(shape, (tuple, list)) else (shape,)
    try:
        sizes = tuple(n.__index__() for n in given)
    except AttributeError:
        raise DTypeError("a shape is an integer or a sequence of integers", repr(shape), "pass sizes") from None
    if any(n < 0 for n in sizes):
        raise ParameterError("a shape cannot have negative sizes", str(sizes), "pass sizes of 0 or more")
    return sizes


def fill(cls: type[A], shape: Shape, value: float | int | bool, dtype: object, device: Device) -> A:
    """An array of a class, filled with one value."""
    if value.__class__ is int and value == 0 and device is CPU and PLAIN is np.ndarray and not LISTENERS:
        try:
            zeros = np.zeros(shape, NUMPY[dtype_name(dtype)])  # type: ignore[arg-type]
        except (TypeError, ValueError, MemoryError):
            pass  # the general function raises an error that says what to do
        else:
            if is_plain(zeros):
                return wrap(cls, zeros)
    backend, sizes, name = backend_for(device), shape_of(shape), dtype_name(dtype)
    if not device.is_host:
        # a copy: a constant is never written and may have stride 0, while this array is the caller's to write to
        return wrap(cls, full_content(value, sizes, name, device))
    try:
        return wrap(cls, content(backend.xp.full(shape=sizes, value=value, dtype=name), device))
    except (MemoryError, ValueError, OverflowError) as error:
        raise backend.failure(error) from error


def allocate(cls: type[A], shape: Shape, dtype: object, device: Device) -> A:
    """An array of a class with undefined content."""
    if not device.is_host:  # `Backend.empty` allocates on the backend's current device, which need not be this one
        return fill(cls, shape, 0, dtype, device)
    return wrap(cls, content(backend_for(device).empty(shape_of(shape), dtype_name(dtype)), device))


def _dtype(dtype: DTypeLike) -> str:
    return "float32" if dtype is None else dtype_name(dtype)


def _write(new: NDArray, out: NDArray | None) -> NDArray:
    if out is None:
        return new
    out[:] = new
    return out


def zeros(
    shape: Shape,
    ctx: DeviceLike = None,
    dtype: DTypeLike = None,
    stype: str | None = None,
    *,
    out: NDArray | None = None,
    **attributes: object,
) -> NDArray:
    """An array of zeros.

    Parameters
    ----------
    shape
        Sizes of the axes, or a single size.
    ctx
        The device; the current one if None.
    dtype
        float32 if None.
    stype
        Storage type: ``"default"`` (dense) if None; ``"csr"`` and ``"row_sparse"`` arrays store no element.
    out
        Existing array to write to.
    **attributes
        A ``name`` and ``__key__`` have no effect: only symbols have attributes. Other keywords raise `WrongArgument`.
    """
    if attributes:
        check_keywords(zeros, attributes)
    if ctx is None and stype is None and out is None and shape.__class__ in SHAPES and not (LISTENERS or (ENTERED and DEFAULTS.stack)):
        try:
            v = np.zeros(shape, TYPES[dtype])
        except unless_signalled((*RECOVERABLE, KeyError)):
            pass  # as in `array`
        else:
            return _cell(v)
    if stype not in (None, "default"):
        return _write(empty_array(stype, shape_of(shape), _dtype(dtype), chosen_device(ctx)), out)
    return _write(fill(NDArray, shape, 0, _dtype(dtype), chosen_device(ctx)), out)


def ones(shape: Shape, ctx: DeviceLike = None, dtype: DTypeLike = None, *, out: NDArray | None = None, **attributes: object) -> NDArray:
    """An array of ones; parameters as for `zeros`."""
    if attributes:
        check_keywords(ones, attributes)
    if ctx is None and out is None and shape.__class__ in SHAPES and not (LISTENERS or (ENTERED and DEFAULTS.stack)):
        try:
            v = np.empty(shape, TYPES[dtype])
        except unless_signalled((*RECOVERABLE, KeyError)):
            pass  # as in `array`
        else:
            v.fill(1)
            return _cell(v)
    return _write(fill(NDArray, shape, 1, _dtype(dtype), chosen_device(ctx)), out)


def empty(shape: Shape, ctx: DeviceLike = None, dtype: DTypeLike = None, stype: str | None = None) -> NDArray:
    """An uninitialized array; parameters as for `zeros`."""
    if stype not in (None, "default"):
        return empty_array(stype, shape_of(shape), _dtype(dtype), chosen_device(ctx))
    return allocate(NDArray, shape, _dtype(dtype), chosen_device(ctx))


def full(shape: Shape, val: ArrayLike, ctx: DeviceLike = None, dtype: DTypeLike = np.float32, out: NDArray | None = None) -> NDArray:
    """An array filled with a value, which is broadcast to its shape; other parameters as for `zeros`.

    Parameters
    ----------
    shape, ctx, dtype, out
        As for `zeros`.
    val
        The value: a number, or an array that broadcasts to the shape.
    """
    target = empty(shape, ctx, dtype) if out is None else out
    target[...] = val
    return target


# ranges


def arange(
    start: float,
    stop: float | None = None,
    step: float = 1.0,
    repeat: int = 1,
    infer_range: bool | None = None,
    ctx: DeviceLike = None,
    dtype: DTypeLike = np.float32,
) -> NDArray:
    """Evenly spaced values within [start, stop), computed in the dtype.

    Parameters
    ----------
    start, stop, step
        First value, end and spacing; with a single number the range is [0, start).
    repeat
        Number of times each value is repeated.
    infer_range
        Deprecated; has no effect.
    ctx
        The device; the current one if None.
    dtype
        Dtype of the result; float64 if None.
    """
    if infer_range is not None:
        warnings.warn("arange: infer_range is deprecated and has no effect", DeprecationWarning, stacklevel=2)
    if stop is None:
        start, stop = 0, start
    if start == 0 and stop.__class__ is int and step == repeat == 1 and ctx is None and not (LISTENERS or (ENTERED and DEFAULTS.stack)):
        try:
            return _cell(HOST.quick(np.arange(stop).astype, TYPES[float if dtype is None else dtype]))
        except unless_signalled((*RECOVERABLE, KeyError)):
            pass  # as in `array`
    if step == 0:
        raise ParameterError("arange: the step is zero", None, "pass a non-zero step")
    target = NUMPY[dtype_name(dtype)]
    try:
        count = max(0, int(np.ceil((stop - start) / step)))
    except (ValueError, OverflowError) as error:
        raise ParameterError("arange: the number of values is not finite", f"{start}, {stop}, {step}", "pass finite numbers") from error
    # MXNet rounds each product and sum to the dtype, where ``np.arange`` computes in float64; integers may wrap around
    first, spacing = [HOST.quietly(np.asarray(number).astype, target) for number in (start, step)]
    values = HOST.quietly(lambda: first + np.arange(count).astype(target) * spacing)
    refuse_cut("arange", (start, stop, step), values)
    return adopted(NDArray, HOST.quietly(np.repeat, values.astype(target, copy=False), repeat), chosen_device(ctx))
