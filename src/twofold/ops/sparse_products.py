"""Products of sparse operands, computed from the stored elements; see `linear.dot`."""

from ..errors import ShapeError
from ..opdef import Sparse, stype_of


def sparse_product(xp, lhs, rhs, transpose_a, transpose_b):
    """The product in the storage type that MXNet gives it; None for operands without such a product."""
    if stype_of(lhs) == "csr" and stype_of(rhs) != "csr" and not transpose_b and len(rhs.shape) < 3:
        inner = lhs.shape[0 if transpose_a else 1]
        if not rhs.shape or rhs.shape[0] != inner:
            given = f"lhs {lhs.shape}, rhs {rhs.shape}, transpose_a={transpose_a}"
            raise ShapeError("dot: lhs and rhs do not match", given, f"make rhs.shape[0] equal {inner}")
        return _transposed_product(xp, lhs, rhs) if transpose_a else _product(xp, lhs, rhs)
    if stype_of(lhs) == "default" and stype_of(rhs) == "csr" and not transpose_a and len(lhs.shape) == 2:
        return xp.convert(_product_with_csr(xp, lhs, rhs, transpose_b), "csr")
    return None


def _product(xp, lhs, rhs):
    """Csr · dense or row-sparse: dense."""
    matrix, indices = rhs, lhs.indices
    if isinstance(rhs, Sparse):  # only the rows that are read, each once
        columns, indices = xp.distinct(indices)
        matrix = rows_of_numbers(xp, rhs, *xp.padded(columns))
    # batches differ in their numbers of elements and columns: after padding, most shapes have occurred before, so programs are reused
    values, indices = xp.padded(lhs.values, indices)
    found = xp.csr_matmul(xp.upcast(values), indices, lhs.indptr, xp.upcast(_columns(xp, matrix)))
    return xp.downcast(_shaped(xp, found, rhs), matrix)


def _transposed_product(xp, lhs, rhs):
    """The transpose of csr · dense or row-sparse: row-sparse, with the columns in which something is stored."""
    matrix = rows_to_dense(xp, rhs) if isinstance(rhs, Sparse) else rhs
    # columns without an element are rows of zeros in the result, and are neither computed nor stored
    columns, places = xp.distinct(lhs.indices)
    wide = xp.upcast(_columns(xp, matrix))
    found = xp.csr_transposed_matmul(xp.upcast(lhs.values), places, lhs.indptr, wide, columns=columns.shape[0])
    return Sparse("row_sparse", (lhs.shape[1], *rhs.shape[1:]), xp.downcast(_shaped(xp, found, rhs), matrix), columns)


def _product_with_csr(xp, lhs, rhs, transpose_b):
    """Dense · csr: dense, by the product of the transposes."""
    if lhs.shape[1] != rhs.shape[1 if transpose_b else 0]:
        given = f"lhs {lhs.shape}, rhs {rhs.shape}, transpose_b={transpose_b}"
        raise ShapeError("dot: lhs and rhs do not match", given, "make lhs.shape[-1] equal rhs.shape[0]")
    parts, turned = (xp.upcast(rhs.values), rhs.indices, rhs.indptr), xp.matrix_transpose(xp.upcast(lhs))
    found = xp.csr_matmul(*parts, turned) if transpose_b else xp.csr_transposed_matmul(*parts, turned, columns=rhs.shape[1])
    return xp.downcast(xp.matrix_transpose(found), lhs)


def _columns(xp, x):
    """A vector as a matrix of one column."""
    return x if len(x.shape) == 2 else xp.reshape(x, shape=(x.shape[0], 1))


def _shaped(xp, found, rhs):
    """The product of a vector as a vector."""
    return found if len(rhs.shape) == 2 else xp.reshape(found, shape=(found.shape[0],))


def rows_of_numbers(xp, data, numbers):
    """The rows of a row-sparse array with the given numbers, of any shape; zeros where one is not stored."""
    wanted, places = xp.places(data.indices, numbers)
    return xp.stored_rows(data.values, places, wanted)


def rows_to_dense(xp, data):
    """A row-sparse array, dense; gradients flow to its rows."""
    zeros = xp.filled_like(data.values, 0, data.shape)
    return xp.index_update(zeros, data.values, data.indices, key=(0, *[None] * (len(data.shape) - 1)))
