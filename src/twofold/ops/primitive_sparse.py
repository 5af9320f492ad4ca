"""Products of a csr matrix, given by its parts, and a dense one. Adapters may use a library's own; the references are NumPy's."""

from ..opdef.declare import primitive
from ..opdef.inputs import Index


def _sums(np, rows, count, values):
    """Sums of the values (n, …) of each row, ``rows`` increasing: (count, …)."""
    out = np.zeros((count, *values.shape[1:]), values.dtype)
    if rows.size:
        first = np.flatnonzero(np.concatenate([np.ones(1, bool), rows[1:] != rows[:-1]]))
        out[rows[first]] = np.add.reduceat(values, first, axis=0)
    return out


def _rows(np, indptr):
    return np.repeat(np.arange(indptr.size - 1), np.diff(indptr))


def _product(np, data, indices, indptr, dense):
    return _sums(np, _rows(np, indptr), indptr.size - 1, data[:, None] * dense[indices]).astype(dense.dtype)


@primitive(host_only=True, reference=_product)
def csr_matmul(xp, data, indices: Index, indptr: Index, dense):
    """A csr matrix (m, k), given by its parts, times a dense one (k, n): (m, n). Indices must be in [0, k)."""


csr_matmul.type(lambda data, indices, indptr, dense: ((indptr.shape[0] - 1, dense.shape[1]), dense.dtype))


@csr_matmul.grad
def _(xp, dout, data, indices, indptr, dense):
    ddense = xp.csr_transposed_matmul(data, indices, indptr, dout, columns=dense.shape[0])
    return xp.csr_sampled_matmul(indices, indptr, dout, dense), None, None, ddense


def _transposed_product(np, data, indices, indptr, dense, *, columns):
    order = np.argsort(indices, kind="stable")
    values = (data[:, None] * dense[_rows(np, indptr)])[order]
    return _sums(np, indices[order], columns, values).astype(dense.dtype)


@primitive(host_only=True, reference=_transposed_product)
def csr_transposed_matmul(xp, data, indices: Index, indptr: Index, dense, *, columns: int):
    """The transpose of a csr matrix (m, columns), given by its parts, times a dense matrix (m, n): (columns, n)."""


csr_transposed_matmul.type(lambda data, indices, indptr, dense, *, columns: ((columns, dense.shape[1]), dense.dtype))


@csr_transposed_matmul.grad
def _(xp, dout, data, indices, indptr, dense):
    return xp.csr_sampled_matmul(indices, indptr, dense, dout), None, None, xp.csr_matmul(data, indices, indptr, dout)


csr_transposed_matmul.rows(lambda row_form, node: [("csr", tuple(node.operands))])


def _sampled_product(np, indices, indptr, a, b):
    return (a[_rows(np, indptr)] * b[indices]).sum(axis=1).astype(a.dtype)


@primitive(host_only=True, reference=_sampled_product)
def csr_sampled_matmul(xp, indices: Index, indptr: Index, a, b):
    """The elements of a (m, n) times the transpose of b (k, n) at the places of a csr matrix (m, k)."""


csr_sampled_matmul.type(lambda indices, indptr, a, b: (indices.shape, a.dtype))


@csr_sampled_matmul.grad
def _(xp, dout, indices, indptr, a, b):
    da = xp.csr_matmul(dout, indices, indptr, b)
    return None, None, da, xp.csr_transposed_matmul(dout, indices, indptr, a, columns=b.shape[0])


def _matrix(np, data, indices, indptr, columns):
    """The dense matrix; the cases' independent way."""
    matrix = np.zeros((indptr.size - 1, columns), data.dtype)
    np.add.at(matrix, (_rows(np, indptr), indices), data)
    return matrix


def _matrices(make):
    """The parts of csr matrices (3, 4): with an empty row and a place that occurs twice, and without elements."""
    indices, indptr = make.array([0, 2, 1, 1], "int64"), make.array([0, 2, 2, 4], "int64")
    yield make.array([1, -2, 3, 0.5], "float32"), indices, indptr
    yield make.array([], "float32"), make.array([], "int64"), make.array([0, 0, 0, 0], "int64")


@csr_matmul.cases
def _(make):
    for data, indices, indptr in _matrices(make):
        yield make(data, indices, indptr, make.numbers((4, 2), "float32"), want=lambda d, i, p, x: _matrix(make.np, d, i, p, 4) @ x)


@csr_transposed_matmul.cases
def _(make):
    for data, indices, indptr in _matrices(make):
        want = lambda d, i, p, x, columns: _matrix(make.np, d, i, p, columns).T @ x  # noqa: E731
        yield make(data, indices, indptr, make.numbers((3, 2), "float32"), columns=4, want=want)


@csr_sampled_matmul.cases
def _(make):
    for _, indices, indptr in _matrices(make):
        want = lambda i, p, a, b: (a @ b.T)[_rows(make.np, p), i]  # noqa: E731
        yield make(indices, indptr, make.numbers((3, 2), "float32"), make.numbers((4, 2), "float32"), want=want)
