"""Calls of ``ndarray``, the class of the arrays of ``twofold.np``: they make an array with all arguments of NumPy's."""

from typing import Any, TypeAlias, cast

import numpy as np

from ..calls.host_calls import called, to_numpy
from ..dtype import NAME_OF
from ..errors import ParameterError
from ..imperative.array import adopted
from ..imperative.views import view_of
from ..ndarray.types import DeviceLike, DTypeLike, Order, Shape
from ..sequence_patterns import match_as_numpys
from .array import ndarray, ndarrayType
from .creation import array, computed, device_of_keywords, from_dlpack, read_only
from .stride_tricks import as_strided

#: An array, or an object with the buffer protocol.
Memory: TypeAlias = Any


def constructed(
    shape: Shape,
    dtype: DTypeLike = float,
    buffer: Memory = None,
    offset: int = 0,
    strides: Shape | None = None,
    order: Order = None,
) -> ndarray:
    """A new array, or one over given memory.

    Parameters
    ----------
    shape, dtype
        Those of the array. A NumPy array is returned for a dtype that Twofold lacks.
    buffer
        What has the memory: an array of the same dtype, or any object with the buffer protocol. None: new memory, whose elements may be
        anything; then ``offset`` and ``strides`` have no effect.
    offset
        Bytes before the first element, a multiple of an element's size in an array of Twofold's.
    strides
        Bytes from one element to the next along each axis.
    order
        ``"C"`` or ``"F"``: which axis is the fastest in the buffer, the last or the first, if there are no strides.

    Returns
    -------
    ndarray
        It shares memory with a buffer, with two exceptions, which refuse writes: elements with gaps between them are a copy, and so are
        those of a read-only buffer.

    Raises
    ------
    ParameterError
        If an array given as the buffer has another dtype, or gaps between its elements.
    ValueError, TypeError
        As NumPy's: for a buffer that is too small, and for arguments of other kinds.

    Examples
    --------
    >>> from twofold import np
    >>> x = np.arange(6.0)
    >>> y = np.ndarray((2, 2), buffer=x, offset=8)
    >>> y[0, 0] = 9
    >>> x.tolist()
    [0.0, 9.0, 2.0, 3.0, 4.0, 5.0]
    """
    kind = np.dtype(cast("type", dtype))
    made = called(np.ndarray, shape, kind, _judged(buffer, kind), offset, strides, order)
    if buffer is None or kind not in NAME_OF:
        return computed(made)
    first, rest = divmod(offset, kind.itemsize)
    flat = _elements(buffer, kind, rest)
    block = flat[first : first + made.size]
    if made.flags.c_contiguous:
        return block.reshape(made.shape)
    if made.flags.f_contiguous:
        return block.reshape(made.shape[::-1]).T
    return as_strided(flat[first:], made.shape, made.strides)


def frombuffer(
    buffer: Memory,
    dtype: DTypeLike = float,
    count: int = -1,
    offset: int = 0,
    *,
    like: object = None,
    device: DeviceLike = None,
    ctx: DeviceLike = None,
) -> ndarray:
    r"""A vector of the elements of a buffer. On a CPU it shares memory that can be written, as of a ``bytearray``; else it is a copy.

    Parameters
    ----------
    buffer
        An object with the buffer protocol. The elements of an array of Twofold's are copied.
    dtype, count, offset
        The type and number of the elements (-1: all), and the bytes before the first of them.
    device, ctx
        The device of the result; the current one if None.
    like
        Has no effect.

    Examples
    --------
    >>> from twofold import np
    >>> memory = bytearray(3)
    >>> np.frombuffer(memory, "uint8")[1] = 7
    >>> memory
    bytearray(b'\x00\x07\x00')
    """
    kind: Any = np.dtype(cast("type", dtype))
    host = called(np.frombuffer, to_numpy(buffer), kind, count, offset)
    if kind not in NAME_OF:
        return host
    chosen = device_of_keywords(device, ctx)
    shares = chosen.device_type == "cpu" and host.flags.writeable and host.flags.aligned and not isinstance(buffer, ndarray)
    shares = shares and NAME_OF[kind] != "bfloat16"  # which DLPack has no code for in NumPy
    return from_dlpack(host, copy=False) if shares else adopted(ndarray, host.copy(), chosen)


def _judged(buffer: Memory, dtype: np.dtype) -> Memory:
    """What NumPy judges the arguments by: the buffer itself, or memory of the size of an array of Twofold's."""
    if not isinstance(buffer, ndarray):
        return buffer
    if buffer.dtype != dtype or not buffer.flags.c_contiguous:
        given = f"an array of {buffer.dtype}{'' if buffer.flags.c_contiguous else ' with gaps'}, to be read as {dtype}"
        raise ParameterError("ndarray: memory cannot be read in that way", given, "pass an array of the same dtype, without gaps")
    return np.empty(buffer.shape, dtype)


def _elements(buffer: Memory, dtype: np.dtype, start: int) -> ndarray:
    """A vector over the memory of a buffer, which begins with a number of bytes that are left out."""
    if isinstance(buffer, ndarray):
        if start:
            raise ParameterError("ndarray: an offset within an element", f"{start} bytes", f"pass a multiple of {dtype.itemsize}")
        return buffer.reshape(-1)
    memory = np.frombuffer(buffer, np.uint8)[start:]
    host = memory[: memory.size // dtype.itemsize * dtype.itemsize].view(dtype)
    return from_dlpack(host, copy=False) if host.flags.writeable else read_only(array(host))


def made(cls: Any, *args: Any, **options: Any) -> Any:
    """What a call of `ndarray`, or of a class that a program derives from it, gives."""
    if cls.__new__ is not object.__new__:  # a user's own
        return type.__call__(cls, *args, **options)
    found = constructed(*args, **options)
    if cls is ndarray or not isinstance(found, ndarray):
        return found
    own = view_of(cls, found, ())
    if cls.__init__ is not object.__init__:
        cls.__init__(own, *args, **options)
    return own


ndarrayType._made = staticmethod(made)
match_as_numpys(ndarray)
