"""Sloppy use of Gluon: surplus keywords, parameters of other names, steps of what has no gradient."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np


def _net(mx: Any, prefix: str = "net_") -> Any:
    net = mx.gluon.nn.HybridSequential(prefix=prefix)
    with net.name_scope():
        net.add(mx.gluon.nn.Dense(3, in_units=2), mx.gluon.nn.Dense(1, in_units=3))
    net.initialize(mx.init.One())
    return net


X = [[1.0, 2.0], [3.0, 4.0]]


def unknown_keyword_of_dense(mx: Any) -> Any:
    return mx.gluon.nn.Dense(3, foo=1)


def unknown_keyword_of_conv2d(mx: Any) -> Any:
    return mx.gluon.nn.Conv2D(3, 3, foo=1)


def unknown_keyword_of_batch_norm(mx: Any) -> Any:
    return mx.gluon.nn.BatchNorm(fix_gamma=True)


def unknown_keyword_of_dropout(mx: Any) -> Any:
    return mx.gluon.nn.Dropout(0.5, foo=1)


def unknown_keyword_of_pooling(mx: Any) -> Any:
    return mx.gluon.nn.MaxPool2D(2, foo=1)


def unknown_keyword_of_average_pooling(mx: Any) -> Any:
    return mx.gluon.nn.AvgPool2D(2, foo=1)


def unknown_keyword_of_embedding(mx: Any) -> Any:
    return mx.gluon.nn.Embedding(3, 2, foo=1)


def unknown_keyword_of_lstm(mx: Any) -> Any:
    return mx.gluon.rnn.LSTM(3, foo=1)


def unknown_keyword_of_a_cell(mx: Any) -> Any:
    return mx.gluon.rnn.LSTMCell(3, foo=1)


def unknown_keyword_of_a_loss(mx: Any) -> Any:
    return mx.gluon.loss.L2Loss(foo=1)


def unknown_keyword_of_softmax_loss(mx: Any) -> Any:
    return mx.gluon.loss.SoftmaxCrossEntropyLoss(foo=1)


def unknown_keyword_of_sequential(mx: Any) -> Any:
    return mx.gluon.nn.Sequential(foo=1)


def unknown_keyword_of_a_parameter(mx: Any) -> Any:
    return mx.gluon.Parameter("weight", shape=(2,), foo=1)


def unknown_keyword_of_get(mx: Any) -> Any:
    return mx.gluon.ParameterDict("a_").get("weight", shape=(2,), foo=1)


def unknown_keyword_of_a_constant(mx: Any) -> Any:
    return mx.gluon.Constant("c", mx.nd.ones((2,)), foo=1)


def unknown_keyword_of_hybridize(mx: Any) -> Any:
    net = _net(mx)
    net.hybridize(foo=1)
    return net(mx.nd.array(X))


def unknown_keyword_of_hybridize_of_a_block(mx: Any) -> Any:
    net = mx.gluon.nn.Sequential()
    net.add(mx.gluon.nn.Dense(1, in_units=2))
    net.initialize(mx.init.One())
    net.hybridize(active=True, foo=1)
    return net(mx.nd.array(X))


def flags_of_hybridize(mx: Any) -> Any:
    net = _net(mx)
    net.hybridize(static_alloc=True, static_shape=True, inline_limit=2, forward_bulk_size=3, backward_bulk_size=4)
    return net(mx.nd.array(X))


def unknown_backend(mx: Any) -> Any:
    net = _net(mx)
    net.hybridize(backend="no_such_backend")
    return net(mx.nd.array(X))


def hybridize_before_initialize(mx: Any) -> Any:
    net = mx.gluon.nn.Dense(1, in_units=2)
    net.hybridize()
    net.initialize(mx.init.One())
    return net(mx.nd.array(X))


def unknown_keyword_of_initialize(mx: Any) -> Any:
    return mx.gluon.nn.Dense(1, in_units=2).initialize(mx.init.One(), foo=1)


def initialize_twice(mx: Any) -> Any:
    net = mx.gluon.nn.Dense(1, in_units=2)
    net.initialize(mx.init.One())
    net.initialize(mx.init.Zero())
    return net(mx.nd.array(X))


def initializer_by_name(mx: Any) -> Any:
    net = mx.gluon.nn.Dense(1, in_units=2)
    net.initialize("ones")
    return net(mx.nd.array(X))


def unknown_initializer(mx: Any) -> Any:
    net = mx.gluon.nn.Dense(1, in_units=2)
    net.initialize("no_such")


def uninitialized(mx: Any) -> Any:
    return mx.gluon.nn.Dense(1, in_units=2)(mx.nd.array(X))


def _saved(mx: Any, folder: str, extra: bool = False, missing: bool = False) -> str:
    path = str(Path(folder) / "net.params")
    arrays = {"0.weight": mx.nd.ones((3, 2)) * 2, "0.bias": mx.nd.ones((3,)), "1.weight": mx.nd.ones((1, 3)), "1.bias": mx.nd.ones((1,))}
    if extra:
        arrays["2.weight"] = mx.nd.ones((1, 1))
    if missing:
        del arrays["1.bias"]
    mx.nd.save(path, arrays)
    return path


def load_extra(mx: Any) -> Any:
    net = _net(mx)
    with tempfile.TemporaryDirectory() as folder:
        net.load_parameters(_saved(mx, folder, extra=True))
    return net(mx.nd.array(X))


def load_extra_ignored(mx: Any) -> Any:
    net = _net(mx)
    with tempfile.TemporaryDirectory() as folder:
        net.load_parameters(_saved(mx, folder, extra=True), ignore_extra=True)
    return net(mx.nd.array(X))


def load_missing(mx: Any) -> Any:
    net = _net(mx)
    with tempfile.TemporaryDirectory() as folder:
        net.load_parameters(_saved(mx, folder, missing=True))
    return net(mx.nd.array(X))


def load_missing_allowed(mx: Any) -> Any:
    net = _net(mx)
    with tempfile.TemporaryDirectory() as folder:
        net.load_parameters(_saved(mx, folder, missing=True), allow_missing=True)
    return net(mx.nd.array(X))


def load_both_allowed(mx: Any) -> Any:
    net = _net(mx)
    with tempfile.TemporaryDirectory() as folder:
        net.load_parameters(_saved(mx, folder, True, True), allow_missing=True, ignore_extra=True)
    return net(mx.nd.array(X))


def load_another_shape(mx: Any) -> Any:
    net = _net(mx)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "net.params")
        mx.nd.save(
            path, {"0.weight": mx.nd.ones((3, 5)), "0.bias": mx.nd.ones((3,)), "1.weight": mx.nd.ones((1, 3)), "1.bias": mx.nd.ones((1,))}
        )
        net.load_parameters(path)
    return net(mx.nd.array(X))


def load_another_dtype(mx: Any) -> Any:
    net = _net(mx)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "net.params")
        mx.nd.save(path, {"0.weight": mx.nd.ones((3, 2), dtype="float64")})
        net.load_parameters(path, allow_missing=True)
    return net(mx.nd.array(X))


def load_another_dtype_cast(mx: Any) -> Any:
    net = _net(mx)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "net.params")
        mx.nd.save(path, {"0.weight": mx.nd.ones((3, 2), dtype="float64")})
        net.load_parameters(path, allow_missing=True, cast_dtype=True)
    return net(mx.nd.array(X))


def load_by_full_names(mx: Any) -> Any:
    net = _net(mx)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "net.params")
        net.collect_params().save(path)
        net.load_parameters(path)
    return net(mx.nd.array(X))


def load_dict_with_extra(mx: Any) -> Any:
    net = _net(mx)
    net.load_dict({"0.weight": mx.nd.zeros((3, 2)), "9.weight": mx.nd.zeros((3, 2))}, allow_missing=True, ignore_extra=True)
    return net(mx.nd.array(X))


def dict_load_with_extra(mx: Any) -> Any:
    net = _net(mx)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "net.params")
        mx.nd.save(path, {"net_dense0_weight": mx.nd.zeros((3, 2)), "other": mx.nd.zeros((3, 2))})
        net.collect_params().load(path, allow_missing=True, ignore_extra=True)
    return net(mx.nd.array(X))


def dict_load_with_prefix(mx: Any) -> Any:
    net = _net(mx)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "net.params")
        mx.nd.save(path, {"dense0_weight": mx.nd.zeros((3, 2))})
        net.collect_params().load(path, allow_missing=True, restore_prefix="net_")
    return net(mx.nd.array(X))


def step_without_backward(mx: Any) -> Any:
    net = _net(mx)
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd")
    trainer.step(1)


def step_ignoring_stale(mx: Any) -> Any:
    net = _net(mx)
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd")
    trainer.step(1, ignore_stale_grad=True)
    return net(mx.nd.array(X))


def unknown_optimizer_parameter(mx: Any) -> Any:
    return mx.gluon.Trainer(_net(mx).collect_params(), "sgd", {"learning_rate": 0.1, "foo": 1}) and None


def unknown_optimizer(mx: Any) -> Any:
    return mx.gluon.Trainer(_net(mx).collect_params(), "no_such") and None


def optimizer_and_parameters(mx: Any) -> Any:
    return mx.gluon.Trainer(_net(mx).collect_params(), mx.optimizer.SGD(), {"learning_rate": 0.1}) and None


def trainer_of_a_network(mx: Any) -> Any:
    return mx.gluon.Trainer(_net(mx), "sgd") and None


def trainer_of_a_list(mx: Any) -> Any:
    net = _net(mx)
    trainer = mx.gluon.Trainer(list(net.collect_params().values()), "sgd", {"learning_rate": 0.5})
    with mx.autograd.record():
        loss = net(mx.nd.array(X)).sum()
    loss.backward()
    trainer.step(2)
    return net(mx.nd.array(X))


def set_learning_rate_of_a_schedule(mx: Any) -> Any:
    trainer = mx.gluon.Trainer(_net(mx).collect_params(), "sgd", {"lr_scheduler": mx.lr_scheduler.FactorScheduler(2, 0.5)})
    trainer.set_learning_rate(0.3)
    return trainer.learning_rate


def kvstore_unknown(mx: Any) -> Any:
    net = _net(mx)
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5}, kvstore="no_such")
    with mx.autograd.record():
        loss = net(mx.nd.array(X)).sum()
    loss.backward()
    trainer.step(2)
    return net(mx.nd.array(X))


def labels_of_another_shape(mx: Any) -> Any:
    return mx.gluon.loss.L2Loss()(mx.nd.array(X), mx.nd.array([1, 2, 3, 4]))


def labels_as_integers(mx: Any) -> Any:
    return mx.gluon.loss.SoftmaxCrossEntropyLoss()(mx.nd.array(X), mx.nd.array([0, 1], dtype="int32"))


def labels_as_a_column(mx: Any) -> Any:
    return mx.gluon.loss.SoftmaxCrossEntropyLoss()(mx.nd.array(X), mx.nd.array([[0], [1]]))


def numpy_input(mx: Any) -> Any:
    return _net(mx)(np.array(X))


def integer_input(mx: Any) -> Any:
    return _net(mx)(mx.nd.array(X, dtype="int32"))


def surplus_input(mx: Any) -> Any:
    return _net(mx)(mx.nd.array(X), mx.nd.array(X))


def datasets_of_two_lengths(mx: Any) -> Any:
    return len(mx.gluon.data.ArrayDataset([1, 2, 3], [1, 2]))


def loader_without_batch_size(mx: Any) -> Any:
    return mx.gluon.data.DataLoader(mx.gluon.data.ArrayDataset([1, 2, 3])) and None


def loader_with_both(mx: Any) -> Any:
    data = mx.gluon.data.ArrayDataset([1, 2, 3])
    return mx.gluon.data.DataLoader(data, batch_size=2, shuffle=True, sampler=mx.gluon.data.SequentialSampler(3)) and None


def loader_with_pinned_memory(mx: Any) -> Any:
    data = mx.gluon.data.ArrayDataset(np.arange(3, dtype="float32"))
    return list(mx.gluon.data.DataLoader(data, batch_size=2, pin_memory=False, prefetch=3, thread_pool=True, num_workers=0))


def split_unevenly(mx: Any) -> Any:
    return mx.gluon.utils.split_and_load(mx.nd.arange(5), [mx.cpu(0), mx.cpu(1)])


def split_unevenly_allowed(mx: Any) -> Any:
    return mx.gluon.utils.split_and_load(mx.nd.arange(5), [mx.cpu(0), mx.cpu(1)], even_split=False)


def child_that_is_no_block(mx: Any) -> Any:
    net = mx.gluon.nn.Sequential()
    net.add(lambda x: x)
    return net(mx.nd.array(X))


def child_registered_that_is_no_block(mx: Any) -> Any:
    net = mx.gluon.nn.HybridSequential()
    net.add(mx.gluon.nn.Sequential())


def setattr_of_another_parameter(mx: Any) -> Any:
    net = _net(mx)
    p = net.collect_params()
    p.setattr("lr_mult", 0.5)
    p.setattr("foo", 3)
    return [x.lr_mult for x in p.values()]


def grad_req_unknown(mx: Any) -> Any:
    return mx.gluon.Parameter("w", grad_req="writes", shape=(1,)) and None


def sizes_as_floats(mx: Any) -> Any:
    net = mx.gluon.nn.Dense(4 / 2, in_units=2)
    net.initialize(mx.init.One())
    return net(mx.nd.array(X))


def sizes_as_numpy_integers(mx: Any) -> Any:
    net = mx.gluon.nn.Dense(np.int64(2), in_units=np.int32(2))
    net.initialize(mx.init.One())
    return net(mx.nd.array(X))


def negative_sizes(mx: Any) -> Any:
    return mx.gluon.nn.Dense(-3) and None


def parameter_shape_as_floats(mx: Any) -> Any:
    p = mx.gluon.Parameter("w", shape=(4 / 2, 1))
    p.initialize(mx.init.One())
    return p.data()


def data_on_a_missing_context(mx: Any) -> Any:
    net = _net(mx)
    return net[0].weight.data(mx.cpu(3))


def set_data_of_another_shape(mx: Any) -> Any:
    net = _net(mx)
    net[0].weight.set_data(mx.nd.ones((7, 2)))


def set_data_of_numpy(mx: Any) -> Any:
    net = _net(mx)
    net[0].weight.set_data(np.zeros((3, 2)))
    return net(mx.nd.array(X))


def set_data_of_another_dtype(mx: Any) -> Any:
    net = _net(mx)
    net[0].weight.set_data(mx.nd.zeros((3, 2), dtype="float64"))
    return [net(mx.nd.array(X)), net[0].weight.data().dtype.__name__]


def zero_grad_and_clip(mx: Any) -> Any:
    net = _net(mx)
    with mx.autograd.record():
        loss = net(mx.nd.array(X)).sum()
    loss.backward()
    arrays = [p.grad() for p in net.collect_params().values()]
    return [mx.gluon.utils.clip_global_norm(arrays, 1.0), arrays]
