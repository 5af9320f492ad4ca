"""The number of stored elements of a sparse matrix, and its values at places. A dense array stores its non-zero elements."""

from ..errors import ParameterError, ShapeError, StorageError
from ..opdef import Index, op, stype_of


@op("_contrib_getnnz", differentiable=False)
def getnnz(xp, data, *, axis: int | None = None):
    """The number of stored elements of a csr matrix as int64: of all (1,), of each row with ``axis=1``, of each column with ``axis=0``."""
    if axis not in (None, 0, 1) or (axis is not None and len(data.shape) != 2):
        raise ParameterError("getnnz: no such axis", f"axis={axis} for shape {data.shape}", "pass None, 0 or 1 for a matrix")
    counts = xp.sum(xp.astype(xp.not_equal(data, 0), dtype="int64"), axis=axis, keepdims=False)
    return xp.reshape(counts, shape=(1,)) if axis is None else counts


@getnnz.sparse
def _(xp, dense, data, *, axis):
    if stype_of(data) != "csr" or axis not in (None, 0, 1):
        return None
    if axis is None:
        return xp.filled_like(data.indices, data.values.shape[0], (1,))
    if axis == 1:
        return xp.take_slice(data.indptr, 1, None, 0) - xp.take_slice(data.indptr, 0, -1, 0)
    counts = xp.filled_like(data.indices, 0, data.shape[1:])
    return xp.index_add(counts, xp.filled_like(data.indices, 1, data.indices.shape), data.indices, key=(0,))


getnnz.dtypes(lambda dtypes, **_: ["int64"])
getnnz.infer(
    lambda shapes, results, *, axis: (
        shapes,
        [(1,) if axis is None else results[0] if shapes[0] is None else (shapes[0][1 - axis],)],
    )
)
getnnz.sample(lambda draw: [draw(draw.integer((3, 4), 0, 2, None), axis=axis, gradient=False) for axis in (None, 0, 1)])


def _check(data, u, v):
    if len(data.shape) != 2 or len(u.shape) != 1 or u.shape != v.shape:
        given = f"data {data.shape}, u {u.shape}, v {v.shape}"
        raise ShapeError("edge_id: the shapes do not match", given, "pass a matrix and two vectors of one size")


@op("_contrib_edge_id", differentiable=False)
def edge_id(xp, data, u: Index, v: Index):
    """The element at row ``u[i]`` and column ``v[i]`` of an adjacency matrix for each i, -1 where none is stored; u and v are (n,)."""
    _check(data, u, v)
    rows, columns = (xp.checked_index(xp.cast(x, "int64"), size=n, negative=False) for x, n in zip((u, v), data.shape, strict=True))
    found = xp.index(data, rows, columns, key=(0, 1))
    return xp.where(xp.equal(found, 0), -1, found)


def _stored_at(np, values, indices, indptr, u, v, *, columns):
    """The stored values at rows u and columns v, -1 where none is stored."""
    # an empty list of keys has no last element to read below
    if not len(values):
        return np.full(u.shape, -1, values.dtype)
    # a key is the place of an element in the dense matrix, so one binary search finds all that are wanted
    rows = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    keys, wanted = rows * columns + indices, u.astype("int64") * columns + v.astype("int64")
    order = np.argsort(keys, kind="stable")
    at = order[np.minimum(np.searchsorted(keys, wanted, sorter=order), len(keys) - 1)]
    return np.where(keys[at] == wanted, values[at], -1).astype(values.dtype)


@edge_id.sparse
def _(xp, dense, data, u, v):
    if stype_of(data) != "csr":
        raise StorageError("edge_id: the matrix is not csr", f"stype {stype_of(data)}", "convert it with tostype('csr')")
    _check(data, u, v)
    like = xp.filled_like(data.values, 0, u.shape)
    return xp.host(_stored_at, data.values, data.indices, data.indptr, u, v, like=like, columns=data.shape[1])


edge_id.infer(lambda shapes, results: ([shapes[0], shapes[1] or shapes[2], shapes[2] or shapes[1]], [shapes[1] or shapes[2] or results[0]]))
edge_id.sample(lambda draw: draw(draw.integer((3, 4), 0, 3, None), draw.integer((5,), 0, 3), draw.integer((5,), 0, 4), gradient=False))
