"""Which products of matrices machine code computes instead of BLAS; ``jit/packed_products.py`` has that code."""

from functools import cache
from typing import Any, cast

import numpy as np

#: Multiplications from which the code is used. Smaller products take BLAS less than 10 µs.
LEAST = 1 << 19
#: Floats of a vector, and rows that are multiplied at once.
LANES, ROWS = 16, 8
#: The most that is multiplied, in tiles of rows and vectors, for each multiplication of the product.
MOST_WASTE = 1.1
#: NumPy's names, in its versions, of processors that have vectors of 512 bits for all types of elements.
WIDE = {"AVX512_SKX", "X86_V4"}


def is_packed(dtype: np.dtype[np.generic], batch: int, rows: int, columns: int, inner: int) -> bool:
    """Whether machine code computes a product (batch, rows, inner) · (batch, inner, columns), if kernels are compiled."""
    if dtype != np.float32 or batch * rows * columns * inner < LEAST or not has_wide_vectors():
        return False
    # tiles beyond the ends of the result are computed for nothing
    return rounded(rows, ROWS) * rounded(columns, LANES) <= MOST_WASTE * rows * columns


def rounded(number: int, step: int) -> int:
    """A number rounded up to a multiple of a step."""
    return -(-number // step) * step


@cache
def has_wide_vectors() -> bool:
    """Whether this processor has vectors of 512 bits for all types of elements."""
    extensions = cast("dict[str, Any]", np.show_config(mode="dicts"))["SIMD Extensions"]
    return not WIDE.isdisjoint([*extensions["baseline"], *extensions["found"]])
