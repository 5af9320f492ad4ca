"""What initializers write to arrays, by name, attribute and kind; and their string forms."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.oracle_programs import fails

NAMES = [
    "fc_weight",
    "fc_bias",
    "bn_gamma",
    "bn_beta",
    "bn_moving_mean",
    "bn_moving_var",
    "bn_moving_inv_var",
    "bn_moving_avg",
    "weight",
    "bias",
    "a_min",
    "a_max",
    "min",
    "max",
    "weight_min",
    "upsamplingx_weight",
    "upsampling_x",
    "stn_loc_weight",
    "stn_loc_bias",
    "x_loc_bias",
]
NAMES_OF_DESCRIPTIONS = [
    "fc_weight",
    "fc_bias",
    "bn_gamma",
    "bn_beta",
    "a_min",
    "a_max",
    "weight",
    "bias",
    "stn_loc_weight",
    "q_bias_quantize",
]


def _filled(mx: Any, init: Any, name: Any, shape: tuple[int, ...]) -> Any:
    array = mx.nd.ones(shape) * 5
    init(name, array)
    return array


def _shape_for(name: str) -> tuple[int, ...]:
    return (6,) if name.startswith("stn") else (1, 1, 4, 4)


def names_say_what_an_array_is(mx: Any) -> Any:
    return {name: _filled(mx, mx.init.Constant(7), name, _shape_for(name)) for name in NAMES}


def descriptions_say_what_an_array_is(mx: Any) -> Any:
    return {name: _filled(mx, mx.init.Constant(7), mx.init.InitDesc(name), _shape_for(name)) for name in NAMES_OF_DESCRIPTIONS}


def names_that_say_nothing_raise(mx: Any) -> Any:
    names = ["running_mean", "x", "foo_wd", "A_WEIGHT", "parameters", "mean"]
    return [fails(lambda name=name: _filled(mx, mx.init.Zero(), name, (2,))) for name in [*names, 3]]


def an_attribute_goes_before_the_name(mx: Any) -> Any:
    texts = [mx.init.One().dumps(), '["constant", {"value": 3}]', "One", "zeros"]
    return [_filled(mx, mx.init.Zero(), mx.init.InitDesc("x_bias", {"__init__": text}), (2,)) for text in texts]


def constants_fill_weights(mx: Any) -> Any:
    init = mx.init
    return [
        _filled(mx, init.Zero(), "a_weight", (2,)),
        _filled(mx, init.One(), "a_weight", (2,)),
        _filled(mx, init.Constant(3), "a_weight", (2,)),
        _filled(mx, init.Constant(mx.nd.array([[1, 2], [3, 4]])), "a_weight", (2, 2)),
        _filled(mx, init.Constant(np.array([1, 2])), "a_weight", (2,)),
    ]


def bilinear_interpolates(mx: Any) -> Any:
    return [_filled(mx, mx.init.Bilinear(), "a_weight", shape) for shape in ((1, 1, 4, 5), (2, 1, 3, 3), (1, 2, 4, 4), (1, 1, 2, 2))]


def lstm_bias_opens_the_forget_gate(mx: Any) -> Any:
    named = _filled(mx, mx.init.LSTMBias(2), mx.init.InitDesc("x_bias", {"__init__": mx.init.LSTMBias(3).dumps()}), (8,))
    return [named, _filled(mx, mx.init.LSTMBias(2), "x_bias", (8,)), _filled(mx, mx.init.LSTMBias(2), "x_weight", (8,))]


def fused_rnn_fills_each_gate(mx: Any) -> Any:
    results = {}
    for mode, gates in (("lstm", 4), ("gru", 3), ("rnn_tanh", 1)):
        for bidirectional in (False, True):
            hidden, inputs, directions = 2, 3, 1 + bidirectional
            size = sum(directions * gates * hidden * (width + hidden + 2) for width in (inputs, hidden * directions))
            init = mx.init.FusedRNN(mx.init.Constant(9), hidden, 2, mode, bidirectional, forget_bias=4.0)
            results[f"{mode} {bidirectional}"] = _filled(mx, init, mx.init.InitDesc("rnn_weight", {}, mx.init.Zero()), (size,))
    return results


def texts_hold_name_and_parameters(mx: Any) -> Any:
    init = mx.init
    kinds = [
        init.Xavier(),
        init.Xavier("gaussian", "in", 2.34),
        init.Uniform(0.3),
        init.Normal(),
        init.Constant(3),
        init.Constant(mx.nd.array([1, 2])),
        init.Zero(),
        init.One(),
        init.Orthogonal(),
        init.MSRAPrelu(),
        init.Bilinear(),
        init.LSTMBias(),
        init.FusedRNN(init.Xavier(), 3, 2, "lstm"),
        init.FusedRNN(None, 3, 2, "gru", True),
        init.Initializer(a=1, b="x"),
    ]
    return [kind.dumps() for kind in kinds]


def create_reads_names_and_texts(mx: Any) -> Any:
    create = mx.init.create
    made = [
        create("xavier"),
        create("Xavier", magnitude=2),
        create(mx.init.Zero()),
        create('["constant", {"value": 3}]'),
        create("one"),
        create("ones"),
        create("zeros"),
        create("msraprelu", slope=0.1),
    ]
    return [init.dumps() for init in made] + [fails(lambda: create("nope")), fails(lambda: create(3)), fails(lambda: create(made[0], 1))]


def initializers_are_equal_by_kind_and_parameters(mx: Any) -> Any:
    init = mx.init
    return [init.Xavier() == init.Xavier(), init.Xavier() == init.Xavier(magnitude=1), init.Zero() == init.One(), init.Zero() == 3]


def xavier_refuses_what_it_cannot_scale(mx: Any) -> Any:
    init = mx.init
    return [
        fails(lambda: _filled(mx, init.Xavier("x"), "a_weight", (2, 2))),
        fails(lambda: _filled(mx, init.Xavier(factor_type="x"), "a_weight", (2, 2))),
        fails(lambda: _filled(mx, init.Xavier(), "a_weight", (2,))),
        fails(lambda: _filled(mx, init.Orthogonal(1, "x"), "a_weight", (2, 2))),
        init.MSRAPrelu(slope=0.5).magnitude,
    ]


def load_fills_from_arrays(mx: Any) -> Any:
    load = mx.init.Load({"arg:a": mx.nd.ones((2,)), "aux:b": mx.nd.ones((2,)) * 2, "c": mx.nd.ones((2,)) * 3}, mx.init.One())
    arrays = [_filled(mx, load, name, (2,)) for name in ("a", "b", "c", "d_gamma")]
    return [*arrays, fails(lambda: _filled(mx, load, "a", (3,))), fails(lambda: _filled(mx, mx.init.Load({}), "a", (3,)))]


def mixed_takes_the_first_pattern(mx: Any) -> Any:
    mixed = mx.init.Mixed([".*bias", "a", ".*"], [mx.init.One(), mx.init.Constant(2), mx.init.Constant(3)])
    arrays = [_filled(mx, mixed, name, (2,)) for name in ("a_bias", "a_weight", "b_weight")]
    return [*arrays, fails(lambda: mx.init.Mixed(["a"], [])), fails(lambda: _filled(mx, mx.init.Mixed(["x"], [mx.init.One()]), "a", (2,)))]


def a_registered_class_is_found_by_name(mx: Any) -> Any:
    @mx.init.register
    class Sevens(mx.init.Initializer):
        def _init_weight(self, name: str, arr: Any) -> None:
            arr[:] = 7

    return [_filled(mx, mx.init.create("Sevens"), "a_weight", (2,)), mx.init.create("sevens").dumps()]
