"""Arrays that enter and leave a captured graph: static memory for inputs that move, and how each result reaches the caller."""

import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import cupy
import numpy as np

from twofold.backend.kernel import Array
from twofold.errors import MXNetError

from .batched_copy import Copy
from .memory import Memory
from .views import span


class NotCapturable(MXNetError):
    """The reason why a program cannot be captured."""


class Static:
    """Static memory of a graph for an input that moves, with the input's size and strides."""

    def __init__(self, like: cupy.ndarray) -> None:
        low, high = span(like)
        if high - low > 2 * like.nbytes:  # the whole span is copied, gaps included
            raise NotCapturable("an input that moves is a sparse view of a larger array")
        self._low, self._size = low, high - low
        whole = cupy.ndarray((self._size,), np.uint8)
        # with negative strides the first element is not at the start of the memory
        self.array = cupy.ndarray(like.shape, like.dtype, whole.data + -low, like.strides)

    def copy_from(self, array: cupy.ndarray) -> Copy:
        """The copy of an input into the static memory."""
        return array.data.ptr + self._low, self.array.data.ptr + self._low, self._size

    def copy_to(self, array: cupy.ndarray) -> Copy:
        """The copy back, for a donated input that the graph wrote."""
        return self.array.data.ptr + self._low, array.data.ptr + self._low, self._size


def alike(a: cupy.ndarray, b: cupy.ndarray) -> bool:
    """Whether two arrays have the same shape, dtype and strides."""
    return a.shape == b.shape and a.strides == b.strides and a.dtype == b.dtype


class Result(ABC):
    """How one result of a graph reaches the caller."""

    is_copied = False

    def __init__(self, array: cupy.ndarray) -> None:
        self.array = array

    @abstractmethod
    def given(self, arrays: Sequence[Array], out: list[Copy]) -> cupy.ndarray:
        """The array that the caller gets; a copy into it that is due after the launch is appended to `out`."""


class Donated(Result):
    """A result in the memory of a donated or dead input."""

    def __init__(self, array: cupy.ndarray, at: int, static: Static | None) -> None:
        super().__init__(array)
        self._at, self._static, self.is_copied = at, static, static is not None

    def given(self, arrays: Sequence[Array], out: list[Copy]) -> cupy.ndarray:
        """The input's memory, in the result's shape."""
        own = arrays[self._at]
        if self._static is not None:
            out.append(self._static.copy_to(own))
        if alike(own, self.array):
            return own
        return cupy.ndarray(self.array.shape, self.array.dtype, own.data, self.array.strides)


class Copied(Result):
    """A result that is copied into a new array after each launch."""

    def __init__(self, array: cupy.ndarray, memory: Memory) -> None:
        super().__init__(array)
        self._memory, self.is_copied = memory, True

    def given(self, arrays: Sequence[Array], out: list[Copy]) -> cupy.ndarray:
        """A new array."""
        new = self._memory.empty(self.array.shape, self.array.dtype)
        if new.nbytes:
            out.append((self.array.data.ptr, new.data.ptr, new.nbytes))
        return new


class Lent(Result):
    """A result in the graph's memory. Before each launch the runner checks that no array uses the last loan any more."""

    def __init__(self, array: cupy.ndarray, number: int, device: int, pool: Any) -> None:
        super().__init__(array)
        self.number, self._device, self._pool = number, device, pool
        self._loan: Callable[[], Any] = _nobody

    @property
    def is_in_use(self) -> bool:
        """Whether an array from an earlier launch still uses the memory."""
        return self._loan() is not None

    def given(self, arrays: Sequence[Array], out: list[Copy]) -> cupy.ndarray:
        """An array over the graph's memory; all of its views share the loan, so that one weak reference covers them."""
        loan = Loan(self.array, self._pool)
        self._loan = weakref.ref(loan)
        own = self.array
        memory = cupy.cuda.UnownedMemory(own.data.ptr, own.nbytes, loan, self._device)
        return cupy.ndarray(own.shape, own.dtype, cupy.cuda.MemoryPointer(memory, 0))


class Loan:
    """The owner of arrays over a graph's memory: it keeps the block and its pool alive even when the graph is gone."""

    __slots__ = ("__weakref__", "_array", "_pool")

    def __init__(self, array: cupy.ndarray, pool: Any) -> None:
        self._array, self._pool = array, pool


def _nobody() -> None:
    return None
