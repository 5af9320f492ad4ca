"""``x.flat``: NumPy's iterator over the elements of a folding array, which takes folding arrays as indices and values."""

import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .array import FoldingArray, index_of


class Flat:
    """NumPy's iterator; to a program it is one."""

    __slots__ = ("_iterator", "base")
    __class__: Any = property(lambda self: np.flatiter)
    __hash__: Any = None

    def __init__(self, array: FoldingArray) -> None:
        self._iterator, self.base = array.shown().view().flat, array

    def __getattr__(self, name: str) -> object:
        return getattr(self._iterator, name)

    def __getitem__(self, key: object) -> object:
        return self._iterator[index_of(key)]

    def __setitem__(self, key: object, value: object) -> None:
        self._iterator[index_of(key)] = value.ready() if type(value) is FoldingArray else value

    def __delitem__(self, key: object) -> None:
        iterator: Any = self._iterator
        del iterator[key]  # NumPy's error

    def __iter__(self) -> Iterator[object]:
        return iter(self._iterator)

    def __next__(self) -> object:
        return next(self._iterator)

    def __len__(self) -> int:
        return len(self._iterator)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self._iterator, dtype, copy=copy)


def _compared(name: str) -> Callable[..., object]:
    function = getattr(operator, name)

    def method(self: Flat, other: object) -> object:
        return function(self._iterator, other._iterator if type(other) is Flat else index_of(other))

    return method


for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(Flat, f"__{_name}__", _compared(_name))


def _assign(self: FoldingArray, value: object) -> None:
    Flat(self)[...] = value


FoldingArray.flat = property(Flat, _assign, doc="As NumPy's.")
