"""Making, converting, indexing and writing sparse arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.oracle_programs import fails

DENSE = np.array([[1, 0, 2], [0, 0, 0], [0, 3, 0]])


def _parts(a: Any) -> Any:
    """Storage type, shape and dtypes of an array, and what is stored."""
    if a.stype == "default":
        return [a.stype, list(a.shape), np.dtype(a.dtype).name, a.asnumpy().tolist()]
    stored = [a.data, a.indices, *([a.indptr] if a.stype == "csr" else [])]
    return [a.stype, list(a.shape), np.dtype(a.dtype).name, [[np.dtype(p.dtype).name, p.asnumpy().tolist()] for p in stored]]


def _csr(mx: Any) -> Any:
    return mx.nd.sparse.csr_matrix((np.array([1, 2, 3.5], "f4"), np.array([0, 2, 1]), np.array([0, 2, 2, 3])), shape=(3, 4))


def _rows(mx: Any) -> Any:
    return mx.nd.sparse.row_sparse_array((np.array([[1, 2], [3, 4.0]], "f4"), np.array([1, 3])), shape=(5, 2))


def csr_matrix(mx: Any) -> Any:
    csr = mx.nd.sparse.csr_matrix
    return [
        _parts(a)
        for a in (
            csr(DENSE),
            csr(DENSE.tolist()),
            csr(mx.nd.array(DENSE, dtype="int32")),
            csr(DENSE.astype("float64")),
            csr(csr(DENSE)),
            csr(DENSE, dtype="float64"),
            csr((3, 4)),
            csr((3, 4), dtype="int32"),
            csr(([1, 2, 3], [0, 2, 1], [0, 2, 2, 3])),
            csr((np.array([1.0, 2, 3]), [0, 2, 1], [0, 2, 2, 3]), shape=(3, 5)),
            csr(([3, 1, 2], ([2, 0, 0], [1, 0, 2])), shape=(4, 4), dtype="float32"),
            csr(([3.0, 1, 2], ([2, 0, 0], [1, 2, 2])), shape=(3, 3), dtype="float32"),
        )
    ]


def row_sparse_array(mx: Any) -> Any:
    rows = mx.nd.sparse.row_sparse_array
    return [
        _parts(a)
        for a in (
            rows(([[1.0, 2], [3, 4]], [0, 2])),
            rows(([[1.0, 2], [3, 4]], [0, 2]), shape=(5, 2), dtype="float64"),
            rows(([1.0, 2.0], [0, 3]), shape=(5,)),
            rows(DENSE),
            rows(DENSE.tolist()),
            rows(mx.nd.array(DENSE)),
            rows(rows(DENSE)),
            rows((4, 2)),
            rows((4, 2, 3)),
        )
    ]


def zeros_and_arrays(mx: Any) -> Any:
    sparse = mx.nd.sparse
    return [
        _parts(a)
        for a in (
            sparse.zeros("csr", (2, 3)),
            sparse.zeros("row_sparse", (2, 3), dtype="float64"),
            sparse.zeros("default", (2, 3)),
            sparse.empty("csr", (2, 3)),
            sparse.empty("row_sparse", (2, 3)),
            mx.nd.zeros((2, 3), stype="csr"),
            mx.nd.empty((2, 3), stype="row_sparse"),
            sparse.array(_csr(mx)),
            sparse.array(_rows(mx), dtype="float64"),
            mx.nd.array(_csr(mx)),
            mx.nd.zeros_like(_csr(mx)),
            mx.nd.zeros_like(_rows(mx)),
        )
    ]


def what_is_stored(mx: Any) -> Any:
    sparse, csr, rows = mx.nd.sparse, _csr(mx), _rows(mx)
    matrix = sparse.csr_matrix(DENSE.astype("f4"))
    return [
        _parts(a)
        for a in (
            matrix * 0,
            matrix > 1,
            sparse.relu(matrix * -1),
            sparse.clip(matrix, 0, 1),
            sparse.slice(matrix, begin=(0, 1), end=(3, 3)),
            sparse.concat(matrix, matrix, dim=0),
            mx.nd.take(matrix, mx.nd.array([2, 0])),
            sparse.retain(rows, mx.nd.array([0, 3])),
            sparse.retain(rows, mx.nd.array([3, 1])),
            sparse.retain(rows, mx.nd.array([3, 3])),
            rows - rows,
            sparse.dot(csr, mx.nd.ones((3, 2)), transpose_a=True),
            mx.nd._internal._square_sum(rows, axis=1, keepdims=True),
        )
    ]


def conversion(mx: Any) -> Any:
    csr, rows = _csr(mx), _rows(mx)
    results = [
        csr.tostype("default"),
        rows.tostype("default"),
        csr.tostype("csr"),
        mx.nd.array(DENSE).tostype("csr"),
        mx.nd.array(DENSE).tostype("row_sparse"),
        mx.nd.array([0, 1, 0]).tostype("row_sparse"),
        csr.astype("float64"),
        rows.astype("int32"),
        csr.copy(),
        csr.copyto(mx.nd.zeros((3, 4))),
        csr.copyto(mx.nd.sparse.zeros("csr", (3, 4), dtype="float64")),
        rows.copyto(mx.nd.zeros((5, 2))),
        mx.nd.ones((3, 4)).copyto(mx.nd.sparse.zeros("csr", (3, 4))),
        csr.detach(),
    ]
    return [[_parts(a) for a in results], len(csr), len(rows), repr(csr), str(rows), csr.asscipy().toarray().tolist()]


def indexing(mx: Any) -> Any:
    csr, rows = _csr(mx), _rows(mx)
    keys = (0, -1, slice(0, 2), slice(None), slice(1, None), slice(0, 9))
    return [[_parts(csr[key]) for key in keys], csr[5].shape, csr[2:1].shape, _parts(rows[:])]


def assignment(mx: Any) -> Any:
    out = []
    for stype, make, shape in (("csr", _csr, (3, 4)), ("row_sparse", _rows, (5, 2))):
        for value in (make(mx), mx.nd.ones(shape), np.ones(shape)):
            a = mx.nd.sparse.zeros(stype, shape)
            a[:] = value
            out.append(_parts(a))
    for value in (0, 1):
        a = _rows(mx)
        a[:] = value
        out.append(_parts(a))
    a = _csr(mx)
    a *= 2
    return [*out, _parts(a)]


def what_raises(mx: Any) -> Any:
    csr, rows, sparse = _csr(mx), _rows(mx), mx.nd.sparse
    actions: dict[str, Callable[[], Any]] = {
        "element": lambda: csr[0, 1],
        "step": lambda: csr[::2],
        "list": lambda: csr[[0]],
        "row of rows": lambda: rows[0],
        "slice of rows": lambda: rows[0:2],
        "write an element": lambda: csr.__setitem__(0, 1),
        "write a number": lambda: csr.__setitem__(slice(None), 1),
        "write another type": lambda: rows.__setitem__(slice(None), mx.nd.ones((5, 2)).tostype("csr")),
        "csr to rows": lambda: csr.tostype("row_sparse"),
        "rows to csr": lambda: rows.tostype("csr"),
        "csr of three axes": lambda: mx.nd.ones((2, 2, 2)).tostype("csr"),
        "unknown type": lambda: csr.tostype("xyz"),
        "copyto another type": lambda: csr.copyto(sparse.zeros("row_sparse", (3, 4))),
        "copyto another shape": lambda: csr.copyto(mx.nd.zeros((3, 5))),
        "reshape": lambda: csr.reshape((-1,)),
        "as_np_ndarray": csr.as_np_ndarray,
        "four arrays": lambda: sparse.csr_matrix((1, 2, 3, 4)),
        "a vector": lambda: sparse.csr_matrix(np.ones(3)),
        "another shape": lambda: sparse.csr_matrix(DENSE, shape=(9, 9)),
        "csr of rows": lambda: sparse.csr_matrix(rows),
        "rows of csr": lambda: sparse.row_sparse_array(csr),
        "zeros of an unknown type": lambda: sparse.zeros("x", (2, 3)),
        "array of numpy": lambda: sparse.array(DENSE),
        "array of a dense one": lambda: sparse.array(mx.nd.array(DENSE)),
    }
    return {name: fails(action) for name, action in actions.items()}


def check_format(mx: Any) -> Any:
    sparse, out = mx.nd.sparse, {}
    matrices = {
        "fine": ([1.0, 2, 3], [0, 2, 1], [0, 2, 2, 3]),
        "column too large": ([1.0, 2, 3], [0, 5, 1], [0, 2, 2, 3]),
        "negative column": ([1.0, 2, 3], [0, -1, 1], [0, 2, 2, 3]),
        "unsorted": ([1.0, 2, 3], [2, 0, 1], [0, 2, 2, 3]),
        "duplicated": ([1.0, 2, 3], [2, 2, 1], [0, 2, 2, 3]),
        "not from 0": ([1.0, 2, 3], [0, 2, 1], [1, 2, 2, 3]),
        "not to the end": ([1.0, 2, 3], [0, 2, 1], [0, 2, 2, 2]),
    }
    for name, parts in matrices.items():
        a = sparse.csr_matrix(parts, shape=(3, 3))
        out[name] = [fails(a.check_format), fails(lambda a=a: a.check_format(False))]
    for name, indices in {"fine rows": [0, 2], "row too large": [0, 5], "negative row": [-1, 2], "unsorted rows": [2, 0]}.items():
        a = sparse.row_sparse_array(([[1.0, 2], [3, 4]], indices), shape=(3, 2))
        out[name] = fails(a.check_format)
    return out
