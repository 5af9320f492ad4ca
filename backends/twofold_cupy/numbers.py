"""Python numbers among a program's inputs, in a buffer of the device: what is captured reads them there, whatever they are."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from twofold.dtype import NUMPY

from .exchange import NotCapturable
from .handover import hand_over
from .memory import Memory
from .operands import constant, dtype_of, is_constant, number_of
from .rehearsal import phantom, rehearses
from .streams import entered
from .views import broadcast

#: Dtypes, for each number, in which a program may read it.
KINDS = 3


class Number:
    """An input in place of a Python number: its operands are arrays of one element in the buffer."""

    __slots__ = ("_number", "_numbers", "_value")

    def __init__(self, numbers: "Numbers", number: int, value: Any) -> None:
        self._numbers, self._number, self._value = numbers, number, value

    def operand(self, dtype: str) -> Any:
        """The number as an operand of a dtype."""
        return self._numbers.operand(self._number, self._value, dtype)


class Numbers:
    """The numbers of one program on one device.

    Parameters
    ----------
    inputs
        Places of the numbers among the inputs.
    memory
        Where the buffer comes from; its device is current.

    Attributes
    ----------
    is_known
        Whether all operands that were asked for are in the buffer: some are not if a number is read in too many dtypes.
    """

    def __init__(self, inputs: Sequence[int], memory: Memory) -> None:
        self.inputs = list(inputs)
        self._buffer = memory.empty((KINDS * max(len(self.inputs), 1),), np.dtype(np.uint64))
        self._words = np.zeros(self._buffer.size, np.uint64)
        self._places: dict[tuple[int, str], tuple[Any, np.ndarray]] = {}
        self._values: dict[tuple[int, str], Any] = {}
        self._sent: bytes | None = None
        self.is_known = True

    def __len__(self) -> int:
        return len(self._places)

    def replaced(self, arrays: Sequence[Any]) -> list[Any]:
        """A program's inputs with what stands for the numbers in their place."""
        out = list(arrays)
        for k in self.inputs:
            a = out[k]
            if is_constant(a):
                out[k] = broadcast(self.operand(k, number_of(a), dtype_of(a)), a.shape)
            else:
                out[k] = Number(self, k, a)
        return out

    def operand(self, number: int, value: Any, dtype: str) -> Any:
        """The place of an input's number in a dtype; when first asked for it is written at once."""
        if rehearses():
            return phantom((), NUMPY[dtype])
        found = self._places.get((number, dtype))
        if found is None:
            stream = entered()
            if stream is not None and stream.checks is not None:
                raise NotCapturable("a number is read in other dtypes than before")
            at = len(self._places)
            if at == self._words.size:
                self.is_known = False
                return constant(value, (), dtype)
            there = self._buffer[at : at + 1].view(NUMPY[dtype])[:1].reshape(())
            found = self._places[number, dtype] = there, self._words[at : at + 1].view(NUMPY[dtype])[:1]
            found[1][...] = constant(value, (), dtype)
            hand_over(self._words[at : at + 1], there.data.ptr, ())
        return found[0]

    def changed(self, arrays: Sequence[Any]) -> np.ndarray:
        """The words to be written for the inputs of this run: none if they are those written last."""
        for key, (_, here) in self._places.items():
            a = arrays[key[0]]
            if a is not self._values.get(key):
                here[...] = constant(number_of(a) if is_constant(a) else a, (), key[1])
                self._values[key] = a
        words = self._words[: len(self._places)]
        return words[:0] if words.tobytes() == self._sent else words

    def sent(self) -> None:
        """Note that the words have been written."""
        self._sent = self._words[: len(self._places)].tobytes()

    @property
    def place(self) -> int:
        """The buffer's address."""
        return self._buffer.data.ptr
