"""The fused RNN where MXNet's CPU build does not go: clipped states, lengths, dropout, training with a projection."""

from __future__ import annotations

import numpy as np
import pytest

import twofold as mx
from twofold import autograd, nd
from twofold.config import SETTINGS
from twofold.errors import ShapeError
from twofold.imperative import residuals

STEPS, BATCH, FEATURES, HIDDEN = 4, 3, 2, 3
LENGTHS = np.array([2, 4, 1])
DRAW = np.random.default_rng(0)
DATA = DRAW.standard_normal((STEPS, BATCH, FEATURES))
WEIGHTS = [DRAW.uniform(-1, 1, shape) for shape in ((4 * HIDDEN, FEATURES), (4 * HIDDEN, HIDDEN), (4 * HIDDEN,), (4 * HIDDEN,))]
STATES = DRAW.uniform(-1, 1, (2, 1, BATCH, HIDDEN))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def lstm(clip: float = np.inf, lengths: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Outputs and final states of one layer by the equations."""
    into, over, bias, more = WEIGHTS
    h, c = STATES[0, 0], STATES[1, 0]
    outputs = np.zeros((STEPS, BATCH, HIDDEN))
    for t in range(STEPS):
        i, f, g, o = np.split(DATA[t] @ into.T + h @ over.T + bias + more, 4, axis=1)
        new = np.clip(sigmoid(f) * c + sigmoid(i) * np.tanh(g), -clip, clip)
        live = np.ones((BATCH, 1), bool) if lengths is None else (t < lengths)[:, None]
        out = sigmoid(o) * np.tanh(new)
        outputs[t], h, c = np.where(live, out, 0), np.where(live, out, h), np.where(live, new, c)
    return outputs, h, c


def run(*more, **params):
    """The operator on the same arrays."""
    arrays = [DATA, np.concatenate([w.ravel() for w in WEIGHTS]), *STATES]
    operands = [nd.array(a, dtype="float64") for a in arrays] + [nd.array(a, dtype="int32") for a in more]
    return [o.asnumpy() for o in nd.RNN(*operands, state_size=HIDDEN, num_layers=1, mode="lstm", state_outputs=True, **params)]


@pytest.mark.parametrize(
    ("want", "more", "params"),
    [
        (lstm(), (), {}),
        (lstm(clip=0.25), (), {"lstm_state_clip_min": -0.25, "lstm_state_clip_max": 0.25}),
        (lstm(lengths=LENGTHS), (LENGTHS,), {"use_sequence_length": True}),
    ],
    ids=["plain", "clipped", "lengths"],
)
def test_an_lstm_follows_its_equations(want, more, params):
    outputs, h, c = run(*more, **params)
    for got, by_hand in zip((outputs, h[0], c[0]), want, strict=True):
        np.testing.assert_allclose(got, by_hand, rtol=1e-10, atol=1e-12)


def test_the_backward_direction_starts_at_the_last_step_of_each_sequence():
    draw = np.random.default_rng(1)
    vector, state = draw.uniform(-0.5, 0.5, 2 * 21), draw.uniform(-1, 1, (2, BATCH, HIDDEN))
    params = {"state_size": HIDDEN, "num_layers": 1, "mode": "rnn_tanh", "bidirectional": True}

    def outputs(data, states, *more, **further):
        arrays = [nd.array(a, dtype="float64") for a in (data, vector, states)]
        return nd.RNN(*arrays, *more, **params, **further).asnumpy()

    whole = outputs(DATA, state, None, nd.array(LENGTHS, dtype="int32"), use_sequence_length=True)
    for n, length in enumerate(LENGTHS):
        alone = outputs(DATA[:length, n : n + 1], state[:, n : n + 1])
        np.testing.assert_allclose(whole[:length, n], alone[:, 0], rtol=1e-10)
        assert not whole[length:, n].any()


def gradient_error(more=(), size=None, **params) -> float:
    """The error of the derivative of a random projection of all results along a random direction, against the difference quotient."""
    draw = np.random.default_rng(2)
    hidden = params.get("projection_size", HIDDEN)
    vector = np.concatenate([w.ravel() for w in WEIGHTS]) if size is None else draw.uniform(-0.5, 0.5, size)
    arrays = [DATA, vector, draw.uniform(-1, 1, (1, BATCH, hidden)), STATES[1]]
    ways, heads = [draw.standard_normal(a.shape) for a in arrays], {}

    def value(step):
        cells = [nd.array(a + step * w, dtype="float64") for a, w in zip(arrays, ways, strict=True)]
        for c in cells:
            c.attach_grad()
        with autograd.record():
            outs = nd.RNN(
                *cells,
                *[nd.array(a, dtype="int32") for a in more],
                state_size=HIDDEN,
                num_layers=1,
                mode="lstm",
                state_outputs=True,
                **params,
            )
            total = sum(
                (o * nd.array(heads.setdefault(k, draw.standard_normal(o.shape)), dtype="float64")).sum() for k, o in enumerate(outs)
            )
        total.backward()
        return float(total.asscalar()), sum((c.grad.asnumpy() * w).sum() for c, w in zip(cells, ways, strict=True))

    slope = value(0.0)[1]
    quotient = (value(1e-5)[0] - value(-1e-5)[0]) / 2e-5
    return abs(slope - quotient) / max(1, abs(quotient))


@pytest.mark.parametrize(
    ("more", "params"),
    [
        ((), {"lstm_state_clip_min": -0.25, "lstm_state_clip_max": 0.25}),
        ((LENGTHS,), {"use_sequence_length": True}),
        ((), {"projection_size": 2, "size": 4 * 3 * (2 + 2 + 2) + 2 * 3}),
    ],
    ids=["clipped", "lengths", "projection"],
)
def test_gradients_match_finite_differences_in_a_random_direction(more, params):
    assert gradient_error(more, **params) < 1e-7


def test_dropout_applies_between_layers_in_training_only():
    size = sum(4 * HIDDEN * (n + HIDDEN + 2) for n in (FEATURES, HIDDEN))
    arrays = [nd.array(a) for a in (DATA, DRAW.uniform(-1, 1, size), np.zeros((2, BATCH, HIDDEN)), np.zeros((2, BATCH, HIDDEN)))]
    params = {"state_size": HIDDEN, "num_layers": 2, "mode": "lstm"}
    plain = nd.RNN(*arrays, **params).asnumpy()
    np.testing.assert_array_equal(nd.RNN(*arrays, p=0.5, **params).asnumpy(), plain)
    with autograd.train_mode():
        assert (nd.RNN(*arrays, p=0.5, **params).asnumpy() != plain).any()


def test_a_parameter_vector_of_the_wrong_length_raises_with_the_right_length():
    with pytest.raises(mx.MXNetError, match=r"\(21,\)"):
        nd.RNN(nd.zeros((3, 2, 2)), nd.zeros((10,)), nd.zeros((1, 2, 3)), state_size=3, num_layers=1, mode="rnn_tanh")


def test_a_step_that_was_run_before_walks_through_no_definition(monkeypatch):
    """The operator consists of thousands of nodes, of which backward reads hundreds."""
    monkeypatch.setattr(SETTINGS, "defer_elements", 1)
    cells = [nd.array(a) for a in (DATA, DRAW.uniform(-1, 1, 21), *STATES[:1])]
    for cell in cells:
        cell.attach_grad()

    def step():
        with autograd.record():
            total = (nd.RNN(*cells, state_size=HIDDEN, num_layers=1, mode="rnn_tanh") ** 2).sum()
        total.wait_to_read()
        total.backward()
        cells[1].grad.wait_to_read()

    for _ in range(3):
        step()
    monkeypatch.setattr(residuals, "values_inside", None)
    step()
    assert cells[1].grad.asnumpy().any()


def test_sequences_whose_graph_would_not_fit_are_refused_when_shapes_are_inferred():
    inputs = [mx.sym.var("data", shape=(10**6, 1, 1)), *map(mx.sym.var, ("parameters", "state", "cell"))]
    symbol = mx.sym.RNN(*inputs, state_size=2, num_layers=1, mode="lstm", name="rnn")
    with pytest.raises(ShapeError, match=r"\(RNN\): the sequences are too long: given 1000000 steps, 1 layers"):
        symbol.infer_shape()
    with pytest.raises(ShapeError, match="33000 steps, 1 layers, both directions"):
        mx.nd.RNN(*(mx.nd.zeros(s) for s in ((33000, 1, 1), (40,), (2, 1, 1))), state_size=1, num_layers=1, mode="gru", bidirectional=True)
