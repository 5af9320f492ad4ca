"""Careless habits of whole scripts: names, files, buckets, data sets, callbacks."""

from __future__ import annotations

import logging
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

ROWS = np.arange(12, dtype="float32").reshape(6, 2) / 10


def seed_as_text(mx: Any) -> Any:
    return mx.random.seed("3")


def seed_as_a_float(mx: Any) -> Any:
    return mx.random.seed(3.0)


def seed_of_a_numpy_integer(mx: Any) -> Any:
    return mx.random.seed(np.int64(3))


def negative_seed(mx: Any) -> Any:
    return mx.random.seed(-3)


def ragged_array(mx: Any) -> Any:
    return mx.nd.array([[1, 2], [3]]).shape


def array_of_strings(mx: Any) -> Any:
    return mx.nd.array(["1", "2"])


def array_of_a_number(mx: Any) -> Any:
    return mx.nd.array(3)


def array_of_a_tuple(mx: Any) -> Any:
    return mx.nd.array((1, 2), dtype=float)


def array_of_bools(mx: Any) -> Any:
    return [mx.nd.array([True, False]), mx.nd.array(np.array([True, False]))]


def array_of_float64(mx: Any) -> Any:
    return [mx.nd.array(np.ones(2)), mx.nd.array(np.ones(2, "int64")), mx.nd.array(np.float64(2))]


def dtype_of_python(mx: Any) -> Any:
    return [mx.nd.zeros((1,), dtype=int).dtype.__name__, mx.nd.zeros((1,), dtype=float).dtype.__name__, mx.nd.ones((1,), dtype=bool)]


def astype_of_none(mx: Any) -> Any:
    return mx.nd.ones((2,)).astype(None)


def context_as_text(mx: Any) -> Any:
    return mx.nd.ones((2,), ctx="cpu")


def context_of_text_number(mx: Any) -> Any:
    return mx.nd.ones((2,)).as_in_context("cpu(0)")


def cpu_of_another_number(mx: Any) -> Any:
    x = mx.nd.ones((2,), ctx=mx.cpu(7))
    return [str(x.context), x + mx.nd.ones((2,), ctx=mx.cpu(7))]


def operands_on_two_cpus(mx: Any) -> Any:
    return mx.nd.ones((2,), ctx=mx.cpu(0)) + mx.nd.ones((2,), ctx=mx.cpu(1))


def save_of_a_tuple(mx: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "a")
        mx.nd.save(path, (mx.nd.ones((1,)),))
        return mx.nd.load(path)


def save_of_an_array(mx: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "a")
        mx.nd.save(path, mx.nd.ones((1,)))
        return mx.nd.load(path)


def save_of_numpy(mx: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        mx.nd.save(str(Path(folder) / "a"), {"a": np.ones(1)})


def save_of_nothing(mx: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "a")
        mx.nd.save(path, {})
        return [len(mx.nd.load(path))]


def load_of_a_missing_file(mx: Any) -> Any:
    return mx.nd.load("/nowhere/at/all")


def symbol_of_a_missing_file(mx: Any) -> Any:
    return mx.sym.load("/nowhere/at/all")


def checkpoint_missing(mx: Any) -> Any:
    return mx.model.load_checkpoint("/nowhere/at/all", 3)


def out_of_another_dtype(mx: Any) -> Any:
    out = mx.nd.zeros((2,), dtype="float64")
    return mx.nd.sqrt(mx.nd.ones((2,)), out=out)


def out_of_another_shape(mx: Any) -> Any:
    out = mx.nd.zeros((3,))
    return mx.nd.sqrt(mx.nd.ones((2,)), out=out)


def assignment_of_a_list(mx: Any) -> Any:
    x = mx.nd.zeros((2, 2))
    x[:] = [[1, 2], [3, 4]]
    x[0] = [5, 6]
    return x


def assignment_of_another_shape(mx: Any) -> Any:
    x = mx.nd.zeros((2, 2))
    x[:] = mx.nd.ones((3,))
    return x


def assignment_of_another_dtype(mx: Any) -> Any:
    x = mx.nd.zeros((2, 2))
    x[:] = mx.nd.ones((2, 2), dtype="int32")
    x[1] = np.array([1.5, 2.5])
    return x


def assignment_of_a_column(mx: Any) -> Any:
    x = mx.nd.zeros((2, 2))
    x[:, 0] = mx.nd.ones((2, 1))
    return x


def index_beyond(mx: Any) -> Any:
    return mx.nd.arange(3)[1:10]


def index_with_a_float_array(mx: Any) -> Any:
    return mx.nd.arange(5)[mx.nd.array([0, 2])]


def index_with_a_list_of_floats(mx: Any) -> Any:
    x = mx.nd.arange(5)
    x[[1.0, 3.0]] = 9
    return [x[[0.0, 2.0]], x[[[0.0, 1.0], [2.0, 3.0]]]]


def index_with_fractions(mx: Any) -> Any:
    return mx.nd.arange(5)[[0.6, -1.5]]


def iteration_over_rows(mx: Any) -> Any:
    return list(mx.nd.array([[1, 2], [3, 4]]))


def length_of_a_scalar(mx: Any) -> Any:
    return len(mx.nd.array([3]))


def truth_of_one(mx: Any) -> Any:
    return [bool(mx.nd.array([3])), bool(mx.nd.array([[0]]))]


def comparison_with_none(mx: Any) -> Any:
    x = mx.nd.array([3])
    return [x is None, x == None]  # noqa: E711


def power_of_a_negative(mx: Any) -> Any:
    return [str(v) for v in (mx.nd.array([-8]) ** (1 / 3)).asnumpy()]


def division_of_integers(mx: Any) -> Any:
    return mx.nd.array([7, -7], dtype="int32") / 2


def mean_of_integers(mx: Any) -> Any:
    return mx.nd.array([1, 2], dtype="int32").mean()


def softmax_of_integers(mx: Any) -> Any:
    return mx.nd.softmax(mx.nd.array([1, 2], dtype="int32"))


def take_beyond(mx: Any) -> Any:
    return mx.nd.take(mx.nd.arange(3), mx.nd.array([-1, 5]))


def embedding_beyond(mx: Any) -> Any:
    return mx.nd.Embedding(mx.nd.array([-1, 1, 9]), mx.nd.arange(6).reshape((3, 2)), input_dim=3, output_dim=2)


def one_hot_beyond(mx: Any) -> Any:
    return mx.nd.one_hot(mx.nd.array([-1, 1, 9]), 3)


def pick_beyond(mx: Any) -> Any:
    return mx.nd.pick(mx.nd.arange(6).reshape((2, 3)), mx.nd.array([-1, 9]))


def topk_of_too_many(mx: Any) -> Any:
    return mx.nd.topk(mx.nd.arange(3), k=5)


def reshape_of_another_size(mx: Any) -> Any:
    return mx.nd.arange(6).reshape((4, 2))


def softmax_output_of_labels_beyond(mx: Any) -> Any:
    return mx.nd.SoftmaxOutput(mx.nd.ones((2, 2)), mx.nd.array([0, 5]))


def convolution_of_another_channel_number(mx: Any) -> Any:
    return mx.nd.Convolution(mx.nd.ones((1, 3, 4, 4)), mx.nd.ones((2, 1, 2, 2)), no_bias=True, kernel=(2, 2), num_filter=2)


def _symbol(mx: Any, key: int) -> Any:
    data = mx.sym.Variable("data")
    net = mx.sym.FullyConnected(mx.sym.sum(data, axis=1, keepdims=True), num_hidden=2, name="fc")
    return mx.sym.SoftmaxOutput(net, name="softmax"), ("data",), ("softmax_label",)


def buckets_of_a_new_key(mx: Any) -> Any:
    mod = mx.mod.BucketingModule(lambda key: _symbol(mx, key), default_bucket_key=4)
    mod.bind([("data", (2, 4))], [("softmax_label", (2,))])
    mod.init_params(mx.init.One())
    mod.init_optimizer(optimizer_params={"learning_rate": 0.5})
    for key in (4, 2, 7):
        data = [mx.nd.ones((2, key))]
        batch = mx.io.DataBatch(
            data, [mx.nd.array([0, 1])], bucket_key=key, provide_data=[("data", (2, key))], provide_label=[("softmax_label", (2,))]
        )
        mod.forward(batch, is_train=True)
        mod.backward()
        mod.update()
    return mod.get_params()[0]


def buckets_without_a_default_key(mx: Any) -> Any:
    return mx.mod.BucketingModule(lambda key: _symbol(mx, key))


def fit_with_a_none_metric(mx: Any) -> Any:
    net = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc"), name="softmax")
    mod = mx.mod.Module(net)
    mod.fit(mx.io.NDArrayIter(ROWS, np.arange(6) % 3, 2), num_epoch=1, eval_metric=None, initializer=mx.init.One())


def fit_with_callbacks(mx: Any) -> Any:
    seen = []
    net = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc"), name="softmax")
    mod = mx.mod.Module(net, logger=logging)
    mod.fit(
        mx.io.NDArrayIter(ROWS, np.arange(6) % 3, 2),
        eval_data=mx.io.NDArrayIter(ROWS, np.arange(6) % 3, 4),
        eval_metric=["acc", mx.metric.CrossEntropy()],
        num_epoch=1,
        initializer=mx.init.One(),
        batch_end_callback=[lambda p: seen.append(p.nbatch), mx.callback.Speedometer(2, 2, auto_reset=False)],
        epoch_end_callback=lambda *a: seen.append(len(a)),
        kvstore="device",
    )
    return seen


def predict_of_merged_batches(mx: Any) -> Any:
    mod = mx.mod.Module(mx.sym.Variable("data") * 2, label_names=[])
    mod.bind([("data", (4, 2))], for_training=False)
    mod.init_params()
    return [mod.predict(mx.io.NDArrayIter(ROWS, None, 4)), len(mod.predict(mx.io.NDArrayIter(ROWS, None, 4), merge_batches=False))]


def predict_with_labels_beside(mx: Any) -> Any:
    mod = mx.mod.Module(mx.sym.Variable("data") * 2, label_names=None)
    mod.bind([("data", (3, 2))], for_training=False)
    mod.init_params()
    return mod.predict(mx.io.NDArrayIter(ROWS, np.arange(6), 3))


def get_params_of_an_uninitialized_module(mx: Any) -> Any:
    mod = mx.mod.Module(mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2), label_names=None)
    mod.bind([("data", (3, 2))])
    return mod.get_params()


def dataset_of_lists(mx: Any) -> Any:
    data = mx.gluon.data.ArrayDataset([[1, 2], [3, 4], [5, 6]], [0, 1, 0])
    return [[np.asarray(x).tolist() for x in batch] for batch in (b if isinstance(b, list) else [b] for b in _loaded(mx, data))]


def _loaded(mx: Any, data: Any, **options: Any) -> Any:
    return [[x.asnumpy() for x in b] for b in mx.gluon.data.DataLoader(data, batch_size=2, **options)]


def dataset_of_mixed_dtypes(mx: Any) -> Any:
    data = mx.gluon.data.ArrayDataset(ROWS, np.arange(6))
    return [[str(x.dtype) for x in batch] for batch in _loaded(mx, data)]


def loader_with_last_batches(mx: Any) -> Any:
    data = mx.gluon.data.ArrayDataset(np.arange(5, dtype="float32"), np.arange(5))
    return [len(_loaded(mx, data, last_batch=how)) for how in ("keep", "discard", "rollover")]


def loader_with_an_unknown_last_batch(mx: Any) -> Any:
    return len(_loaded(mx, mx.gluon.data.ArrayDataset(np.arange(5), np.arange(5)), last_batch="no_such"))


def loader_with_unknown_keyword(mx: Any) -> Any:
    return mx.gluon.data.DataLoader(mx.gluon.data.ArrayDataset([1, 2]), batch_size=1, foo=1)


def loader_without_whole_batches(mx: Any) -> Any:
    return len(mx.gluon.data.DataLoader(mx.gluon.data.ArrayDataset(np.arange(3)), 5, last_batch="discard"))


def transformed_dataset(mx: Any) -> Any:
    data = mx.gluon.data.ArrayDataset(ROWS, np.arange(6)).transform(lambda x, y: (x * 2, y + 1), lazy=False)
    return [len(data), [np.asarray(v).tolist() for v in data[1]]]


def transform_first_of_one(mx: Any) -> Any:
    return mx.gluon.data.SimpleDataset([1, 2]).transform_first(lambda x: x * 2)[1]


def collect_params_by_pattern(mx: Any) -> Any:
    net = mx.gluon.nn.HybridSequential(prefix="n_")
    with net.name_scope():
        net.add(mx.gluon.nn.Dense(2, in_units=2), mx.gluon.nn.BatchNorm(in_channels=2))
    return [sorted(net.collect_params(p).keys()) for p in (".*weight", "n_dense0_bias|.*gamma", "nothing")]


def initializer_of_one_layer(mx: Any) -> Any:
    net = mx.gluon.nn.Dense(2, in_units=2, weight_initializer="zeros", bias_initializer=mx.init.One())
    net.initialize("ones")
    return net(mx.nd.ones((1, 2)))


def input_of_another_width(mx: Any) -> Any:
    net = mx.gluon.nn.Dense(2, in_units=2)
    net.initialize()
    return net(mx.nd.ones((1, 3)))


def input_units_unknown(mx: Any) -> Any:
    net = mx.gluon.nn.Dense(2, in_units=0)
    net.initialize(mx.init.One())
    return net(mx.nd.ones((1, 3)))


def loss_called_with_weights(mx: Any) -> Any:
    loss = mx.gluon.loss.L2Loss(weight=2.0)
    return [loss(mx.nd.ones((2, 2)), mx.nd.zeros((2, 2)), mx.nd.array([[1], [0]])), loss(mx.nd.ones((2, 2)), mx.nd.zeros((4,)))]


def softmax_loss_of_one_label(mx: Any) -> Any:
    return mx.gluon.loss.SoftmaxCELoss()(mx.nd.ones((3, 2)), mx.nd.array([1]))


def rnn_without_states(mx: Any) -> Any:
    net = mx.gluon.rnn.LSTM(2, input_size=2)
    net.initialize(mx.init.One())
    return net(mx.nd.ones((3, 1, 2)))


def rnn_with_another_state(mx: Any) -> Any:
    net = mx.gluon.rnn.GRU(2, input_size=2)
    net.initialize(mx.init.One())
    return net(mx.nd.ones((3, 1, 2)), mx.nd.zeros((1, 4, 2)))


def export_before_a_call(mx: Any) -> Any:
    net = mx.gluon.nn.HybridSequential()
    net.add(mx.gluon.nn.Dense(2, in_units=2))
    net.initialize()
    net.hybridize()
    with tempfile.TemporaryDirectory() as folder:
        net.export(str(Path(folder) / "net"))


def import_of_missing_parameters(mx: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "net-symbol.json")
        mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc").save(path)
        return sorted(mx.gluon.SymbolBlock.imports(path, "data").collect_params().keys())


def import_of_unknown_inputs(mx: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "net-symbol.json")
        mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc").save(path)
        return sorted(mx.gluon.SymbolBlock.imports(path, ["data", "more"]).collect_params().keys())


def learning_rate_of_zero(mx: Any) -> Any:
    opt = mx.optimizer.create("sgd", learning_rate=0)
    w = mx.nd.ones((2,))
    opt.update(0, w, w, None)
    return w


def clip_gradient_of_zero(mx: Any) -> Any:
    opt = mx.optimizer.create("sgd", learning_rate=1, clip_gradient=0)
    w = mx.nd.ones((2,))
    opt.update(0, w, w, None)
    return w


def names_as_a_single_text(mx: Any) -> Any:
    return mx.metric.Accuracy(output_names="softmax_output").output_names


def module_names_as_a_single_text(mx: Any) -> Any:
    return mx.mod.Module(mx.sym.Variable("data") * 2, data_names="data", label_names=None).data_names


def monitor_of_everything(mx: Any) -> Any:
    mod = mx.mod.Module(mx.sym.Variable("data") * 2, label_names=None)
    mod.bind([("data", (3, 2))], for_training=False)
    mod.init_params()
    mod.install_monitor(mx.mon.Monitor(1, pattern="no_such"))
    mod.forward(mx.io.DataBatch([mx.nd.ones((3, 2))]))
    return mod.get_outputs()[0]


def attribute_scope_of_numbers(mx: Any) -> Any:
    with mx.AttrScope(lr_mult=2):
        return mx.sym.Variable("x").attr_dict()


def attribute_scope_of_text(mx: Any) -> Any:
    with mx.AttrScope(ctx_group="a", my="b"):
        return mx.sym.Variable("x").attr_dict()


def unknown_environment(mx: Any) -> Any:
    return mx.util.getenv("MXNET_NO_SUCH") if hasattr(mx.util, "getenv") else None


def profiler_unstarted(mx: Any) -> Any:
    return mx.profiler.dumps() is not None


def engine_of_large_bulks(mx: Any) -> Any:
    with mx.engine.bulk(1000):
        x = mx.nd.ones((2,)) + 1
    return x + 1


def waiting_for_everything(mx: Any) -> Any:
    mx.nd.waitall()
    x = mx.nd.ones((1,))
    x.wait_to_read()
    return x


def custom_operator_unknown(mx: Any) -> Any:
    return mx.nd.Custom(mx.nd.ones((2,)), op_type="no_such")


def custom_operator_without_type(mx: Any) -> Any:
    return mx.nd.Custom(mx.nd.ones((2,)))
