"""The functions of MXNet's C library that programs call through ``ctypes``: waiting, copies, versions, seeds and names of operators.

They take what the library's take, return 0 or -1, and keep the text of the last error.
"""

import ctypes
from collections.abc import Callable
from ctypes import c_char_p, c_int, c_size_t, c_void_p
from typing import Any
from weakref import finalize

import numpy as np

from .. import ndarray, random
from ..context import num_gpus
from ..errors import InvalidValue
from ..imperative.array import Array
from ..opdef.registry import NAMES
from .handles import handle_of, owner

#: The functions by name, as `ctypes` calls them.
FUNCTIONS: dict[str, Callable[..., int]] = {}
#: The text of the last error.
_last_error = b""
#: What results point to: arrays by their numbers, and the last list of names.
_results: dict[object, object] = {}


def _exported(*kinds: type) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make a function one of the library's, with arguments of types of C."""

    def enter(function: Callable[..., None]) -> Callable[..., None]:
        def call(*args: int) -> int:
            global _last_error
            try:
                function(*args)
            except Exception as error:  # C has no exceptions: the caller asks for the text
                _last_error = str(error).encode()
                return -1
            return 0

        FUNCTIONS[function.__name__] = ctypes.CFUNCTYPE(c_int, *kinds)(call)
        return function

    return enter


def last_error() -> str:
    """The text of the last error."""
    return _last_error.decode()


def _write(kind: Any, address: int, value: object) -> None:
    """Write a result of a type of C to an address."""
    kind.from_address(address).value = value


# the library


@_exported()
def MXNDArrayWaitAll() -> None:
    """Wait until all arrays are computed."""
    ndarray.waitall()


@_exported(c_void_p)
def MXNDArrayWaitToRead(handle: int) -> None:
    """Wait until an array can be read."""
    owner(handle, Array).wait_to_read()


@_exported(c_void_p)
def MXNDArrayWaitToWrite(handle: int) -> None:
    """Wait until an array can be written to."""
    owner(handle, Array).wait_to_read()


@_exported(c_void_p, c_void_p, c_size_t)
def MXNDArraySyncCopyToCPU(handle: int, data: int, size: int) -> None:
    """Copy the elements of an array to an address; ``size`` is their number."""
    # without gaps, as C expects it
    elements = np.ascontiguousarray(owner(handle, Array).asnumpy())
    _check_size(elements, size)
    ctypes.memmove(data, elements.ctypes.data, elements.nbytes)


@_exported(c_void_p, c_void_p, c_size_t)
def MXNDArraySyncCopyFromCPU(handle: int, data: int, size: int) -> None:
    """Copy elements of an array's dtype from an address into the array."""
    array: Any = owner(handle, Array)
    # through a copy: the array may be on a GPU, or have gaps
    elements = np.empty(array.shape, array.dtype)
    _check_size(elements, size)
    ctypes.memmove(elements.ctypes.data, data, elements.nbytes)
    array[:] = elements


def _check_size(elements: np.ndarray, size: int) -> None:
    if elements.size != size:
        raise InvalidValue("Memory size do not match", f"{size} elements for shape {elements.shape}", "pass the array's size")


@_exported(c_void_p, c_void_p)
def MXNDArrayGetData(handle: int, out: int) -> None:
    """Write the address of the elements of an array on the host, which code in C may write to as long as the array lives."""
    array: Any = owner(handle, Array)
    # exported memory stays where it is, and operations see what is written there
    _results["data", handle] = memory = np.from_dlpack(array)
    finalize(array, _results.pop, ("data", handle), None)
    _write(c_void_p, out, memory.ctypes.data)


@_exported(c_void_p, c_int, c_void_p, ctypes.c_bool, c_void_p)
def MXNDArrayReshape64(handle: int, ndim: int, dims: int, reverse: bool, out: int) -> None:
    """Make a view of an array with another shape, by the codes of ``reshape``."""
    shape = tuple((ctypes.c_int64 * ndim).from_address(dims))
    _give(out, owner(handle, Array).reshape(shape, reverse=reverse))


def _give(out: int, array: Array) -> None:
    """Write the handle of a new array, which lives until `MXNDArrayFree` or the end of the program."""
    handle = handle_of(array, "NDArrayHandle")
    _results[handle.value] = handle
    _write(c_void_p, out, handle.value)


@_exported(c_void_p)
def MXNDArrayFree(handle: int) -> None:
    """Release an array that a function has made."""
    _results.pop(handle, None)


@_exported(c_void_p, c_void_p)
def MXListAllOpNames(size: int, names: int) -> None:
    """Write the number of operators, and a pointer to their names."""
    found = [name.encode() for name in sorted(NAMES)]
    # the caller reads them after this function has returned
    _results["names"] = array = (c_char_p * len(found))(*found)
    _write(ctypes.c_uint, size, len(found))
    _write(c_void_p, names, ctypes.addressof(array))


@_exported(c_int)
def MXRandomSeed(seed: int) -> None:
    """Seed the random numbers."""
    random.seed(seed)


@_exported(c_void_p)
def MXGetVersion(out: int) -> None:
    """Write the version: 10901 for 1.9.1."""
    _write(c_int, out, 10901)


@_exported(c_void_p)
def MXGetGPUCount(out: int) -> None:
    """Write the number of GPUs."""
    _write(c_int, out, num_gpus())
