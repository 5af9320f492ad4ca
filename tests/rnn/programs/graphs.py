"""The graphs that cells build: every node with its name, inputs and attributes."""

from __future__ import annotations

import json
from typing import Any


def _listed(found: Any) -> list[Any]:
    """The symbols of nested lists."""
    return [symbol for item in found for symbol in _listed(item)] if isinstance(found, (list, tuple)) else [found]


def _graph(mx: Any, found: Any) -> Any:
    nodes = json.loads(mx.sym.Group(_listed(found)).tojson())["nodes"]
    attributes = [{k: v for k, v in node.get("attrs", {}).items() if (k, v) != ("axis", "1")} for node in nodes]  # 1 is the default
    return [[n["op"], n["name"], [i[:2] for i in n["inputs"]], a] for n, a in zip(nodes, attributes)]  # noqa: B905


def _unrolled(mx: Any, cell: Any, inputs: Any = None, **kwargs: Any) -> Any:
    """The graph of three steps, and whether the outputs are one symbol."""
    with mx.name.NameManager():
        outputs, states = cell.unroll(3, mx.sym.Variable("data") if inputs is None else inputs, **kwargs)
    return [isinstance(outputs, mx.sym.Symbol), _graph(mx, [outputs, states])]


def _steps(mx: Any) -> Any:
    return [mx.sym.Variable(f"x{k}") for k in range(3)]


def rnn_cell(mx):
    return [_unrolled(mx, mx.rnn.RNNCell(4)), _unrolled(mx, mx.rnn.RNNCell(4, activation="relu", prefix="r_"), layout="TNC")]


def lstm_cell(mx):
    return [_unrolled(mx, mx.rnn.LSTMCell(4, forget_bias=2.0)), _unrolled(mx, mx.rnn.LSTMCell(4), _steps(mx), merge_outputs=True)]


def gru_cell(mx):
    cell = mx.rnn.GRUCell(4)
    return [_unrolled(mx, cell, layout="TNC", merge_outputs=True), _unrolled(mx, cell, begin_state=cell.begin_state(func=mx.sym.Variable))]


def an_activation_may_be_a_function(mx):
    cell = mx.rnn.RNNCell(4, activation=lambda x, **names: mx.sym.LeakyReLU(x, slope=0.5, **names))
    return _unrolled(mx, cell)


def fused_cells(mx):
    return [
        _unrolled(
            mx, mx.rnn.FusedRNNCell(4, layers, mode, bidirectional, dropout=0.5, get_next_state=states), layout=layout, merge_outputs=m
        )
        for mode in ("lstm", "gru", "rnn_tanh", "rnn_relu")
        for layers, bidirectional, states, layout, m in [
            (1, False, False, "TNC", True),
            (2, True, True, "NTC", None),
            (1, False, True, "NTC", False),
        ]
    ]


def fused_cell_over_steps(mx):
    return _unrolled(mx, mx.rnn.FusedRNNCell(4), _steps(mx))


def unfused_cells(mx):
    return [
        _unrolled(mx, mx.rnn.FusedRNNCell(4, 2, mode, bidirectional, dropout=0.3, prefix="q_").unfuse(), merge_outputs=merge)
        for mode, bidirectional, merge in [("lstm", True, None), ("gru", False, True), ("rnn_relu", False, None), ("rnn_tanh", True, True)]
    ]


def stack_of_cells(mx):
    def stack():
        cell = mx.rnn.SequentialRNNCell()
        cell.add(mx.rnn.LSTMCell(4, prefix="low_"))
        cell.add(mx.rnn.DropoutCell(0.5))
        cell.add(mx.rnn.ResidualCell(mx.rnn.GRUCell(4, prefix="high_")))
        return cell

    with mx.name.NameManager():
        cell = stack()
        step = _graph(mx, cell(mx.sym.Variable("x"), cell.begin_state()))
    return [_unrolled(mx, stack()), _unrolled(mx, stack(), merge_outputs=True), step, stack().state_info, list(stack().params._params)]


def both_directions(mx):
    def cell():
        return mx.rnn.BidirectionalCell(mx.rnn.LSTMCell(4, prefix="l_"), mx.rnn.GRUCell(3, prefix="r_"), output_prefix="both_")

    return [
        _unrolled(mx, cell()),
        _unrolled(mx, cell(), merge_outputs=True),
        _unrolled(mx, cell(), _steps(mx), layout="TNC", merge_outputs=True),
        _unrolled(mx, cell(), merge_outputs=False),
        cell().state_shape,
    ]


def dropout(mx):
    cases = [_unrolled(mx, mx.rnn.DropoutCell(0.5), merge_outputs=merge) for merge in (None, True, False)]
    steps = [_unrolled(mx, mx.rnn.DropoutCell(0.5), _steps(mx), merge_outputs=merge) for merge in (None, True)]
    return cases + steps + [_unrolled(mx, mx.rnn.DropoutCell(0.0), _steps(mx))]


def residual(mx):
    cases = [_unrolled(mx, mx.rnn.ResidualCell(mx.rnn.LSTMCell(4)), merge_outputs=merge) for merge in (None, True, False)]
    return [*cases, _unrolled(mx, mx.rnn.ResidualCell(mx.rnn.FusedRNNCell(4)))]


def zoneout_of_states(mx):
    return _unrolled(mx, mx.rnn.ZoneoutCell(mx.rnn.LSTMCell(4), zoneout_states=0.3))


def convolutional_cells(mx):
    return [
        found
        for make in (mx.rnn.ConvRNNCell, mx.rnn.ConvLSTMCell, mx.rnn.ConvGRUCell)
        for cell in [make((2, 3, 8, 8), 4), make((2, 3, 8, 8), 4, (5, 3), (2, 2), (3, 3), (2, 2), activation="tanh", prefix="c_")]
        for found in (cell.state_info, _unrolled(mx, cell))
    ] + [mx.rnn.ConvLSTMCell((2, 8, 8, 3), 4, conv_layout="NHWC").state_info]


def initializers_of_convolutions(mx):
    cell = mx.rnn.ConvRNNCell((2, 3, 8, 8), 4, i2h_weight_initializer=mx.init.Xavier(), h2h_weight_initializer="orthogonal")
    return {name: variable.attr_dict() for name, variable in cell.params._params.items()}


def begin_states(mx):
    cell = mx.rnn.GRUCell(3)
    cases = [
        (mx.sym.zeros, {}),
        (mx.sym.ones, {"dtype": "float16"}),
        (mx.sym.Variable, {"lr_mult": 0}),
        (mx.sym.random_uniform, {"low": 1}),
    ]
    return [_graph(mx, cell.begin_state(func=func, **kwargs)) for func, kwargs in cases]


def parameters_are_shared(mx):
    params = mx.rnn.RNNParams("shared_")
    first, second = mx.rnn.LSTMCell(2, prefix="a_", params=params), mx.rnn.LSTMCell(2, prefix="b_", params=params)
    return [list(params._params), first.params is second.params, params.get("extra", shape=(2, 3)).attr_dict()]
