"""Recurrent cells and layers: outputs, states, gradients; unrolling."""

from __future__ import annotations

from typing import Any

from .running import both, fill, real
from tests.oracle_programs import fails

SEQUENCES = real(2, 3, 4)


def cells(mx: Any) -> Any:
    rnn = mx.gluon.rnn
    found = []
    for make in (rnn.RNNCell, rnn.LSTMCell, rnn.GRUCell):
        cell = make(2, prefix="c_")
        cell.initialize()
        states = cell.begin_state(batch_size=2)
        cell(mx.nd.array(SEQUENCES[:, 0]), states)
        fill(mx, cell)
        found.append([repr(cell), cell.state_info(5), cell(mx.nd.array(SEQUENCES[:, 0]), states)])
    return found


def unrolling(mx: Any) -> Any:
    cell = mx.gluon.rnn.LSTMCell(2, prefix="c_")
    cell.initialize()
    x = mx.nd.array(SEQUENCES)
    cell.unroll(3, x)
    fill(mx, cell)
    steps = [x[:, k] for k in range(3)]
    return [
        cell.unroll(3, x),
        cell.unroll(3, x, merge_outputs=True),
        cell.unroll(3, steps),
        cell.unroll(3, x.swapaxes(0, 1), layout="TNC", merge_outputs=True),
        cell.unroll(3, x, valid_length=mx.nd.array([1, 3])),
        fails(lambda: cell.unroll(4, x)),
        fails(lambda: cell.unroll(4, steps)),
    ]


def stacks(mx: Any) -> Any:
    rnn = mx.gluon.rnn
    found = []
    for kind in (rnn.SequentialRNNCell, rnn.HybridSequentialRNNCell):
        stack = kind(prefix="s_")
        with stack.name_scope():
            stack.add(rnn.LSTMCell(4, input_size=4))
            stack.add(rnn.GRUCell(4, input_size=4))
        stack.initialize()
        x = mx.nd.array(SEQUENCES)
        stack.unroll(3, x)
        fill(mx, stack)
        found.append([repr(stack), len(stack), stack.unroll(3, x, merge_outputs=True), stack(x[:, 0], stack.begin_state(batch_size=2))])
    return found


def bidirectional_cells(mx: Any) -> Any:
    rnn = mx.gluon.rnn
    cell = rnn.BidirectionalCell(rnn.RNNCell(2, prefix="l_"), rnn.GRUCell(2, prefix="r_"))
    cell.initialize()
    x = mx.nd.array(SEQUENCES)
    cell.unroll(3, x)
    fill(mx, cell)
    states = cell.begin_state(batch_size=2)
    return [repr(cell), cell.unroll(3, x, merge_outputs=True), len(states), fails(lambda: cell(x[:, 0], states))]


def modifiers(mx: Any) -> Any:
    rnn = mx.gluon.rnn
    x = mx.nd.array(SEQUENCES)
    zoneout, residual, dropout = (
        rnn.ZoneoutCell(rnn.RNNCell(2, prefix="z_"), 0.2, 0.3),
        rnn.ResidualCell(rnn.RNNCell(4, prefix="r_")),
        rnn.DropoutCell(0.5),
    )
    found = []
    for cell in (zoneout, residual):
        cell.initialize()
        cell.unroll(3, x)
        fill(mx, cell)
        found.append([repr(cell), cell.prefix, list(cell.params.keys()), cell.unroll(3, x, merge_outputs=True)])
    return [
        found,
        repr(dropout),
        dropout.state_info(3),
        dropout.unroll(3, x)[0],
        fails(lambda: zoneout.base_cell.begin_state(batch_size=2)),
    ]


def _layers(mx: Any) -> list[Any]:
    rnn = mx.gluon.rnn
    return [
        lambda mx: rnn.LSTM(2, prefix="a_"),
        lambda mx: rnn.LSTM(2, num_layers=2, bidirectional=True, layout="NTC", prefix="a_"),
        lambda mx: rnn.GRU(2, num_layers=2, prefix="a_"),
        lambda mx: rnn.RNN(2, prefix="a_"),
        lambda mx: rnn.RNN(2, activation="tanh", bidirectional=True, prefix="a_"),
        lambda mx: rnn.LSTM(3, projection_size=2, input_size=4, prefix="a_"),
    ]


def layers(mx: Any) -> Any:
    return [both(mx, make, SEQUENCES) for make in _layers(mx)[:-1]]  # MXNet trains no projection on the CPU


def states_of_layers(mx: Any) -> Any:
    found = []
    for make in _layers(mx):
        layer = make(mx)
        layer.initialize()
        x = mx.nd.array(SEQUENCES)
        layer(x)
        fill(mx, layer)
        states = layer.begin_state(batch_size=2 if layer._layout == "NTC" else 3)
        out, last = layer(x, states)
        found.append([repr(layer), [list(s.shape) for s in states], out, last, list(layer._collect_params_with_prefix())])
    return found


def invalid_calls(mx: Any) -> Any:
    rnn, x = mx.gluon.rnn, mx.nd.array(SEQUENCES)
    layer = rnn.LSTM(2, input_size=4)
    layer.initialize()
    return [
        fails(lambda: rnn.LSTM(2, layout="x")),
        fails(lambda: layer(x, layer.begin_state(batch_size=7))),
        fails(lambda: rnn.ZoneoutCell(rnn.BidirectionalCell(rnn.RNNCell(2), rnn.RNNCell(2)))),
        fails(lambda: layer(x[0])),
    ]


def outputs_of_residual_cells(mx: Any) -> Any:
    found = []
    for lengths in (None, [1, 2]):
        for merge in (None, True, False):
            cell = mx.gluon.rnn.ResidualCell(mx.gluon.rnn.RNNCell(4, prefix="r_"))
            cell.initialize(mx.init.One())
            valid = None if lengths is None else mx.nd.array(lengths)
            x = mx.nd.array(SEQUENCES)[:, :2]
            found.append(cell.unroll(len(SEQUENCES), x, layout="TNC", merge_outputs=merge, valid_length=valid)[0])
    return found
