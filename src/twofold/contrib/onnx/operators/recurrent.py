"""Recurrent layers: LSTM, GRU and RNN."""

from typing import Any

import numpy as np

from ....errors import FormatError
from ....symbol.symbol import Symbol
from ..op_reader import reads, unsupported
from ..values import Graph, Tensor
from .functions import NP, F, Symbols, as_dtype, slice_at, sliced

#: The most steps of a layer that becomes nodes for each step.
MOST_STEPS = 4096


def _reordered(block: Symbol, order: tuple[int, ...], size: int) -> Symbol:
    """The rows of (directions, gates · size, …) with the gates in another order."""
    parts = [F.slice_axis(block, axis=1, begin=k * size, end=(k + 1) * size) for k in order]
    return parts[0] if len(parts) == 1 else F.concat(*parts, dim=1)


def _flat(block: Symbol, direction: int) -> Symbol:
    return F.reshape(F.slice_axis(block, axis=0, begin=direction, end=direction + 1), shape=(-1,))


# ONNX has the gates of an LSTM in the order i, o, f, c and those of a GRU in z, r, h; MXNet has i, f, c, o and r, z, h. The readers below
# pass the position in ONNX of each of MXNet's gates.


def _vector(w: Tensor, r: Tensor, b: Symbol, order: tuple[int, ...], size: int, directions: int) -> Symbol:
    """The flat vector of parameters, in MXNet's order: all weights, then all biases."""
    weights, states = _reordered(w.symbol, order, size), _reordered(r.symbol, order, size)
    rows = len(order) * size
    # ONNX joins the biases of the input's and the state's product in one row, MXNet keeps two blocks
    first = _reordered(F.slice_axis(b, axis=1, begin=0, end=rows), order, size)
    second = _reordered(F.slice_axis(b, axis=1, begin=rows, end=2 * rows), order, size)
    parts = [_flat(block, d) for d in range(directions) for block in (weights, states)]
    parts += [_flat(block, d) for d in range(directions) for block in (first, second)]
    return F.concat(*parts, dim=0)


def _zeros(graph: Graph, *shape: int) -> Symbol:
    return graph.constant(np.zeros(shape), "float32").symbol


def _size(graph: Graph, w: Tensor, r: Tensor, gates: int, given: int | None) -> int:
    """The size of a state, for which both weights must have their rows: arrays of this size are made before anything else looks at it."""
    if w.ndim != 3 or r.ndim != 3:
        raise FormatError(f"{graph.place}: weights have three axes", f"W {w.sizes}, R {r.sizes}")
    directions, _, size = r.known_sizes
    if given not in (None, size) or r.sizes != (directions, gates * size, size) or w.sizes[:2] != (directions, gates * size):
        what = f"{graph.place}: the weights are not those of {gates} gates of one size"
        raise FormatError(what, f"hidden_size {given}, W {w.sizes}, R {r.sizes}")
    return size


def _layer(graph: Graph, mode: str, order: tuple[int, ...], operands: Any, direction: str, layout: int, hidden_size: int | None) -> Symbols:
    x, w, r, b, lengths, h, c = operands
    directions = 2 if direction == "bidirectional" else 1
    size = _size(graph, w, r, len(order), hidden_size)
    data = x.np if not layout else NP.transpose(x.np, (1, 0, 2))
    batch = x.size(0 if layout else 1)
    steps = x.size(1 if layout else 0)
    bias = b.symbol if b is not None else _zeros(graph, directions, 2 * len(order) * size)
    # only an LSTM has a cell state beside the hidden one
    start = [_state(graph, s, layout, directions, batch, size) for s in ((h, c) if mode == "lstm" else (h,))]
    # MXNet's layer runs forward or in both directions; a reversed layer is a forward layer over reversed steps, with its outputs reversed
    data = NP.flip(data, 0) if direction == "reverse" else data
    options = {"mode": mode, "state_size": size, "num_layers": 1, "bidirectional": directions == 2, "state_outputs": True}
    arrays = [data, _vector(w, r, bias, order, size, directions), *start]
    if _vary(lengths, steps):
        # a flip would move the padding to the front, where the layer would read it as steps
        if direction == "reverse":
            raise unsupported(graph, "a reversed layer with lengths is not supported", lengths.name)
        options["use_sequence_length"] = True
        arrays.append(as_dtype(lengths.symbol, "float32"))
    found = F.RNN(*arrays, name=graph.label, **options)
    # MXNet joins the directions in the last axis; ONNX has an axis for them after the steps, or after both other axes
    out = NP.reshape(found[0].as_np_ndarray(), (steps, batch, directions, size))
    out = NP.flip(out, 0) if direction == "reverse" else out
    out = NP.transpose(out, (1, 0, 2, 3) if layout else (0, 2, 1, 3))
    lasts = [found[k + 1].as_np_ndarray() for k in range(len(start))]
    return (out, *[NP.transpose(s, (1, 0, 2)) if layout else s for s in lasts])


def _state(graph: Graph, state: Tensor | None, layout: int, directions: int, batch: int, size: int) -> Symbol:
    if state is None:
        return _zeros(graph, directions, batch, size)
    return NP.transpose(state.np, (1, 0, 2)) if layout else state.symbol


def _vary(lengths: Tensor | None, steps: int) -> bool:
    """Whether sequences may be shorter than the axis of steps."""
    return lengths is not None and not (lengths.array is not None and (lengths.array == steps).all())


def _check(graph: Graph, given: list[str] | None, usual: list[str], clip: float | None, directions: int) -> None:
    # ONNX lists the functions of both directions one after the other
    wanted = usual * directions
    if given is not None and [a.lower() for a in given] != [a.lower() for a in wanted]:
        raise unsupported(graph, "other activations are not supported", given, f"use {', '.join(wanted)}")
    if clip is not None:
        raise unsupported(graph, "clipped gates are not supported", clip)


@reads
def LSTM(
    graph, x, w, r, b=None, sequence_lens=None, initial_h=None, initial_c=None, p=None, *, activation_alpha=None, activation_beta=None,
    activations=None, clip=None, direction="forward", hidden_size=None, input_forget=0, layout=0,
):  # fmt: skip
    """A layer with long short-term memory."""
    _check(graph, activations, ["Sigmoid", "Tanh", "Tanh"], clip, w.size(0))
    if input_forget or (p is not None and (p.array is None or p.array.any())):
        raise unsupported(graph, "peepholes and coupled gates are not supported", "P" if p is not None else "input_forget=1")
    return _layer(graph, "lstm", (0, 2, 3, 1), (x, w, r, b, sequence_lens, initial_h, initial_c), direction, layout, hidden_size)


@reads
def GRU(
    graph, x, w, r, b=None, sequence_lens=None, initial_h=None, *, activation_alpha=None, activation_beta=None, activations=None,
    clip=None, direction="forward", hidden_size=None, linear_before_reset=0, layout=0,
):  # fmt: skip
    """A layer with gated recurrent units."""
    _check(graph, activations, ["Sigmoid", "Tanh"], clip, w.size(0))
    if not linear_before_reset:
        return _unrolled_gru(graph, (x, w, r, b, sequence_lens, initial_h), direction, layout, hidden_size)
    return _layer(graph, "gru", (1, 0, 2), (x, w, r, b, sequence_lens, initial_h, None), direction, layout, hidden_size)


@reads
def RNN(
    graph, x, w, r, b=None, sequence_lens=None, initial_h=None, *, activation_alpha=None, activation_beta=None, activations=None,
    clip=None, direction="forward", hidden_size=None, layout=0,
):  # fmt: skip
    """A layer of plain recurrent units."""
    # MXNet has a layer for each of two functions
    kind = (activations or ["Tanh"])[0].lower()
    if kind not in ("tanh", "relu"):
        raise unsupported(graph, "other activations are not supported", activations, "use Tanh or Relu")
    _check(graph, activations, [kind], clip, w.size(0))
    return _layer(graph, f"rnn_{kind}", (0,), (x, w, r, b, sequence_lens, initial_h, None), direction, layout, hidden_size)


def _unrolled_gru(graph: Graph, operands: Any, direction: str, layout: int, hidden_size: int | None) -> Symbols:
    """A layer of gated recurrent units whose reset gate applies before the product, step by step."""
    # MXNet's layer applies the reset gate to the product of the state, which ONNX calls `linear_before_reset`. There is no operator for the
    # other order, so each step becomes nodes of the graph.
    x, w, r, b, lengths, h = operands
    if _vary(lengths, x.size(1 if layout else 0)):
        raise unsupported(graph, "lengths are not supported with a reset gate in front of the product", lengths.name)
    size = _size(graph, w, r, 3, hidden_size)
    directions, steps, batch = w.size(0), x.size(1 if layout else 0), x.size(0 if layout else 1)
    if steps > MOST_STEPS:
        todo = "export the layer with linear_before_reset=1, which is one operator"
        raise unsupported(graph, f"more than {MOST_STEPS} steps are not supported with a reset gate in front of the product", steps, todo)
    data = x.np if not layout else NP.transpose(x.np, (1, 0, 2))
    start = NP.zeros((directions, batch, size)) if h is None else _state(graph, h, layout, directions, batch, size).as_np_ndarray()
    sequences, lasts = [], []
    for d in range(directions):
        weight, state_weight, h_now = (slice_at(t, 0, d) for t in (w.np, r.np, start))
        both = NP.zeros((6 * size,)) if b is None else slice_at(b.np, 0, d)
        bias = [sliced(both, 0, k * size, (k + 1) * size) for k in range(6)]
        rows = [_rows(weight, k, size) for k in range(3)]
        state_rows = [_rows(state_weight, k, size) for k in range(3)]
        # h_now goes from step to step in the direction of the layer; outputs stay in the order of the input
        backwards = direction == "reverse" or d == 1
        outputs: list[Symbol | None] = [None] * steps
        for t in range(steps - 1, -1, -1) if backwards else range(steps):
            step = slice_at(data, 0, t)
            gates = [NP.matmul(step, rows[k]) + NP.matmul(h_now, state_rows[k]) + bias[k] + bias[3 + k] for k in range(2)]
            z, reset = (F.sigmoid(g).as_np_ndarray() for g in gates)
            # the state's bias of the new value, bias[5], is outside the product with the reset gate
            new = NP.tanh(NP.matmul(step, rows[2]) + NP.matmul(reset * h_now, state_rows[2]) + bias[2] + bias[5])
            h_now = outputs[t] = (1.0 - z) * new + z * h_now
        sequences.append(NP.stack(outputs, axis=0))
        lasts.append(h_now)
    out, last = NP.stack(sequences, axis=1), NP.stack(lasts, axis=0)
    return (NP.transpose(out, (2, 0, 1, 3)), NP.transpose(last, (1, 0, 2))) if layout else (out, last)


def _rows(weight: Symbol, gate: int, size: int) -> Symbol:
    """The weight of a gate, transposed."""
    return NP.transpose(sliced(weight, 0, gate * size, (gate + 1) * size), (1, 0))
