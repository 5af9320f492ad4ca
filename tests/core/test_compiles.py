"""A structure is compiled once: nothing that changes between iterations recompiles it."""

import gc
import tracemalloc

import numpy as np
import pytest

from twofold import autograd, nd
from twofold.imperative.counters import COUNTERS
from twofold.imperative.sites import ALONE
from twofold.program import compile as programs

from .operators import SIZE, noisy, op, pair, ramp, soft


@pytest.fixture
def made(monkeypatch):
    """Every program compiled since."""
    found, init = [], programs.Program.__init__

    def counting(self, *args, **options):
        found.append(self)
        init(self, *args, **options)

    monkeypatch.setattr(programs.Program, "__init__", counting)
    return found


#: Iterations after which every line has decided whether its operations wait, and each structure has been used twice.
WARM = ALONE + 3


def after_warming_up(made, iteration, times=6, warm=2):
    """Programs compiled after the first iterations."""
    for k in range(warm):
        iteration(k)
    before = len(made)
    assert before
    for k in range(warm, times):
        iteration(k)
    return len(made) - before


def network():
    r = np.random.default_rng(0)
    weights = [nd.array(r.standard_normal(s) * 0.1) for s in ((8, 4), (8,), (4, 8), (4,))]
    for w in weights:
        w.attach_grad()
    return weights


def loss_of(x, weights):
    w1, b1, w2, b2 = weights
    h = nd.Activation(nd.FullyConnected(x, w1, b1, num_hidden=8), act_type="relu")
    y = soft(nd.FullyConnected(h, w2, b2, num_hidden=4))
    return op("sum", y * y)


def test_training_with_a_changing_learning_rate_compiles_nothing(mode, made):
    weights, data = network(), np.random.default_rng(1).standard_normal((8, 4)).astype(np.float32)
    momenta = [nd.array(np.zeros(w.shape)) for w in weights]
    losses = []

    def step(k):
        x = nd.array(data + k * 0.01)
        with autograd.record():
            loss = loss_of(x, weights) * (1.0 + 0.1 * k)
        loss.backward()
        for w, m in zip(weights, momenta, strict=True):
            m *= 0.9
            m -= w.grad * (0.1 / (k + 1.5))
            w += m
        losses.append(float(loss))

    assert after_warming_up(made, step, WARM + 4, WARM) == 0
    assert losses[-1] / (1.0 + 0.1 * (WARM + 3)) < losses[0] * 1.5


def test_every_float_of_a_long_loop_is_an_operand(mode, made):
    x = nd.array(ramp(1.0))
    x.attach_grad()

    def step(k):
        with autograd.record():
            y = (x * (k + 0.5) + 1.0 / (k + 1.5)) / (k + 2.5) - (k * 0.25 + 0.125)
        y.backward()
        np.testing.assert_allclose(x.grad.asnumpy(), np.full(SIZE, (k + 0.5) / (k + 2.5)), rtol=1e-6)

    assert after_warming_up(made, step, 20) == 0


def test_changing_integers_compiles_nothing(mode, made):
    x = nd.array(ramp(1.0))
    x.attach_grad()

    def step(k):
        with autograd.record():
            y = op("add", op("multiply", x, k + 7), k + 11)
        y.backward()
        np.testing.assert_array_equal(y.asnumpy(), ramp(1.0) * (k + 7) + k + 11)

    assert after_warming_up(made, step) == 0


def test_random_draws_and_states_compile_nothing(mode, made):
    x = nd.array(ramp(1.0))
    x.attach_grad("add")

    def step(k):
        with autograd.record():
            y = noisy(x, scale=k + 0.5) * pair(x * 0.1)[1]
        y.backward()

    assert after_warming_up(made, step) == 0


def test_second_derivatives_compile_nothing(mode, made):
    x = nd.array(ramp(1.0) / 16)
    x.attach_grad()

    def step(k):
        with autograd.record():
            (g,) = autograd.grad([soft(x.reshape((4, 4))) * float(k + 3)], [x], create_graph=True)
            z = g * g
        z.backward()

    assert after_warming_up(made, step) == 0


def test_several_backwards_in_one_scope_compile_nothing(mode, made):
    x = nd.array(ramp(1.0) / 16)
    x.attach_grad()
    with autograd.record():

        def step(k):
            y = (x * x + 0.5 * (k + 1)).exp() * x
            y.backward()

        assert after_warming_up(made, step) == 0


def test_gradients_returned_in_one_scope_compile_nothing(mode, made):
    x = nd.array(ramp(1.0) / 16)
    x.attach_grad()
    with autograd.record():

        def step(k):
            autograd.grad([(x * x + 0.5 * (k + 1)).exp() * x], [x])[0].wait_to_read()

        assert after_warming_up(made, step) == 0


def test_a_state_carried_from_tape_to_tape_compiles_nothing(mode, made):
    w = nd.array(ramp(1.0) / 16)
    w.attach_grad()
    state = [nd.array(ramp())]

    def step(k):
        with autograd.record():
            h = (state[0] * w + 0.5).tanh()
        with autograd.record():
            y = h * h
        y.backward()
        state[0] = h.detach()

    assert after_warming_up(made, step, warm=3) == 0
    assert COUNTERS.bridged == 6


@pytest.fixture
def _without_collections():
    """No collection of cycles, such as that of an error, its traceback and its frame, whose arrays count as alive until then."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("_without_collections")
def test_an_error_in_between_compiles_nothing(mode, made):
    x, bad = nd.array(ramp(1.0)), nd.array(np.ones(SIZE + 1))
    x.attach_grad()

    def step(k):
        with autograd.record():
            y = x * 2.5
            with pytest.raises(ValueError, match="add"):
                y + bad
            z = y * y
        z.backward()

    assert after_warming_up(made, step, WARM + 4, WARM) == 0


def test_an_iteration_begins_a_new_window(deferred):
    w, x = nd.array(ramp(1.0)), nd.array(ramp())
    w.attach_grad()
    nd.waitall()
    COUNTERS.reset()
    for k in range(3):
        with autograd.record():
            assert COUNTERS.windows == k  # what the last iteration left has run
            y = (w * x).exp()
        y.backward()
        assert COUNTERS.windows == k


def test_an_iteration_of_training_runs_a_fixed_number_of_programs(deferred):
    weights, data = network(), np.random.default_rng(1).standard_normal((8, 4)).astype(np.float32)
    counts = []
    for k in range(4):
        COUNTERS.reset()
        x = nd.array(data)
        with autograd.record():
            loss = loss_of(x, weights)
        loss.backward()
        for w in weights:
            w -= w.grad * (0.1 / (k + 1))
        nd.waitall()
        counts.append(COUNTERS.as_dict())
    assert counts[2] == counts[3]
    assert counts[3]["windows"] >= 1


@pytest.mark.parametrize(("size", "is_compiled"), [(1_003, False), (300_007, False), (1_000_003, True)])
def test_a_first_use_is_compiled_where_its_results_are_large(made, size, is_compiled):
    draw = nd.random.normal(shape=(size,)).asnumpy()
    assert bool(made) == is_compiled
    assert abs(draw.std() - 1) < 0.2


def test_a_first_use_of_many_small_results_is_interpreted_and_drops_them(made):
    """Compiling the hundreds of operations of a gamma draw takes longer than running them; together their results are 13 MB."""
    nd.random.gamma(2.0, shape=(7,)).asnumpy()
    tracemalloc.start()
    nd.random.gamma(2.0, shape=(10_007,)).asnumpy()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert not made
    assert peak < 1.5e6
