"""RNN: stacked, possibly bidirectional recurrent layers over whole sequences, with one flat vector of parameters.

The forward pass multiplies the inputs of all steps by the weights in one product, then loops over time. The backward pass loops back
and does the same with the gradients of all steps (Werbos, "Backpropagation through time", 1990). The graph of short sequences has all
steps, that of longer ones loops (`LOOPED_FROM`), so its size does not depend on their length.
"""

import math
from typing import Annotated, Literal, NamedTuple

from ..errors import ParameterError, ShapeError
from ..opdef import Input, Layers, Operand, SequenceLength, Training, agreed, first_known, op, size_at
from .joining import check_same_dtype
from .random_floats import bernoulli, substream
from .recurrent_cells import GRUCell, LSTMCell, PlainCell, StateClip
from .recurrent_scan import Steps, joined, scan, stacked, step_of

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
    looped: bool = False

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


def _valid(xp, length, steps, looped):
    """For each step a mask (n, 1) of the sequences that it is part of; None if all sequences have full length."""
    if length is None:
        return None
    if looped:
        return xp.greater(
            xp.reshape(length, shape=(1, -1, 1)), xp.reshape(xp.iota(size=steps, dtype=xp.dtype_of(length)), shape=(-1, 1, 1))
        )
    return [xp.greater(xp.reshape(length, shape=(-1, 1)), t) for t in range(steps)]


class Pass(NamedTuple):
    """What the forward pass of one direction leaves: per step, the outputs and the values for the backward pass; and the final states."""

    outputs: Steps
    before: Steps
    saved: list[Steps]
    raw: Steps
    h: Operand | None
    c: Operand | None


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

    def step(values, states, shared):
        (share, mask), (h, c), (weight, own_bias, projection) = values, states, shared
        hidden = xp.matmul(h, weight)
        hidden = hidden if own_bias is None else hidden + own_bias
        raw, cell_state, saved = cell.forward(xp, share, hidden, h, c)
        new = raw if projection is None else xp.matmul(raw, xp.matrix_transpose(projection))
        if mask is None:
            return [new, raw, *saved], [new, cell_state]
        kept = None if cell_state is None else xp.where(mask, cell_state, c)
        return [xp.where(mask, new, 0), raw, *saved], [xp.where(mask, new, h), kept]

    shared = [state_weight, w["state_bias"] if net.mode == "gru" else None, w.get("projection")]
    found = scan(xp, step, steps, [shares, valid], [h, c], shared, direction, net.looped)
    outputs, raw, *saved = found.outputs
    return Pass(outputs, found.before[0], saved, raw, *found.states)


def _backward(xp, net, x, w, forward, dout, dh, dc, direction, valid):
    """Gradients of x, of the direction's parameters, and of its initial states."""
    cell, (steps, n, depth) = net.cell, x.shape

    def step(values, states, shared):
        (dnew, mask, *saved), (dh, dc), (weight, projection) = values, states, shared
        dnew, old_dh, old_dc = _sum_of_known(dnew, dh), None, None
        # past a sequence's end the states were passed through unchanged, and so are their gradients
        if mask is not None:
            dnew, old_dh = dnew * mask, None if dh is None else dh * xp.logical_not(mask)
            dc, old_dc = (None, None) if dc is None else (dc * mask, dc * xp.logical_not(mask))
        draw = dnew
        dnew = dnew if projection is None else xp.matmul(dnew, projection)
        dgates, dhidden, direct, dc = cell.backward(xp, saved, dnew, dc)
        dh = _sum_of_known(_sum_of_known(xp.matmul(dhidden, weight), direct), old_dh)
        return [dgates, dhidden, draw], [dh, _sum_of_known(dc, old_dc)]

    if net.looped:
        # the states of a loop have the same type in all steps
        dh = xp.zeros((n, net.out), xp.dtype_of(x)) if dh is None else dh
        dc = xp.zeros((n, net.hidden), xp.dtype_of(x)) if dc is None and net.mode == "lstm" else dc
    shared = [w["state"], w.get("projection")]
    found = scan(xp, step, steps, [dout, valid, *forward.saved], [dh, dc], shared, 1 - direction, net.looped)
    dgates, dhidden, draw = found.outputs
    # the weights' gradients of all steps are one matrix product each, not a sum over steps
    flat_gates, flat_hidden = joined(xp, dgates), joined(xp, dhidden)
    grads = {
        "input": xp.matmul(xp.matrix_transpose(flat_gates), xp.reshape(x, shape=(steps * n, depth))),
        "state": xp.matmul(xp.matrix_transpose(flat_hidden), joined(xp, forward.before)),
        "input_bias": xp.sum(flat_gates, axis=0),
        "state_bias": xp.sum(flat_hidden, axis=0),
    }
    if net.projection is not None:
        grads["projection"] = xp.matmul(xp.matrix_transpose(joined(xp, draw)), joined(xp, forward.raw))
    dx = xp.reshape(xp.matmul(flat_gates, w["input"]), shape=x.shape)
    return dx, grads, *found.states


def _sum_of_known(a, b):
    """The sum of two gradients; either may be None."""
    return a if b is None else b if a is None else a + b


# the stack of layers


class Stack:
    """The whole RNN on its arrays; the forward pass saves ``passes`` and ``layer_inputs`` for the backward pass."""

    def __init__(self, xp, net, parameters, state, state_cell, length, keep, rng):
        self.xp, self.net, self.state, self.state_cell = xp, net, state, state_cell
        self.blocks = net.unpacked(xp, parameters)
        self.length, self.keep, self.rng = length, keep, rng
        self.passes, self.layer_inputs, self.masks = {}, [], {}

    def weights(self, layer, direction):
        """The parameters of one direction, by name."""
        return {name: a for (at, d, name), a in self.blocks.items() if (at, d) == (layer, direction)}

    def forward(self, x):
        """The outputs of the last layer (t, n, directions · h)."""
        xp, net = self.xp, self.net
        self.valid = _valid(xp, self.length, x.shape[0], net.looped)
        for layer in range(net.layers):
            x = self._dropped(x, layer)
            self.layer_inputs.append(x)
            ways = []
            for d in range(net.directions):
                at = layer * net.directions + d
                c = None if self.state_cell is None else step_of(xp, self.state_cell, at)
                way = _forward(xp, net, x, self.weights(layer, d), step_of(xp, self.state, at), c, d, self.valid)
                self.passes[layer, d] = way
                # in the order of time for both directions
                ways.append(stacked(xp, way.outputs))
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
        return self.xp.stack([getattr(way, name) for way in self.passes.values()])

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
                weights, way = self.weights(layer, d), self.passes[layer, d]
                more, own, first_h[at], first_c[at] = _backward(xp, net, x, weights, way, part, ends[0], ends[1], d, self.valid)
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


#: The steps of all layers and directions from which the graph has loops instead of all steps. Written out, a step of training takes 300
#: nodes, 5 ms to compile and 200 KB of program for each length of sequences, and runs as fast, except in networks of a few dozen numbers.
LOOPED_FROM = 17
#: The most steps of all layers and directions: the values that their backward pass reads are kept.
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
    looped = cells >= LOOPED_FROM
    return Net(mode, num_layers, 2 if bidirectional else 1, data[2], state_size, projection_size or None, clip, looped)


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
