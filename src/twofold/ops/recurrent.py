"""RNN: stacked, possibly bidirectional recurrent layers over whole sequences, with one flat vector of parameters.

The forward pass multiplies the inputs of all steps by the weights in one product, then loops over time. The backward pass loops back
and does the same with the gradients of all steps (Werbos, "Backpropagation through time", 1990). The graph grows linearly
with the number of steps.
"""

import math
from typing import Annotated, Literal, NamedTuple

from ..errors import ParameterError, ShapeError
from ..opdef import Input, Layers, Operand, SequenceLength, Training, agreed, first_known, op, size_at
from .joining import check_same_dtype
from .random_floats import bernoulli, substream
from .recurrent_cells import GRUCell, LSTMCell, PlainCell, StateClip

Mode = Literal["gru", "lstm", "rnn_relu", "rnn_tanh"]
CellState = Annotated[Operand | None, Input(present=("mode", "lstm"))]
#: Steps from which the state's weights are transposed once instead of by every product: BLAS takes 94 µs for (32, 200) by the transpose of
#: (800, 200), and 57 µs for (32, 200) by (200, 800).
TRANSPOSED_FROM = 8
GATES = {"rnn_relu": 1, "rnn_tanh": 1, "lstm": 4, "gru": 3}


class Net(NamedTuple):
    """The configuration of an RNN: everything except its arrays."""

    mode: str
    layers: int
    directions: int
    inputs: int
    hidden: int
    projection: int | None
    clip: StateClip

    @property
    def out(self) -> int:
        """The size of h."""
        return self.projection or self.hidden

    @property
    def cell(self) -> LSTMCell | GRUCell | PlainCell:
        """The cell of the layers."""
        if self.mode == "lstm":
            return LSTMCell(self.clip)
        return GRUCell() if self.mode == "gru" else PlainCell(self.mode.removeprefix("rnn_"))

    def blocks(self) -> list[tuple[tuple[int, int, str], tuple[int, ...]]]:
        """The blocks of the parameter vector, in order: ((layer, direction, name), shape). All weights precede all biases."""
        rows = GATES[self.mode] * self.hidden
        out: list[tuple[tuple[int, int, str], tuple[int, ...]]] = []
        places = [(layer, d) for layer in range(self.layers) for d in range(self.directions)]
        for layer, d in places:
            out += [((layer, d, "input"), (rows, self.inputs if layer == 0 else self.out * self.directions))]
            out += [((layer, d, "state"), (rows, self.out))]
            out += [((layer, d, "projection"), (self.projection, self.hidden))] if self.projection else []
        for layer, d in places:
            # MXNet's layout, which checkpoints have: first the weights of all layers, then the biases
            out += [((layer, d, "input_bias"), (rows,)), ((layer, d, "state_bias"), (rows,))]
        return out

    def size(self) -> int:
        """The length of the parameter vector."""
        return sum(math.prod(shape) for _, shape in self.blocks())

    def unpacked(self, xp, vector):
        """The blocks of the parameter vector, by key."""
        out, start = {}, 0
        for key, shape in self.blocks():
            stop = start + math.prod(shape)
            out[key] = xp.reshape(xp.take_slice(vector, start, stop, 0), shape=shape)
            start = stop
        return out


# one direction of one layer


class Scan(NamedTuple):
    """The result of a loop over time (a scan): per step, the outputs and the values for the backward pass; and the final states."""

    outputs: list[Operand | None]
    before: list[Operand | None]
    saved: list[object]
    raw: list[Operand | None]
    h: Operand | None
    c: Operand | None


def step_of(xp, sequence, t):
    """Element t of the first axis, without that axis."""
    return xp.reshape(xp.take_slice(sequence, t, t + 1, 0), shape=sequence.shape[1:])


def steps_in_order(steps, direction):
    """The steps as a direction visits them: 0 goes forward, 1 back."""
    return range(steps) if direction == 0 else range(steps - 1, -1, -1)


def _valid(xp, length, steps):
    """For each step a mask (n, 1) of the sequences that it is part of; None if all sequences have full length."""
    if length is None:
        return [None] * steps
    return [xp.greater(xp.reshape(length, shape=(-1, 1)), t) for t in range(steps)]


def _forward(xp, net, x, w, h, c, direction, valid):
    """Run one direction over x (t, n, d) from the states h and c."""
    cell, (steps, n, depth) = net.cell, x.shape
    rows = xp.reshape(x, shape=(steps * n, depth))
    # a GRU's reset gate multiplies the state's contribution with its bias, so the two biases cannot be merged
    bias = w["input_bias"] if net.mode == "gru" else w["input_bias"] + w["state_bias"]
    # one product for all steps: the weights are read once instead of once a step
    shares = xp.reshape(xp.matmul(rows, xp.matrix_transpose(w["input"])) + bias, shape=(steps, n, -1))
    state_weight = xp.matrix_transpose(w["state"])
    if steps >= TRANSPOSED_FROM:
        # pays for itself over the steps; see `TRANSPOSED_FROM`
        state_weight = xp.contiguous(state_weight)
    scan = Scan([None] * steps, [None] * steps, [None] * steps, [None] * steps, None, None)
    for t in steps_in_order(steps, direction):
        scan.before[t] = h
        hidden = xp.matmul(h, state_weight)
        hidden = hidden + w["state_bias"] if net.mode == "gru" else hidden
        new, cell_state, scan.saved[t] = cell.forward(xp, step_of(xp, shares, t), hidden, h, c)
        scan.raw[t] = new
        new = new if net.projection is None else xp.matmul(new, xp.matrix_transpose(w["projection"]))
        if valid[t] is None:
            h, c, scan.outputs[t] = new, cell_state, new
        else:
            scan.outputs[t] = xp.where(valid[t], new, 0)
            h, c = xp.where(valid[t], new, h), c if cell_state is None else xp.where(valid[t], cell_state, c)
    return scan._replace(h=h, c=c)


def _backward(xp, net, x, w, scan, douts, dh, dc, direction, valid):
    """Gradients of x, of the direction's parameters, and of its initial states."""
    cell, (steps, n, depth) = net.cell, x.shape
    dgates, dhidden, draw = [None] * steps, [None] * steps, [None] * steps
    for t in reversed(steps_in_order(steps, direction)):
        dnew, old_dh, old_dc = _sum_of_known(douts[t], dh), None, None
        # past a sequence's end the states were passed through unchanged, and so are their gradients
        if valid[t] is not None:
            dnew, old_dh = dnew * valid[t], None if dh is None else dh * xp.logical_not(valid[t])
            dc, old_dc = (None, None) if dc is None else (dc * valid[t], dc * xp.logical_not(valid[t]))
        draw[t] = dnew
        dnew = dnew if net.projection is None else xp.matmul(dnew, w["projection"])
        dgates[t], dhidden[t], direct, dc = cell.backward(xp, scan.saved[t], dnew, dc)
        dh = _sum_of_known(_sum_of_known(xp.matmul(dhidden[t], w["state"]), direct), old_dh)
        dc = _sum_of_known(dc, old_dc)
    # the weights' gradients of all steps are one matrix product each, not a sum over steps
    flat_gates, flat_hidden = xp.concat(*dgates, axis=0), xp.concat(*dhidden, axis=0)
    grads = {
        "input": xp.matmul(xp.matrix_transpose(flat_gates), xp.reshape(x, shape=(steps * n, depth))),
        "state": xp.matmul(xp.matrix_transpose(flat_hidden), xp.concat(*scan.before, axis=0)),
        "input_bias": xp.sum(flat_gates, axis=0),
        "state_bias": xp.sum(flat_hidden, axis=0),
    }
    if net.projection is not None:
        grads["projection"] = xp.matmul(xp.matrix_transpose(xp.concat(*draw, axis=0)), xp.concat(*scan.raw, axis=0))
    dx = xp.reshape(xp.matmul(flat_gates, w["input"]), shape=x.shape)
    return dx, grads, dh, dc


def _sum_of_known(a, b):
    """The sum of two gradients; either may be None."""
    return a if b is None else b if a is None else a + b


# the stack of layers


class Stack:
    """The whole RNN on its arrays; the forward pass saves ``scans`` and ``layer_inputs`` for the backward pass."""

    def __init__(self, xp, net, parameters, state, state_cell, length, keep, rng):
        self.xp, self.net, self.state, self.state_cell = xp, net, state, state_cell
        self.blocks = net.unpacked(xp, parameters)
        self.length, self.keep, self.rng = length, keep, rng
        self.scans, self.layer_inputs, self.masks = {}, [], {}

    def weights(self, layer, direction):
        """The parameters of one direction, by name."""
        return {name: a for (at, d, name), a in self.blocks.items() if (at, d) == (layer, direction)}

    def forward(self, x):
        """The outputs of the last layer (t, n, directions · h)."""
        xp, net = self.xp, self.net
        self.valid = _valid(xp, self.length, x.shape[0])
        for layer in range(net.layers):
            x = self._dropped(x, layer)
            self.layer_inputs.append(x)
            ways = []
            for d in range(net.directions):
                at = layer * net.directions + d
                c = None if self.state_cell is None else step_of(xp, self.state_cell, at)
                scan = _forward(xp, net, x, self.weights(layer, d), step_of(xp, self.state, at), c, d, self.valid)
                self.scans[layer, d] = scan
                # in the order of time for both directions
                ways.append(xp.stack(scan.outputs))
            x = ways[0] if len(ways) == 1 else xp.concat(*ways, axis=2)
        return x

    def _dropped(self, x, layer):
        """Dropout on the inputs of all layers except the first."""
        if layer == 0 or self.keep == 1:
            return x
        self.masks[layer] = bernoulli(self.xp, substream(self.xp, self.rng, layer), x.shape, self.keep)
        return x * self.masks[layer] * (1 / self.keep)

    def last(self, name):
        """The final states of all layers and directions, ``"h"`` or ``"c"``: (layers · directions, n, size)."""
        return self.xp.stack([getattr(scan, name) for scan in self.scans.values()])

    def backward(self, dout, dh, dc):
        """Gradients of the data, the parameters and the initial states, after `forward`."""
        xp, net = self.xp, self.net
        grads, first_h, first_c = {}, {}, {}
        for layer in reversed(range(net.layers)):
            x, dx = self.layer_inputs[layer], None
            for d in range(net.directions):
                at = layer * net.directions + d
                # the gradients of the final states, where the scan of this direction starts back
                ends = [None if a is None else step_of(xp, a, at) for a in (dh, dc)]
                part = xp.take_slice(dout, d * net.out, (d + 1) * net.out, 2)
                douts = [step_of(xp, part, t) for t in range(x.shape[0])]
                weights, scan = self.weights(layer, d), self.scans[layer, d]
                more, own, first_h[at], first_c[at] = _backward(xp, net, x, weights, scan, douts, ends[0], ends[1], d, self.valid)
                grads |= {(layer, d, name): g for name, g in own.items()}
                dx = _sum_of_known(dx, more)
            dout = dx * self.masks[layer] * (1 / self.keep) if layer in self.masks else dx
        # in the order of the blocks of the parameter vector
        vector = xp.concat(*[xp.reshape(grads[key], shape=(-1,)) for key, _ in net.blocks()], axis=0)
        states = [xp.stack([first[at] for at in sorted(first)]) if self._has(first) else None for first in (first_h, first_c)]
        return dout, vector, *states

    @staticmethod
    def _has(first):
        return all(v is not None for v in first.values())


#: The most steps of all layers and directions: each takes 0.5 ms when shapes are inferred, and 130 KB when the graph runs.
MOST_CELLS = 2**16


def net_of(data, *, state_size, num_layers, bidirectional, mode, projection_size, clip, **_):
    """The sizes of an RNN on data of a shape.

    Raises
    ------
    ParameterError
        If a projection is given that only an LSTM has.
    ShapeError
        If the graph would have more than `MOST_CELLS`.
    """
    if projection_size is not None and mode != "lstm":
        raise ParameterError("RNN: only an LSTM has a projection", f"projection_size {projection_size}, mode {mode}", "leave it out")
    cells = (data[0] or 0) * num_layers * (2 if bidirectional else 1)
    if cells > MOST_CELLS:
        given = f"{data[0]} steps, {num_layers} layers{', both directions' if bidirectional else ''}"
        todo = f"at most {MOST_CELLS} steps of all layers and directions: cut the sequences, and pass the states on"
        raise ShapeError("RNN: the sequences are too long", given, todo)
    return Net(mode, num_layers, 2 if bidirectional else 1, data[2], state_size, projection_size or None, clip)


def _check(net, data, parameters, state, state_cell, length, use_sequence_length):
    if parameters.shape != (net.size(),):
        raise ShapeError("RNN: the parameter vector has the wrong shape", parameters.shape, f"pass one of shape {(net.size(),)}")
    wanted = [(state, "state", net.out)] + ([(state_cell, "state_cell", net.hidden)] if net.mode == "lstm" else [])
    for array, name, size in wanted:
        shape = (net.layers * net.directions, data.shape[1], size)
        if array is None or array.shape != shape:
            raise ShapeError(f"RNN: {name} has the wrong shape", None if array is None else array.shape, f"pass one of shape {shape}")
    if use_sequence_length and (length is None or length.shape != (data.shape[1],)):
        raise ShapeError("RNN: needs one length for each sequence", length and length.shape, f"pass an array of shape {(data.shape[1],)}")


def _stack(xp, arrays, *, p, use_sequence_length, is_train, **params):
    data, parameters, state, state_cell, length, rng = arrays
    if not 0 <= p < 1:
        raise ParameterError("RNN: p must be a probability below 1", p, "pass 0 <= p < 1")
    net = net_of(data.shape, **params)
    _check(net, data, parameters, state, state_cell, length, use_sequence_length)
    cell_state = state_cell if net.mode == "lstm" else None
    return Stack(xp, net, parameters, state, cell_state, length if use_sequence_length else None, 1 - p if is_train else 1, rng)


def outputs_of(mode, state_outputs, **_):
    """The number of results: the outputs, and with ``state_outputs`` the final states."""
    return 1 if not state_outputs else 3 if mode == "lstm" else 2


def clip_of(params):
    """The bounds of cell states among the parameters of an operator."""
    return StateClip(*(params[f"lstm_state_clip_{name}"] for name in ("min", "max", "nan")))


#: The names of the results of `RNN`.
STATES = ("output", "state_output", "statecell_output")


@op("RNN", "_npx_rnn", outputs=outputs_of, output_names=STATES)
def rnn(
    xp,
    data,
    parameters,
    state,
    state_cell: CellState = None,
    sequence_length: SequenceLength = None,
    rng=None,
    *,
    state_size: int,
    num_layers: Layers,
    bidirectional: bool = False,
    mode: Mode,
    p: float = 0.0,
    state_outputs: bool = False,
    projection_size: int | None = None,
    lstm_state_clip_min: float | None = None,
    lstm_state_clip_max: float | None = None,
    lstm_state_clip_nan: bool = False,
    use_sequence_length: bool = False,
    is_train: Training = False,
):
    """Recurrent layers over data (t, n, d), from states (layers · directions, n, state_size); the result is (t, n, directions · h).

    ``parameters`` is one vector: for each layer and direction the weights of the input (g · h, d) and of the state (g · h, h)
    [and of the projection], then for each the two biases (g · h,); gates in the order i, f, g, o (lstm) and r, z, n (gru). ``p`` is
    the dropout between layers in training. With ``state_outputs`` the final states are additional results. Steps from a
    sequence's length on output 0 and leave its states unchanged; the backward direction starts at its last step.
    """
    check_same_dtype(xp, "RNN", [a for a in (data, parameters, state, state_cell) if a is not None])
    stack = _stack(
        xp,
        (data, parameters, state, state_cell, sequence_length, rng),
        state_size=state_size,
        num_layers=num_layers,
        bidirectional=bidirectional,
        mode=mode,
        p=p,
        projection_size=projection_size,
        clip=StateClip(lstm_state_clip_min, lstm_state_clip_max, lstm_state_clip_nan),
        use_sequence_length=use_sequence_length,
        is_train=is_train,
    )
    out = stack.forward(data)
    if not state_outputs:
        return out
    return (out, stack.last("h"), stack.last("c")) if mode == "lstm" else (out, stack.last("h"))


@rnn.draws
def _(*, p, num_layers, is_train, **_):
    return is_train and p > 0 and num_layers > 1


@rnn.infer
def _(shapes, results, *, mode, use_sequence_length, **params):
    # inputs that are absent at the end may be missing from the list
    data, vector, state, cell, length = (*shapes, None, None, None, None)[:5]
    data = agreed(data, (None, None, None)) or (None, None, None)
    result, *last = [agreed(r, (None, None, None)) or (None, None, None) for r in results]
    steps = first_known(data[0], result[0])
    batch = first_known(data[1], result[1], *[s[1] for s in (state, cell, *last) if s is not None and len(s) == 3], size_at(length, 0))
    net = net_of((steps, batch, data[2]), mode=mode, clip=None, **params)
    rows = net.layers * net.directions
    h, c = (rows, batch, net.out), (rows, batch, net.hidden)
    vector = vector if data[2] is None else (net.size(),)
    inputs = [(steps, batch, data[2]), vector, h, c if mode == "lstm" else None, (batch,) if use_sequence_length else None]
    return inputs, [(steps, batch, net.directions * net.out), h, c]


@rnn.grad
def _(xp, dout, data, parameters, state, state_cell, sequence_length, rng, *, state_outputs, **params):
    stack = _stack(xp, (data, parameters, state, state_cell, sequence_length, rng), clip=clip_of(params), **params)
    out = stack.forward(data)
    # only an LSTM has a third result, the cell states
    dout, dh, dc = (*dout, None)[:3] if state_outputs else (dout, None, None)
    return stack.backward(xp.zeros_like(out) if dout is None else dout, dh, dc)


@rnn.sample
def _(draw):
    data = draw.real((3, 2, 2))
    samples = []
    for mode, directions in (("rnn_tanh", 1), ("lstm", 2), ("gru", 1)):
        size = Net(mode, 1, directions, 2, 3, None, StateClip(None, None, False)).size()
        state = draw.real((directions, 2, 3), low=-1, high=1)
        states = (state, state if mode == "lstm" else None, None)
        vector = draw.real((size,), low=-0.5, high=0.5)
        samples.append(draw(data, vector, *states, state_size=3, num_layers=1, mode=mode, bidirectional=directions == 2))
    return samples
