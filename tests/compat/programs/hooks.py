"""Which private methods that a subclass overrides are called, when and with what: each alone in a subclass that notes its calls."""

from __future__ import annotations

import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from tests.oracle_programs import fails

# What these get beyond names and shapes depends on the library: devices are told by their text, modules and functions by a word.


def told(value: Any) -> Any:
    """An argument as text."""
    kinds = [cls.__name__ for cls in type(value).__mro__]
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return round(value, 4)
    if isinstance(value, dict):
        return {str(key): told(item) for key, item in value.items()}
    if "DataDesc" in kinds:
        return [value.name, list(value.shape)]
    if isinstance(value, (list, tuple)):
        return [told(item) for item in value]
    if "NDArray" in kinds:
        return f"array {tuple(value.shape)}"
    words = {"Context": str, "Device": str, "Parameter": lambda p: p.name, "Symbol": lambda _: "symbol", "module": lambda _: "module"}
    word = next((words[kind] for kind in kinds if kind in words), None)
    return word(value) if word else "list" if value is list else "other"


class Notes(list[Any]):
    """The calls of a method, and what the program did between them."""

    def of(self, base: Any, hook: str) -> Any:
        """A subclass that notes the calls of a method and goes on to the base's."""

        def noted(owner: Any, *args: Any, **kwargs: Any) -> Any:
            self.append([hook, told(args), told(kwargs)])
            return getattr(super(subclass, owner), hook)(*args, **kwargs)

        subclass: Any = type(base.__name__, (base,), {hook: noted})
        return subclass


def _noted(base: Any, hooks: str, program: Any) -> Any:
    """What a program with a subclass notes, for each method."""
    found = {}
    for hook in hooks.split():
        notes = Notes()
        program(notes.of(base, hook), notes.append)
        found[hook] = notes
    return found


def _backward(mx: Any, net: Any, contexts: Any) -> None:
    with mx.autograd.record():
        outputs = [net(mx.nd.ones((1, 3), ctx=device)).sum() for device in contexts]
    for output in outputs:
        output.backward()


TRAINER = "_check_contexts _init_optimizer _reset_kvstore _init_kvstore _init_params _check_and_rescale_grad _allreduce_grads _update"


def _train(mx: Any, trainer: Any, note: Any, count: int, updates: bool | None, units: int) -> None:
    contexts = [mx.cpu(k) for k in range(count)]
    net = mx.gluon.nn.Dense(2, in_units=units, prefix="d_")
    net.initialize(mx.init.One(), ctx=contexts)
    made = trainer(net.collect_params(), "sgd", {"learning_rate": 0.1}, update_on_kvstore=updates)
    for _ in range(2):
        _backward(mx, net, contexts)
        note("step")
        made.step(2)
    if not made._update_on_kvstore:
        _backward(mx, net, contexts)
        note("sum")
        made.allreduce_grads()
        note("update")
        made.update(1)
    with tempfile.TemporaryDirectory() as folder:
        file = str(Path(folder) / "states")
        note("files")
        made.save_states(file)
        made.load_states(file)
    note("new value")
    net.weight.set_data(net.weight.data(contexts[0]) * 2)
    _backward(mx, net, contexts)
    made.step(1, ignore_stale_grad=True)


def trainers(mx: Any) -> Any:
    kinds = [(1, None, 3), (2, None, 3), (2, False, 3), (2, None, 0)]
    return [_noted(mx.gluon.Trainer, TRAINER, lambda trainer, note, kind=kind: _train(mx, trainer, note, *kind)) for kind in kinds]


def a_trainer_that_sums_without_a_store(mx: Any) -> Any:
    """As those of libraries for distributed training do."""

    class Doubled(mx.gluon.Trainer):
        def __init__(self, params: Any) -> None:
            super().__init__(params, "sgd", {"learning_rate": 1.0}, kvstore=None)
            self._scale /= 2

        def _allreduce_grads(self) -> None:
            for param in self._params:
                if param.grad_req != "null":
                    for grad in param.list_grad():
                        grad *= 10

    net = mx.gluon.nn.Dense(1, in_units=3, use_bias=False)
    net.initialize(mx.init.One())
    trainer = Doubled(net.collect_params())
    _backward(mx, net, [mx.cpu()])
    trainer.step(1)
    stepped = net.weight.data().copy()
    _backward(mx, net, [mx.cpu()])
    trainer.allreduce_grads()
    trainer.update(1)
    return stepped, net.weight.data()


PARAMETER = "_finish_deferred_init _init_impl _init_grad _load_init _reduce _set_trainer"


def _use_parameter(mx: Any, kind: Any, note: Any) -> None:
    devices = [mx.cpu(0), mx.cpu(1)]
    param = kind("w", shape=(2, 3))
    param.initialize(mx.init.One(), ctx=devices)
    note("arrays")
    param.data(mx.cpu(1))
    param.list_data()
    param.list_grad()
    param.list_ctx()
    param.set_data(mx.nd.zeros((2, 3)))
    param.zero_grad()
    param.var()
    param.cast("float64")
    note("requests")
    param.grad_req = "add"
    note("devices")
    param.reset_ctx(mx.cpu(1))
    note("anew")
    param.initialize(mx.init.One(), force_reinit=True)
    note("late")
    late = kind("late", shape=(0, 3), allow_deferred_init=True)
    late.initialize(mx.init.One(), ctx=devices)
    late.shape = (2, 3)
    late._finish_deferred_init()
    note("files")
    params = mx.gluon.ParameterDict()
    params._params["late"] = late
    fresh = mx.gluon.ParameterDict()
    fresh._params["late"] = kind("late", shape=(2, 3))
    with tempfile.TemporaryDirectory() as folder:
        file = str(Path(folder) / "params")
        params.save(file)
        fresh.load(file, ctx=mx.cpu(1))
    note("trainer")
    mx.gluon.Trainer(params, "sgd")


def parameters(mx: Any) -> Any:
    return _noted(mx.gluon.Parameter, PARAMETER, lambda kind, note: _use_parameter(mx, kind, note))


def one_array_of_a_parameter(mx: Any) -> Any:
    """What ``_check_and_get`` returns is what the parameter's methods and layers get."""

    class Doubled(mx.gluon.Parameter):
        def _check_and_get(self, arr_list: Any, ctx: Any) -> Any:
            found = super()._check_and_get(arr_list, ctx)
            return [array * 2 for array in found] if isinstance(found, list) else found * 2

    class Layer(mx.gluon.HybridBlock):
        def __init__(self) -> None:
            super().__init__(prefix="layer_")
            self.params._params["layer_w"] = Doubled("layer_w", shape=(2,))
            self.w = self.params._params["layer_w"]

        def hybrid_forward(self, F: Any, x: Any, w: Any) -> Any:
            return x * w

    layer = Layer()
    layer.initialize(mx.init.One())
    found = [layer.w.data(), layer.w.list_data()[0], layer(mx.nd.ones(2))]
    layer.hybridize()
    found.append(layer(mx.nd.ones(2)))
    layer.w.grad()[:] = 3
    return [*found, layer.w.grad(mx.cpu()), fails(lambda: layer.w.data(mx.cpu(3))), fails(lambda: Doubled("q").data())]


GRAPH = "_get_graph _build_cache _call_cached_op _deferred_infer_shape _infer_attrs _clear_cached_op"


def _use_block(mx: Any, make: Any, note: Any) -> None:
    for hybridizes in (False, True):
        note("new")
        net = make()
        net.initialize(mx.init.One())
        if hybridizes:
            net.hybridize()
        for rows in (2, 2, 3):
            note("call")
            net(mx.nd.ones((rows, 3)))
        note("again")
        net.hybridize(hybridizes)
        net(mx.nd.ones((2, 3)))
        note("dtype")
        net.cast("float64")
        net(mx.nd.ones((2, 3), dtype="float64"))
        note("symbol")
        net(mx.sym.var("x"))
        note("shapes")
        other = make()
        other.initialize()
        other.infer_shape(mx.nd.ones((2, 3)))
        other.infer_type(mx.nd.ones((2, 3)))
        note("child")
        net.register_child(mx.gluon.nn.Dense(2, prefix="child_"))


def graphs_of_blocks(mx: Any) -> Any:
    def sequence(kind: Any) -> Any:
        net = kind(prefix="net_")
        net.add(mx.gluon.nn.Dense(3, prefix="a_"), mx.gluon.nn.Dense(2, prefix="b_"))
        return net

    nn = mx.gluon.nn
    return (
        _noted(nn.Dense, GRAPH, lambda kind, note: _use_block(mx, lambda: kind(2, prefix="d_"), note)),
        _noted(nn.HybridSequential, GRAPH, lambda kind, note: _use_block(mx, lambda: sequence(kind), note)),
    )


def nested_inputs_of_blocks(mx: Any) -> Any:
    def use(kind: Any, note: Any) -> None:
        cell = kind(2, prefix="c_")
        cell.initialize(mx.init.One())
        cell.hybridize()
        for _ in range(2):
            note("call")
            cell(mx.nd.ones((1, 3)), cell.begin_state(1))

    return _noted(mx.gluon.rnn.GRUCell, "_build_cache _call_cached_op _deferred_infer_shape", use)


def a_graph_that_a_subclass_changes(mx: Any) -> Any:
    class Doubled(mx.gluon.nn.Dense):
        def _get_graph(self, *args: Any) -> Any:
            inputs, out = super()._get_graph(*args)
            return inputs, out * 2

    class Shifted(mx.gluon.nn.Dense):
        def _call_cached_op(self, *args: Any) -> Any:
            return super()._call_cached_op(*args) + 1

    found = []
    for kind in (Doubled, Shifted):
        net = kind(1, in_units=3)
        net.initialize(mx.init.One())
        for hybridizes in (False, True):
            if hybridizes:
                net.hybridize()
            found += [net(mx.nd.ones((1, 3))), net(mx.nd.ones((2, 3)))]
    return found


def gates_of_cells(mx: Any) -> Any:
    def use(make: Any, note: Any) -> None:
        cell = make()
        cell.initialize(mx.init.One())
        note("step")
        cell(mx.nd.ones((1, 3)), cell.begin_state(batch_size=1))
        note("unroll")
        cell.unroll(2, mx.nd.ones((1, 2, 3)))

    rnn = mx.gluon.rnn
    kinds = [rnn.RNNCell, rnn.LSTMCell]
    found = [_noted(kind, "_get_activation", lambda own, note: use(lambda: own(2, input_size=3, prefix="c_"), note)) for kind in kinds]
    return found, rnn.RecurrentCell()._get_activation(mx.nd, mx.nd.array([-1, 1]), "softrelu", name="a")


def a_cell_with_another_activation(mx: Any) -> Any:
    class Clipped(mx.gluon.rnn.LSTMCell):
        def _get_activation(self, F: Any, inputs: Any, activation: Any, **options: Any) -> Any:
            return F.clip(inputs, 0, 0.5) if activation == "sigmoid" else super()._get_activation(F, inputs, activation, **options)

    cell = Clipped(2, input_size=3)
    cell.initialize(mx.init.One())
    found = cell(mx.nd.ones((1, 3)), cell.begin_state(1))
    cell.hybridize()
    return found, cell(mx.nd.ones((1, 3)), cell.begin_state(1))


def parts_of_networks(mx: Any) -> Any:
    zoo = mx.gluon.model_zoo.vision
    found = []
    for kind, hook, options in (
        (zoo.ResNetV1, "_make_layer", (zoo.BasicBlockV1, [1, 2], [4, 4, 8])),
        (zoo.ResNetV2, "_make_layer", (zoo.BasicBlockV2, [1, 2], [4, 4, 8])),
        (zoo.VGG, "_make_features", ([1, 2], [4, 8])),
        (mx.gluon.rnn.LSTM, "_register_param", (2, 1)),
    ):
        found.append(_noted(kind, hook, lambda own, note, options=options: note(len(own(*options).collect_params().keys()))))
    for make in (
        lambda own: own(2, input_size=3, prefix="l_"),
        lambda own: own(2, layout="NTC", bidirectional=True, input_size=3, prefix="l_"),
    ):

        def use(own: Any, note: Any, make: Any = make) -> None:
            layer = make(own)
            layer.initialize()
            note(list(layer(mx.nd.ones((2, 4, 3))).shape))

        found.append(_noted(mx.gluon.rnn.GRU, "_forward_kernel", use))
    return found


def cosines(mx: Any) -> Any:
    loss = mx.gluon.loss.CosineEmbeddingLoss
    x = mx.nd.array([[1, 2], [3, 4]])
    return (
        _noted(loss, "_cosine_similarity", lambda own, note: note(own()(x, x, mx.nd.ones(2)).asnumpy().tolist())),
        loss()._cosine_similarity(mx.nd, x, x + 1),
    )


def _fit(mx: Any, options: Any) -> Any:
    estimators = mx.gluon.contrib.estimator
    net = mx.gluon.nn.Dense(2, in_units=2, prefix="e_")
    net.initialize(mx.init.One())
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd")
    estimator = options.pop("kind", estimators.Estimator)(net, mx.gluon.loss.SoftmaxCrossEntropyLoss(), trainer=trainer, **options)
    estimator.logger.handlers.clear()
    return estimator


def parts_of_estimators(mx: Any) -> Any:
    estimators = mx.gluon.contrib.estimator
    data = mx.gluon.data.DataLoader(mx.gluon.data.ArrayDataset(np.ones((4, 2), "float32"), np.zeros(4, "float32")), 2)

    def use(kind: Any, note: Any) -> None:
        estimator = _fit(mx, {"kind": kind})
        note([metric.name for metric in estimator.train_metrics + estimator.val_metrics])
        estimator.fit(data, val_data=data, epochs=1)
        note("evaluate")
        estimator.evaluate(data)

    def run(kind: Any, note: Any) -> None:
        _fit(mx, {"batch_processor": kind()}).fit(data, val_data=data, epochs=1)

    def save(kind: Any, note: Any) -> None:
        with tempfile.TemporaryDirectory() as folder:
            for count in (2, 3):
                note("fit")
                handler = kind(folder, epoch_period=1, resume_from_checkpoint=count == 3)
                _fit(mx, {}).fit(data, epochs=count, event_handlers=[handler])

    added = "_add_default_training_metrics _add_validation_metrics"
    counted = "_prepare_default_handlers _prepare_default_validation_handlers"
    handled = _noted(estimators.Estimator, counted, use)
    return (
        _noted(estimators.Estimator, added, use),
        [[name, len(notes)] for name, notes in handled.items()],
        _noted(estimators.BatchProcessor, "_get_data_and_label", run),
        _noted(estimators.CheckpointHandler, "_save_checkpoint _save_params_and_trainer _resume_from_checkpoint _save_symbol", save),
    )


def corrections_of_gradients(mx: Any) -> Any:
    kind = import_module(f"{mx.__name__}.contrib.svrg_optimization.svrg_module").SVRGModule

    def use(own: Any, note: Any) -> None:
        fc = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1, name="fc")
        module = own(mx.sym.LinearRegressionOutput(fc, mx.sym.var("label"), name="out"), label_names=["label"], update_freq=1)
        data = mx.io.NDArrayIter(np.ones((4, 2), "float32"), np.ones(4, "float32"), 2, label_name="label")
        module.fit(data, num_epoch=1, eval_metric="mse", initializer=mx.init.One(), kvstore="local")
        note(module.get_params()[0]["fc_weight"].shape)

    return _noted(kind, "_update_svrg_gradients _svrg_grads_update_rule", use)


def data_of_a_model(mx: Any) -> Any:
    def use(own: Any, note: Any) -> None:
        fc = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc")
        model = own(mx.sym.SoftmaxOutput(fc, name="softmax"), num_epoch=1, numpy_batch_size=4)
        rows, labels = np.ones((8, 2), "float32"), np.arange(8) % 3
        note("fit")
        model.fit(mx.nd.array(rows), mx.nd.array(labels))
        note("predict")
        model.predict(mx.nd.array(rows))

    return _noted(mx.model.FeedForward, "_init_iter _init_eval_iter", use)


def rows_that_a_trainer_pulls(mx: Any) -> Any:
    def use(own: Any, note: Any) -> None:
        param = mx.gluon.Parameter("w", shape=(5, 2), stype="row_sparse", grad_stype="row_sparse")
        param.initialize(mx.init.One(), ctx=[mx.cpu(0), mx.cpu(1)])
        trainer = own([param], "sgd")
        note("rows")
        rows = param.row_sparse_data(mx.nd.array([0, 2], ctx=mx.cpu(1)))
        note([rows.asnumpy().tolist(), trainer._kv_initialized])
        note("all")
        note(len(param.list_row_sparse_data(mx.nd.array([0, 2]))))
        out = mx.nd.sparse.zeros("row_sparse", (5, 2))
        trainer._row_sparse_pull(param, out, mx.nd.array([1]))
        note(out.asnumpy().tolist())

    return _noted(mx.gluon.Trainer, "_row_sparse_pull", use)


def stores_that_update(mx: Any) -> Any:
    found = []
    for count in (1, 2):
        for kind, wanted in (("default", None), ("row_sparse", None), ("row_sparse", True), ("row_sparse", False)):
            param = mx.gluon.Parameter("w", shape=(5, 2), grad_stype=kind)
            param.initialize(mx.init.One(), ctx=[mx.cpu(k) for k in range(count)])
            if count == 1 and wanted:
                continue
            trainer = mx.gluon.Trainer([param], "sgd", update_on_kvstore=wanted)
            trainer._init_kvstore()
            found.append(bool(trainer._update_on_kvstore))
    return found
