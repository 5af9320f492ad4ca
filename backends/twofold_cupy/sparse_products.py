"""Products of csr matrices and dense ones by kernels of our own; rows of row-sparse arrays by gathers and scatters.

cuSPARSE is not used: its transposed products add atomically, in an order that differs from run to run, it takes 32-bit indices only, and
each call must query the size of its workspace. Here every sum has a fixed order, and no step waits for the host.
"""

from functools import cache
from typing import Any

import cupy
import numpy as np

from twofold.backend.c_text import C_TYPES, ENCODED, STORED

from .launch import filled, function, run
from .operands import dtype_of


def csr_matmul(xp: Any, data: cupy.ndarray, indices: cupy.ndarray, indptr: cupy.ndarray, dense: cupy.ndarray) -> cupy.ndarray:
    """A csr matrix (m, k) times a dense one (k, n): a thread for each element of the result, adjacent ones in one row."""
    count, columns = indptr.size - 1, dense.shape[1]
    out = xp.empty((count, columns), dtype_of(dense))
    arrays = xp.packed(data, dtype_of(dense)), xp.packed(indices, "int64"), xp.packed(indptr, "int64"), xp.packed(dense)
    run(function(_source("tf_csr", dtype_of(dense)), "tf_csr"), out.size, *map(np.int64, (out.size, columns)), *arrays, out)
    return out


def csr_transposed_matmul(
    xp: Any, data: cupy.ndarray, indices: cupy.ndarray, indptr: cupy.ndarray, dense: cupy.ndarray, columns: int
) -> cupy.ndarray:
    """The transpose of a csr matrix (m, columns) times a dense one (m, n): the products of all elements (nnz, n), added to their rows."""
    kind, width = dtype_of(dense), dense.shape[1]
    products = xp.empty((indices.size, width), kind)
    arrays = xp.packed(data, kind), xp.packed(indptr, "int64"), xp.packed(dense)
    numbers = map(np.int64, (products.size, width, indptr.size - 1))
    run(function(_source("tf_products", kind), "tf_products"), products.size, *numbers, *arrays, products)
    return xp.index_add(xp.full(shape=(columns, width), value=0, dtype=kind), products, indices, key=(0, None))


def csr_sampled_matmul(xp: Any, indices: cupy.ndarray, indptr: cupy.ndarray, a: cupy.ndarray, b: cupy.ndarray) -> cupy.ndarray:
    """The elements of a (m, n) times the transpose of b (k, n) at the places of a csr matrix: a thread for each."""
    kind = dtype_of(a)
    out = xp.empty(indices.shape, kind)
    arrays = xp.packed(indices, "int64"), xp.packed(indptr, "int64"), xp.packed(a), xp.packed(b, kind)
    numbers = map(np.int64, (out.size, a.shape[1], indptr.size - 1))
    run(function(_source("tf_sampled", kind), "tf_sampled"), out.size, *numbers, *arrays, out)
    return out


def stored_rows(xp: Any, values: cupy.ndarray, places: cupy.ndarray) -> cupy.ndarray:
    """Rows of (n, …) at places of any shape, and zeros where one is -1."""
    shape = (*places.shape, *values.shape[1:])
    if not values.shape[0]:
        return xp.full(shape=shape, value=0, dtype=dtype_of(values))
    # a place of -1 reads row 0, which is then replaced by zeros
    return _where_stored(xp, places, xp.take(values, xp.maximum(places, 0), axis=0))


def stored_rows_sum(xp: Any, rows: cupy.ndarray, places: cupy.ndarray, count: int) -> cupy.ndarray:
    """The sums (count, …) of rows by place; those at -1 are left out."""
    zeros = xp.full(shape=(count, *rows.shape[places.ndim :]), value=0, dtype=dtype_of(rows))
    if not count:
        return zeros
    key = (0, *[None] * (zeros.ndim - 1))
    # rows at -1 become zeros, so adding them to row 0 has no effect
    return xp.index_add(zeros, _where_stored(xp, places, rows), xp.maximum(places, 0), key=key)


def _where_stored(xp: Any, places: cupy.ndarray, rows: cupy.ndarray) -> cupy.ndarray:
    is_stored = xp.reshape(xp.greater_equal(places, 0), shape=(*places.shape, *[1] * (rows.ndim - places.ndim)))
    return xp.where(is_stored, rows, 0)


@cache
def _source(name: str, dtype: str) -> str:
    """The source of one of the kernels for elements of a dtype; the indices and pointers are int64."""
    parts = {"KIND": C_TYPES[dtype], "STORED": STORED[dtype], "READ": "tf_float" if dtype in ENCODED else ""}
    return filled(parts | {"ENCODED": ENCODED.get(dtype, "")}, "sparse_row", f"sparse_{name.removeprefix('tf_')}")
