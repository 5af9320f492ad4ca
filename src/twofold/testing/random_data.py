"""Random shapes, arrays, matrices and sparse arrays, drawn from NumPy's global generator, so that ``np.random.seed`` repeats them."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from .. import ndarray as nd
from ..device import Device
from ..errors import ParameterError
from ..ndarray.array import NDArray
from .surroundings import default_dtype

rnd = np.random
#: Functions that make sparse arrays.
SPARSE: Any = nd.sparse
Shape = tuple[int, ...]
Function = Callable[[Any], Any] | None


# shapes


def rand_shape_nd(num_dim: int, dim: int = 10, allow_zero_size: bool = False) -> Shape:
    """A shape of ``num_dim`` sizes from 1 (or 0) to ``dim``.

    Parameters
    ----------
    num_dim
        Number of sizes.
    dim
        Largest size.
    allow_zero_size
        Whether sizes may be 0.
    """
    return tuple(rnd.randint(0 if allow_zero_size else 1, dim + 1, size=num_dim).tolist())


def rand_shape_2d(dim0: int = 10, dim1: int = 10, allow_zero_size: bool = False) -> Shape:
    """A shape of two sizes from 1 (or 0) to ``dim0`` and ``dim1``.

    Parameters
    ----------
    dim0, dim1
        Largest sizes.
    allow_zero_size
        Whether sizes may be 0.
    """
    return _shape((dim0, dim1), allow_zero_size)


def rand_shape_3d(dim0: int = 10, dim1: int = 10, dim2: int = 10, allow_zero_size: bool = False) -> Shape:
    """A shape of three sizes from 1 (or 0) to ``dim0``, ``dim1`` and ``dim2``.

    Parameters
    ----------
    dim0, dim1, dim2
        Largest sizes.
    allow_zero_size
        Whether sizes may be 0.
    """
    return _shape((dim0, dim1, dim2), allow_zero_size)


def _shape(limits: Sequence[int], allow_zero_size: bool) -> Shape:
    return tuple(int(rnd.randint(0 if allow_zero_size else 1, limit + 1)) for limit in limits)


def rand_coord_2d(x_low: int, x_high: int, y_low: int, y_high: int) -> tuple[int, int]:
    """A pair of whole numbers, the first in [x_low, x_high), the second in [y_low, y_high)."""
    return int(rnd.randint(x_low, x_high, dtype=np.int64)), int(rnd.randint(y_low, y_high, dtype=np.int64))


def random_sample(population: Sequence[Any], k: int) -> list[Any]:
    """``k`` different elements of a sequence, in random order."""
    shuffled = list(population)
    rnd.shuffle(shuffled)
    return shuffled[:k]


# arrays


def random_arrays(*shapes: Shape) -> Any:
    """Normal samples as arrays of the given shapes in `default_dtype`: a list, or a single array for a single shape.

    Parameters
    ----------
    *shapes
        The shapes; () gives a number.
    """
    arrays = [np.array(rnd.randn(*shape), dtype=default_dtype()) for shape in shapes]
    return arrays if len(arrays) > 1 else arrays[0]


def random_uniform_arrays(*shapes: Shape, **kwargs: Any) -> list[np.ndarray]:
    """Uniform samples as arrays of the given shapes; the keywords are ``low``, ``high`` (by default 0 and 1) and ``dtype``."""
    low, high, dtype = kwargs.pop("low", 0.0), kwargs.pop("high", 1.0), kwargs.pop("dtype", default_dtype())
    if kwargs:
        raise ParameterError("random_uniform_arrays: unknown keywords", ", ".join(kwargs), "pass low, high or dtype")
    return [rnd.uniform(low, high, size=shape).astype(dtype) for shape in shapes]


def create_vector(size: int, dtype: Any = np.int64) -> NDArray:
    """The numbers 0, 1, … as an array of shape (size,).

    Parameters
    ----------
    size
        Number of elements.
    dtype
        Dtype of the array.
    """
    return nd.arange(0, size, dtype=dtype)


def create_2d_tensor(rows: int, columns: int, dtype: Any = np.int64) -> NDArray:
    """An array of shape (rows, columns) whose elements are the numbers of their rows.

    Parameters
    ----------
    rows, columns
        Numbers of rows and columns.
    dtype
        Dtype of the array.
    """
    return nd.arange(0, rows, dtype=dtype).reshape((rows, 1)).broadcast_to((rows, columns))


def get_identity_mat(size: int) -> np.ndarray:
    """The identity matrix, as an array of NDArray's."""
    return nd.array(np.identity(size))  # type: ignore[return-value]


def get_identity_mat_batch(size: int) -> NDArray:
    """Two identity matrices: shape (2, size, size)."""
    return nd.array(np.stack([np.identity(size)] * 2))


def assign_each(the_input: np.ndarray, function: Function) -> np.ndarray:
    """The results of a function for each element, as an array; a copy of the input if the function is None."""
    found = np.array(the_input)
    if function is not None:
        found[...] = np.reshape([function(x) for x in found.ravel()], found.shape)
    return found


def assign_each2(input1: np.ndarray, input2: np.ndarray, function: Callable[[Any, Any], Any] | None) -> np.ndarray:
    """The results of a function for each pair of elements, as an array; a copy of the first input if the function is None."""
    found = np.array(input1)
    if function is not None:
        pairs = zip(found.ravel(), np.ravel(input2), strict=True)
        found[...] = np.reshape([function(x, y) for x, y in pairs], found.shape)
    return found


def collapse_sum_like(a: np.ndarray, shape: Shape) -> np.ndarray:
    """The sum of an array over the axes along which an array of another shape would be broadcast to it.

    Raises
    ------
    AssertionError
        If that shape cannot be broadcast to the array's.
    """
    extra = a.ndim - len(shape)
    fits = extra >= 0 and all(n in (1, a.shape[extra + k]) for k, n in enumerate(shape))
    assert fits, f"{shape} does not broadcast to {a.shape}"
    axes = tuple(range(extra)) + tuple(extra + k for k, n in enumerate(shape) if n == 1)
    return np.sum(a, axis=axes).reshape(shape)


def np_reduce(dat: np.ndarray, axis: Any, keepdims: bool, numpy_reduce_func: Callable[..., Any]) -> Any:
    """A reduction over one or several axes, or all if ``axis`` is None, with a function that reduces along one axis."""
    axes = range(dat.ndim) if axis is None else [axis] if isinstance(axis, int) else list(axis)
    found = dat
    # the last axis first, so that the numbers of the others stay right
    for at in sorted((k % dat.ndim for k in axes), reverse=True):
        found = numpy_reduce_func(found, axis=at)
    if keepdims:
        kept = {k % dat.ndim for k in axes}
        found = np.reshape(found, [1 if k in kept else n for k, n in enumerate(dat.shape)])
    return found


# matrices


def new_orthonormal_matrix_2d(n: int) -> np.ndarray:
    """A random matrix of shape (n, n) whose rows are orthonormal."""
    return np.linalg.qr(rnd.randn(n, n))[0]


def new_sym_matrix_with_real_eigvals_2d(n: int) -> np.ndarray:
    """A random symmetric matrix of shape (n, n) with eigenvalues in [-10, 10)."""
    vectors = new_orthonormal_matrix_2d(n)
    return vectors.T @ np.diag(rnd.uniform(-10, 10, n)) @ vectors


def new_sym_matrix_with_real_eigvals_nd(shape: Shape) -> np.ndarray:
    """Random symmetric matrices with eigenvalues in [-10, 10): shape (…, n, n)."""
    return _matrices(new_sym_matrix_with_real_eigvals_2d, shape)


def new_matrix_with_real_eigvals_2d(n: int) -> np.ndarray:
    """A random matrix of shape (n, n) with real eigenvalues, well conditioned and not symmetric.

    It is L D L⁻¹, where D has the eigenvalues in [-10, 10), and L, a product of two orthonormal matrices and a diagonal one in between,
    has a condition number of at most 2.
    """
    left, right = new_orthonormal_matrix_2d(n), new_orthonormal_matrix_2d(n)
    # the condition number of a product with orthonormal matrices is that of the diagonal one
    basis = left @ np.diag(rnd.uniform(0.75, 1.5, n)) @ right
    return basis @ np.diag(rnd.uniform(-10, 10, n)) @ np.linalg.inv(basis)


def new_matrix_with_real_eigvals_nd(shape: Shape) -> np.ndarray:
    """Random matrices with real eigenvalues: shape (…, n, n); see `new_matrix_with_real_eigvals_2d`."""
    return _matrices(new_matrix_with_real_eigvals_2d, shape)


def _matrices(draw: Callable[[int], np.ndarray], shape: Shape) -> np.ndarray:
    count = int(np.prod(shape[:-2], dtype=int))
    return np.array([draw(shape[-1]) for _ in range(count)]).reshape(shape)


# sparse arrays


def rand_ndarray(
    shape: Shape,
    stype: str = "default",
    density: float | None = None,
    dtype: Any = None,
    modifier_func: Function = None,
    shuffle_csr_indices: bool = False,
    distribution: str | None = None,
    ctx: Device | None = None,
) -> Any:
    """A random array: normal samples if it is dense; `rand_sparse_ndarray` with the same parameters if it is sparse.

    Parameters
    ----------
    shape
        Shape of the array.
    stype
        ``"default"``, ``"row_sparse"`` or ``"csr"``.
    density, modifier_func, shuffle_csr_indices, distribution
        Of a sparse array; see `rand_sparse_ndarray`.
    dtype
        Dtype of the array; `default_dtype` if None.
    ctx
        Device of the array; the current one if None.
    """
    if stype == "default":
        return nd.array(rnd.randn(*shape), dtype=default_dtype() if dtype is None else dtype, ctx=ctx)
    return rand_sparse_ndarray(
        shape,
        stype,
        density=density,
        dtype=dtype,
        modifier_func=modifier_func,
        shuffle_csr_indices=shuffle_csr_indices,
        distribution=distribution,
        ctx=ctx,
    )[0]


def rand_sparse_ndarray(
    shape: Shape,
    stype: str,
    density: float | None = None,
    dtype: Any = None,
    distribution: str | None = None,
    data_init: float | None = None,
    rsp_indices: Any = None,
    modifier_func: Function = None,
    shuffle_csr_indices: bool = False,
    ctx: Device | None = None,
) -> tuple[Any, tuple[Any, ...]]:
    """A random sparse array.

    Parameters
    ----------
    shape
        The shape; of two sizes for ``"csr"``.
    stype
        ``"csr"`` or ``"row_sparse"``.
    density
        The share of elements (of rows, on average) that are stored; random if None.
    dtype
        The dtype; float32 if None.
    distribution
        ``"uniform"``, or ``"powerlaw"`` for ``"csr"``: every row has twice as many elements as the one before, while there are any left.
    data_init
        The value of all stored elements; random in [0, 1) if None.
    rsp_indices
        The numbers of the stored rows.
    modifier_func
        A function that changes each stored element of a ``"row_sparse"`` array.
    shuffle_csr_indices
        Whether the elements of each ``"csr"`` row are in random order.
    ctx
        The device; the current one if None.

    Returns
    -------
    array
        The sparse array.
    parts
        ``(indptr, indices, data)`` for ``"csr"``, else ``(values, indices)`` as NumPy's arrays.

    Raises
    ------
    AssertionError
        If the storage type, the distribution, or their combination is unknown.
    """
    density = rnd.rand() if density is None else density
    dtype = default_dtype() if dtype is None else dtype
    distribution = "uniform" if distribution is None else distribution
    if stype == "row_sparse":
        assert distribution == "uniform", f"Distribution {distribution} not supported for row_sparse"
        return _row_sparse(shape, density, dtype, data_init, rsp_indices, modifier_func, ctx)
    assert stype == "csr", "unknown storage type"
    assert len(shape) == 2, f"csr arrays have two axes: {shape}"
    assert distribution in ("uniform", "powerlaw"), f"Distribution not supported: {distribution}"
    data, indices, indptr = _csr_uniform(shape, density) if distribution == "uniform" else _csr_powerlaw(shape, density)
    if data_init is not None:
        data = np.full_like(data, data_init)
    if shuffle_csr_indices:
        _shuffle_rows(indptr, indices)
    array = SPARSE.csr_matrix((data.astype(dtype), indices, indptr), shape=shape, dtype=dtype, ctx=ctx)
    return array, (array.indptr, array.indices, array.data)


def _row_sparse(
    shape: Shape, density: float, dtype: Any, data_init: float | None, rsp_indices: Any, modifier_func: Function, ctx: Device | None
) -> tuple[Any, tuple[Any, ...]]:
    if rsp_indices is None:
        rows = np.flatnonzero(rnd.rand(shape[0]) < density)
    else:
        rows = np.asarray(rsp_indices)
        assert rows.size <= shape[0], f"{rows.size} rows for an array of {shape[0]}"
    size = (rows.size, *shape[1:])
    values = (rnd.rand(*size) if data_init is None else np.full(size, data_init)).astype(dtype)
    if modifier_func is not None:
        values = assign_each(values, modifier_func).astype(dtype)
    array = SPARSE.row_sparse_array((values, rows), shape=shape, dtype=dtype, ctx=ctx)
    return array, (values, rows)


def _csr_uniform(shape: Shape, density: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Elements at random places: data, indices, indptr. The draws are those of ``scipy.sparse.random``, in column-major order."""
    rows, columns = shape
    # places without repetition, so that the density is exact
    places = rnd.choice(rows * columns, size=round(density * rows * columns), replace=False)
    data, row, column = rnd.uniform(size=places.size), places % rows, places // rows
    order = np.lexsort((column, row))
    indptr = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=rows))])
    return data[order], column[order], indptr


def _csr_powerlaw(shape: Shape, density: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Elements at the beginning of the rows, in [1, 3): data, indices, indptr.

    The first row has two elements, each further row twice as many as the row before (at most all), until the elements suffice for just one
    in each remaining row.
    """
    rows, columns = shape
    # every row has one element; the others are dealt out by doubling
    left = int(rows * columns * density) - rows
    counts, wanted = np.ones(rows, int), 2
    for row in range(rows):
        more = min(wanted - 1, columns - 1, left)
        counts[row], left, wanted = counts[row] + more, left - more, 2 * wanted
    if left or int(rows * columns * density) < 2 * rows:
        given = f"density {density} for shape {shape}"
        raise ParameterError("powerlaw: not supported for this density", given, "pass one between 2 / columns and what the doubling fills")
    indptr = np.concatenate([[0], np.cumsum(counts)])
    indices = np.concatenate([np.arange(n) for n in counts]) if rows else np.zeros(0, int)
    return rnd.uniform(1, 3, size=indices.size), indices, indptr


def create_sparse_array(
    shape: Shape,
    stype: str,
    data_init: float | None = None,
    rsp_indices: object = None,
    dtype: object = None,
    modifier_func: Function = None,
    density: float = 0.5,
    shuffle_csr_indices: bool = False,
) -> Any:
    """A random sparse array; see `rand_sparse_ndarray`."""
    return rand_sparse_ndarray(
        shape,
        stype,
        density=density,
        dtype=dtype,
        data_init=data_init,
        rsp_indices=rsp_indices,
        modifier_func=modifier_func,
        shuffle_csr_indices=shuffle_csr_indices,
    )[0]


def create_sparse_array_zd(
    shape: Shape,
    stype: str,
    density: float,
    data_init: float | None = None,
    rsp_indices: object = None,
    dtype: object = None,
    modifier_func: Function = None,
    shuffle_csr_indices: bool = False,
) -> Any:
    """A random sparse array, which may have a density of 0; see `create_sparse_array`."""
    return create_sparse_array(shape, stype, data_init, rsp_indices, dtype, modifier_func, density, shuffle_csr_indices)


def shuffle_csr_column_indices(csr: Any) -> None:
    """Put the column indices of each row of a SciPy matrix in another order, in place; data stays where it is."""
    _shuffle_rows(csr.indptr, csr.indices)


def _shuffle_rows(indptr: Any, indices: Any) -> None:
    for start, stop in pairwise(indptr):
        rnd.shuffle(indices[int(start) : int(stop)])
