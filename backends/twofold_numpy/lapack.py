"""NumPy as references call it: ``np.linalg`` with BLAS held to one thread while matrices are small (see `threads`).

LAPACK divides even small products between BLAS's threads and waits for the last of them. Beside other programs, 16 symmetric matrices of 64
rows took 640 ms on two cores, and 6 ms with one thread; a Cholesky factor of 512 rows 248 ms and 9 ms.
"""

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any

import numpy as np

from .threads import HOLD

#: Rows and columns up to which a second thread wins little on idle cores.
LARGEST = 512


def _held(function: Callable[..., Any], a: Any, *others: Any, **options: Any) -> Any:
    """A function of matrices with BLAS held to one thread, if the first operand's are small."""
    if max(np.shape(a)[-2:], default=0) > LARGEST:
        return function(a, *others, **options)
    with HOLD:
        return function(a, *others, **options)


class _LinearAlgebra:
    """``np.linalg``, whose functions run by `_held`."""

    def __getattr__(self, name: str) -> Any:
        function = getattr(np.linalg, name)
        found = vars(self)[name] = function if isinstance(function, type) else partial(_held, function)
        return found


class _Library:
    """NumPy with that ``linalg``."""

    @cached_property
    def linalg(self) -> _LinearAlgebra:
        """The functions of matrices."""
        return _LinearAlgebra()

    def __getattr__(self, name: str) -> Any:
        found = vars(self)[name] = getattr(np, name)
        return found


#: What references get as ``np``.
LIBRARY = _Library()
