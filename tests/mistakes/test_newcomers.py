"""Mistakes of newcomers to the package, written as users write them: each program with the whole text of its error."""

from __future__ import annotations

import re

import pytest

import twofold as mx
from twofold import gluon, nd, np
from twofold.gluon import nn

from .table import message_of

NAMES = {"mx": mx, "gluon": gluon, "nd": nd, "nn": nn, "np": np}
NET = "net = nn.Dense(4, in_units=3)\nnet.initialize()\n"
SOFTMAX = "s = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(mx.sym.var('data'), num_hidden=3, name='fc'), name='softmax')\n"
DTYPES = "bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64, complex64, complex128"

MISTAKES = [
    # dtypes
    ("nd.ones(2).astype('flot32')", "dtype: unknown data type: given 'flot32'; did you mean 'float32'?"),
    ("nd.zeros(2, dtype='flot32')", "dtype: unknown data type: given 'flot32'; did you mean 'float32'?"),
    ("np.ones(2).astype('flot32')", "dtype: unknown data type: given 'flot32'; did you mean 'float32'?"),
    ("np.array([1, 2], dtype='unit8')", "dtype: unknown data type: given 'unit8'; did you mean 'uint8'?"),
    ("np.linspace(0, 1, dtype='flot32')", "dtype: unknown data type: given 'flot32'; did you mean 'float32'?"),
    ("np.ones(2).astype('number')", f"dtype: unknown data type: given 'number'; use one of {DTYPES}"),
    # the name that was called
    (
        "np.vstack([np.ones((2, 3)), np.ones((2, 4))])",
        "vstack: shapes differ in other axes: given (2, 3), (2, 4); make all axes but 0 equal",
    ),
    (
        "np.append(np.ones((2, 3)), np.ones((3, 4)), axis=0)",
        "append: shapes differ in other axes: given (2, 3), (3, 4); make all axes but 0 equal",
    ),
    (
        "np.ones((2, 3)).dot(np.ones((2, 3)))",
        "dot: inner sizes differ: given (2, 3) and (2, 3); make lhs.shape[-1] equal rhs.shape[-2]",
    ),
    (
        "np.linalg.multi_dot([np.ones((2, 3))] * 3)",
        "multi_dot: an index has two sizes: given b: 3 and 2 in ab,bc,cd->ad; make them equal",
    ),
    (
        "nd.split(nd.ones((5, 2)), num_outputs=2, axis=0)",
        "split: the array does not split evenly: given size 5 into 2; pass a divisor of the size",
    ),
    (
        "nd.ones((5, 2)).split(num_outputs=2, axis=0)",
        "split: the array does not split evenly: given size 5 into 2; pass a divisor of the size",
    ),
    # Gluon
    (
        NET + "net.weight = nd.ones((4, 3))",
        "Changing attribute type for weight is not allowed: given from <class 'twofold.gluon.parameter.Parameter'> to "
        "<class 'twofold.ndarray.array.NDArray'>; call weight.set_data(array)",
    ),
    ("nn.TransformerEncoderLayer(8, 2, 8, norm_first=True)", "TransformerEncoderLayer: there is no argument 'norm_first'; use pre_norm"),
    (
        "nn.TransformerEncoderLayer(8, 2, 8, batch_first=True)",
        "TransformerEncoderLayer: there is no argument 'batch_first'; leave it out: arrays are (batch, length, units)",
    ),
    ("nn.Sequential().add(nn.Dense)", "Sequential.add: a class is no block: given Dense; call it first: Dense(…)"),
    (
        "net = nn.HybridSequential()\nnet.add(nn.Dense(3), nn.Dense(4, in_units=7, prefix='top_'))\nnet.initialize()\nnet.hybridize()\n"
        "net(nd.ones((2, 5)))",
        "top: input weight has shape (4, 7), where (4, 3) is needed; in_units or in_channels contradicts the layer's input: pass the "
        "input's size, or leave it out",
    ),
    (
        "mx.autograd.backward(nd.ones(2).sum().asscalar())",
        "backward: a head is not an array: given float32 np.float32(2.0); pass the array, without item(), asscalar() or float()",
    ),
    (
        "with mx.AttrScope(mood='x'):\n    mx.sym.FullyConnected(mx.sym.var('d'), num_hidden=2)",
        "FullyConnected: Cannot find argument: given mood; an attribute of a node is named __mood__",
    ),
    (
        "store = mx.kv.create('local')\nstore.init('e', nd.ones(2))\nstore.init(3, nd.ones(2))",
        "KVStore: Mixed key types are not allowed: given 3 in a store with keys of type str; use one type",
    ),
    (
        "mx.sym.array([1, 2])",
        "module 'twofold.symbol' has no attribute 'array'; use self.params.get_constant(name, value), or an input of the block",
    ),
    (
        NET + "gluon.Trainer(net.collect_params(), 'sgd').step(0)",
        "Trainer: the sum of gradients is divided by the number of samples: given batch_size=0; pass 1 or more",
    ),
    (
        "gluon.data.ArrayDataset([1, 2]).transform('resize')",
        "transform: a function of a sample is needed: given str; pass a function, or a transform of gluon.data",
    ),
    (
        "gluon.data.ArrayDataset([1, 2]).transform_first(None)",
        "transform: a function of a sample is needed: given NoneType; pass a function, or a transform of gluon.data",
    ),
    (
        "gluon.loss.SoftmaxCrossEntropyLoss()(nd.ones((2, 4)), nd.array([1, 0, 2]))",
        "softmaxcrossentropyloss0: the labels do not match the predictions: given labels (3,) for predictions (2, 4); pass as many labels "
        "as predictions",
    ),
    (
        "net = nn.Conv2D(8, 3, in_channels=3)\nnet.initialize()\nnet(nd.ones((1, 28, 28, 3)))",
        "conv0: the input has 28 channels instead of 3: given an input of shape (1, 28, 28, 3); pass images of 3 channels as NCHW, or "
        "make another layer for this input",
    ),
    (
        NET + "net.weight.set_data(nd.ones((2, 2)))",
        "Expected shape (2, 2) is incompatible with given shape (4, 3): given (2, 2) for Parameter 'dense0_weight'; its shape is (4, 3)",
    ),
    ("nn.Dense(3, in_units=2).initialize('xavir')", "initializer.create: xavir is not registered; did you mean 'xavier'?"),
    (
        "gluon.model_zoo.vision.get_model('resnet19_v1')",
        "Model resnet19_v1 is not supported; did you mean 'resnet18_v1' or 'resnet152_v1'?",
    ),
    # symbols and modules
    (
        SOFTMAX + "mx.mod.Module(s, data_names=['x'])",
        "You created Module with Module(..., data_names=['x']) but input with name 'x' is not found in symbol.list_arguments(); did you "
        "mean one of data, softmax_label?",
    ),
    (
        SOFTMAX + "s.simple_bind(mx.cpu(), datta=(2, 3))",
        "simple_bind error: there is no argument 'datta': given datta=(2, 3); did you mean 'data'?",
    ),
    (SOFTMAX + "s.get_internals()['fc1_output']", "Cannot find output that matches name \"fc1_output\"; did you mean 'fc_output'?"),
    (SOFTMAX + "s[3]", "symbol: no such output: given 3 of 1; see list_outputs()"),
    (
        "mx.lr_scheduler.MultiFactorScheduler([10, 5])",
        "LRScheduler: Schedule step must be an increasing integer list, each greater or equal than 1: given [10, 5]; pass such a list",
    ),
    # arrays and gradients
    (
        "x = nd.ones(2)\nx.attach_grad()\nwith mx.autograd.record():\n    y = x * 2\ny.backward(nd.ones(3))",
        "backward: the head gradient's shape differs: given (3,) for (2,); pass one of the head's shape",
    ),
    ("nd.softmax([1, 2])", "softmax: the operands must have NDArray type: given list; convert it with mx.nd.array"),
    (
        "nd.where(nd.ones((2, 3)), nd.ones((2, 3)), nd.ones(3))",
        "where: the shapes do not match: given (2, 3), (2, 3), (3,); pass x and y of the same shape, and a condition of that shape or (n,)",
    ),
    (
        "nd.Pooling(nd.ones((1, 1, 4, 4)), kernel=(2, 2), pool_type='mx')",
        "Pooling: parameter pool_type must be one of 'avg', 'lp', 'max', 'sum': given 'mx'; did you mean 'max'?",
    ),
]


@pytest.mark.parametrize(("program", "message"), MISTAKES)
def test_a_mistake_is_told_in_the_users_terms(program, message):
    assert message_of(lambda: exec(program, dict(NAMES))) == message


def test_an_operator_and_an_error_of_another_function_keep_their_names():
    assert message_of(lambda: np.ones((2, 3)) @ np.ones((2, 3))).startswith("matmul: inner sizes differ")
    assert message_of(lambda: np.add(np.ones(2), np.ones(3))).startswith("add: shapes do not broadcast")


def test_a_step_without_samples_raises_what_mxnet_raises():
    net = nn.Dense(4, in_units=3)
    net.initialize()
    trainer = gluon.Trainer(net.collect_params(), "sgd")
    with pytest.raises(ZeroDivisionError):
        trainer.step(0)


@pytest.mark.parametrize("size", [1.5, "2"])
def test_a_number_of_samples_that_is_no_integer_is_warned_of(size):
    text = f"DataLoader: batch_size must be an integer: given {size!r}; pass a number of samples"
    with pytest.warns(UserWarning, match=f"^{re.escape(text)}"):
        gluon.data.DataLoader([1, 2, 3], size)
