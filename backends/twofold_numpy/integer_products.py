"""Products of 8-bit integers: in machine code where the processor has instructions for them, else as products of floats."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from twofold.backend import integer_products as by_floats
from twofold.backend.forks import IMPORTING

from . import direct
from .geometry import Geometry

#: Rows of a weight from which its product is computed in machine code.
LEAST_COLUMNS = 4


class IntegerProducts(Protocol):
    """Products of 8-bit integers in machine code."""

    def matmul(self, rows: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Rows (m, k) times the transpose of a weight (n, k), n at least `LEAST_COLUMNS`, as int32."""
        ...

    def convolve(self, g: Geometry, data: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """The convolution of contiguous arrays, as int32, if `direct` applies to `in_quads` of its geometry."""
        ...


#: Functions from the adapter that return an object that multiplies integers in machine code, or None.
IN_MACHINE_CODE: list[Callable[[], IntegerProducts | None]] = []


def in_quads(g: Geometry) -> Geometry:
    """A convolution whose channels are each four of another one's."""
    # the instructions multiply four bytes by four and add the products to one 32-bit number: the size of a float, which `direct` moves
    return replace(g, channels=g.groups * -(-g.channels // g.groups // 4))


def _machine_code() -> IntegerProducts | None:
    return next(filter(None, (make() for make in IN_MACHINE_CODE)), None)


def matmul(xp: Any, rows: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The primitive ``integer_matmul``."""
    code = _machine_code() if rows.size and len(weight) >= LEAST_COLUMNS else None
    return by_floats.matmul(xp, rows, weight) if code is None else code.matmul(rows, weight)


def convolve(xp: Any, data: np.ndarray, weight: np.ndarray, **params: Any) -> np.ndarray:
    """The primitive ``integer_convolve``."""
    with IMPORTING:  # at the first call, which keeps the algorithms out of ``import twofold``
        from .convolution import convolve_without_transforms, geometry_of

    g = geometry_of(data, weight, **params)
    applies = data.size and weight.size and direct.is_applicable("forward", in_quads(g), np.dtype(np.float32))
    code = _machine_code() if applies else None
    if code is None:
        by = lambda _, *arrays, **params: convolve_without_transforms(*arrays, **params)  # noqa: E731
        return by_floats.convolve(xp, data, weight, by=by, **params)
    return code.convolve(g, np.ascontiguousarray(data), np.ascontiguousarray(weight))
