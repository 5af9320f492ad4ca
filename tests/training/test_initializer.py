"""Random initializers: statistics, seeds, devices and logging. The rest is in the programs."""

from __future__ import annotations

import logging
from math import sqrt

import numpy as np
import pytest

import twofold as mx
from twofold.errors import MXNetError, ParameterError, ShapeError

SHAPE = (300, 200, 2, 2)
FAN_IN, FAN_OUT = 800, 1200


def drawn(init, shape=SHAPE):
    mx.random.seed(7)
    array = mx.nd.zeros(shape)
    init("a_weight", array)
    return array.asnumpy()


@pytest.mark.parametrize(
    ("init", "bound"),
    [
        (mx.init.Uniform(0.3), 0.3),
        (mx.init.Xavier(), sqrt(3 / ((FAN_IN + FAN_OUT) / 2))),
        (mx.init.Xavier(factor_type="in"), sqrt(3 / FAN_IN)),
        (mx.init.Xavier(factor_type="out", magnitude=2.34), sqrt(2.34 / FAN_OUT)),
    ],
)
def test_uniform_weights_fill_their_interval(init, bound):
    weights = drawn(init)
    assert -bound <= weights.min() < -0.99 * bound
    assert 0.99 * bound < weights.max() <= bound
    assert weights.mean() == pytest.approx(0, abs=bound / 100)


@pytest.mark.parametrize(
    ("init", "deviation"),
    [
        (mx.init.Normal(0.3), 0.3),
        (mx.init.Xavier("gaussian", "in", 2), sqrt(2 / FAN_IN)),
        (mx.init.MSRAPrelu("out", 0.5), sqrt(2 / (1 + 0.25) / FAN_OUT)),
    ],
)
def test_normal_weights_have_the_right_deviation(init, deviation):
    weights = drawn(init)
    assert weights.std() == pytest.approx(deviation, rel=0.01)
    assert np.abs(weights).max() > 3.5 * deviation


@pytest.mark.parametrize("kind", ["uniform", "normal"])
@pytest.mark.parametrize("shape", [(3, 2, 2), (6, 2, 2)])
def test_orthogonal_rows_or_columns_have_equal_length(kind, shape):
    weights = drawn(mx.init.Orthogonal(1.5, kind), shape).reshape(shape[0], -1)
    gram = weights @ weights.T if len(weights) < weights.shape[1] else weights.T @ weights
    np.testing.assert_allclose(gram, 1.5**2 * np.eye(len(gram)), atol=1e-5)


def test_equal_seeds_draw_equal_weights():
    np.testing.assert_array_equal(drawn(mx.init.Xavier()), drawn(mx.init.Xavier()))


def test_float16_weights_can_be_drawn():
    array = mx.nd.zeros((50, 50), dtype="float16")
    mx.init.Uniform(1)("a_weight", array)
    assert array.dtype is np.float16
    assert 0.5 < array.asnumpy().std() < 0.65


def test_weights_are_drawn_on_their_device(gpus):
    array = mx.nd.zeros((4, 4), ctx=gpus[1])
    mx.init.Xavier()("a_weight", array)
    assert array.context == gpus[1]
    assert np.abs(array.asnumpy()).min() > 0


def test_names_of_normalization_start_from_the_identity_with_a_description_too():
    names = {"bn_moving_mean": 0, "bn_moving_var": 1, "bn_moving_inv_var": 0, "bn_moving_avg": 0}
    for name, value in names.items():
        array = mx.nd.ones((2,)) * 5
        mx.init.Xavier()(mx.init.InitDesc(name), array)
        assert array.asnumpy().tolist() == [value, value]


def test_a_default_of_ones_own_covers_the_descriptions_of_moving_averages_but_not_their_plain_names():
    class Fives(mx.init.Initializer):
        def _init_default(self, _, arr):
            arr[:] = 5

    # as MXNet 1.9.1 gives
    for name in ("bn_moving_mean", "bn_moving_var", "bn_moving_inv_var", "bn_moving_avg", "bn_running_mean"):
        array = mx.nd.zeros((2,))
        Fives()(mx.init.InitDesc(name), array)
        assert array.asnumpy().tolist() == [5, 5], name
    array = mx.nd.ones((2,)) * 7
    Fives()("bn_moving_mean", array)
    assert array.asnumpy().tolist() == [0, 0]
    Fives()("bn_moving_var", array)
    assert array.asnumpy().tolist() == [1, 1]


def test_quantized_weights_are_small_integers():
    array = mx.nd.zeros((300,), dtype="int8")
    mx.init.Zero()(mx.init.InitDesc("a_weight_quantize"), array)
    assert len(np.unique(array.asnumpy())) > 50


def test_a_description_remembers_the_models_initializer():
    desc = mx.init.InitDesc("a_weight")
    init = mx.init.Zero()
    init(desc, mx.nd.ones((1,)))
    assert desc.global_init is init


def test_fused_parameters_start_from_the_models_initializer():
    init = mx.init.FusedRNN(None, 2, 1, "rnn_tanh")
    array = mx.nd.zeros((2 * (3 + 2 + 2),))
    init(mx.init.InitDesc("rnn_weight", {"__init__": init.dumps()}, mx.init.Constant(4)), array)
    assert array.asnumpy().tolist() == [4] * 10 + [0] * 4


def test_fused_parameters_read_their_initializer_from_text():
    text = mx.init.FusedRNN(mx.init.Constant(4), 2, 1, "rnn_tanh").dumps()
    array = mx.nd.zeros((14,))
    mx.init.create(text)("rnn_weight", array)
    assert array.asnumpy()[:10].tolist() == [4] * 10


@pytest.mark.parametrize("size", [13, 3])
def test_fused_parameters_of_no_input_size_raise(size):
    with pytest.raises(ShapeError, match="length of the vector is invalid"):
        mx.init.FusedRNN(mx.init.Zero(), 2, 1, "rnn_tanh")("rnn_weight", mx.nd.zeros((size,)))


def test_a_fused_layer_of_another_mode_is_rejected():
    with pytest.raises(ParameterError, match="unknown mode"):
        mx.init.FusedRNN(None, 2, 1, "mlp")


def test_a_class_without_weights_says_so():
    with pytest.raises(MXNetError, match="define _init_weight"):
        mx.init.Initializer()("a_weight", mx.nd.zeros((1,)))


def test_constants_may_be_lists():
    array = mx.nd.zeros((2,))
    mx.init.create(mx.init.Constant([1, 2]).dumps())("a_weight", array)
    assert array.asnumpy().tolist() == [1, 2]


def test_verbosity_logs_what_was_done(caplog):
    caplog.set_level(logging.INFO)
    init = mx.init.One().set_verbosity(True, lambda array: f"{array.size} elements")
    init(mx.init.InitDesc("a_weight"), mx.nd.zeros((3,)))
    init(mx.init.InitDesc("b", {"__init__": '["zero", {}]'}), mx.nd.zeros((3,)))
    init.set_verbosity(True)(mx.init.InitDesc("a_bias"), mx.nd.ones((3,)))
    assert caplog.messages == [
        "Initialized a_weight as weight: 3 elements",
        'Initialized b as ["zero", {}]: 3 elements',
        "Initialized a_bias as bias: 0.0",
    ]


def test_load_reads_files(tmp_path):
    mx.nd.save(tmp_path / "p.params", {"arg:a": mx.nd.ones((2,))})
    array = mx.nd.zeros((2,))
    mx.init.Load(str(tmp_path / "p.params"))("a", array)
    assert array.asnumpy().tolist() == [1, 1]
