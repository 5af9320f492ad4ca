"""Sloppy use of metrics, optimizers, initializers, schedules, modules and stores."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

ROWS = np.arange(12, dtype="float32").reshape(6, 2) / 10


def _pair(mx: Any) -> Any:
    return [mx.nd.array([0, 1])], [mx.nd.array([[0.3, 0.7], [0.2, 0.8]])]


def accuracy_of_two_predictions(mx: Any) -> Any:
    labels, preds = _pair(mx)
    m = mx.metric.Accuracy()
    m.update(labels, preds * 2)
    return m.get()


def accuracy_of_two_labels(mx: Any) -> Any:
    labels, preds = _pair(mx)
    m = mx.metric.Accuracy()
    m.update(labels * 2, preds)
    return m.get()


def accuracy_of_single_arrays(mx: Any) -> Any:
    labels, preds = _pair(mx)
    m = mx.metric.Accuracy()
    m.update(labels[0], preds[0])
    return m.get()


def accuracy_of_rows_of_another_number(mx: Any) -> Any:
    labels, _ = _pair(mx)
    m = mx.metric.Accuracy()
    m.update(labels, [mx.nd.array([[0.3, 0.7], [0.2, 0.8], [0.9, 0.1]])])
    return m.get()


def accuracy_of_a_column(mx: Any) -> Any:
    _, preds = _pair(mx)
    m = mx.metric.Accuracy()
    m.update([mx.nd.array([[0], [1]])], preds)
    return m.get()


def accuracy_of_classes(mx: Any) -> Any:
    labels, _ = _pair(mx)
    m = mx.metric.Accuracy()
    m.update(labels, [mx.nd.array([0, 0])])
    return m.get()


def accuracy_of_one_class_more(mx: Any) -> Any:
    m = mx.metric.Accuracy()
    m.update([mx.nd.array([0, 5])], [mx.nd.array([[0.3, 0.7], [0.2, 0.8]])])
    return m.get()


def cross_entropy_of_one_class_more(mx: Any) -> Any:
    m = mx.metric.CrossEntropy()
    m.update([mx.nd.array([0, 5])], [mx.nd.array([[0.3, 0.7], [0.2, 0.8]])])
    return m.get()


def f1_of_three_classes(mx: Any) -> Any:
    m = mx.metric.F1()
    m.update([mx.nd.array([0, 1, 2])], [mx.nd.array([[0.3, 0.7], [0.2, 0.8], [0.5, 0.5]])])
    return m.get()


def mse_of_two_predictions(mx: Any) -> Any:
    x = mx.nd.array([1, 2])
    m = mx.metric.MSE()
    m.update([x], [x, x])
    return m.get()


def mse_of_a_column(mx: Any) -> Any:
    m = mx.metric.MSE()
    m.update([mx.nd.array([1, 2])], [mx.nd.array([[1], [3]])])
    return m.get()


def mse_of_another_shape(mx: Any) -> Any:
    m = mx.metric.MSE()
    m.update([mx.nd.array([1, 2])], [mx.nd.array([[1, 3, 3]])])
    return m.get()


def loss_of_anything(mx: Any) -> Any:
    m = mx.metric.Loss()
    m.update(None, [mx.nd.array([1, 3])])
    return m.get()


def metric_unknown(mx: Any) -> Any:
    return mx.metric.create("no_such")


def metric_with_unknown_keyword(mx: Any) -> Any:
    return mx.metric.create("acc", foo=1)


def metric_with_unknown_keyword_directly(mx: Any) -> Any:
    return mx.metric.MSE(foo=1)


def base_metric_with_keywords(mx: Any) -> Any:
    return mx.metric.EvalMetric("mine", foo=1).get_config()


def custom_metric_of_two_outputs(mx: Any) -> Any:
    m = mx.metric.np(lambda label, pred: float(np.abs(label - pred).sum()), allow_extra_outputs=True)
    x = mx.nd.array([1, 2])
    m.update([x], [x + 1, x])
    return m.get()


def custom_metric_of_two_outputs_refused(mx: Any) -> Any:
    m = mx.metric.np(lambda label, pred: float(np.abs(label - pred).sum()))
    x = mx.nd.array([1, 2])
    m.update([x], [x + 1, x])
    return m.get()


def metric_without_updates(mx: Any) -> Any:
    return [str(v) for v in mx.metric.Accuracy().get()]


def metric_of_named_outputs_missing(mx: Any) -> Any:
    m = mx.metric.Accuracy(output_names=["softmax_output"], label_names=["softmax_label"])
    labels, preds = _pair(mx)
    m.update_dict({"softmax_label": labels[0]}, {"other_output": preds[0]})
    return m.get()


def metric_of_named_outputs_extra(mx: Any) -> Any:
    m = mx.metric.Accuracy(output_names=["softmax_output"], label_names=["softmax_label"])
    labels, preds = _pair(mx)
    m.update_dict({"softmax_label": labels[0], "x": labels[0]}, {"other_output": preds[0], "softmax_output": preds[0]})
    return m.get()


def metric_by_list(mx: Any) -> Any:
    m = mx.metric.create(["acc", "mse"])
    m.update(_pair(mx)[0], [mx.nd.array([0, 0])])
    return m.get()


def top_k_of_one(mx: Any) -> Any:
    return mx.metric.TopKAccuracy(1) and None


def optimizer_with_unknown_keyword(mx: Any) -> Any:
    return mx.optimizer.create("sgd", learning_rate=0.1, foo=1) and None


def optimizer_with_momentum_it_lacks(mx: Any) -> Any:
    return mx.optimizer.create("adam", momentum=0.9) and None


def optimizer_with_text(mx: Any) -> Any:
    return mx.optimizer.create("sgd", learning_rate="0.1") and None


def optimizer_unknown(mx: Any) -> Any:
    return mx.optimizer.create("no_such")


def optimizer_of_upper_case(mx: Any) -> Any:
    return type(mx.optimizer.create("SGD")).__name__


def multipliers_of_unknown_names(mx: Any) -> Any:
    opt = mx.optimizer.create("sgd", learning_rate=0.5, param_idx2name={0: "a_weight"})
    opt.set_lr_mult({"b_weight": 3, "a_weight": 2})
    opt.set_wd_mult({"c_weight": 3})
    w = mx.nd.ones((2,))
    opt.update(0, w, mx.nd.ones((2,)), None)
    return w


def schedule_that_ends(mx: Any) -> Any:
    s = mx.lr_scheduler.PolyScheduler(3, base_lr=1.0)
    return [s(k) for k in range(6)]


def schedule_with_unknown_keyword(mx: Any) -> Any:
    return mx.lr_scheduler.FactorScheduler(2, foo=1)


def schedule_of_factor_above_one(mx: Any) -> Any:
    return mx.lr_scheduler.FactorScheduler(2, factor=1.5)


def schedule_of_steps_out_of_order(mx: Any) -> Any:
    return mx.lr_scheduler.MultiFactorScheduler([5, 3])


def learning_rate_beside_a_schedule(mx: Any) -> Any:
    opt = mx.optimizer.SGD(learning_rate=0.3, lr_scheduler=mx.lr_scheduler.FactorScheduler(2, base_lr=0.7))
    return opt.learning_rate


def set_learning_rate_beside_a_schedule(mx: Any) -> Any:
    opt = mx.optimizer.SGD(lr_scheduler=mx.lr_scheduler.FactorScheduler(2, base_lr=0.7))
    opt.set_learning_rate(0.1)
    return opt.learning_rate


def gradient_of_another_shape_in_an_update(mx: Any) -> Any:
    opt = mx.optimizer.SGD(learning_rate=1)
    w = mx.nd.ones((2,))
    opt.update(0, w, mx.nd.ones((3,)), None)
    return w


def initializer_with_unknown_keyword(mx: Any) -> Any:
    return mx.init.Xavier(foo=1)


def initializer_of_zero_with_keyword(mx: Any) -> Any:
    return mx.init.Zero(foo=1)


def initializer_base_with_keywords(mx: Any) -> Any:
    return mx.init.Initializer(foo=1).dumps()


def initializer_of_unknown_names(mx: Any) -> Any:
    x = mx.nd.zeros((2, 2))
    mx.init.Xavier()("strange_name", x)
    return x


def initializer_of_a_vector(mx: Any) -> Any:
    x = mx.nd.zeros((2,))
    mx.init.Xavier()(mx.init.InitDesc("fc_weight"), x)
    return x


def mixed_initializer_without_match(mx: Any) -> Any:
    x = mx.nd.zeros((2,))
    mx.init.Mixed(["bias"], [mx.init.One()])("fc_weight", x)
    return x


def _network(mx: Any) -> Any:
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def _module(mx: Any, **options: Any) -> Any:
    mod = mx.mod.Module(_network(mx), **options)
    mod.bind([("data", (2, 2))], [("softmax_label", (2,))])
    return mod


def _params(mx: Any) -> Any:
    return {"fc_weight": mx.nd.ones((3, 2)), "fc_bias": mx.nd.arange(3)}


def _output(mx: Any, mod: Any) -> Any:
    mod.forward(mx.io.DataBatch([mx.nd.array(ROWS[:2])], [mx.nd.array([0, 1])]), is_train=False)
    return mod.get_outputs()[0]


def set_params_with_extra(mx: Any) -> Any:
    mod = _module(mx)
    mod.set_params({**_params(mx), "other_weight": mx.nd.ones((1,))}, {})
    return _output(mx, mod)


def set_params_with_extra_allowed(mx: Any) -> Any:
    mod = _module(mx)
    mod.set_params({**_params(mx), "other_weight": mx.nd.ones((1,))}, {}, allow_extra=True)
    return _output(mx, mod)


def set_params_with_missing(mx: Any) -> Any:
    mod = _module(mx)
    mod.set_params({"fc_bias": mx.nd.ones((3,))}, {})
    return _output(mx, mod)


def set_params_with_missing_allowed(mx: Any) -> Any:
    mod = _module(mx)
    mod.init_params(mx.init.One())
    mod.set_params({"fc_bias": mx.nd.arange(3)}, {}, allow_missing=True)
    return _output(mx, mod)


def set_params_with_both_allowed(mx: Any) -> Any:
    mod = _module(mx)
    mod.init_params(mx.init.One())
    mod.set_params({"fc_bias": mx.nd.arange(3), "x": mx.nd.ones((1,))}, {"y": mx.nd.ones((1,))}, allow_missing=True, allow_extra=True)
    return _output(mx, mod)


def set_params_unforced(mx: Any) -> Any:
    mod = _module(mx)
    mod.init_params(mx.init.One())
    mod.set_params(_params(mx), {}, force_init=False)
    return _output(mx, mod)


def set_params_of_another_shape(mx: Any) -> Any:
    mod = _module(mx)
    mod.set_params({"fc_weight": mx.nd.ones((3, 4)), "fc_bias": mx.nd.ones((3,))}, {})
    return _output(mx, mod)


def init_params_with_extra(mx: Any) -> Any:
    mod = _module(mx)
    mod.init_params(mx.init.One(), arg_params={**_params(mx), "other": mx.nd.ones((1,))})
    return _output(mx, mod)


def init_params_with_missing(mx: Any) -> Any:
    mod = _module(mx)
    mod.init_params(mx.init.One(), arg_params={"fc_bias": mx.nd.arange(3)})
    return _output(mx, mod)


def init_params_with_missing_allowed(mx: Any) -> Any:
    mod = _module(mx)
    mod.init_params(mx.init.One(), arg_params={"fc_bias": mx.nd.arange(3)}, allow_missing=True)
    return _output(mx, mod)


def init_params_twice(mx: Any) -> Any:
    mod = _module(mx)
    mod.init_params(mx.init.One())
    mod.init_params(mx.init.Zero())
    return _output(mx, mod)


def init_optimizer_twice(mx: Any) -> Any:
    mod = _module(mx)
    mod.init_params(mx.init.One())
    mod.init_optimizer()
    mod.init_optimizer(optimizer="adam")
    return type(mod._optimizer).__name__


def init_optimizer_with_unknown_keyword(mx: Any) -> Any:
    mod = _module(mx)
    mod.init_params(mx.init.One())
    mod.init_optimizer(optimizer_params={"learning_rate": 0.1, "foo": 1})


def init_optimizer_with_an_unknown_store(mx: Any) -> Any:
    mod = _module(mx)
    mod.init_params(mx.init.One())
    mod.init_optimizer(kvstore="no_such")
    return mod._kvstore is None


def bind_twice(mx: Any) -> Any:
    mod = _module(mx)
    mod.bind([("data", (4, 2))], [("softmax_label", (4,))])
    return mod.data_shapes[0].shape


def bind_with_unknown_data(mx: Any) -> Any:
    mod = mx.mod.Module(_network(mx))
    mod.bind([("data", (2, 2)), ("extra", (2, 2))], [("softmax_label", (2,))])


def bind_without_labels_for_training(mx: Any) -> Any:
    mod = mx.mod.Module(_network(mx))
    mod.bind([("data", (2, 2))])
    mod.init_params(mx.init.One())
    mod.forward(mx.io.DataBatch([mx.nd.array(ROWS[:2])], None))
    return mod.get_outputs()[0]


def label_names_unknown(mx: Any) -> Any:
    mod = mx.mod.Module(_network(mx), label_names=["no_such_label"])
    return mod.label_names


def data_names_unknown(mx: Any) -> Any:
    return mx.mod.Module(_network(mx), data_names=["no_such"]).data_names


def fixed_param_names_unknown(mx: Any) -> Any:
    return mx.mod.Module(_network(mx), fixed_param_names=["no_such"]).data_names


def more_devices_than_rows(mx: Any) -> Any:
    mod = mx.mod.Module(_network(mx), context=[mx.cpu(0), mx.cpu(1), mx.cpu(2)])
    mod.bind([("data", (2, 2))], [("softmax_label", (2,))])


def backward_before_forward(mx: Any) -> Any:
    mod = _module(mx)
    mod.init_params(mx.init.One())
    mod.backward()
    return None


def update_without_optimizer(mx: Any) -> Any:
    mod = _module(mx)
    mod.init_params(mx.init.One())
    mod.update()


def forward_unbound(mx: Any) -> Any:
    mx.mod.Module(_network(mx)).forward(mx.io.DataBatch([mx.nd.array(ROWS[:2])]))


def fit_without_epochs(mx: Any) -> Any:
    mx.mod.Module(_network(mx)).fit(mx.io.NDArrayIter(ROWS, np.arange(6) % 3, 2))


def fit_with_unknown_keyword(mx: Any) -> Any:
    mx.mod.Module(_network(mx)).fit(mx.io.NDArrayIter(ROWS, np.arange(6) % 3, 2), num_epoch=1, foo=1)


def fit_with_extra_params(mx: Any) -> Any:
    mod = mx.mod.Module(_network(mx))
    params = {**_params(mx), "other": mx.nd.ones((1,))}
    mod.fit(mx.io.NDArrayIter(ROWS, np.arange(6) % 3, 2), num_epoch=1, arg_params=params, aux_params={})
    return mod.get_params()[0]


def fit_with_some_params(mx: Any) -> Any:
    mod = mx.mod.Module(_network(mx))
    it = mx.io.NDArrayIter(ROWS, np.arange(6) % 3, 2)
    mod.fit(it, num_epoch=1, initializer=mx.init.One(), arg_params={"fc_bias": mx.nd.arange(3)}, allow_missing=True)
    return mod.get_params()[0]


def fit_with_optimizer_pairs(mx: Any) -> Any:
    mod = mx.mod.Module(_network(mx))
    it = mx.io.NDArrayIter(ROWS, np.arange(6) % 3, 2)
    mod.fit(it, num_epoch=1, initializer=mx.init.One(), optimizer_params=(("learning_rate", 0.5), ("wd", 0.1)))
    return mod.get_params()[0]


def load_params_with_prefixless_names(mx: Any) -> Any:
    mod = _module(mx)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "a.params")
        mx.nd.save(path, _params(mx))
        mod.load_params(path)
    return _output(mx, mod)


def load_params_with_extra(mx: Any) -> Any:
    mod = _module(mx)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "a.params")
        mx.nd.save(path, {f"arg:{k}": v for k, v in {**_params(mx), "x": mx.nd.ones((1,))}.items()})
        mod.load_params(path)
    return _output(mx, mod)


def store_of_an_unknown_kind(mx: Any) -> Any:
    return mx.kv.create("no_such").type


def store_of_a_near_name(mx: Any) -> Any:
    return [mx.kv.create(name).type for name in ("Local", "my_device", "local_anything", "nothing")]


def pull_before_init(mx: Any) -> Any:
    mx.kv.create("local").pull(3, out=mx.nd.zeros((1,)))


def push_of_another_shape(mx: Any) -> Any:
    kv = mx.kv.create("local")
    kv.init(3, mx.nd.zeros((2,)))
    kv.push(3, mx.nd.ones((3,)))
    out = mx.nd.zeros((2,))
    kv.pull(3, out=out)
    return out


def pull_into_another_shape(mx: Any) -> Any:
    kv = mx.kv.create("local")
    kv.init(3, mx.nd.ones((2,)))
    out = mx.nd.zeros((3,))
    kv.pull(3, out=out)
    return out


def capability_unknown(mx: Any) -> Any:
    return mx.kv.create("local").is_capable("no_such")


def compression_on_the_cpu(mx: Any) -> Any:
    mx.kv.create("local").set_gradient_compression({"type": "2bit"})


def compression_unknown(mx: Any) -> Any:
    mx.kv.create("device").set_gradient_compression({"type": "3bit"})


def compression_with_unknown_keyword(mx: Any) -> Any:
    return mx.kv.create("device").set_gradient_compression({"type": "2bit", "threshold": 0.5, "foo": 1})


def speedometer_without_metric(mx: Any) -> Any:
    from collections import namedtuple

    call = mx.callback.Speedometer(2, 1)
    for k in range(3):
        call(namedtuple("P", "epoch nbatch eval_metric locals")(0, k, None, None))
    return None


def feed_forward_with_extra_keywords(mx: Any) -> Any:
    np.random.seed(3)  # noqa: NPY002  the rows are shuffled
    model = mx.model.FeedForward(_network(mx), num_epoch=1, learning_rate=0.1, numpy_batch_size=2, initializer=mx.init.One())
    model.fit(ROWS, np.arange(6) % 3)
    return model.arg_params
