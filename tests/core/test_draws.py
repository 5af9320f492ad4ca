"""Random draws: the key is drawn when an operation is issued, and is an operand like any other."""

import numpy as np
import pytest

from twofold import autograd, nd
from twofold.device import CPU
from twofold.imperative.generator import STREAMS, Generator

from .conftest import set_mode
from .operators import SIZE, between, in_thread, noisy, ramp


@pytest.fixture(autouse=True)
def _seeded():
    STREAMS.seed(7)


def draws():
    a = between(shape=(SIZE,), low=2.0, high=3.0)
    b = noisy(nd.array(ramp()), scale=10.0)
    c = between(shape=(SIZE, 3), low=-1.0)
    return [x.asnumpy() for x in (c, a, b)]  # read in a different order


def test_a_seed_gives_one_stream_in_every_mode(monkeypatch):
    found = []
    for name in ("naive", "inline", "deferred", "deferred", "inline", "naive"):
        set_mode(monkeypatch, name)
        STREAMS.seed(3)
        found.append(draws())
    for other in found[1:]:
        for a, b in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(a, b)


def test_two_draws_differ(mode):
    a, b = between(shape=(SIZE,)), between(shape=(SIZE,))
    assert (a.asnumpy() != b.asnumpy()).all()
    x = nd.array(ramp(1.0))
    a, b = noisy(x), noisy(x)
    assert (a.asnumpy() != b.asnumpy()).all()


def test_scalar_operands_next_to_a_key_keep_their_positions(mode):
    for _ in range(3):
        values = between(shape=(SIZE, SIZE), low=5.0, high=6.0).asnumpy()
        assert 5 <= values.min() < 5.2
        assert 5.8 < values.max() < 6
        values = noisy(nd.array(np.ones((SIZE, SIZE))), scale=100.0).asnumpy()
        assert 50 < values.max() < 100


def test_draws_match_philox_bitwise(mode):
    key = STREAMS.of(CPU).state
    values = between(shape=(4,)).asnumpy()
    STREAMS.of(CPU).state = key
    words = STREAMS.of(CPU).next_key()
    bits = np.random.Philox(counter=words[:4], key=words[4:]).random_raw(4)
    np.testing.assert_array_equal(values, ((bits >> np.uint64(40)).astype(np.float64) * 2.0**-24).astype(np.float32))


def test_a_draw_is_a_constant_of_the_gradient(mode):
    for k in range(3):
        x = nd.array(ramp(1.0))
        x.attach_grad()
        STREAMS.seed(k)
        with autograd.record():
            noise = between(shape=(SIZE,), low=1.0, high=2.0)
            y = noisy(x, scale=2.0) * noise
        y.backward()
        np.testing.assert_allclose(x.grad.asnumpy(), y.asnumpy() / ramp(1.0), rtol=1e-5)
        assert len(set(x.grad.asnumpy().tolist())) == SIZE


def test_a_known_recorded_structure_draws_again(mode):
    x = nd.array(ramp(1.0))
    x.attach_grad()
    seen = set()
    for _ in range(4):
        with autograd.record():
            y = noisy(x)
        y.backward()
        seen |= set(x.grad.asnumpy().tolist())
    assert len(seen) == 4 * SIZE


def test_the_state_of_a_stream_can_be_restored(mode):
    between(shape=(2,))
    state = STREAMS.of(CPU).state
    first = between(shape=(SIZE,)).asnumpy()
    STREAMS.of(CPU).state = state
    np.testing.assert_array_equal(between(shape=(SIZE,)).asnumpy(), first)


def test_threads_never_draw_the_same_key():
    found = [t.result() for t in [in_thread(lambda: [between(shape=(2,)).asnumpy()[0] for _ in range(50)]) for _ in range(3)]]
    assert len({v for values in found for v in values}) == 150


def test_a_signal_handler_drawing_during_a_draw_gets_its_own_key():
    stream = Generator(3)
    inner, numbers = [], stream._numbers

    class Interrupted:
        def __next__(self):
            number = next(numbers)
            stream._numbers = numbers
            inner.append(stream.next_key()[1])
            return number

    stream._numbers = Interrupted()
    assert [stream.next_key()[1], *inner, stream.next_key()[1]] == [0, 1, 2]
    assert stream.state == (3, 3, 0)


x = nd.array(np.linspace(-1, 1, 24, dtype="float32").reshape(4, 2, 3))
CELL = nd.ones(3 * 4 + 4 * 4 + 2 * 4 + 2 * (4 * 4) + 2 * 4), nd.zeros((2, 2, 4))
#: Operators that have a random key, and whether they read it in prediction and in training.
SOMETIMES_RANDOM = {
    "dropout": (lambda: nd.Dropout(x, p=0.3), False, True),
    "dropout with p=0": (lambda: nd.Dropout(x, p=0), False, False),
    "dropout of everything": (lambda: nd.Dropout(x, p=1), False, False),
    "dropout that is always on": (lambda: nd.Dropout(x, p=0.3, mode="always"), True, True),
    "rrelu": (lambda: nd.LeakyReLU(x, act_type="rrelu")[0], False, True),
    "leaky": (lambda: nd.LeakyReLU(x, act_type="leaky"), False, False),
    "RNN": (lambda: nd.RNN(x, *CELL, mode="rnn_tanh", state_size=4, num_layers=2, p=0.3), False, True),
    "RNN without dropout": (lambda: nd.RNN(x, *CELL, mode="rnn_tanh", state_size=4, num_layers=2), False, False),
}


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("name", SOMETIMES_RANDOM)
def test_a_key_is_drawn_only_if_it_is_read(name, training, mode):
    call, *draws_in = SOMETIMES_RANDOM[name]
    for recording in (False, True):
        before = STREAMS.of(CPU).state[1]
        with autograd.record(training) if recording else autograd.train_mode() if training else autograd.predict_mode():
            call().asnumpy()
        assert STREAMS.of(CPU).state[1] - before == draws_in[training]
