"""Which dtypes operators of ``nd`` and ``sym`` accept together: those that MXNet accepts, so that dtypes never mix."""

from __future__ import annotations

import numpy as np
import pytest

import twofold as mx
from twofold.errors import DTypeError

nd = mx.nd


def ones(*shape, dtype="float32"):
    return nd.ones(shape, dtype=dtype)


def update(name, states, **params):
    return lambda a: getattr(nd, name)(ones(2), *[a(2)] * (1 + states), lr=0.1, **params)


#: Calls in which ``a`` creates operands that the real MXNet requires in the dtype of the others.
ALIKE = {
    "dot": lambda a: nd.dot(ones(2, 3), a(3, 2)),
    "batch_dot": lambda a: nd.batch_dot(ones(2, 2, 3), a(2, 3, 2)),
    "gemm2": lambda a: nd.linalg.gemm2(ones(2, 3), a(3, 2)),
    "gemm": lambda a: nd.linalg.gemm(ones(2, 3), ones(3, 2), a(2, 2)),
    "khatri_rao": lambda a: nd.khatri_rao(ones(2, 3), a(4, 3)),
    "FullyConnected weight": lambda a: nd.FullyConnected(ones(2, 3), a(4, 3), ones(4), num_hidden=4),
    "FullyConnected bias": lambda a: nd.FullyConnected(ones(2, 3), ones(4, 3), a(4), num_hidden=4),
    "Convolution weight": lambda a: nd.Convolution(ones(1, 2, 4), a(3, 2, 2), ones(3), num_filter=3, kernel=(2,)),
    "Convolution bias": lambda a: nd.Convolution(ones(1, 2, 4), ones(3, 2, 2), a(3), num_filter=3, kernel=(2,)),
    "Deconvolution": lambda a: nd.Deconvolution(ones(1, 2, 4), a(2, 3, 2), num_filter=3, kernel=(2,)),
    "concat": lambda a: nd.concat(ones(1, 2), a(1, 2)),
    "stack": lambda a: nd.stack(ones(1, 2), a(1, 2)),
    "add_n": lambda a: nd.add_n(ones(1, 2), a(1, 2)),
    "LayerNorm": lambda a: nd.LayerNorm(ones(2, 3), a(3), a(3)),
    "GroupNorm": lambda a: nd.GroupNorm(ones(2, 4, 3), a(2), a(2), num_groups=2),
    "InstanceNorm": lambda a: nd.InstanceNorm(ones(2, 4, 3), a(4), a(4)),
    "BatchNorm all": lambda a: nd.BatchNorm(ones(2, 4, 3), *[a(4)] * 4),
    "BatchNorm gamma": lambda a: nd.BatchNorm(ones(2, 4, 3), a(4), *[ones(4)] * 3),
    "SoftmaxOutput": lambda a: nd.SoftmaxOutput(ones(2, 2), a(2)),
    "LinearRegressionOutput": lambda a: nd.LinearRegressionOutput(ones(2, 2), a(2, 2)),
    "LogisticRegressionOutput": lambda a: nd.LogisticRegressionOutput(ones(2, 2), a(2, 2)),
    "MAERegressionOutput": lambda a: nd.MAERegressionOutput(ones(2, 2), a(2, 2)),
    "SVMOutput": lambda a: nd.SVMOutput(ones(2, 2), a(2)),
    "softmax_cross_entropy": lambda a: nd.softmax_cross_entropy(ones(2, 2), a(2)),
    "prelu": lambda a: nd.LeakyReLU(ones(2, 2), a(2), act_type="prelu"),
    "RNN parameters": lambda a: nd.RNN(ones(2, 1, 3), a(36), ones(1, 1, 4), mode="rnn_tanh", state_size=4, num_layers=1),
    "RNN state": lambda a: nd.RNN(ones(2, 1, 3), ones(36), a(1, 1, 4), mode="rnn_tanh", state_size=4, num_layers=1),
    "UpSampling": lambda a: nd.UpSampling(ones(1, 1, 2, 2), a(1, 1, 2, 2), scale=2, sample_type="nearest", num_args=2),
    "Crop": lambda a: nd.Crop(ones(1, 1, 4, 4), a(1, 1, 2, 2), num_args=2),
    "sgd_update": update("sgd_update", 0),
    "sgd_mom_update": update("sgd_mom_update", 1),
    "nag_mom_update": update("nag_mom_update", 1),
    "signsgd_update": update("signsgd_update", 0),
    "signum_update": update("signum_update", 1),
    "ftrl_update": update("ftrl_update", 2),
    "adam_update": update("adam_update", 2),
    "rmsprop_update": update("rmsprop_update", 1),
    "rmspropalex_update": update("rmspropalex_update", 3),
}

#: Calls whose operands have different roles: MXNet accepts any dtype for ``a``.
FREE = {
    "take": lambda a: nd.take(ones(2), a(2)),
    "pick": lambda a: nd.pick(ones(2, 2), a(2)),
    "Embedding": lambda a: nd.Embedding(a(2), ones(3, 2), input_dim=3, output_dim=2),
    "SequenceMask": lambda a: nd.SequenceMask(ones(2, 2), a(2), use_sequence_length=True),
    "SequenceLast": lambda a: nd.SequenceLast(ones(2, 2), a(2), use_sequence_length=True),
    "broadcast_like": lambda a: nd.broadcast_like(ones(1, 2), a(2, 2)),
    "reshape_like": lambda a: nd.reshape_like(ones(1, 4), a(2, 2)),
    "slice_like": lambda a: nd.slice_like(ones(4, 4), a(2, 2)),
    "gather_nd": lambda a: nd.gather_nd(ones(2), a(1, 2)),
    "where": lambda a: nd.where(a(2), ones(2), ones(2)),
    "CTCLoss": lambda a: nd.CTCLoss(ones(4, 2, 3), a(2, 2)),
}


@pytest.mark.parametrize("name", ALIKE)
@pytest.mark.parametrize("dtype", ["float64", "int32"])
def test_operands_of_mixed_dtypes_are_rejected(name, dtype):
    with pytest.raises(DTypeError):
        ALIKE[name](lambda *shape: ones(*shape, dtype=dtype)).asnumpy()


@pytest.mark.parametrize("name", ALIKE)
def test_operands_of_one_dtype_are_accepted(name):
    assert ALIKE[name](ones).dtype is np.float32


@pytest.mark.parametrize("name", FREE)
@pytest.mark.parametrize("dtype", ["float64", "int32"])
def test_indices_and_lengths_can_have_any_dtype(name, dtype):
    assert FREE[name](lambda *shape: ones(*shape, dtype=dtype)).dtype is np.float32


def test_a_symbol_rejects_operands_of_mixed_dtypes():
    product = mx.sym.dot(mx.sym.var("a"), mx.sym.var("b"))
    with pytest.raises(DTypeError):
        product.bind(mx.cpu(), {"a": ones(2, 3), "b": ones(3, 2, dtype="float64")}).forward()[0].asnumpy()


def test_float16_data_is_normalized_with_float32_states():
    assert nd.BatchNorm(ones(2, 4, 3, dtype="float16"), *[ones(4)] * 4).dtype is np.float16


def test_sequence_lengths_can_be_integers():
    options = {"mode": "rnn_tanh", "state_size": 4, "num_layers": 1, "use_sequence_length": True}
    assert nd.RNN(ones(2, 1, 3), ones(36), ones(1, 1, 4), None, ones(1, dtype="int32"), **options).dtype is np.float32


def test_row_lengths_can_be_integers():
    assert nd.softmax(ones(2, 2), ones(2, dtype="int32"), use_length=True).dtype is np.float32


REAL = {
    "softmax": lambda x: nd.softmax(x),
    "softmax to float32": lambda x: nd.softmax(x, dtype="float32"),
    "log_softmax": lambda x: nd.log_softmax(x),
    "softmin": lambda x: nd.softmin(x),
    "SoftmaxActivation": lambda x: nd.SoftmaxActivation(x),
    "softmax_cross_entropy": lambda x: nd.softmax_cross_entropy(x, x[0]),
    "SoftmaxOutput": lambda x: nd.SoftmaxOutput(x, x[0]),
    "L2Normalization": lambda x: nd.L2Normalization(x),
    "LayerNorm": lambda x: nd.LayerNorm(x, x[0], x[0]),
    "InstanceNorm": lambda x: nd.InstanceNorm(x.reshape((1, 2, 2)), x[0], x[0]),
    "BatchNorm": lambda x: nd.BatchNorm(x, *[x[0]] * 4),
    "LeakyReLU": lambda x: nd.LeakyReLU(x, act_type="elu"),
    "Pooling": lambda x: nd.Pooling(x.reshape((1, 2, 2)), kernel=(2,), pool_type="avg"),
    "LRN": lambda x: nd.LRN(x.reshape((1, 2, 2, 1)), nsize=1),
}


@pytest.mark.parametrize("name", REAL)
def test_integers_are_rejected_where_only_floats_make_sense(name):
    with pytest.raises(DTypeError, match="float"):
        REAL[name](ones(2, 2, dtype="int32")).asnumpy()
