"""A training loop whose operations are deferred: forward, backward and update of an iteration are one program."""

import numpy as np
import pytest

from twofold import autograd, explain, nd
from twofold.imperative.counters import COUNTERS
from twofold.program import compile as programs

from .conftest import set_mode
from .operators import SIZE, ramp, soft


@pytest.fixture
def compiled(monkeypatch):
    """Counts programs as they are compiled."""
    count, init = [0], programs.Program.__init__

    def counting(self, *args, **options):
        count[0] += 1
        init(self, *args, **options)

    monkeypatch.setattr(programs.Program, "__init__", counting)
    return count


def trained(steps, seen=lambda k: None, read=lambda loss: None):
    """The weight after that many steps of gradient descent."""
    w, x = nd.array(ramp(1.0) / 16), nd.array(ramp(2.0) / 16)
    w.attach_grad()
    for k in range(steps):
        with autograd.record():
            loss = (soft((w * x).reshape((4, 4))) * (0.5 + k)).sum()
        loss.backward()
        w -= 0.1 * w.grad
        read(loss)
        seen(k)
    return w.asnumpy()


@pytest.mark.usefixtures("deferred")
def test_from_the_second_on_each_iteration_is_one_program(compiled):
    windows, made = [], []

    def seen(k):
        windows.append(COUNTERS.windows)
        made.append(compiled[0])

    trained(8, seen, lambda loss: loss.wait_to_read())
    assert set(np.diff(windows[1:])) == {1}
    assert made[-1] == made[2]


@pytest.mark.usefixtures("deferred")
def test_views_inside_a_gradient_are_not_copied_for_the_update():
    w, x = nd.array(np.ones((8, 4), np.float32)), nd.array(np.ones((6, 4), np.float32))
    w.attach_grad()
    for _ in range(2):
        with explain() as report:
            with autograd.record():
                loss = (nd.FullyConnected(x, w, num_hidden=8, no_bias=True) ** 2).sum()
            loss.backward()
            w -= 0.1 * w.grad
            w.wait_to_read()
    assert "contiguous" not in " ".join(report.flushes[-1].steps)


@pytest.mark.usefixtures("deferred")
def test_a_loop_that_reads_no_results_runs_one_iteration_behind(compiled):
    windows, made = [], []
    trained(8, lambda k: (windows.append(COUNTERS.windows), made.append(compiled[0])))
    assert set(np.diff(windows[2:])) == {1}
    assert made[-1] == made[3]


def test_the_weights_are_bitwise_equal_in_every_mode(mode):
    want = trained(5, read=lambda loss: loss.asnumpy())
    assert trained(5).tobytes() == want.tobytes()


def test_every_mode_matches_the_naive_engine(monkeypatch):
    found = []
    for name in ("naive", "inline", "deferred"):
        with monkeypatch.context() as patch:
            set_mode(patch, name)
            found.append(trained(5).tobytes())
    assert len(set(found)) == 1


@pytest.mark.usefixtures("deferred")
def test_a_retained_graph_gives_its_gradients_again():
    x = nd.array(ramp(1.0))
    x.attach_grad("add")
    with autograd.record():
        y = (x * x).exp() * 0.001
    y.backward(retain_graph=True)
    once = x.grad.asnumpy()
    y.backward()
    np.testing.assert_array_equal(x.grad.asnumpy(), once + once)


@pytest.mark.usefixtures("deferred")
def test_a_deferred_backward_updates_auxiliary_states():
    x, gamma, beta = nd.array(ramp(1.0).reshape(4, 4)), nd.ones((4,)), nd.zeros((4,))
    mean, var = nd.zeros((4,)), nd.ones((4,))
    gamma.attach_grad()
    with autograd.record():
        y = nd.BatchNorm(x, gamma, beta, mean, var, momentum=0.5, fix_gamma=False)
    before = mean.asnumpy()
    y.backward()
    np.testing.assert_array_equal(before, 0)
    np.testing.assert_allclose(mean.asnumpy(), 0.5 * x.asnumpy().mean(0), rtol=1e-5)


@pytest.mark.usefixtures("deferred")
def test_a_write_between_forward_and_backward_is_not_seen_by_backward():
    x = nd.array(ramp(1.0))
    x.attach_grad()
    scale = nd.array(np.full(SIZE, 3.0))
    with autograd.record():
        y = x * scale
    scale[:] = 100
    y.backward()
    np.testing.assert_array_equal(x.grad.asnumpy(), 3)


@pytest.mark.usefixtures("deferred")
def test_a_deferred_backward_does_not_overwrite_a_result_computed_inline():
    x, big = nd.array(ramp(1.0)[:4] / 16), nd.array(ramp(1.0) / 16)
    x.attach_grad()
    with autograd.record():
        y = nd.sigmoid(x)  # small: computed inline, and saved for backward
        loss = (y.sum() * (big * 3.0)).sum()  # backward reads a pending value, so it is deferred
    loss.backward()
    want = 1 / (1 + np.exp(-x.asnumpy()))
    np.testing.assert_allclose(x.grad.asnumpy(), want * (1 - want) * 3 * big.asnumpy().sum(), rtol=1e-5)
    np.testing.assert_allclose(y.asnumpy(), want, rtol=1e-6)


@pytest.mark.parametrize("first", [0, 1])
def test_a_value_saved_by_two_tapes_is_not_written_in_place_while_one_lives(mode, first):
    w = nd.array(ramp(1.0))
    marked = [nd.array(ramp(2.0)) for _ in range(2)]
    results = []
    for x in marked:
        x.attach_grad()
        with autograd.record():
            results.append(x * w)
    results[first].backward()
    results[first] = None
    w[:] = 100
    results[1 - first].backward()
    np.testing.assert_array_equal(marked[1 - first].grad.asnumpy(), ramp(1.0))


def late(y, big):
    """A loss whose backward is deferred: what it reads of `big` is pending."""
    return nd.broadcast_mul(y, big * 1.0).tanh().sum()


@pytest.mark.parametrize("name", ["exp", "sigmoid", "softmax", "tanh"])
@pytest.mark.parametrize("write", ["donate", "set", "add"])
def test_what_a_deferred_backward_reads_is_not_overwritten(monkeypatch, name, write):
    found = []
    for mode in ("naive", "deferred"):
        set_mode(monkeypatch, mode)
        x, big, factor = nd.array([0.3, 0.5, -1.0]), nd.array(np.linspace(0, 1, 48).reshape(16, 3)), nd.array([1.0, 2.0, 3.0])
        x.attach_grad()
        with autograd.record():
            y = getattr(nd, name)(x)  # small: computed inline; its result is saved
            z = late(y + factor, big)
        z.backward()
        del z
        if write == "donate":
            s = y + (big * 2).sum(axis=0)
            del y
            s.wait_to_read()
        elif write == "set":
            y[:] = 0
        else:
            y += 100
        found.append(x.grad.asnumpy())
    np.testing.assert_allclose(found[1], found[0], rtol=1e-5)


@pytest.mark.usefixtures("deferred")
def test_a_deferred_backward_reads_exported_memory_before_it_changes():
    x, big, factor = nd.array([0.3, 0.5, -1.0]), nd.array(np.linspace(0, 1, 48).reshape(16, 3)), nd.array([1.0, 2.0, 3.0])
    x.attach_grad()
    with autograd.record():
        y = x * factor
        factor._pinned()
        z = nd.broadcast_mul(y, big * 1.0).sum()
    z.backward()
    factor[:] = 50
    np.testing.assert_allclose(x.grad.asnumpy(), [1.0, 2.0, 3.0] * big.asnumpy().sum(axis=0), rtol=1e-5)
