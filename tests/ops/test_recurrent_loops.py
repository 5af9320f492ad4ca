"""The fused RNN over many steps, where its graph is a loop: the same as over parts of the sequences, whose graphs have all steps."""

from __future__ import annotations

import numpy as np
import pytest

from twofold import autograd, nd
from twofold.graph.build import G
from twofold.graph.ir import leaf, topological
from twofold.imperative.dynamic_shapes import EagerNamespace
from twofold.ops.recurrent import GATES, LOOPED_FROM, rnn

BATCH, FEATURES, HIDDEN = 3, 2, 4
#: A part of a sequence, and a sequence of three of them, which is a loop.
PART = 8
STEPS = 3 * PART


def vector_of(draw, mode, inputs=FEATURES, projection=None):
    """Parameters of one layer in one direction."""
    rows, out = GATES[mode] * HIDDEN, projection or HIDDEN
    return draw.uniform(-0.5, 0.5, rows * (inputs + out + 2) + (projection or 0) * HIDDEN)


def run(mode, data, vector, states, *more, **params):
    """All results of the operator; None among the states is left out."""
    params = {"num_layers": 1, "state_outputs": True, "state_size": HIDDEN, **params}
    return list(nd.RNN(data, vector, *[s for s in states if s is not None], *more, mode=mode, **params))


def with_gradients(function, arrays):
    """The results for float64 arrays, and the arrays' gradients for fixed heads."""
    cells = [nd.array(a, dtype="float64") for a in arrays]
    for cell in cells:
        cell.attach_grad()
    draw = np.random.default_rng(9)
    with autograd.record():
        results = function(*cells)
    autograd.backward(results, [nd.array(draw.standard_normal(r.shape), dtype="float64") for r in results])
    return [r.asnumpy() for r in results], [c.grad.asnumpy() for c in cells]


def assert_same(first, second, arrays):
    for got, want in zip(with_gradients(first, arrays), with_gradients(second, arrays), strict=True):
        for a, b in zip(got, want, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize(
    ("mode", "params"),
    [
        ("rnn_relu", {}),
        ("rnn_tanh", {}),
        ("gru", {}),
        ("lstm", {}),
        ("lstm", {"projection_size": 2}),
        ("lstm", {"lstm_state_clip_min": -0.2, "lstm_state_clip_max": 0.2}),
    ],
    ids=["relu", "tanh", "gru", "lstm", "projection", "clipped"],
)
def test_a_loop_gives_what_parts_give_that_pass_their_states_on(mode, params):
    draw = np.random.default_rng(0)
    sizes = [params.get("projection_size", HIDDEN)] + [HIDDEN] * (mode == "lstm")
    vector = vector_of(draw, mode, projection=params.get("projection_size"))
    arrays = [draw.standard_normal((STEPS, BATCH, FEATURES)), vector, *[draw.uniform(-1, 1, (1, BATCH, size)) for size in sizes]]

    def whole(data, vector, *states):
        return run(mode, data, vector, states, **params)

    def parts(data, vector, *states):
        outputs = []
        for k in range(0, STEPS, PART):
            output, *states = run(mode, data[k : k + PART], vector, states, **params)
            outputs.append(output)
        return [nd.concat(*outputs, dim=0), *states]

    assert_same(whole, parts, arrays)


@pytest.mark.parametrize("mode", ["rnn_tanh", "gru", "lstm"])
def test_loops_in_both_directions_give_what_two_layers_give(mode):
    draw = np.random.default_rng(1)
    steps, single = LOOPED_FROM - 1, vector_of(draw, mode)
    weights = single.size - 2 * GATES[mode] * HIDDEN
    arrays = [draw.standard_normal((steps, BATCH, FEATURES)), np.concatenate([single, vector_of(draw, mode)])]
    arrays += [draw.uniform(-1, 1, (2, BATCH, HIDDEN)) for _ in range(1 + (mode == "lstm"))]

    def both(data, vector, *states):
        return run(mode, data, vector, states, bidirectional=True)

    def two(data, vector, *states):
        found = []
        for d, way in enumerate((data, nd.flip(data, axis=0))):
            # all weights precede all biases
            biases = vector[2 * weights + d * (single.size - weights) : 2 * weights + (d + 1) * (single.size - weights)]
            own = nd.concat(vector[d * weights : (d + 1) * weights], biases, dim=0)
            found.append(run(mode, way, own, [s[d : d + 1] for s in states]))
        outputs = nd.concat(found[0][0], nd.flip(found[1][0], axis=0), dim=2)
        return [outputs, *[nd.concat(a, b, dim=0) for a, b in zip(found[0][1:], found[1][1:], strict=True)]]

    assert_same(both, two, arrays)


def test_sequences_in_a_loop_end_at_their_lengths():
    draw = np.random.default_rng(2)
    lengths = np.array([5, 1, PART])
    arrays = [draw.standard_normal((STEPS, BATCH, FEATURES)), vector_of(draw, "lstm")]
    arrays += [draw.uniform(-1, 1, (1, BATCH, HIDDEN)) for _ in range(2)]

    def together(data, vector, *states):
        return run("lstm", data, vector, states, nd.array(lengths, dtype="int32"), use_sequence_length=True)

    def alone(data, vector, *states):
        found = []
        for n, length in enumerate(lengths):
            output, *last = run("lstm", data[:length, n : n + 1], vector, [s[:, n : n + 1] for s in states])
            rest = nd.zeros((STEPS - length, 1, HIDDEN), dtype="float64")
            found.append([nd.concat(output, rest, dim=0), *last])
        return [nd.concat(*parts, dim=1) for parts in zip(*found, strict=True)]

    assert_same(together, alone, arrays)


def test_the_gradient_of_a_gradient_goes_through_the_loop():
    draw = np.random.default_rng(3)
    arrays = [draw.standard_normal((STEPS, BATCH, FEATURES)), vector_of(draw, "gru"), draw.uniform(-1, 1, (1, BATCH, HIDDEN))]
    way = nd.array(draw.standard_normal(arrays[1].shape), dtype="float64")

    def slope(step):
        """The derivative of the sum of squared gradients along a direction, and that sum."""
        data, vector, state = [nd.array(a, dtype="float64") for a in (arrays[0], arrays[1] + step * way.asnumpy(), arrays[2])]
        vector.attach_grad()
        with autograd.record():
            total = (run("gru", data, vector, [state])[0] ** 2).sum()
            squares = (autograd.grad(total, vector, create_graph=True)[0] ** 2).sum()
        squares.backward()
        return float((vector.grad * way).sum().asscalar()), float(squares.asscalar())

    quotient = (slope(1e-5)[1] - slope(-1e-5)[1]) / 2e-5
    np.testing.assert_allclose(slope(0)[0], quotient, rtol=1e-6)


def test_a_loop_of_arrays_runs_all_steps():
    draw = np.random.default_rng(4)
    rows, state, factor = draw.standard_normal((5, 2)), draw.standard_normal(2), draw.standard_normal(2)

    def body(slices, states, shared):
        new = states[0] * shared[0] + slices[0]
        return [new * 2], [new]

    given = [[nd.array(a, dtype="float64")] for a in (rows, state, factor)]
    outputs, last, before = EagerNamespace(given[0][0].context).loop(body, *given)
    for t, row in enumerate(rows):
        np.testing.assert_allclose(before[0].asnumpy()[t], state)
        state = state * factor + row
        np.testing.assert_allclose(outputs[0].asnumpy()[t], state * 2)
    np.testing.assert_allclose(last[0].asnumpy(), state)


def test_the_graph_does_not_grow_with_the_steps():
    def size(steps):
        shapes = [(steps, BATCH, FEATURES), vector_of(np.random.default_rng(), "gru").shape, (1, BATCH, HIDDEN)]
        given = [leaf(("rnn", k), shape, "float32") for k, shape in enumerate(shapes)]
        return len(list(topological([rnn.rule(G, *given, state_size=HIDDEN, num_layers=1, mode="gru")])))

    assert size(LOOPED_FROM) == size(1000) < size(LOOPED_FROM - 1)
