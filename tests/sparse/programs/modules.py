"""Modules with sparse data and row-sparse parameters: training with and without a store, the rows on the devices, files."""

from __future__ import annotations

import os
import tempfile
import warnings
from typing import Any

import numpy as np

from tests.oracle_programs import fails

ROWS, COLUMNS, BATCH = 12, 10, 4
DRAW = np.random.RandomState(3)
DENSE = (DRAW.rand(ROWS, COLUMNS) * (DRAW.rand(ROWS, COLUMNS) < 0.25)).astype("f")
DENSE[:, 9] = 0  # a feature that no sample has
LABEL = (DENSE.sum(axis=1) > 1.0).astype("f")


def _parts(array: Any) -> Any:
    if array.stype == "default":
        return [array.stype, array.asnumpy().tolist()]
    return [array.stype, array.indices.asnumpy().tolist(), array.data.asnumpy().tolist()]


def _linear(mx: Any, weight: str = "row_sparse", data: str = "csr") -> Any:
    """Linear classification, as in MXNet's example of 2017."""
    x = mx.sym.Variable("data", stype=data)
    w = mx.sym.Variable("weight", shape=(COLUMNS, 2), stype=weight)
    product = mx.sym.sparse.dot(x, w)
    bias = mx.sym.Variable("bias", shape=(2,))
    return mx.sym.SoftmaxOutput(mx.sym.broadcast_add(product, bias), mx.sym.Variable("softmax_label"), multi_output=True, name="out")


def _machine(mx: Any) -> Any:
    """A factorization machine, as in MXNet's example of 2017."""
    x = mx.sym.Variable("data", stype="csr")
    v = mx.sym.Variable("v", shape=(COLUMNS, 3), stype="row_sparse")
    w = mx.sym.Variable("w", shape=(COLUMNS, 1), stype="row_sparse")
    linear = mx.sym.broadcast_add(mx.sym.dot(x, w), mx.sym.Variable("bias", shape=(1,)))
    squares = mx.sym.dot(mx.sym.square(x), mx.sym._internal._square_sum(v, axis=1, keepdims=True))
    every = mx.sym.Concat(linear, 0.5 * mx.sym.square(mx.sym.dot(x, v)), dim=1)
    score = mx.sym.elemwise_add(mx.sym.sum(every, axis=1, keepdims=True), 0.5 * mx.sym.negative(squares))
    return mx.sym.LogisticRegressionOutput(score, mx.sym.Variable("softmax_label"))


def _batches(mx: Any) -> Any:
    """Csr batches, as LibSVMIter gives them."""

    class Batches(mx.io.DataIter):
        def __init__(self) -> None:
            super().__init__(BATCH)
            self.provide_data = [mx.io.DataDesc("data", (BATCH, COLUMNS))]
            self.provide_label = [mx.io.DataDesc("softmax_label", (BATCH,))]
            self.data, self.at = mx.nd.array(DENSE).tostype("csr"), 0

        def reset(self) -> None:
            self.at = 0

        def next(self) -> Any:
            if self.at == ROWS:
                raise StopIteration
            rows = slice(self.at, self.at + BATCH)
            self.at += BATCH
            return mx.io.DataBatch([self.data[rows]], [mx.nd.array(LABEL[rows])], pad=0)

    return Batches()


def _on_device(module: Any, kind: str) -> dict[str, Any]:
    """The arrays of the parameters on the first device, by name."""
    return {n: getattr(module._exec_group, kind)[k][0] for k, n in enumerate(module._param_names)}


def _params(mx: Any, module: Any) -> dict[str, Any]:
    draw = np.random.RandomState(5)
    shapes = {n: a.shape for n, a in _on_device(module, "param_arrays").items()}
    return {name: mx.nd.array(draw.uniform(-0.5, 0.5, shapes[name])) for name in sorted(shapes)}


def _bound(mx: Any, symbol: Any, batches: Any, **options: Any) -> Any:
    module = mx.mod.Module(symbol, ["data"], ["softmax_label"])
    module.bind(batches.provide_data, batches.provide_label, **options)
    module.init_params(mx.init.Zero(), arg_params=_params(mx, module), aux_params={})
    return module


def _rows(batch: Any) -> Any:
    return {"weight": batch.data[0].indices}


def _trained(mx: Any, symbol: Any, store: Any, rows_of: Any, optimizer: str = "sgd", **options: Any) -> Any:
    """Parameters before training, after each of two epochs, and what the devices hold in the end."""
    batches = _batches(mx)
    module = _bound(mx, symbol, batches)
    options = {"learning_rate": 0.5, **options}
    module.init_optimizer(kvstore=store, optimizer=optimizer, optimizer_params=options)
    out = [{n: _parts(a) for n, a in module.get_params()[0].items()}]
    for _ in range(2):
        batches.reset()
        for batch in batches:
            module.prepare(batch, sparse_row_id_fn=rows_of)
            module.forward_backward(batch)
            module.update()
    outputs = module.get_outputs()[0].asnumpy()
    devices = {n: _parts(a) for n, a in _on_device(module, "param_arrays").items()}
    gradients = {n: _parts(a) for n, a in _on_device(module, "grad_arrays").items()}
    return [*out, {n: _parts(a) for n, a in module.get_params()[0].items()}, devices, gradients, outputs]


def linear_on_a_store(mx: Any) -> Any:
    return _trained(mx, _linear(mx), mx.kv.create("local"), _rows, momentum=0.9, wd=0.1)


def linear_on_the_device(mx: Any) -> Any:
    return _trained(mx, _linear(mx), None, None, momentum=0.9, wd=0.1)


def linear_with_dense_weight(mx: Any) -> Any:
    return _trained(mx, _linear(mx, weight="default"), None, None, momentum=0.9)


def linear_with_adam(mx: Any) -> Any:
    return _trained(mx, _linear(mx), mx.kv.create("local"), _rows, optimizer="adam", wd=0.01)


def linear_with_adagrad(mx: Any) -> Any:
    return _trained(mx, _linear(mx), mx.kv.create("local"), _rows, optimizer="adagrad")


def linear_without_lazy_updates(mx: Any) -> Any:
    return _trained(mx, _linear(mx), None, None, momentum=0.9, wd=0.1, lazy_update=False)


def stale_without_prepare(mx: Any) -> Any:
    """A store updates the weight, and nobody pulls its rows."""
    return _trained(mx, _linear(mx), mx.kv.create("local"), None)


def factorization_machine(mx: Any) -> Any:
    def rows(batch: Any) -> Any:
        return {"w": batch.data[0].indices, "v": batch.data[0].indices}

    return _trained(mx, _machine(mx), mx.kv.create("local"), rows, learning_rate=0.1)


def factorization_machine_on_the_device(mx: Any) -> Any:
    return _trained(mx, _machine(mx), None, None, learning_rate=0.1, momentum=0.5, wd=0.01)


def fitted(mx: Any) -> Any:
    batches, seen = _batches(mx), []
    module = mx.mod.Module(_linear(mx), ["data"], ["softmax_label"])

    def rows(batch: Any) -> Any:
        seen.append(sorted(set(batch.data[0].indices.asnumpy().tolist())))
        return _rows(batch)

    module.fit(
        batches,
        eval_data=batches,
        kvstore=mx.kv.create("local"),
        optimizer_params={"learning_rate": 0.5},
        initializer=mx.init.One(),
        num_epoch=2,
        sparse_row_id_fn=rows,
    )
    score = module.score(batches, "acc", sparse_row_id_fn=rows)
    predicted = module.predict(batches, sparse_row_id_fn=rows).asnumpy()
    return [seen, {n: _parts(a) for n, a in module.get_params()[0].items()}, [list(s) for s in score], predicted]


def initialized(mx: Any) -> Any:
    """What initializers store of row-sparse parameters: which rows, and for constant ones also their values."""
    batches, out = _batches(mx), {}
    for name in ("Zero", "One", "Uniform", "Normal", "Xavier", "Orthogonal", "Constant"):
        module = mx.mod.Module(_linear(mx), ["data"], ["softmax_label"])
        module.bind(batches.provide_data, batches.provide_label)
        maker = getattr(mx.init, name)
        try:
            module.init_params(maker(0.5) if name == "Constant" else maker())
            found = module.get_params()[0]["weight"]
            out[name] = _parts(found) if name in ("Zero", "One", "Constant") else _parts(found)[:2]
        except Exception:
            out[name] = "raises"
    return out


def given_parameters(mx: Any) -> Any:
    """Dense arrays for row-sparse parameters and the reverse."""
    batches, out = _batches(mx), []
    row = mx.nd.sparse.row_sparse_array(([[1.0, 2]], [3]), shape=(COLUMNS, 2))
    for weight, given in (("row_sparse", row), ("default", row), ("row_sparse", mx.nd.ones((COLUMNS, 2)))):
        module = mx.mod.Module(_linear(mx, weight=weight), ["data"], ["softmax_label"])
        module.bind(batches.provide_data, batches.provide_label)
        module.init_params(arg_params={"weight": given, "bias": mx.nd.ones((2,))}, aux_params={})
        out.append([_parts(module.get_params()[0]["weight"]), _parts(module._exec_group.param_arrays[0][0])])
        module.set_params({"weight": given * 2, "bias": mx.nd.ones((2,))}, {})
        out.append(_parts(module.get_params()[0]["weight"]))
    return out


def saved_and_loaded(mx: Any) -> Any:
    batches = _batches(mx)
    module = _bound(mx, _linear(mx), batches)
    with tempfile.TemporaryDirectory() as folder:
        prefix = os.path.join(folder, "m")
        module.save_checkpoint(prefix, 1)
        symbol, params, _ = mx.model.load_checkpoint(prefix, 1)
        new = mx.mod.Module.load(prefix, 1, data_names=["data"], label_names=["softmax_label"])
        new.bind(batches.provide_data, batches.provide_label)
        batch = next(iter(batches))
        new.forward(batch, is_train=False)
        stypes = {n: a.get("__storage_type__") for n, a in sorted(symbol.attr_dict().items())}
        return [stypes, {n: _parts(a) for n, a in sorted(params.items())}, new.get_outputs()[0].asnumpy()]


def what_prepare_refuses(mx: Any) -> Any:
    batches = _batches(mx)
    module = _bound(mx, _linear(mx), batches)
    batch = next(iter(batches))
    out = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module.init_optimizer(kvstore=None)
        module.prepare(batch, sparse_row_id_fn=_rows)  # a warning
        module.init_optimizer(kvstore=mx.kv.create("local"), force_init=True)
        module.prepare(batch)
        out.append(_parts(module._exec_group.param_arrays[0][0])[:2])
        module.prepare(batch, sparse_row_id_fn=lambda b: {"bias": b.data[0].indices})  # a warning
        out.append(fails(lambda: module.prepare(batch, sparse_row_id_fn=lambda b: b.data[0].indices)))
        out.append(fails(lambda: module.prepare(batch, sparse_row_id_fn=lambda b: {"other": b.data[0].indices})))
        module.prepare(batch, sparse_row_id_fn=_rows)
        out.append(_parts(module._exec_group.param_arrays[0][0])[:2])
    return out


def of_dense_iterator(mx: Any) -> Any:
    """NDArrayIter over a csr matrix, of which the module makes csr batches again."""
    iterator = mx.io.NDArrayIter(mx.nd.array(DENSE).tostype("csr"), LABEL, BATCH, last_batch_handle="discard")
    module = _bound(mx, _linear(mx), iterator)
    out = []
    for batch in iterator:
        module.forward(batch, is_train=False)
        out.append([module._exec_group.execs[0].arg_dict["data"].stype, module.get_outputs()[0].asnumpy().tolist()])
    return out


def gradients_of_inputs(mx: Any) -> Any:
    batches = _batches(mx)
    module = _bound(mx, _linear(mx, data="default"), batches, inputs_need_grad=True)
    batch = next(iter(batches))
    module.forward(batch, is_train=True)
    module.backward()
    return [_parts(module.get_input_grads()[0]), _parts(module._exec_group.grad_arrays[0][0])]


def wide_and_deep(mx: Any) -> Any:
    """A linear model of sparse features beside embeddings of categories, as in MXNet's example of 2018."""
    csr = mx.sym.Variable("csr_data", stype="csr")
    weight = mx.sym.Variable("linear_weight", stype="row_sparse", shape=(COLUMNS, 2))
    wide = mx.sym.broadcast_add(mx.sym.sparse.dot(csr, weight), mx.sym.Variable("linear_bias", shape=(2,)))
    dense = mx.sym.Variable("dns_data")
    parts = mx.sym.SliceChannel(dense, num_outputs=3)
    hidden = [
        mx.sym.Embedding(parts[k], mx.sym.Variable(f"embed_{k}_weight", stype="row_sparse"), input_dim=5, output_dim=2, sparse_grad=True)
        for k in range(2)
    ]
    flat = [mx.sym.reshape(h, shape=(-1, 2)) for h in hidden] + [parts[2]]
    deep = mx.sym.FullyConnected(mx.sym.Concat(*flat, dim=1), num_hidden=2, name="fc")
    symbol = mx.sym.SoftmaxOutput(mx.sym.elemwise_add(wide, deep), mx.sym.Variable("softmax_label"), name="model")
    module = mx.mod.Module(symbol, ["csr_data", "dns_data"], ["softmax_label"])
    module.bind([("csr_data", (BATCH, COLUMNS)), ("dns_data", (BATCH, 3))], [("softmax_label", (BATCH,))])
    module.init_params(mx.init.Zero(), arg_params=_params(mx, module), aux_params={})
    module.init_optimizer(kvstore=None, optimizer="adam", optimizer_params={"learning_rate": 0.1})
    other = np.stack([np.arange(ROWS) % 4, np.arange(ROWS) % 3 + 1, DENSE[:, 0]], axis=1)
    out = [{n: a.stype for n, a in _on_device(module, "grad_arrays").items()}]
    for k in range(0, ROWS, BATCH):
        data = [mx.nd.array(DENSE[k : k + BATCH]).tostype("csr"), mx.nd.array(other[k : k + BATCH])]
        module.forward_backward(mx.io.DataBatch(data, [mx.nd.array(LABEL[k : k + BATCH])]))
        module.update()
        out.append(module.get_outputs()[0].asnumpy())
    return [*out, {n: _parts(a) for n, a in sorted(module.get_params()[0].items())}]


def on_two_devices(mx: Any) -> Any:
    """A batch split between two devices, which have the rows of their halves or all of them."""
    out = []
    for store, rows_of in (("local", _rows), ("local", None), (None, None)):
        batches = _batches(mx)
        module = mx.mod.Module(_linear(mx), ["data"], ["softmax_label"], context=[mx.cpu(0), mx.cpu(1)])
        module.bind(batches.provide_data, batches.provide_label)
        module.init_params(mx.init.Zero(), arg_params=_params(mx, module), aux_params={})
        module.init_optimizer(kvstore=store, optimizer_params={"learning_rate": 0.5, "momentum": 0.9})
        for batch in batches:
            module.prepare(batch, sparse_row_id_fn=rows_of)
            module.forward_backward(batch)
            module.update()
        out.append({n: _parts(a) for n, a in sorted(module.get_params()[0].items())})
    return out
