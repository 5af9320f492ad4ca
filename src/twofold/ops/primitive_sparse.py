"""Products of a csr matrix, given by its parts, and a dense one; rows of a row-sparse array. The references are NumPy's."""

from ..opdef import Index, primitive


def _sums(np, rows, count, values):
    """Sums of the values (n, …) of each row, ``rows`` increasing: (count, …)."""
    out = np.zeros((count, *values.shape[1:]), values.dtype)
    if rows.size:
        # only of rows with elements: `reduceat` would give an empty run the element at its beginning
        first = np.flatnonzero(np.concatenate([np.ones(1, bool), rows[1:] != rows[:-1]]))
        out[rows[first]] = np.add.reduceat(values, first, axis=0)
    return out


def _rows(np, indptr):
    return np.repeat(np.arange(indptr.size - 1), np.diff(indptr))


def _product(np, data, indices, indptr, dense):
    data, indices = data[: indptr[-1]], indices[: indptr[-1]]
    return _sums(np, _rows(np, indptr), indptr.size - 1, data[:, None] * dense[indices]).astype(dense.dtype)


@primitive(host_only=True, reference=_product, linear="each")
def csr_matmul(xp, data, indices: Index, indptr: Index, dense):
    """A csr matrix (m, k), given by its parts, times a dense one (k, n): (m, n). Indices must be in [0, k).

    Here and below ``data`` and ``indices`` may be longer than ``indptr`` says: the rest is ignored.
    """


csr_matmul.type(lambda data, indices, indptr, dense: ((indptr.shape[0] - 1, dense.shape[1]), dense.dtype))


@csr_matmul.grad
def _(xp, dout, data, indices, indptr, dense):
    # for C = A · B: dB = Aᵀ · dC, and dA = dC · Bᵀ at the stored places of A alone
    ddense = xp.csr_transposed_matmul(data, indices, indptr, dout, columns=dense.shape[0])
    return xp.csr_sampled_matmul(indices, indptr, dout, dense), None, None, ddense


def _transposed_product(np, data, indices, indptr, dense, *, columns):
    data, indices = data[: indptr[-1]], indices[: indptr[-1]]
    order = np.argsort(indices, kind="stable")
    values = (data[:, None] * dense[_rows(np, indptr)])[order]
    return _sums(np, indices[order], columns, values).astype(dense.dtype)


@primitive(host_only=True, reference=_transposed_product, linear="each")
def csr_transposed_matmul(xp, data, indices: Index, indptr: Index, dense, *, columns: int):
    """The transpose of a csr matrix (m, columns), given by its parts, times a dense matrix (m, n): (columns, n)."""


csr_transposed_matmul.type(lambda data, indices, indptr, dense, *, columns: ((columns, dense.shape[1]), dense.dtype))


@csr_transposed_matmul.grad
def _(xp, dout, data, indices, indptr, dense):
    return xp.csr_sampled_matmul(indices, indptr, dense, dout), None, None, xp.csr_matmul(data, indices, indptr, dout)


csr_transposed_matmul.rows(lambda xp, row_form, node: [("csr", tuple(node.operands))])


def _sampled_product(np, indices, indptr, a, b):
    found = np.zeros(indices.shape, a.dtype)
    found[: indptr[-1]] = (a[_rows(np, indptr)] * b[indices[: indptr[-1]]]).sum(axis=1)
    return found


@primitive(host_only=True, reference=_sampled_product, linear="each")
def csr_sampled_matmul(xp, indices: Index, indptr: Index, a, b):
    """The elements of a (m, n) times the transpose of b (k, n) at the places of a csr matrix (m, k)."""


csr_sampled_matmul.type(lambda indices, indptr, a, b: (indices.shape, a.dtype))


@csr_sampled_matmul.grad
def _(xp, dout, indices, indptr, a, b):
    da = xp.csr_matmul(dout, indices, indptr, b)
    return None, None, da, xp.csr_transposed_matmul(dout, indices, indptr, a, columns=b.shape[0])


def _rows_at(np, values, places, numbers):
    is_there = places >= 0
    if is_there.all():
        return values[places]
    found = np.zeros((*places.shape, *values.shape[1:]), values.dtype)
    found[is_there] = values[places[is_there]]
    return found


@primitive(host_only=True, reference=_rows_at, linear="joint")
def stored_rows(xp, values, places: Index, numbers: Index):
    """Rows of a row-sparse array: its stored rows (n, …) at ``places``, with zeros for a place of -1.

    ``numbers`` are the rows' numbers in the whole array, so that its gradient has rows that are not stored too.
    """


stored_rows.type(lambda values, places, numbers: ((*places.shape, *values.shape[1:]), values.dtype))
stored_rows.grad(lambda xp, dout, values, places, numbers: (xp.stored_rows_sum(dout, places, numbers, count=values.shape[0]), None, None))


def _sum_at(np, rows, places, numbers, *, count):
    out = np.zeros((count, *rows.shape[places.ndim :]), rows.dtype)
    np.add.at(out, places[places >= 0], rows[places >= 0])
    return out


@primitive(host_only=True, reference=_sum_at, linear="joint")
def stored_rows_sum(xp, rows, places: Index, numbers: Index, *, count: int):
    """The gradient of `stored_rows`: sums (count, …) of the rows at each place. Those at -1 are left out."""


stored_rows_sum.type(lambda rows, places, numbers, *, count: ((count, *rows.shape[len(places.shape) :]), rows.dtype))
stored_rows_sum.grad(lambda xp, dout, rows, places, numbers: (xp.stored_rows(dout, places, numbers), None, None))
stored_rows_sum.rows(lambda xp, row_form, node: [("stored", tuple(node.operands))])


@stored_rows.cases
def _(make):
    places, numbers = make.array([[2, -1], [0, 2]], "int64"), make.array([[7, 1], [3, 7]], "int64")
    want = lambda v, p, n: make.np.where((p >= 0)[..., None], v[p], 0)  # noqa: E731
    yield make(make.numbers((3, 2), "float32"), places, numbers, want=want)


@stored_rows_sum.cases
def _(make):
    places, numbers = make.array([2, -1, 2], "int64"), make.array([7, 1, 7], "int64")
    want = lambda r, p, n, count: make.np.stack([r[0] * 0, r[0] * 0, r[0] + r[2]])  # noqa: E731
    yield make(make.numbers((3, 2), "float32"), places, numbers, count=3, want=want)


def _matrix(np, data, indices, indptr, columns):
    """The dense matrix, computed independently of the primitive for its test cases."""
    matrix = np.zeros((indptr.size - 1, columns), data.dtype)
    np.add.at(matrix, (_rows(np, indptr), indices[: indptr[-1]]), data[: indptr[-1]])
    return matrix


def _matrices(make):
    """The parts of csr matrices (3, 4): with an empty row and a place that occurs twice, with elements beyond the last row, and without."""
    indices, indptr = make.array([0, 2, 1, 1], "int64"), make.array([0, 2, 2, 4], "int64")
    yield make.array([1, -2, 3, 0.5], "float32"), indices, indptr
    yield make.array([1, -2, 3, 0.5], "float32"), indices, make.array([0, 2, 2, 3], "int64")
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
        want = lambda i, p, a, b: make.np.pad((a @ b.T)[_rows(make.np, p), i[: p[-1]]], (0, len(i) - p[-1]))  # noqa: E731
        yield make(indices, indptr, make.numbers((3, 2), "float32"), make.numbers((4, 2), "float32"), want=want)
