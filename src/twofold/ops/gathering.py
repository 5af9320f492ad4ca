"""Reading and writing at computed indices: take, pick, one_hot, Embedding, gather_nd, scatter_nd, where.

Indices may be floats, as in MXNet; they are truncated. Gradients accumulate where an index occurs several times.
"""

import math
from typing import Annotated, Literal

from ..dtype import FLOATS
from ..errors import IndexingError, ShapeError
from ..opdef import DType, Index, Input, Operand, Shape, agreed, elementwise, normalized_axis, op, stype_of, without_axis
from .checking import checked
from .sparse_products import rows_of_numbers

Mode = Literal["clip", "raise", "wrap"]
#: The weight of an embedding: indices say nothing of its dtype, the parameter does.
Table = Annotated[Operand, Input(own_dtype=True, dtype_param="dtype")]


def whole(xp, index):
    """Indices as integers."""
    return xp.cast(index, "int64") if xp.dtype_of(index) in (*FLOATS, "bool") else index


def places(xp, index, size, mode, operator):
    """Indices as integers in [0, size): others are clipped, wrapped around, or raise when the result is computed."""
    # a clipped index would be 0, which a GPU's kernel would read beyond the array
    if size == 0 and math.prod(index.shape):
        raise IndexingError(f"{operator}: the axis has no elements", f"{math.prod(index.shape)} indices", "pass none, or a larger array")
    # MXNet clips by default, where NumPy raises
    if mode == "clip":
        at = xp.cast(checked(xp, index, size, operator), "int64")
        return xp.clip(at, 0, max(size - 1, 0))
    at = xp.cast(index, "int64")
    return xp.remainder(at, size) if mode == "wrap" else xp.checked_index(at, size=size, negative=False)


@op("take", "_npi_take", method=True)
def take_places(xp, a, indices: Index, *, axis: int = 0, mode: Mode = "clip"):
    """Slices along an axis at indices: (…, n, …) and indices (s…) to (…, s…, …)."""
    at = normalized_axis(axis, len(a.shape), "take: axis")
    return xp.take(a, places(xp, indices, a.shape[at], mode, "take"), axis=at)


@take_places.sparse
def _(xp, dense, a, indices, *, axis, mode):
    if stype_of(a) != "csr" or stype_of(indices) != "default" or axis != 0 or len(indices.shape) != 1:
        return None
    return xp.csr_take(a, places(xp, indices, a.shape[0], mode, "take"))


take_places.sample(lambda draw: draw(draw.real((4, 3)), draw.integer((2, 2), 0, 4)))
take_places.sample(lambda draw: draw(draw.real((4, 3)), draw.integer((2,), -5, 5), axis=1, mode="wrap"))


@op("pick", "_npx_pick", "choose_element_0index", method=True, asks_dtype_of="index")
def pick(xp, data, index: Index, *, axis: int | None = -1, keepdims: bool = False, mode: Literal["clip", "wrap"] = "clip"):
    """One element along an axis for each position of the others: data (…, n, …) and index (…, …) or (…, 1, …) to (…, …)."""
    if axis is None:
        return pick(xp, xp.reshape(data, shape=(math.prod(data.shape),)), index, axis=0, keepdims=keepdims, mode=mode)
    at = normalized_axis(axis, len(data.shape), "pick: axis")
    kept = (*data.shape[:at], 1, *data.shape[at + 1 :])
    flat = (*data.shape[:at], *data.shape[at + 1 :])
    # MXNet has no 0-d arrays: the index of a vector has shape (1,)
    if index.shape not in (kept, flat or (1,), flat):
        raise ShapeError(
            "pick: the index has the wrong shape", f"index {index.shape}, data {data.shape}, axis {axis}", f"pass one of shape {flat}"
        )
    picked = xp.take_along_axis(data, xp.reshape(places(xp, index, data.shape[at], mode, "pick"), shape=kept), axis=at)
    return picked if keepdims else xp.reshape(picked, shape=flat)


@pick.infer
def _(shapes, results, *, axis, keepdims, **_):
    data, index = shapes
    # the index of a vector may be (1,) or (), so nothing follows from the data's shape
    if data is None or axis is None or len(data) < 2:
        return shapes, results
    at = normalized_axis(axis, len(data), "pick: axis")
    others = [s if s is None or len(s) < len(data) else without_axis(s, at) for s in (index, *results)]
    flat = agreed(without_axis(data, at), *others)
    if flat is None:
        return shapes, results
    kept = (*flat[:at], 1, *flat[at:])
    places = kept if index is not None and len(index) == len(kept) else flat
    return [(*flat[:at], data[at], *flat[at:]), places], [kept if keepdims else flat]


pick.sample(lambda draw: draw(draw.real((3, 4)), draw.integer((3,), 0, 4)))
pick.sample(lambda draw: draw(draw.real((3, 4)), draw.integer((1, 4), 0, 3), axis=0, keepdims=True))


@op("batch_take")
def batch_take(xp, a, indices: Index):
    """``a[k, indices[k]]`` for each row k, with indices clipped to the bounds."""
    if len(a.shape) != 2:
        raise ShapeError("batch_take: a matrix is required", f"shape {a.shape}", "use pick")
    return pick(xp, a, indices, axis=1)


batch_take.sample(lambda draw: draw(draw.real((3, 4)), draw.integer((3,), 0, 4, "int32")))


@op("one_hot", "_npx_one_hot", method=True, differentiable=False)
def one_hot(xp, indices: Index, *, depth: int, on_value: float = 1.0, off_value: float = 0.0, dtype: DType = "float32"):
    """``on_value`` where a new last axis of size ``depth`` equals the index, else ``off_value``; out-of-bounds indices match nothing."""
    # compared as integers: 0.7 counts as 0
    hot = xp.one_hot(whole(xp, indices), depth, "bool")
    # the usual values are a cast, without a selection
    if (on_value, off_value) == (1, 0):
        return xp.astype(hot, dtype=dtype)
    # 0-d arrays and not Python numbers, so that the result has the requested dtype; numbers out of its range are wrapped
    return xp.where(hot, xp.astype(on_value, dtype=dtype), xp.astype(off_value, dtype=dtype))


one_hot.sample(lambda draw: draw(draw.integer((2, 2), 0, 4), depth=3, gradient=False))
one_hot.sample(lambda draw: draw(draw.integer((2,), 0, 2), depth=2, on_value=5.0, off_value=-1.0, gradient=False))


@op("_onehot_encode", differentiable=False)
def onehot_encode(xp, lhs, rhs):
    """`one_hot` of the indices ``lhs`` (n,) in the shape and dtype of ``rhs`` (n, depth)."""
    if len(rhs.shape) != 2 or lhs.shape != rhs.shape[:1]:
        raise ShapeError(
            "_onehot_encode: the shapes do not match", f"{lhs.shape} and {rhs.shape}", "pass indices (n,) and an array (n, depth)"
        )
    return one_hot(xp, lhs, depth=rhs.shape[1], dtype=xp.dtype_of(rhs))


onehot_encode.dtypes(lambda dtypes: dtypes[1:])
onehot_encode.sample(lambda draw: draw(draw.integer((3,), 0, 4), draw.real((3, 4)), gradient=False))


@op("Embedding", "_npx_embedding", "_sparse_Embedding")
def embedding(
    xp,
    data: Index,
    weight: Table,
    *,
    input_dim: int,
    output_dim: int,
    dtype: DType = "float32",
    sparse_grad: bool = False,
):
    """Rows of ``weight`` (input_dim, output_dim) at the indices ``data`` (s…), clipped: (s…, output_dim).

    ``dtype`` is that of a weight whose dtype is not known yet. ``sparse_grad`` makes the gradient of the weight row-sparse in symbols; the
    gradient of an array has the storage type given to ``attach_grad``.
    """
    if weight.shape != (input_dim, output_dim):
        raise ShapeError(
            "Embedding: the weight has the wrong shape",
            f"{weight.shape}",
            f"make it {(input_dim, output_dim)}, as input_dim and output_dim say",
        )
    return xp.take(weight, places(xp, data, input_dim, "clip", "Embedding"), axis=0)


@embedding.sparse
def _(xp, dense, data, weight, *, input_dim, **_):
    if stype_of(weight) != "row_sparse" or stype_of(data) != "default":
        return None
    return rows_of_numbers(xp, weight, places(xp, data, input_dim, "clip", "Embedding"))


# rows beyond the shape are never looked up: indices are clipped to it
embedding.spare_rows(lambda stypes, **_: True)
embedding.gradient_stypes(lambda stypes, head, *, sparse_grad, **_: ["default", "row_sparse" if sparse_grad else "default"])
embedding.infer(lambda shapes, *, input_dim, output_dim, **_: [shapes[0], (input_dim, output_dim)])
embedding.dtypes(lambda dtypes, *, dtype, **_: [dtypes[1] or dtype])
embedding.sample(lambda draw: draw(draw.integer((2, 2), 0, 4), draw.real((4, 3)), input_dim=4, output_dim=3))


@op("_contrib_SparseEmbedding", like=embedding)
def sparse_embedding(xp, *arrays, **params):
    """`Embedding` under its former name."""
    return embedding(xp, *arrays, **params)


# rules that are attached to an operator are no part of its signature, so `like` does not copy them
for declare, same in (
    (sparse_embedding.sparse, embedding.storage.sparse_rule),
    (sparse_embedding.spare_rows, embedding.storage.spare_rows_rule),
    (sparse_embedding.infer, embedding.symbolic.infer_rule),
    (sparse_embedding.dtypes, embedding.symbolic.dtype_rule),
):
    assert same is not None
    declare(same)
sparse_embedding.gradient_stypes(lambda stypes, head, **_: ["default", "row_sparse"])
sparse_embedding.sample(lambda draw: draw(draw.integer((2, 2), 0, 4), draw.real((4, 3)), input_dim=4, output_dim=3))


def index_arrays(xp, indices, shape, name):
    """The rows of ``indices`` (m, s…) as index arrays for the first m axes of an array, and the key for the index primitives."""
    count = indices.shape[0]
    if count > len(shape):
        raise ShapeError(
            f"{name}: more indices than dimensions", f"indices {indices.shape}, array {tuple(shape)}", "pass one row per leading axis"
        )
    rest = indices.shape[1:]
    rows = [xp.reshape(xp.take_slice(indices, k, k + 1, 0), shape=rest) for k in range(count)]
    # indices out of bounds raise when the result is read: their values are not known here
    arrays = [xp.checked_index(xp.cast(row, "int64"), size=shape[k], negative=True) for k, row in enumerate(rows)]
    return arrays, tuple(k if k < count else None for k in range(len(shape)))


@op("gather_nd", "_npi_gather_nd", "_npx_gather_nd")
def gather_nd(xp, data, indices: Index):
    """``data[indices[0], …, indices[m - 1]]``: indices (m, s…) to (s…, the other axes); negative ones count from the end."""
    arrays, key = index_arrays(xp, indices, data.shape, "gather_nd")
    return xp.index(data, *arrays, key=key)


gather_nd.sample(lambda draw: [draw(draw.real((2, 3)), draw.integer((2, 3), 0, 2)), draw(draw.real((2, 3)), draw.integer((1, 2), 0, 2))])


@op("scatter_nd")
def scatter_nd(xp, data, indices: Index, *, shape: Shape):
    """Zeros of a shape, with ``data`` (s…, the other axes) written at ``indices`` (m, s…); of duplicate indices the last one wins."""
    return scatter_set_nd(xp, xp.zeros(shape, xp.dtype_of(data)), data, indices, shape=shape)


scatter_nd.sample(lambda draw: draw(draw.real((1, 3)), draw.integer((1, 1), 0, 4), shape=(4, 3)))


@op("_scatter_set_nd", "_npi_scatter_set_nd", keeps_shape=True)
def scatter_set_nd(xp, lhs, rhs, indices: Index, *, shape: Shape):
    """``lhs`` with the elements at ``indices`` (m, s…) replaced by ``rhs`` (s…, the other axes)."""
    if lhs.shape != shape or rhs.shape != (*indices.shape[1:], *shape[indices.shape[0] :]):
        given = f"data {rhs.shape}, indices {indices.shape}, shape {shape}"
        raise ShapeError("scatter_nd: the shapes do not match", given, "use the indices' shape without the first axis for the data")
    arrays, key = index_arrays(xp, indices, shape, "scatter_nd")
    return xp.index_update(lhs, rhs, *arrays, key=key)


scatter_nd.infer(lambda shapes, results, *, shape: (shapes, [shape]))


scatter_set_nd.infer(lambda shapes, *, shape: [shape, *shapes[1:]])
scatter_set_nd.sample(lambda draw: draw(draw.real((4, 3)), draw.real((1, 3)), draw.integer((1, 1), 0, 4), shape=(4, 3)))


@elementwise("where", "_sparse_where", result="tail", keeps_shape=("x", "y"))
def where_rows(xp, condition: Index, x, y):
    """``x`` where the condition is nonzero, else ``y``; a condition (n,) selects whole rows of x and y (n, …)."""
    fits = condition.shape == x.shape or condition.shape == x.shape[:1]
    if x.shape != y.shape or not fits:
        raise ShapeError(
            "where: the shapes do not match",
            f"{condition.shape}, {x.shape}, {y.shape}",
            "pass x and y of the same shape, and a condition of that shape or (n,)",
        )
    # (n,) becomes (n, 1, …), which broadcasts over whole rows
    return xp.where(xp.reshape(condition, shape=condition.shape + (1,) * (len(x.shape) - len(condition.shape))), x, y)


@where_rows.infer
def _(shapes):
    condition, x, y = shapes
    known = x if x is not None else y
    return [known if condition is None else condition, known, known]


where_rows.sample(lambda draw: draw(draw.integer((3,), 0, 2), draw.real((3, 2)), draw.real((3, 2))))
where_rows.sample(lambda draw: draw(draw.integer((3, 2), 0, 2), draw.real((3, 2)), draw.real((3, 2))))
