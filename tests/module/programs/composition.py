"""Bucketing, sequential and Python modules."""

from __future__ import annotations

import os
import tempfile
from typing import Any

import numpy as np

from .samples import X, Y, params
from tests.oracle_programs import fails, files_in
from tests.training.programs.callbacks import _Log as Log

SHAPES = {"emb_weight": (7, 3), "fc_weight": (3, 3), "fc_bias": (3,)}
LENGTHS = (6, 3, 4, 3)


def _generator(mx: Any) -> Any:
    def generate(length: int) -> Any:
        embedded = mx.sym.Embedding(mx.sym.Variable("data"), input_dim=7, output_dim=3, name="emb")
        total = mx.sym.sum(mx.sym.tanh(embedded), axis=1)
        return mx.sym.SoftmaxOutput(mx.sym.FullyConnected(total, num_hidden=3, name="fc"), name="softmax"), ("data",), ("softmax_label",)

    return generate


def _batch(mx: Any, length: int) -> Any:
    data = np.random.RandomState(length).randint(0, 7, (4, length))
    return mx.io.DataBatch(
        [mx.nd.array(data)],
        [mx.nd.array([0, 1, 2, 1])],
        pad=0,
        bucket_key=length,
        provide_data=[mx.io.DataDesc("data", (4, length))],
        provide_label=[mx.io.DataDesc("softmax_label", (4,))],
    )


def _buckets(mx: Any) -> Any:
    class Buckets(mx.io.DataIter):
        default_bucket_key = 6
        provide_data = _batch(mx, 6).provide_data
        provide_label = _batch(mx, 6).provide_label

        def __init__(self) -> None:
            super().__init__(4)
            self.place = 0

        def reset(self) -> None:
            self.place = 0

        def next(self) -> Any:
            if self.place == len(LENGTHS):
                raise StopIteration
            self.place += 1
            return _batch(mx, LENGTHS[self.place - 1])

    return Buckets()


def buckets(mx: Any) -> Any:
    module = mx.mod.BucketingModule(_generator(mx), default_bucket_key=6)
    found = [list(module.data_names), list(module.output_names), fails(lambda: module.forward(_batch(mx, 3)))]
    module.bind([("data", (4, 6))], [("softmax_label", (4,))])
    module.init_params(arg_params=params(mx, SHAPES), aux_params={})
    module.init_optimizer(optimizer_params={"learning_rate": 0.5, "momentum": 0.9})
    for length in LENGTHS:
        module.forward_backward(_batch(mx, length))
        module.update()
        found.append([module.get_outputs()[0].copy(), module.data_shapes, module.output_shapes])
    module.prepare(_batch(mx, 5))
    found.append([module.data_shapes, module.symbol.list_arguments(), sorted(module._buckets)])
    module.switch_bucket(5, [("data", (4, 5))], [("softmax_label", (4,))])
    module.set_params({"fc_bias": mx.nd.ones((3,))}, {}, allow_missing=True)
    module.forward(_batch(mx, 3))
    return [*found, module.get_outputs(), module.get_params()]


def fit_of_buckets(mx: Any) -> Any:
    module = mx.mod.BucketingModule(_generator(mx), default_bucket_key=6)
    options = {"learning_rate": 0.5}
    module.fit(_buckets(mx), _buckets(mx), num_epoch=2, arg_params=params(mx, SHAPES), aux_params={}, optimizer_params=options)
    return [module.get_params(), module.score(_buckets(mx), ["acc", "ce"]), module.predict(_buckets(mx))]


def files_of_buckets(mx: Any) -> Any:
    module = mx.mod.BucketingModule(_generator(mx), default_bucket_key=6)
    module.bind([("data", (4, 6))], [("softmax_label", (4,))])
    module.init_params(arg_params=params(mx, SHAPES), aux_params={})
    module.forward(_batch(mx, 3))
    with tempfile.TemporaryDirectory() as folder, Log():
        prefix = os.path.join(folder, "b")
        module.save_checkpoint(prefix, 2)
        names, keys = files_in(folder), mx.nd.load(prefix + ".buckets")
        again = mx.mod.BucketingModule.load(prefix, 2, sym_gen=_generator(mx), default_bucket_key=6)
        again.bind([("data", (4, 6))], [("softmax_label", (4,))])
        failing = [fails(lambda: mx.mod.BucketingModule.load(prefix, 2, default_bucket_key=6))]
        failing += [fails(lambda: mx.mod.BucketingModule.load(prefix, 2, sym_gen=_generator(mx)))]
    failing += [
        fails(lambda: mx.mod.BucketingModule(_generator(mx))),
        fails(lambda: mx.mod.BucketingModule.load_dict(default_bucket_key=6)),
    ]
    found = again.get_params()
    failing += [fails(lambda: again.bind([("data", (4, 6))], force_rebind=True, shared_module=module))]
    return [names, keys, found, failing]


def _parts(mx: Any) -> Any:
    hidden = mx.sym.Activation(mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=5, name="fc1"), act_type="tanh", name="act")
    scores = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc2")
    return hidden, scores


def sequence(mx: Any) -> Any:
    hidden, scores = _parts(mx)
    module = mx.mod.SequentialModule()
    found = [list(module.data_names), list(module.output_names), fails(lambda: module.bind([("data", (4, 4))]))]
    module.add(mx.mod.Module(hidden, label_names=None))
    module.add(mx.mod.Module(mx.sym.SoftmaxOutput(scores, name="softmax")), take_labels=True, auto_wiring=True)
    found += [list(module.data_names), list(module.output_names), fails(lambda: mx.mod.SequentialModule().add(module, other=1))]
    module.fit(
        mx.io.NDArrayIter(X, Y, 4),
        num_epoch=2,
        arg_params=params(mx),
        aux_params={},
        optimizer_params={"learning_rate": 0.5, "momentum": 0.9},
    )
    found += [module.data_shapes, module.label_shapes, module.output_shapes, module.get_params(), fails(module.get_input_grads)]
    return [*found, module.score(mx.io.NDArrayIter(X, Y, 4), ["acc", "ce"]), module.predict(mx.io.NDArrayIter(X, Y, 4))]


def sequences_that_do_not_fit(mx: Any) -> Any:
    hidden, _ = _parts(mx)
    by_name = mx.mod.SequentialModule().add(mx.mod.Module(hidden, label_names=None)).add(mx.mod.Module(hidden, label_names=None))
    twice = mx.mod.SequentialModule().add(mx.mod.Module(hidden, label_names=None))
    twice.add(mx.mod.Module(hidden, label_names=None), auto_wiring=True).bind([("data", (4, 4))])
    return [fails(lambda: by_name.bind([("data", (4, 4))])), fails(twice.init_params)]


def sequence_with_a_loss_in_python(mx: Any) -> Any:
    hidden, _ = _parts(mx)
    net = mx.sym.FullyConnected(hidden, num_hidden=3, name="fc2")

    def gradient(scores: Any, labels: Any) -> Any:
        return mx.nd.softmax(scores) - mx.nd.one_hot(labels, 3)

    module = mx.mod.SequentialModule().add(mx.mod.Module(net, label_names=None))
    module.add(mx.mod.PythonLossModule(grad_func=gradient), take_labels=True, auto_wiring=True)
    module.fit(mx.io.NDArrayIter(X, Y, 5), num_epoch=2, arg_params=params(mx), aux_params={}, optimizer_params={"learning_rate": 0.5})
    return [module.get_params(), module.output_shapes]


def loss_in_python(mx: Any) -> Any:
    module = mx.mod.PythonLossModule(grad_func=lambda scores, labels: scores.asnumpy() * 3)
    found = [list(module.data_names), list(module.output_names)]
    module.bind([("data", (2, 4))], [("softmax_label", (2,))])
    module.init_params()
    module.init_optimizer()
    module.forward(mx.io.DataBatch([mx.nd.array(X[:2])], [mx.nd.array(Y[:2])]))
    module.backward()
    module.update()
    found += [module.output_shapes, module.label_shapes, module.get_outputs(), module.get_input_grads(), module.get_params()]
    found += [fails(lambda: module.backward([mx.nd.ones((2, 4))])), fails(lambda: mx.mod.PythonLossModule(grad_func=3))]
    found += [fails(lambda: mx.mod.PythonLossModule(data_names=("a", "b"))), fails(lambda: mx.mod.PythonLossModule().bind([("x", (2, 3))]))]
    found += [fails(lambda: mx.mod.PythonModule(["data"], None, ["out"]).bind([("data", (2, 3))]))]
    return found


def the_base_defines_nothing(mx: Any) -> Any:
    module = mx.mod.BaseModule()
    return [fails(lambda: module.data_names), fails(lambda: module.forward(None)), module.symbol, module.binded]
