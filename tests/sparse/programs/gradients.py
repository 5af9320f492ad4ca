"""Row-sparse gradients: which rows they store, and their values."""

from __future__ import annotations

from typing import Any

import numpy as np


def _parts(gradient: Any) -> Any:
    return [gradient.stype, gradient.indices.asnumpy(), gradient.data.asnumpy()]


def embedding(mx: Any) -> Any:
    weight, index = mx.nd.array(np.arange(12).reshape(6, 2)), mx.nd.array([1, 3, 1])
    weight.attach_grad(stype="row_sparse")
    out = [_parts(weight.grad)]
    for _ in range(3):
        with mx.autograd.record():
            rows = mx.nd.Embedding(index, weight, input_dim=6, output_dim=2, sparse_grad=True)
            loss = (rows * rows).sum()
        loss.backward()
        out.append(_parts(weight.grad))
    return out


def embedding_used_twice(mx: Any) -> Any:
    weight = mx.nd.array(np.arange(12).reshape(6, 2))
    weight.attach_grad(stype="row_sparse")
    with mx.autograd.record():
        a = mx.nd.Embedding(mx.nd.array([1, 3]), weight, input_dim=6, output_dim=2, sparse_grad=True)
        b = mx.nd.Embedding(mx.nd.array([[5, 1]]), weight, input_dim=6, output_dim=2, sparse_grad=True)
        loss = (a * a).sum() + b.sum() * 3
    loss.backward()
    return _parts(weight.grad)


def product_with_csr(mx: Any) -> Any:
    out = []
    data = mx.nd.array([[1, 0, 2, 0], [0, 0, 3.0, 0]]).tostype("csr")
    for columns in (1, 3):
        weight = mx.nd.array(np.arange(4 * columns).reshape(4, columns))
        weight.attach_grad(stype="row_sparse")
        with mx.autograd.record():
            found = mx.nd.sparse.dot(data, weight)
            loss = (found * found).sum()
        loss.backward()
        out.append([found, *_parts(weight.grad)])
    return out


def retained_rows(mx: Any) -> Any:
    rows = mx.nd.array([[1, 2], [0, 0], [3, 4.0]]).tostype("row_sparse")
    rows.attach_grad()
    with mx.autograd.record():
        loss = (mx.nd.cast_storage(mx.nd.sparse.retain(rows, mx.nd.array([0])), "default") * 3).sum()
    loss.backward()
    return [rows.grad.stype, rows.grad.asnumpy()]


def dense_gradients(mx: Any) -> Any:
    weight, data = mx.nd.array([[1.0], [2], [3]]), mx.nd.array([[1, 0, 2], [0, 0, 3.0]]).tostype("csr")
    weight.attach_grad()
    with mx.autograd.record():
        loss = (mx.nd.sparse.dot(data, weight) ** 2).sum()
    loss.backward()
    return [weight.grad.stype, weight.grad]


def sparse_embedding(mx: Any) -> Any:
    """The operator under its former name: the rows that are read, clipped, and a row-sparse gradient."""
    out = {}
    for stype in ("default", "row_sparse"):
        weight = mx.nd.array(np.arange(1, 7).reshape(3, 2)).tostype(stype)
        weight.attach_grad(stype="row_sparse")
        with mx.autograd.record():
            rows = mx.nd.contrib.SparseEmbedding(mx.nd.array([0, 2, 2]), weight, input_dim=3, output_dim=2)
        rows.backward()
        out[stype] = [
            rows.asnumpy().tolist(),
            weight.grad.stype,
            weight.grad.indices.asnumpy().tolist(),
            weight.grad.data.asnumpy().tolist(),
        ]
    table = mx.nd.array(np.arange(6).reshape(3, 2))
    out["clipped"] = mx.nd.contrib.SparseEmbedding(mx.nd.array([7, -1]), table, input_dim=3, output_dim=2).asnumpy().tolist()
    symbol = mx.sym.contrib.SparseEmbedding(mx.sym.Variable("data"), input_dim=3, output_dim=2, name="e")
    out["symbol"] = [symbol.list_arguments(), [list(s) for s in symbol.infer_shape(data=(4,))[0]]]
    return out


def casts(mx: Any) -> Any:
    """Gradients through sparse arrays that are made of dense ones: those of zeros too."""
    out = []
    head = mx.nd.array([[1, 2], [3, 4], [5, 6]])
    for stype in ("row_sparse", "csr"):
        x = mx.nd.array([[0, 1], [0, 0], [2, 0.0]])
        x.attach_grad()
        with mx.autograd.record():
            stored = mx.nd.cast_storage(x * 1, stype)
            loss = (mx.nd.cast_storage(stored, "default") * head).sum()
        loss.backward()
        out.append([stored.stype, stored.asnumpy(), x.grad.asnumpy()])
        with mx.autograd.record():
            stored = (x * 1).tostype(stype)
            loss = mx.nd.square(stored).tostype("default").sum() + (stored.tostype("default") * 3).sum()
        loss.backward()
        out.append(x.grad.asnumpy())
    return out
