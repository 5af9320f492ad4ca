"""The protocol over any array-API library; operations that the standard lacks run on the host, through DLPack."""

import importlib
import os
from collections.abc import Callable
from typing import Any, TypeVar

import array_api_compat
import numpy as np

from twofold.backend.kernel import Array, ArrayType
from twofold.backend.protocol import Backend, Target
from twofold.device import Device
from twofold.dtype import INTEGERS

from .namespace import ArrayApiNamespace

Result = TypeVar("Result")

TARGET = Target("array_api", "cpu", shares_constants=True)


class ArrayApiBackend(Backend):
    """Arrays of one library on the CPU, with the standard's dtypes, which exclude float16 and bfloat16.

    Parameters
    ----------
    library
        Name of its namespace, such as ``"torch"``; by default ``TWOFOLD_ARRAY_API`` of the environment, or ``"array_api_strict"``.
    """

    def __init__(self, library: str | None = None) -> None:
        named = library or os.environ.get("TWOFOLD_ARRAY_API", "array_api_strict")
        standard = array_api_compat.array_namespace(importlib.import_module(named).asarray([0.0]))
        computed = standard.__array_namespace_info__().dtypes()
        # some libraries have integer types that their functions do not take: such arrays are stored there, and computed on the host
        kinds = computed | {name: getattr(standard, name) for name in INTEGERS}
        names = {kind: name for name, kind in kinds.items()}
        facts = {"standard": standard, "kinds": kinds, "names": names, "computed": frozenset(computed)}
        # a class for each library: its members are class variables, and two backends may have different libraries
        self._xp = type(f"{ArrayApiNamespace.__name__}_{named}", (ArrayApiNamespace,), facts)()

    @property
    def target(self) -> Target:
        """The functions of the standard, without kernels."""
        return TARGET

    @property
    def xp(self) -> ArrayApiNamespace:
        """The primitives."""
        return self._xp

    def device_count(self) -> int:
        """One: the host."""
        return 1

    def empty(self, shape: tuple[int, ...], dtype: str) -> Array:
        """A new uninitialized array."""
        return self._xp.standard.empty(shape, dtype=self._xp.kind(dtype))

    def quietly(self, function: Callable[..., Result], *args: object) -> Result:
        """Call with NumPy's warnings off, as some libraries compute with NumPy."""
        with np.errstate(all="ignore"):
            return super().quietly(function, *args)

    def from_host(self, array: np.ndarray, device: Device) -> Array:
        """A copy in memory of the library."""
        return self._xp.from_host(array)

    def to_host(self, array: Array) -> np.ndarray:
        """NumPy's view of the library's memory."""
        return np.from_dlpack(array)

    def from_dlpack(self, source: Any) -> Array:
        """The library's view of the producer's memory."""
        return self._xp.standard.from_dlpack(source)

    def copy(self, array: Array, device: Device) -> Array:
        """A copy."""
        return self._xp.contiguous(array)

    def type_of(self, array: Array) -> ArrayType:
        """Shape and dtype name."""
        return ArrayType(tuple(array.shape), self._xp.dtype_of(array))

    def write(self, target: Array, key: object, value: Array) -> None:
        """``target[key] = value``, with slices in the form that the standard allows."""
        self._xp.put(target, key, value)
