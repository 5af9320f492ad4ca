"""Scalar inputs of a captured program, kept in a device buffer: the graph reads them there, so a new value needs no new capture."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from twofold.backend.kernel import Array
from twofold.dtype import NUMPY

from .batched_copy import copy_batch
from .dry_run import in_dry_run, placeholder
from .graph_io import NotCapturable
from .memory import Memory
from .operands import constant, dtype_of, is_constant, scalar_of
from .streams import entered
from .views import broadcast

#: How many dtypes one scalar may be read in, on average.
MAX_DTYPES = 3


class ScalarInput:
    """Replaces a Python scalar among a program's inputs; kernels read one-element arrays in the buffer."""

    __slots__ = ("_inputs", "_position", "_value")

    def __init__(self, inputs: "ScalarInputs", position: int, value: Any) -> None:
        self._inputs, self._position, self._value = inputs, position, value

    def operand(self, dtype: str) -> Array:
        """The scalar as an operand of a dtype."""
        return self._inputs.operand(self._position, self._value, dtype)


class ScalarInputs:
    """The scalar inputs of one program on one device.

    Parameters
    ----------
    positions
        Indices of the scalars among the program's inputs.
    memory
        The allocator of the buffer; its device is current.

    Attributes
    ----------
    is_complete
        Whether every requested operand has a slot in the buffer. False once scalars are read in more dtypes than fit.
    """

    def __init__(self, positions: Sequence[int], memory: Memory) -> None:
        self.positions = list(positions)
        self._buffer = memory.empty((MAX_DTYPES * max(len(self.positions), 1),), np.dtype(np.uint64))
        self._words = np.zeros(self._buffer.size, np.uint64)  # the host's copy of the buffer, one word a slot
        self._slots: dict[tuple[int, str], tuple[Any, np.ndarray]] = {}
        self._values: dict[tuple[int, str], Any] = {}
        self._written: bytes | None = None
        self.is_complete = True

    def __len__(self) -> int:
        return len(self._slots)

    def substitute(self, arrays: Sequence[Array]) -> list[Array]:
        """A program's inputs with each scalar replaced by its stand-in."""
        out = list(arrays)
        for k in self.positions:
            a = out[k]
            if is_constant(a):
                out[k] = broadcast(self.operand(k, scalar_of(a), dtype_of(a)), a.shape)
            else:
                out[k] = ScalarInput(self, k, a)
        return out

    def operand(self, position: int, value: float | np.generic, dtype: str) -> Array:
        """The slot of a scalar in a dtype; a new slot is written immediately, for the run that is in progress."""
        if in_dry_run():
            return placeholder((), NUMPY[dtype])
        found = self._slots.get((position, dtype))
        if found is None:
            stream = entered()
            # the write would become part of the graph and repeat the old value at each launch
            if stream is not None and stream.checks is not None:
                raise NotCapturable("a scalar is read in other dtypes than before")
            at = len(self._slots)
            if at == self._words.size:
                self.is_complete = False
                return constant(value, (), dtype)
            # a slot is eight bytes whatever the dtype: the number is in the first of them
            there = self._buffer[at : at + 1].view(NUMPY[dtype])[:1].reshape(())
            found = self._slots[position, dtype] = there, self._words[at : at + 1].view(NUMPY[dtype])[:1]
            found[1][...] = constant(value, (), dtype)
            copy_batch(self._words[at : at + 1], there.data.ptr, ())
        return found[0]

    def stale_words(self, arrays: Sequence[Array]) -> np.ndarray:
        """The words to write for these inputs; empty if the buffer has them already."""
        for key, (_, here) in self._slots.items():
            a = arrays[key[0]]
            # by identity: equal numbers may differ in their sign of zero, and NaN is not equal to itself
            if a is not self._values.get(key):
                here[...] = constant(scalar_of(a) if is_constant(a) else a, (), key[1])
                self._values[key] = a
        words = self._words[: len(self._slots)]
        # compared as bytes: NaN equals itself then, and 0.0 differs from -0.0
        return words[:0] if words.tobytes() == self._written else words

    def mark_written(self) -> None:
        """Note that the buffer now has the current words."""
        self._written = self._words[: len(self._slots)].tobytes()

    @property
    def address(self) -> int:
        """The buffer's address on the device."""
        return self._buffer.data.ptr
