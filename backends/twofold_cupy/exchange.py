"""Arrays between a graph and its callers: memory in place of inputs that move, and the ways in which a result reaches who asked for it."""

import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import cupy
import numpy as np

from twofold.errors import MXNetError

from .handover import Copy
from .memory import Memory
from .views import span


class NotCapturable(MXNetError):
    """Why a program stays as it is."""


class Static:
    """Memory of a graph in place of an input that moves: as many bytes, lying in the same way."""

    def __init__(self, like: cupy.ndarray) -> None:
        low, high = span(like)
        if high - low > 2 * like.nbytes:
            raise NotCapturable("an input that moves is a small part of large memory")
        self._low, self._size = low, high - low
        whole = cupy.ndarray((self._size,), np.uint8)
        self.array = cupy.ndarray(like.shape, like.dtype, whole.data + -low, like.strides)

    def copy_of(self, array: cupy.ndarray) -> Copy:
        """The copy that brings an input here."""
        return array.data.ptr + self._low, self.array.data.ptr + self._low, self._size

    def copy_to(self, array: cupy.ndarray) -> Copy:
        """The copy back."""
        return self.array.data.ptr + self._low, array.data.ptr + self._low, self._size


def alike(a: cupy.ndarray, b: cupy.ndarray) -> bool:
    """Whether arrays are of one type and lie in the same way."""
    return a.shape == b.shape and a.strides == b.strides and a.dtype == b.dtype


class Result(ABC):
    """How one result reaches the caller."""

    is_copied = False

    def __init__(self, array: cupy.ndarray) -> None:
        self.array = array

    @abstractmethod
    def given(self, arrays: Sequence[Any], out: list[Copy]) -> cupy.ndarray:
        """The array that the caller gets; if its content is to be copied there after the launch, that joins `out`."""


class Donated(Result):
    """A result in the memory of an input."""

    def __init__(self, array: cupy.ndarray, at: int, static: Static | None) -> None:
        super().__init__(array)
        self._at, self._static, self.is_copied = at, static, static is not None

    def given(self, arrays: Sequence[Any], out: list[Copy]) -> cupy.ndarray:
        """The input, in the result's shape."""
        own = arrays[self._at]
        if self._static is not None:
            out.append(self._static.copy_to(own))
        if alike(own, self.array):
            return own
        return cupy.ndarray(self.array.shape, self.array.dtype, own.data, self.array.strides)


class Copied(Result):
    """A result that is copied into new memory."""

    def __init__(self, array: cupy.ndarray, memory: Memory) -> None:
        super().__init__(array)
        self._memory, self.is_copied = memory, True

    def given(self, arrays: Sequence[Any], out: list[Copy]) -> cupy.ndarray:
        """A new array."""
        new = self._memory.empty(self.array.shape, self.array.dtype)
        if new.nbytes:
            out.append((self.array.data.ptr, new.data.ptr, new.nbytes))
        return new


class Lent(Result):
    """A result in the graph's memory, which the graph writes again only when nobody has the result any more."""

    def __init__(self, array: cupy.ndarray, number: int, device: int, pool: Any) -> None:
        super().__init__(array)
        self.number, self._device, self._pool = number, device, pool
        self._loan: Callable[[], Any] = _nobody

    @property
    def is_in_use(self) -> bool:
        """Whether some array looks into the memory."""
        return self._loan() is not None

    def given(self, arrays: Sequence[Any], out: list[Copy]) -> cupy.ndarray:
        """An array that looks into the graph's memory."""
        loan = Loan(self.array, self._pool)
        self._loan = weakref.ref(loan)
        own = self.array
        memory = cupy.cuda.UnownedMemory(own.data.ptr, own.nbytes, loan, self._device)
        return cupy.ndarray(own.shape, own.dtype, cupy.cuda.MemoryPointer(memory, 0))


class Loan:
    """What arrays that look into a graph's memory have in common; it keeps the memory, whatever becomes of the graph."""

    __slots__ = ("__weakref__", "_array", "_pool")

    def __init__(self, array: cupy.ndarray, pool: Any) -> None:
        self._array, self._pool = array, pool


def _nobody() -> None:
    return None
