"""Uses what came before modules and `lr_scheduler`, and prints the results as JSON.

    ../shared/tools/oracle tests/module/former.py > tests/module/former.json

`test_former` runs it as a script that imports ``mxnet``.
"""

import json

import mxnet as mx
import mxnet.executor_manager
import mxnet.misc
import numpy as np
from mxnet import base

results = {}


def error(action):
    try:
        action()
    except Exception as found:
        return str(found).split(":")[0].split(",")[0].strip()
    return None


def digits(array):
    return [float(f"{x:.5g}") for x in array.asnumpy().ravel()]


def network():
    dense = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    return mx.sym.SoftmaxOutput(mx.sym.BatchNorm(mx.sym.tanh(dense), name="bn", fix_gamma=False), name="softmax")


schedule = mx.misc.FactorScheduler(3)
results["rates"] = [schedule(k) for k in range(8)]
results["schedules"] = [
    error(lambda: mx.misc.FactorScheduler(0)),
    error(lambda: mx.misc.FactorScheduler(2, 1.0)),
    error(lambda: mx.misc.LearningRateScheduler()(1)),
    mx.misc.LearningRateScheduler().base_lr,
    issubclass(mx.misc.FactorScheduler, mx.misc.LearningRateScheduler),
]

symbol = network()
data = mx.io.NDArrayIter(np.random.RandomState(0).randn(8, 3), np.arange(8) % 2, 4)
params = [n for n in symbol.list_arguments() if n not in ("data", "softmax_label")]
names = symbol.list_arguments(), params, symbol.list_auxiliary_states()
manager = mx.executor_manager.DataParallelExecutorManager(symbol, [mx.cpu(0), mx.cpu(1)], data, *names)
results["slices"] = [[part.start, part.stop] for part in manager.slices]
results["names"] = [manager.param_names, manager.aux_names, manager.arg_names]
rng = np.random.RandomState(1)
args = {n: mx.nd.array(rng.randn(*column[0].shape)) for n, column in zip(params, manager.param_arrays)}  # noqa: B905  (of Python 3.10)
states = {n: mx.nd.ones(column[0].shape) for n, column in zip(names[2], manager.aux_arrays)}  # noqa: B905
manager.set_params(args, states)
metric = mx.metric.Accuracy()
for batch in data:
    manager.load_data_batch(batch)
    manager.forward(is_train=True)
    manager.backward()
    manager.update_metric(metric, batch.label)
results["metric"] = metric.get()[1]
results["gradients"] = [[digits(array) for array in column] for column in manager.grad_arrays]
manager.copy_to(args, states)
results["states"] = {name: digits(array) for name, array in states.items()}
results["weights"] = {name: digits(array) for name, array in args.items()}
results["sliced"] = [str(part) for part in mx.executor_manager._split_input_slice(5, [1, 1])]
results["too many"] = error(lambda: mx.executor_manager._split_input_slice(2, [1, 1, 1]))
results["shares"] = error(lambda: mx.executor_manager.DataParallelExecutorManager(symbol, [mx.cpu()], data, *names, work_load_list=[1, 2]))

group = mx.executor_manager.DataParallelExecutorGroup(symbol, names[0], params, [mx.cpu()], [slice(0, 4)], data)
twice = mx.sym.FullyConnected(mx.sym.var("data"), mx.sym.var("w"), mx.sym.var("w"), num_hidden=2)
results["duplicates"] = error(
    lambda: mx.executor_manager.DataParallelExecutorGroup(twice, ["data", "w"], ["w"], [mx.cpu()], [slice(0, 4)], data)
)
results["group"] = [group.param_names, group.aux_names, group.param_idx, len(group.train_execs)]


class Buckets(mx.io.NDArrayIter):
    default_bucket_key = 4


def of_length(length):
    part = mx.sym.slice_axis(mx.sym.var("data"), axis=1, begin=0, end=2)
    return mx.sym.SoftmaxOutput(mx.sym.FullyConnected(part, num_hidden=2, name="fc"), name="softmax")


buckets = Buckets(np.ones((4, 4)), np.zeros(4), 4)
manager = mx.executor_manager.DataParallelExecutorManager(
    of_length(4), [mx.cpu()], buckets, ["data", "fc_weight", "fc_bias", "softmax_label"], ["fc_weight", "fc_bias"], [], sym_gen=of_length
)
for array in manager.param_arrays:
    array[0][:] = 0.5
batch = mx.io.DataBatch(
    [mx.nd.ones((4, 4))], [mx.nd.ones((4,))], bucket_key=3, provide_data=[("data", (4, 4))], provide_label=[("softmax_label", (4,))]
)
manager.load_data_batch(batch)
manager.forward(is_train=True)
manager.backward()
results["bucket"] = [[digits(array) for array in column] for column in manager.curr_execgrp.grad_arrays]

results["errors of C"] = [
    base.c2pyerror(text)
    for text in (
        "ValueError: foo\nStack trace:\n  File x\n  File y",
        "ValueError: foo\nbar\nStack trace:\n  [bt] 1\n  [bt] 2",
        "foo bar\nStack trace:\n  [bt] 1\n  [bt] 2",
        "mxnet.base.Foo: z",
        "Foo-Bar: z",
        "  ValueError: z",
        "InternalError:z",
        "[12:00:01] src/x.cc:12: Check failed: a == b",
    )
]
results["lists of callbacks"] = [name for name, _ in base.MXCallbackList._fields_]
operator = mx.operator.PythonOp()
out = [np.zeros(2)]
operator.forward([np.arange(2)], out)
grad = [np.zeros(2)]
operator.backward(out, out, out, grad)
results["PythonOp"] = [
    [list(shape) for part in operator.infer_shape([[1, 2], [3]]) for shape in part],
    operator.list_outputs(),
    operator.list_arguments(),
    operator.need_top_grad(),
    out[0].tolist(),
    grad[0].tolist(),
    error(lambda: operator(mx.sym.var("x"))),
]


class Doubled(mx.operator.NumpyOp):
    def list_arguments(self):
        return ["data", "label"]

    def infer_shape(self, in_shape):
        return [in_shape[0], in_shape[0][:1]], [in_shape[0]]


nodes = [Doubled(False)(data=mx.sym.var("x")), Doubled()(mx.sym.var("x"), name="softmax")]
results["NumpyOp"] = [[node.list_arguments(), node.list_outputs()] for node in nodes]
print(json.dumps(results, indent=0))
