"""What unrolled cells compute, forwards and backwards, from the same parameters."""

from __future__ import annotations

from typing import Any

import numpy as np


def _flat(found: Any) -> list[Any]:
    return [symbol for item in found for symbol in _flat(item)] if isinstance(found, (list, tuple)) else [found]


def _computed(mx: Any, cell: Any, shape: tuple[int, ...] = (2, 3, 4), **kwargs: Any) -> Any:
    """Outputs, final states and gradients of three steps; the data and all parameters are the same in each call."""
    outputs, states = cell.unroll(3, mx.sym.Variable("data"), **kwargs)
    # the final state is also the last output, and MXNet drops one of the gradients of an output that is listed twice
    executor = mx.sym.Group(_flat(outputs) + [state * 1 for state in _flat(states)]).simple_bind(mx.cpu(), data=shape)
    for k, name in enumerate(sorted(executor.arg_dict)):
        array = executor.arg_dict[name]
        array[:] = np.random.RandomState(k).uniform(-1, 1, array.shape)
    computed = executor.forward(is_train=True)
    executor.backward([mx.nd.array(np.random.RandomState(90 + k).uniform(-1, 1, out.shape)) for k, out in enumerate(computed)])
    return [list(computed), {name: executor.grad_dict[name] for name in sorted(executor.grad_dict)}]


def basic_cells(mx):
    return [_computed(mx, cell) for cell in (mx.rnn.RNNCell(3), mx.rnn.LSTMCell(3), mx.rnn.GRUCell(3))]


def fused_cells(mx):
    cases = [("lstm", True, "NTC"), ("gru", False, "TNC"), ("rnn_tanh", True, "NTC"), ("rnn_relu", False, "NTC")]
    return [
        _computed(mx, mx.rnn.FusedRNNCell(3, 2, mode, bidirectional, get_next_state=True), layout=layout)
        for mode, bidirectional, layout in cases
    ]


def unfused_cells(mx):
    return [
        _computed(mx, mx.rnn.FusedRNNCell(3, 2, mode, bidirectional).unfuse(), merge_outputs=True)
        for mode, bidirectional in [("lstm", True), ("gru", False)]
    ]


def residual_stack(mx):
    cell = mx.rnn.SequentialRNNCell()
    cell.add(mx.rnn.ResidualCell(mx.rnn.GRUCell(4, prefix="low_")))
    cell.add(mx.rnn.BidirectionalCell(mx.rnn.LSTMCell(4, prefix="l_"), mx.rnn.RNNCell(3, prefix="r_")))
    return _computed(mx, cell)


def zoneout_outside_training_changes_nothing(mx):
    outputs, states = mx.rnn.ZoneoutCell(mx.rnn.LSTMCell(3), 0.5, 0.5).unroll(3, mx.sym.Variable("data"))
    executor = mx.sym.Group([*outputs, *states]).simple_bind(mx.cpu(), data=(2, 3, 4), grad_req="null")
    for k, name in enumerate(sorted(executor.arg_dict)):
        executor.arg_dict[name][:] = np.random.RandomState(k).uniform(-1, 1, executor.arg_dict[name].shape)
    return list(executor.forward(is_train=False))


def convolutional_cells(mx):
    return [
        _computed(mx, make((1, 2, 5, 5), 2, activation=activation), shape=(2, 3, 2, 5, 5))
        for make in (mx.rnn.ConvRNNCell, mx.rnn.ConvLSTMCell, mx.rnn.ConvGRUCell)
        for activation in ("tanh", mx.sym.relu)
    ]
