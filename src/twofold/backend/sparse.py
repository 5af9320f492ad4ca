"""Sparse storage on the host: formats checked and converted, by NumPy, and by machine code where rows are added.

A csr matrix is (values, indices, indptr), a row-sparse array (values, indices); see `opdef.Sparse`. Indices are int64.
"""

import math
from collections.abc import Sequence

import numpy as np

from ..device import CPU
from ..errors import IndexingError, ShapeError
from .loader import backend_for

INDEX = np.dtype(np.int64)
Parts = tuple[np.ndarray, ...]


def check_csr(shape: tuple[int, ...], values: np.ndarray, indices: np.ndarray, indptr: np.ndarray, *, ordered: bool = False) -> None:
    """Raise unless the arrays are a csr matrix.

    Parameters
    ----------
    shape, values, indices, indptr
        The matrix.
    ordered
        Whether the columns of each row must also increase.

    Raises
    ------
    ShapeError
        If the arrays' sizes or ``indptr`` do not fit together.
    IndexingError
        If a column is out of range, or with ``ordered`` unsorted or duplicated.
    """
    rows, columns = shape
    if values.ndim != 1 or indices.shape != values.shape or indptr.shape != (rows + 1,):
        given = f"shape {shape}: data {values.shape}, indices {indices.shape}, indptr {indptr.shape}"
        raise ShapeError("csr: the arrays do not fit together", given, "data and indices have n elements, indptr one more than rows")
    if indptr[0] != 0 or indptr[-1] != values.size or (np.diff(indptr) < 0).any():
        given = f"from {indptr[0]} to {indptr[-1]} for {values.size} elements"
        raise ShapeError("csr: indptr does not increase from 0 to the number of elements", given, "give each row's end in the data")
    check_range("csr: a column index", indices, columns)
    if ordered and values.size > 1:
        # whether an element is in the same row as the one before it
        within = np.ones(values.size, bool)
        within[indptr[:-1][indptr[:-1] < values.size]] = False  # the first element of each row
        # difference k is between elements k and k + 1, so an element is compared with its predecessor
        if not (np.diff(indices) > 0)[within[1:]].all():
            raise IndexingError("csr: the column indices of a row are not sorted, or occur twice", None, "sort each row's indices")


def check_rows(shape: tuple[int, ...], values: np.ndarray, indices: np.ndarray, *, ordered: bool = False) -> None:
    """Raise unless the arrays are a row-sparse array; with ``ordered`` the rows must also increase.

    Raises
    ------
    ShapeError, IndexingError
        As `check_csr`.
    """
    if indices.ndim != 1 or values.shape != (indices.size, *shape[1:]):
        given = f"shape {shape}: data {values.shape}, indices {indices.shape}"
        raise ShapeError("row_sparse: the arrays do not fit together", given, f"pass data (n, {str(shape[1:])[1:-1]}) and indices (n,)")
    check_range("row_sparse: a row index", indices, shape[0])
    if ordered and not (np.diff(indices) > 0).all():
        raise IndexingError("row_sparse: the row indices are not sorted, or occur twice", None, "sort them")


def check_range(what: str, indices: np.ndarray, size: int) -> None:
    """Raise an `IndexingError` unless indices are in [0, size)."""
    outside = indices[(indices < 0) | (indices >= size)]
    if outside.size:
        raise IndexingError(f"{what} is out of range", f"{outside[0]} for size {size}", f"pass indices from 0 to {size - 1}")


def repeats(indices: np.ndarray) -> bool:
    """Whether some index occurs twice."""
    return not (indices[1:] > indices[:-1]).all() and increasing(indices).size < indices.size


def repeats_in_rows(indices: np.ndarray, indptr: np.ndarray) -> bool:
    """Whether some row of a csr matrix has two elements in one column. The columns of a row need not be sorted."""
    rows = rows_of(indptr)
    same_row = rows[1:] == rows[:-1]
    if (np.diff(indices) > 0)[same_row].all():
        return False
    order = np.lexsort((indices, rows))
    return bool((np.diff(indices[order]) == 0)[same_row].any())  # sorting keeps each row's length


def rows_of(indptr: np.ndarray) -> np.ndarray:
    """The row of each element of a csr matrix."""
    return np.repeat(np.arange(indptr.size - 1), np.diff(indptr))


def csr_to_dense(shape: tuple[int, ...], values: np.ndarray, indices: np.ndarray, indptr: np.ndarray) -> np.ndarray:
    """The dense matrix; of elements at one place the sum."""
    out = np.zeros(shape, values.dtype)
    np.add.at(out, (rows_of(indptr), indices), values)
    return out


def rows_to_dense(shape: tuple[int, ...], values: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """The dense array; of rows with one number the last."""
    out = np.zeros(shape, values.dtype)
    out[indices] = values
    return out


def nonzero_places(dense: np.ndarray) -> Parts:
    """Rows and columns of the elements of a matrix that are not zero, in row-major order."""
    return tuple(k.astype(INDEX, copy=False) for k in np.nonzero(dense))


def nonzero_rows(dense: np.ndarray) -> np.ndarray:
    """The numbers of the rows of an array that are not all zero."""
    return np.flatnonzero(dense.reshape(dense.shape[0], -1).any(axis=1)) if dense.size else np.zeros(0, INDEX)


def pointers(rows: np.ndarray, count: int) -> np.ndarray:
    """The ``indptr`` of elements in the order of their rows."""
    out = np.zeros(count + 1, INDEX)
    np.cumsum(np.bincount(rows, minlength=count), out=out[1:])
    return out


def coordinates_to_csr(shape: tuple[int, ...], values: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> Parts:
    """Elements at (row, column) as a csr matrix; those at one place are added."""
    check_range("csr: a row", rows, shape[0])
    check_range("csr: a column", columns, shape[1])
    # a place as one number in row-major order, so that sorting the numbers sorts by row and then by column
    places, inverse = np.unique(rows * shape[1] + columns, return_inverse=True)
    summed = np.zeros(places.size, values.dtype)
    np.add.at(summed, inverse, values)
    at, columns = np.divmod(places, max(shape[1], 1))
    return summed, columns.astype(INDEX, copy=False), pointers(at, shape[0])


def union_of_rows(arrays: Sequence[Parts]) -> list[np.ndarray]:
    """The rows that at least one of some row-sparse arrays stores, and the positions of each array's rows among them."""
    rows = increasing(np.concatenate([indices for _, indices in arrays]))
    return [rows, *[np.searchsorted(rows, indices) for _, indices in arrays]]


def union_of_csr(shape: tuple[int, ...], matrices: Sequence[Parts]) -> list[np.ndarray]:
    """The places that any of some csr matrices stores: indices, ``indptr``, and the positions of each matrix's elements among them."""
    width = max(shape[1], 1)
    numbers = [rows_of(indptr) * width + indices for _, indices, indptr in matrices]
    every = increasing(np.concatenate(numbers))
    rows, columns = np.divmod(every, width)
    return [columns, pointers(rows, shape[0]), *[np.searchsorted(every, n) for n in numbers]]


def places(stored: np.ndarray, wanted: np.ndarray) -> Parts:
    """Indices as int64, and their positions among the stored ones; -1 for indices that are not stored."""
    wanted = wanted.astype(INDEX)
    if not stored.size:
        return wanted, np.full(wanted.shape, -1)
    if wanted.size and wanted.min() >= 0 and wanted.max() < stored.size and (stored[wanted] == wanted).all():
        return wanted, wanted.copy()  # as where every index is stored, which weights often do
    at = np.minimum(np.searchsorted(stored, wanted), stored.size - 1)
    found = stored[at] == wanted
    if found.all() or (np.diff(stored) > 0).all():  # in this order: the stored ones may be many more
        return wanted, np.where(found, at, -1)
    order = np.argsort(stored, kind="stable")
    at = np.minimum(np.searchsorted(stored, wanted, sorter=order), stored.size - 1)
    return wanted, np.where(stored[order[at]] == wanted, order[at], -1)


def capacity(count: int) -> int:
    """A number of elements rounded up to one of few capacities, so that arrays padded to it have few different shapes."""
    # steps of 1/16 of the next power of two give eight capacities per doubling; from 128 elements on at most 1/8 is padding
    step = max(16, 1 << max(count.bit_length() - 4, 0))
    return -(-count // step) * step


def padded(values: np.ndarray) -> np.ndarray:
    """Values padded with copies of the last one, up to their `capacity`."""
    count = len(values)
    size = capacity(count)
    if size == count:
        return values
    out = np.empty((size, *values.shape[1:]), values.dtype)
    out[:count], out[count:] = values, values[-1]
    return out


def put_rows(target: np.ndarray, places: np.ndarray, rows: np.ndarray) -> None:
    """``target[places] = rows``. Rows of a matrix are copied as one element each, short ones in half the time."""
    if rows.ndim == 2 and rows.flags.c_contiguous and target.flags.c_contiguous and rows.dtype == target.dtype and rows.shape[1]:
        whole = np.dtype((np.void, rows.shape[1] * rows.itemsize))
        target, rows = target.view(whole)[:, 0], rows.view(whole)[:, 0]
    target[places] = rows


def spare_indices(indices: np.ndarray, missing: int, number: int) -> np.ndarray:
    """Indices, padded with as many copies of a number."""
    return np.concatenate([indices, np.full(missing, number, indices.dtype)])


def increasing(numbers: np.ndarray) -> np.ndarray:
    """The distinct ones of some numbers, in order: ``np.unique``, which takes four times as long for a thousand integers."""
    ordered = np.sort(numbers, axis=None)
    is_first = np.ones(ordered.size, bool)
    np.not_equal(ordered[1:], ordered[:-1], out=is_first[1:])
    return ordered[is_first]


def distinct(indices: np.ndarray) -> Parts:
    """The distinct indices in increasing order, and the position of each given index among them."""
    size = int(indices.max(initial=-1)) + 1
    if size > min(DENSE_RANGE * indices.size, np.iinfo(np.int32).max):
        return np.unique(indices, return_inverse=True)
    is_there = np.zeros(size, bool)
    is_there[indices] = True
    if is_there.all():
        return np.arange(size), indices
    order = np.cumsum(is_there, dtype=np.int32)  # half the memory, and SciPy would convert to it
    order -= 1
    return np.flatnonzero(is_there), order.take(indices)


#: Up to this many possible indices for each given index, a table of all possible ones is faster than sorting.
DENSE_RANGE = 8


def sorted_rows(values: np.ndarray, indices: np.ndarray) -> Parts:
    """Rows with repeated numbers as a row-sparse array: sorted, those of one number added in the order given, each to the sum so far."""
    add = backend_for(CPU).target.host_code.row_adder(values.dtype, values.size) if indices.size else None
    if add is not None:
        flat = np.ascontiguousarray(values).reshape(indices.size, math.prod(values.shape[1:]))
        found = add(flat, np.ascontiguousarray(indices, INDEX))
        if found is not None:
            rows, numbers = found
            return rows.reshape(numbers.size, *values.shape[1:]), numbers
    if (indices[1:] > indices[:-1]).all():
        return values, indices.astype(INDEX)
    bits = indices.size.bit_length()
    if int(indices.max()) >> (62 - bits):
        order = np.argsort(indices, kind="stable")
        return _added_runs(values, order, indices.take(order).astype(INDEX, copy=False))
    # index and place in one number: NumPy has vector code for sorting numbers, but not for a stable order
    keys = indices.astype(INDEX) << bits
    keys |= np.arange(indices.size)
    keys.sort()
    return _added_runs(values, keys & ((1 << bits) - 1), keys >> bits)


#: Runs of up to this many rows are added all at a time, one row of each. Longer ones are rare, and so are added one after the other.
SHORT_RUN = 8


def _added_runs(values: np.ndarray, order: np.ndarray, numbers: np.ndarray) -> Parts:
    """The sums of rows (n, ...) with the same number, and these numbers; the sorted numbers are those of the rows in an order."""
    is_first = np.empty(numbers.size, bool)
    is_first[0] = True
    np.not_equal(numbers[1:], numbers[:-1], out=is_first[1:])
    first = np.flatnonzero(is_first)
    out = values.take(order.take(first), axis=0)
    lengths = np.diff(first, append=order.size)
    for k in range(1, min(int(lengths.max()), SHORT_RUN)):
        longer = np.flatnonzero(lengths > k)
        out[longer] += values.take(order.take(first.take(longer) + k), axis=0)
    places = np.arange(order.size) - np.repeat(first, lengths)
    if (late := np.flatnonzero(places >= SHORT_RUN)).size:
        np.add.at(out, np.repeat(np.arange(first.size), lengths).take(late), values.take(order.take(late), axis=0))
    return out, numbers.take(first)


def csr_rows(indices: np.ndarray, indptr: np.ndarray, rows: np.ndarray) -> Parts:
    """Rows of a csr matrix, and of each of their elements its place in the matrix: (places, indices, indptr)."""
    counts = np.diff(indptr)[rows]
    out = np.zeros(rows.size + 1, INDEX)
    np.cumsum(counts, out=out[1:])
    # an element's number within its row, plus the place at which that row begins in the matrix
    at = np.arange(out[-1]) - np.repeat(out[:-1], counts) + np.repeat(indptr[rows], counts)
    return at, indices[at], out


def csr_part(indices: np.ndarray, indptr: np.ndarray, *, rows: tuple[int, int], columns: tuple[int, int]) -> Parts:
    """The part of a csr matrix in ranges of rows and columns, as by `csr_rows`."""
    # a range that ends before it begins is empty
    first, last = rows[0], max(rows)
    at = np.arange(indptr[first], indptr[last])
    kept = (indices[at] >= columns[0]) & (indices[at] < columns[1])
    own = rows_of(indptr[first : last + 1] - indptr[first])
    return at[kept], indices[at[kept]] - columns[0], pointers(own[kept], last - first)


def joined_pointers(*indptrs: np.ndarray) -> np.ndarray:
    """The ``indptr`` of matrices one below the other."""
    # each matrix's pointers count on from the elements of those above it; the leading 0 of all but the first is dropped
    ends = np.cumsum([0, *[p[-1] for p in indptrs]])
    return np.concatenate([np.zeros(1, INDEX), *[p[1:] + end for p, end in zip(indptrs, ends[:-1], strict=True)]])
