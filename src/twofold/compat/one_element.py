"""Arrays of one element that are numbers too, as NumPy's were up to 2.3: ``float(loss.asnumpy())``. Installed by ``twofold run`` only."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ..imperative.array import Array

#: The method of arrays whose result is changed.
METHOD = "asnumpy"


class OneElement(np.ndarray):
    """An array of one element, of one or more dimensions. What is computed from it, and its copies in pickles, are plain arrays."""

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __complex__(self) -> complex:
        return complex(self.item())

    def __array_wrap__(self, array: np.ndarray, context: Any = None, return_scalar: bool = False) -> Any:
        return array[()] if return_scalar else array.view(np.ndarray)

    def __reduce__(self) -> Any:
        return self.view(np.ndarray).__reduce__()

    def __repr__(self) -> str:
        return repr(self.view(np.ndarray))


@functools.cache
def install() -> None:
    """Let ``asnumpy`` return such arrays, where NumPy itself does not convert them."""
    if np.lib.NumpyVersion(np.__version__) >= "2.4.0":
        setattr(Array, METHOD, _of_one_element(getattr(Array, METHOD)))


def _of_one_element(asnumpy: Any) -> Any:
    @functools.wraps(asnumpy)
    def array(self: Array) -> np.ndarray:
        found = asnumpy(self)
        return found.view(OneElement) if found.size == 1 and found.ndim else found

    return array
