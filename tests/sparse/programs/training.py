"""Sparse parameters of Gluon, their trainer, and key-value stores with row-sparse arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.oracle_programs import fails


def _parts(array: Any) -> Any:
    if array.stype == "default":
        return [array.stype, array.asnumpy()]
    return [array.stype, array.indices.asnumpy(), array.data.asnumpy()]


def _empty(mx: Any) -> Any:
    return mx.nd.sparse.zeros("row_sparse", (4, 2))


def _store(mx: Any) -> Any:
    store = mx.kv.create("local")
    store.init("rows", mx.nd.array(np.arange(1, 9).reshape(4, 2)).tostype("row_sparse"))
    store.init("dense", mx.nd.ones((4, 2)))
    return store


def row_sparse_pull(mx: Any) -> Any:
    store, out = _store(mx), []
    for numbers in ([3, 1, 1], [[0, 1], [2, 2]]):
        rows = _empty(mx)
        store.row_sparse_pull("rows", out=rows, row_ids=mx.nd.array(numbers, dtype="int64"))
        out.append(_parts(rows))
    several = [_empty(mx), _empty(mx)]
    store.row_sparse_pull("rows", out=several, row_ids=[mx.nd.array([1]), mx.nd.array([2])])
    return [*out, *map(_parts, several)]


def pull(mx: Any) -> Any:
    store, dense, skipped, rows = _store(mx), mx.nd.zeros((4, 2)), _empty(mx), _empty(mx)
    store.pull("rows", out=dense)
    store.pull("rows", out=skipped)
    store.pull("rows", out=rows, ignore_sparse=False)
    return [_parts(dense), _parts(skipped), _parts(rows)]


def push(mx: Any) -> Any:
    store, rows = _store(mx), _empty(mx)
    row = mx.nd.sparse.row_sparse_array
    store.push("rows", [row(([[1.0, 1]], [1]), shape=(4, 2)), row(([[2.0, 2]], [2]), shape=(4, 2))])
    store.pull("rows", out=rows, ignore_sparse=False)
    return _parts(rows)


def update_in_a_store(mx: Any) -> Any:
    store, rows = mx.kv.create("local"), _empty(mx)
    store.init(0, mx.nd.ones((4, 2)).tostype("row_sparse"))
    store.set_optimizer(mx.optimizer.create("sgd", learning_rate=0.5))
    store.push(0, mx.nd.sparse.row_sparse_array(([[1.0, 1]], [1]), shape=(4, 2)))
    store.row_sparse_pull(0, out=rows, row_ids=mx.nd.array([0, 1]))
    return _parts(rows)


def what_stores_refuse(mx: Any) -> Any:
    store, ids = _store(mx), mx.nd.array([1])
    return [
        fails(lambda: store.row_sparse_pull("rows", out=_empty(mx))),
        fails(lambda: store.row_sparse_pull("rows", row_ids=ids)),
        fails(lambda: store.row_sparse_pull("dense", out=_empty(mx), row_ids=ids)),
        fails(lambda: store.row_sparse_pull("rows", out=mx.nd.zeros((4, 2)), row_ids=ids)),
    ]


def row_sparse_parameter(mx: Any) -> Any:
    parameter = mx.gluon.Parameter("w", shape=(4, 2), stype="row_sparse", grad_stype="row_sparse", init="ones")
    parameter.initialize()
    refused = [fails(parameter.data), fails(parameter.list_data), fails(lambda: parameter.row_sparse_data(mx.nd.array([1])))]
    trainer = mx.gluon.Trainer([parameter], "sgd", {"learning_rate": 0.1})
    rows, data = mx.nd.array([1, 3]), mx.nd.array([[0, 1, 0, 2.0]]).tostype("csr")
    out: list[Any] = [refused, _parts(parameter.grad()), [_parts(a) for a in parameter.list_row_sparse_data(mx.nd.array([1]))]]
    for _ in range(2):
        with mx.autograd.record():
            loss = (mx.nd.sparse.dot(data, parameter.row_sparse_data(rows)) ** 2).sum()
        loss.backward()
        out.append(_parts(parameter.grad()))
        trainer.step(1)
        out.append(_parts(parameter.row_sparse_data(mx.nd.array([0, 1, 2, 3]))))
    parameter.set_data(mx.nd.ones((4, 2)) * 5)
    return [*out, _parts(parameter.row_sparse_data(mx.nd.array([2]))), fails(lambda: mx.gluon.Trainer([parameter], "sgd"))]


def embedding(mx: Any) -> Any:
    out = []
    for hybrid in (False, True):
        layer = mx.gluon.nn.Embedding(5, 3, sparse_grad=True)
        layer.initialize(mx.init.One())
        if hybrid:
            layer.hybridize()
        trainer = mx.gluon.Trainer(layer.collect_params(), "adam", {"learning_rate": 0.1})
        for index in ([1, 3], [3, 3]):
            with mx.autograd.record():
                loss = (layer(mx.nd.array(index)) * 2).sum()
            loss.backward()
            out.append(_parts(layer.weight.grad()))
            trainer.step(1)
        out.append(layer.weight.data())
        layer.weight.zero_grad()
        out.append(layer.weight.grad().asnumpy())
    return out


def sparse_embedding_layer(mx: Any) -> Any:
    """The contributed layer: it reads the rows that a trainer has, and an update changes these only."""
    layer = mx.gluon.contrib.nn.SparseEmbedding(5, 3, prefix="e_")
    layer.initialize(mx.init.One())
    trainer = mx.gluon.Trainer(layer.collect_params(), "sgd", {"learning_rate": 0.5})
    with mx.autograd.record():
        loss = (layer(mx.nd.array([[1, 3], [3, 3]])) * 2).sum()
    loss.backward()
    trainer.step(1)
    rows = layer.weight.row_sparse_data(mx.nd.arange(5))
    return [loss.asscalar().item(), repr(layer), layer.weight.name, rows.stype, rows.asnumpy().tolist()]


def hybrid_blocks(mx: Any) -> Any:
    """Blocks with sparse inputs and inner values, hybridized or not."""

    class Linear(mx.gluon.HybridBlock):
        def __init__(self) -> None:
            super().__init__()
            with self.name_scope():
                self.weight = self.params.get("weight", shape=(4, 2), init="ones", grad_stype="row_sparse")

        def hybrid_forward(self, F: Any, x: Any, weight: Any) -> Any:
            return F.sparse.dot(x, weight)

    class Cast(mx.gluon.HybridBlock):
        def hybrid_forward(self, F: Any, x: Any) -> Any:
            return F.cast_storage(F.square(x) * 2, stype="csr")

    out, dense = [], mx.nd.array([[0, 1, 0, 2], [0, 0, 0, 3.0]])
    for hybrid in (False, True):
        net, cast = Linear(), Cast()
        net.initialize()
        if hybrid:
            net.hybridize()
            cast.hybridize()
        trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1, "momentum": 0.5})
        for data in (dense.tostype("csr"), (dense * 0 + 1).tostype("csr"), dense):
            with mx.autograd.record():
                found = net(data)
                loss = (found * found).sum()
            loss.backward()
            out.append([found, _parts(net.weight.grad())])
            trainer.step(1)
        out.append(net.weight.data())
        out.append([[cast(data).stype, cast(data).asnumpy()] for data in (dense, dense.tostype("csr"))])
    return out
