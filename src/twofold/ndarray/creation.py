"""Functions of ``mx.nd`` that make arrays: from values, from other libraries' arrays, filled, and ranges."""

import warnings
from typing import Any

import numpy as np

from ..backend.loader import backend_for
from ..device import CPU, Device, current_device
from ..dtype import NUMPY, dtype_name
from ..errors import DTypeError, ParameterError
from ..imperative.array import Array, adopted, from_host
from ..imperative.cell import HOST, PINNED, Value, wrap
from ..imperative.invoke import content, host_of
from .array import NDArray
from .dlpack import GPU_KINDS, HOST_KINDS, Capsule, Exporter


def array(source_array: Any, ctx: Device | None = None, dtype: Any = None) -> NDArray:
    """A new array from anything array-like.

    Parameters
    ----------
    source_array
        An array, a number, or nested lists of numbers.
    ctx
        The device; the current one if None.
    dtype
        float32 if None, or the source's own if it is an `NDArray`.

    Raises
    ------
    DTypeError
        If the source is not array-like.
    """
    if isinstance(source_array, Array):
        host: Any = host_of(source_array)
        dtype = source_array._dtype if dtype is None else dtype
    else:
        host = source_array
    target = NUMPY["float32" if dtype is None else dtype_name(dtype)]
    try:
        host = np.asarray(host)
        fresh = host.dtype != target
        if fresh:
            with np.errstate(all="ignore"):
                host = host.astype(target, order="C")
    except (TypeError, ValueError) as error:
        raise DTypeError(
            "array: source_array must be array like object", str(error), "give numbers, nested lists of them or an array"
        ) from None
    device = current_device() if ctx is None else Device(ctx)
    fresh = fresh or (host is not source_array and isinstance(source_array, (list, tuple)))
    return adopted(NDArray, host, device) if fresh else from_host(NDArray, host, device)


def from_numpy(ndarray: np.ndarray, zero_copy: bool = True, array_cls: type = NDArray) -> Any:
    """An array with the content of a NumPy array, on the CPU, in its dtype.

    Parameters
    ----------
    ndarray
        The NumPy array; for ``zero_copy`` C-contiguous.
    zero_copy
        Share the memory: writes into the new array are seen by the NumPy array, which becomes read-only. A NumPy array that is
        read-only already is copied.
    array_cls
        Class of the result.

    Raises
    ------
    ParameterError
        If memory is to be shared that is not C-contiguous.
    DTypeError
        If the source is not a NumPy array, or of a dtype that there is not.
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
    shared = ndarray.view(np.ndarray)
    ndarray.flags.writeable = False
    return _pinned(array_cls, _seen(shared), CPU)


class Memory:
    """An array's memory as writable, whatever the array says: a bare capsule has no way to say so."""

    def __init__(self, array: np.ndarray) -> None:
        self.owner = array
        self.__array_interface__ = array.__array_interface__ | {"data": (array.__array_interface__["data"][0], False)}


def from_dlpack(dlpack: Any) -> NDArray:
    """An array that shares memory with another library's, through DLPack.

    Parameters
    ----------
    dlpack
        An array with ``__dlpack__``, or a capsule that was not used yet. What is not C-contiguous, and an array that says that it is
        read-only, is copied. A capsule of a GPU's memory has the host wait for all that is being done there: it cannot say what
        it waits for.

    Raises
    ------
    DTypeError
        If it is neither, or its memory is of a device that is neither a CPU nor an NVIDIA GPU.
    """
    source = dlpack if isinstance(dlpack, Exporter) else Capsule(dlpack)
    kind, number = source.__dlpack_device__()
    if kind not in HOST_KINDS + GPU_KINDS:
        raise DTypeError("from_dlpack: memory of a device that is not served", f"DLPack's kind {kind}", "copy it to the CPU first")
    device = Device("gpu", number) if kind in GPU_KINDS else CPU
    try:
        data = np.from_dlpack(source) if device.is_host else _on_gpu(source, device, source is not dlpack)  # type: ignore[arg-type]
    except (TypeError, ValueError, AttributeError, BufferError) as error:
        raise DTypeError(
            "from_dlpack: invalid DLPack tensor", f"{type(dlpack).__name__}: {error}", "give an array or a capsule that was not used yet"
        ) from None
    if isinstance(data, np.ndarray):
        if not data.flags.c_contiguous or (source is dlpack and not data.flags.writeable):
            return from_host(NDArray, data, device)
        data = _seen(data if data.flags.writeable else np.asarray(Memory(data)))
    return _pinned(NDArray, data, device)


def _on_gpu(source: Exporter, device: Device, is_bare: bool) -> Any:
    """A producer's memory, in row-major order."""
    backend = backend_for(device)
    if is_bare:
        backend.settle(device)
    return backend.as_array(backend.from_dlpack(source))


def _seen(array: np.ndarray) -> Any:
    """A NumPy array's memory as an array of the library that serves the CPU."""
    return array if HOST.plain is not None else HOST.from_dlpack(array)


def _pinned(cls: type, data: Any, device: Device) -> Any:
    """An array around memory that the outside sees: written in place, never donated."""
    value = Value(data, device=device)
    value.borrow = PINNED
    return wrap(cls, value)


# filled


def shape_of(shape: Any) -> tuple[int, ...]:
    """A shape given as a size or a sequence of sizes."""
    try:
        sizes = tuple(int(n.__index__()) for n in shape) if isinstance(shape, (tuple, list)) else (int(shape.__index__()),)
    except AttributeError:
        raise DTypeError("a shape is an integer or a sequence of integers", repr(shape), "give sizes") from None
    if any(n < 0 for n in sizes):
        raise ParameterError("a shape cannot have negative sizes", str(sizes), "give sizes from 0")
    return sizes


def filled(shape: Any, value: float | int | bool, ctx: Device | None, dtype: Any) -> NDArray:
    """A new array of one value; float32 if no dtype is given."""
    device = current_device() if ctx is None else Device(ctx)
    backend = backend_for(device)
    name = "float32" if dtype is None else dtype_name(dtype)
    if not device.is_host:
        return wrap(NDArray, content(backend.copy(backend.constant(value, shape_of(shape), name), device), device))
    try:
        data = backend.xp.full(shape=shape_of(shape), value=value, dtype=name)
    except backend.out_of_memory as error:
        raise backend.does_not_fit(error) from error
    return wrap(NDArray, content(data, device))


def _delivered(new: NDArray, out: NDArray | None) -> NDArray:
    if out is None:
        return new
    out[:] = new
    return out


def _check_dense(name: str, stype: str | None) -> None:
    if stype not in (None, "default"):
        raise ParameterError(f"{name}: arrays of this storage are not made here", repr(stype), "leave stype out, or use 'default'")


def zeros(shape: Any, ctx: Device | None = None, dtype: Any = None, stype: str | None = None, *, out: NDArray | None = None) -> NDArray:
    """A new array of zeros.

    Parameters
    ----------
    shape
        Sizes of the axes, or the size of the only one.
    ctx
        The device; the current one if None.
    dtype
        float32 if None.
    stype
        Storage: ``"default"`` (dense).
    out
        Array to write into instead.
    """
    _check_dense("zeros", stype)
    return _delivered(filled(shape, 0, ctx, dtype), out)


def ones(shape: Any, ctx: Device | None = None, dtype: Any = None, *, out: NDArray | None = None) -> NDArray:
    """A new array of ones; parameters as `zeros`."""
    return _delivered(filled(shape, 1, ctx, dtype), out)


def empty(shape: Any, ctx: Device | None = None, dtype: Any = None, stype: str | None = None) -> NDArray:
    """A new array of undefined content; parameters as `zeros`."""
    _check_dense("empty", stype)
    device = current_device() if ctx is None else Device(ctx)
    if not device.is_host:
        return filled(shape, 0, device, dtype)
    data = backend_for(device).empty(shape_of(shape), "float32" if dtype is None else dtype_name(dtype))
    return wrap(NDArray, content(data, device))


def full(shape: Any, val: Any, ctx: Device | None = None, dtype: Any = np.float32, out: NDArray | None = None) -> NDArray:
    """A new array of one value, or of what broadcasts to its shape; other parameters as `zeros`."""
    target = empty(shape, ctx, dtype) if out is None else out
    target[:] = val
    return target


# ranges


def arange(
    start: float,
    stop: float | None = None,
    step: float = 1.0,
    repeat: int = 1,
    infer_range: bool | None = None,
    ctx: Device | None = None,
    dtype: Any = np.float32,
) -> NDArray:
    """Evenly spaced values within [start, stop), computed in the dtype.

    Parameters
    ----------
    start, stop, step
        Begin, end and distance; with one number the range is [0, start).
    repeat
        How often each value stands.
    infer_range
        Deprecated: MXNet's symbols once inferred the range from it.
    ctx
        The device; the current one if None.
    dtype
        Of the result; float64 if None.
    """
    if infer_range is not None:
        warnings.warn("arange: infer_range is deprecated and has no effect on arrays", DeprecationWarning, stacklevel=2)
    if stop is None:
        start, stop = 0, start
    if step == 0:
        raise ParameterError("arange: the step is zero", None, "give a distance other than 0")
    target = NUMPY[dtype_name(dtype)]
    scalar: Any = target.type
    count = max(0, int(np.ceil((stop - start) / step)))
    with np.errstate(all="ignore"):
        values = scalar(start) + np.arange(count).astype(target) * scalar(step)
    return adopted(NDArray, np.repeat(values.astype(target, copy=False), repeat), current_device() if ctx is None else Device(ctx))


def linspace(start: float, stop: float, num: int, endpoint: bool = True, ctx: Device | None = None, dtype: Any = np.float32) -> NDArray:
    """``num`` evenly spaced values from start to stop, which is one of them if ``endpoint``."""
    if num < 0:
        raise ParameterError("linspace: the number of values is negative", f"num={num}", "give 0 or more")
    values = np.linspace(start, stop, num, endpoint)
    return adopted(NDArray, values.astype(NUMPY[dtype_name(dtype)]), current_device() if ctx is None else Device(ctx))


def eye(N: int, M: int = 0, k: int = 0, ctx: Device | None = None, dtype: Any = None) -> NDArray:
    """Ones on a diagonal, zeros elsewhere.

    Parameters
    ----------
    N, M
        Numbers of rows and columns; ``M=0``: as many columns as rows.
    k
        Which diagonal: 0 the main one, above it positive, below it negative.
    ctx
        The device; the current one if None.
    dtype
        float32 if None.
    """
    name = "float32" if dtype is None else dtype_name(dtype)
    return adopted(NDArray, np.eye(N, M or None, k).astype(NUMPY[name]), current_device() if ctx is None else Device(ctx))
