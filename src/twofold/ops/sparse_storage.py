"""Operators on sparse storage, and the storage rules that several operators share.

A rule works on the dense parts of its operands (`opdef.Sparse`), so that gradients of stored elements come from dense operators.
"""

from typing import Literal

from ..errors import ParameterError, StorageError
from ..opdef import Axis, Index, Sparse, op, stype_of
from .reduction import sum_axis
from .sparse_products import rows_to_dense

StorageType = Literal["default", "row_sparse", "csr"]


@op("cast_storage", "_sparse_cast_storage", keeps_shape=True, stored_as="stype")
def cast_storage(xp, data, *, stype: StorageType):
    """A copy in a storage type: ``"default"``, ``"row_sparse"``, or ``"csr"`` for a matrix."""
    if stype != "default":
        raise StorageError("cast_storage: the result of this operator is dense", f"stype={stype!r}", "call it on arrays")
    return xp.contiguous(data)


@cast_storage.sparse
def _(xp, dense, data, *, stype):
    own = stype_of(data)
    if own == stype:
        return data.with_values(xp.contiguous(data.values)) if isinstance(data, Sparse) else xp.contiguous(data)
    if own == "row_sparse" and stype == "default":
        return rows_to_dense(xp, data)
    if own != "default" and stype != "default":
        raise ParameterError(f"cast_storage from {own} to {stype} is not supported", f"shape {data.shape}", "cast it to 'default' first")
    return xp.convert(data, stype)


cast_storage.gradient_stypes(lambda stypes, head, **_: ["default" if head == "csr" else head])
cast_storage.sample(lambda draw: draw(draw.real((3, 4)), stype="default"))


@op("_sparse_retain")
def retain(xp, data, indices: Index):
    """The rows of a row-sparse array with the given numbers (n,). Rows that are not stored become stored rows of zeros.

    Of a dense array, the same: all other rows are zero.
    """
    # a mask of rows: a number that occurs twice selects its row once
    kept = xp.index_update(xp.zeros(data.shape[:1], xp.dtype_of(data)), 1, xp.cast(indices, "int64"), key=(0,))
    return data * xp.reshape(kept, shape=(data.shape[0], *[1] * (len(data.shape) - 1)))


@retain.sparse
def _(xp, dense, data, indices):
    if stype_of(data) != "row_sparse":
        raise StorageError("retain: the data is not row-sparse", f"stype {stype_of(data)}", "convert it with tostype('row_sparse')")
    rows, places = xp.places(data.indices, indices)
    return Sparse("row_sparse", data.shape, xp.stored_rows(data.values, places, rows), rows)


retain.gradient_stypes(lambda stypes, head: ["row_sparse", "default"])
retain.sample(lambda draw: draw(draw.real((4, 3)), draw.integer((2,), 0, 4, "int64")))


@op("_square_sum")
def square_sum(xp, data, *, axis: Axis = None, keepdims: bool = False, exclude: bool = False):
    """Sum of squares over axes, ``exclude`` meaning over all others; of row-sparse arrays, over axis 0 or 1, from the stored rows."""
    return sum_axis(xp, data * data, axis=axis, keepdims=keepdims, exclude=exclude)


@square_sum.sparse
def _(xp, dense, data, *, axis, keepdims, exclude):
    if stype_of(data) != "row_sparse" or len(data.shape) != 2 or axis not in (0, 1, (0,), (1,)) or exclude:
        return None
    # the operator on the stored rows alone: a row that is not stored adds nothing along axis 0, and has the sum 0 along axis 1
    values = dense(data.values)
    if axis in (0, (0,)):
        return values
    sums = Sparse("row_sparse", (data.shape[0], *([1] if keepdims else [])), values, data.indices)
    return sums if keepdims else rows_to_dense(xp, sums)


# each row has its own sum, so spare rows give spare sums
square_sum.spare_rows(lambda stypes, *, axis, keepdims, **_: keepdims and axis in (1, (1,)))
square_sum.gradient_stypes(lambda stypes, head, **_: stypes)
square_sum.sample(lambda draw: [draw(draw.real((3, 4)), axis=1), draw(draw.real((3, 4)), axis=0, keepdims=True)])
