"""Errors: raised at the mistake, naming the operator, in every mode; asynchronous ones by every read; none leaves anything broken."""

from contextlib import suppress
from operator import attrgetter

import numpy as np
import pytest

from twofold import autograd, gluon, nd
from twofold.config import SETTINGS
from twofold.errors import AutogradError, DTypeError, EngineError, IndexingError, MXNetError, ParameterError, ShapeError
from twofold.imperative import window
from twofold.imperative.tape import tls

from .operators import SIZE, in_thread, op, operator, ramp


def _picky(xp, data):
    if data.shape[0] != SIZE:
        raise ShapeError("picky: it wants another shape", data.shape, f"give {SIZE} elements")
    return xp.exp(data)


picky = operator(_picky)


@pytest.fixture(autouse=True)
def nothing_left_to_report():
    """`waitall` reports each failed window once, as long as a traceback of the test that made it fail holds its results."""
    yield
    with suppress(Exception):
        nd.waitall()


def usable():
    """Whether recording, deferral and backward still work."""
    x = nd.array(ramp(1.0))
    x.attach_grad()
    with autograd.record():
        y = (x * 2.0).exp() * x
    y.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), np.exp(2 * ramp(1.0)) * (1 + 2 * ramp(1.0)), rtol=1e-5)
    assert tls.tape is None
    return True


MISTAKES = {
    "add": (lambda x, y: x + nd.array(np.ones(SIZE + 3)), ShapeError, "add"),
    "matmul": (lambda x, y: op("matmul", x.reshape((4, 4)), y.reshape((2, 8))), ShapeError, "matmul"),
    "concat": (lambda x, y: op("concat", x.reshape((4, 4)), y.reshape((2, 8)), axis=1), ShapeError, "concat"),
    "broadcast_to": (lambda x, y: op("broadcast_to", x, shape=(3, 5)), ShapeError, "broadcast_to"),
    "reshape": (lambda x, y: op("reshape", x, shape=(3, 5)), (ShapeError, ValueError), "reshape"),
    "permute_dims": (lambda x, y: op("permute_dims", x.reshape((4, 4)), axes=(0, 0)), ShapeError, "transpose"),
    "FullyConnected": (
        lambda x, y: nd.FullyConnected(x.reshape((4, 4)), y.reshape((2, 8)), num_hidden=2, no_bias=True),
        ShapeError,
        "FullyConnected",
    ),
    "a rule": (lambda x, y: picky(op("concat", x, y, axis=0)), ShapeError, "picky"),
    "dtypes": (lambda x, y: x * nd.array(ramp(), dtype="float64"), DTypeError, "multiply"),
    "an update": (lambda x, y: x.__iadd__(nd.array(np.ones((2, SIZE)))), ShapeError, "add"),
    "a parameter": (lambda x, y: op("sum", x, axis="first"), (ParameterError, ValueError), "sum"),
    "a parameter's name": (lambda x, y: op("sum", x, axes=1), ParameterError, "sum"),
    "a write": (lambda x, y: x.__setitem__(slice(0, 3), nd.array([1.0, 2.0])), ShapeError, "assignment"),
    "an index": (lambda x, y: x[SIZE], IndexingError, "out of bounds"),
}


@pytest.mark.parametrize("recording", [False, True])
@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_reported_on_its_line(mode, name, recording):
    mistake, kind, says = MISTAKES[name]
    for _ in range(2):
        x, y = nd.array(ramp()), nd.array(ramp(1.0))
        x.attach_grad()
        with autograd.record() if recording else autograd.pause():
            before = x * 2.0
            with pytest.raises(kind, match=says) as error:
                mistake(before, y)
            assert isinstance(error.value, MXNetError)
            after = before + y
        np.testing.assert_array_equal(after.asnumpy(), 2 * ramp() + ramp(1.0))
        if recording:
            after.backward()
            np.testing.assert_array_equal(x.grad.asnumpy(), np.full(SIZE, 2.0))
        assert usable()


def test_an_error_leaves_the_scope(mode):
    with pytest.raises(ZeroDivisionError), autograd.record():
        raise ZeroDivisionError
    assert not autograd.is_recording()
    assert not autograd.is_training()
    assert usable()


def test_an_error_in_backward_leaves_recording_as_it_was(mode):
    x = nd.array(ramp(1.0))
    x.attach_grad()
    with autograd.record():
        y = x * x
        y.backward()
        with pytest.raises(AutogradError):
            y.backward()
        assert autograd.is_recording()
        z = x * 3.0
    z.backward()
    np.testing.assert_array_equal(x.grad.asnumpy(), np.full(SIZE, 3.0))


# asynchronous errors


@pytest.fixture
def break_windows(monkeypatch):
    """Make every window fail from now on."""

    def run(*args):
        raise ArithmeticError("on purpose")

    return lambda: monkeypatch.setattr(window, "_run", run)


def test_an_asynchronous_error_is_raised_by_every_read(deferred, break_windows):
    x = nd.array(ramp())
    y = x * 2.0
    z = y + 1.0
    break_windows()
    for result in (z, y, z):
        for read in (result.asnumpy, result.wait_to_read, lambda r=result: r.tolist(), lambda r=result: float(r[0:1])):
            with pytest.raises(ArithmeticError, match="on purpose"):
                read()
    assert (z.shape, z.dtype) == ((SIZE,), np.float32)


def test_an_asynchronous_error_leaves_other_work_intact(deferred, break_windows, monkeypatch):
    x = nd.array(ramp())
    y = x * 2.0
    break_windows()
    with pytest.raises(ArithmeticError):
        y.asnumpy()
    monkeypatch.undo()
    monkeypatch.setattr(SETTINGS, "defer_elements", SIZE)
    np.testing.assert_array_equal((x * 2.0).asnumpy(), ramp() * 2)
    with pytest.raises(ArithmeticError):
        (y + 1.0).asnumpy()
    with pytest.raises(ArithmeticError):
        y += 1.0
    assert usable()


def test_a_full_window_keeps_its_error_for_readers(deferred, break_windows, monkeypatch):
    monkeypatch.setattr(SETTINGS, "window_operations", 2)
    x = nd.array(ramp())
    lost = [x * 2.0, x * 3.0]
    run = window._run
    break_windows()
    fine = x * 4.0  # runs the window that holds the previous two
    monkeypatch.setattr(window, "_run", run)
    np.testing.assert_array_equal(fine.asnumpy(), ramp() * 4)
    for y in lost:
        with pytest.raises(ArithmeticError):
            y.asnumpy()


def test_waitall_raises_the_earliest_error_once(deferred, break_windows, monkeypatch):
    x = nd.array(ramp())
    y = x * 2.0
    run = window._run
    break_windows()
    with pytest.raises(ArithmeticError, match="on purpose"):
        nd.waitall()
    monkeypatch.setattr(window, "_run", run)
    nd.waitall()
    with pytest.raises(ArithmeticError):
        y.asnumpy()


def test_waitall_raises_errors_nobody_has_read(deferred, break_windows, monkeypatch):
    monkeypatch.setattr(SETTINGS, "window_operations", 1)
    x = nd.array(ramp())
    run = window._run
    y = x * 2.0
    break_windows()
    z = x * 3.0
    monkeypatch.setattr(window, "_run", run)
    with pytest.raises(ArithmeticError):
        nd.waitall()
    np.testing.assert_array_equal(z.asnumpy(), ramp() * 3)
    del y


def test_another_thread_sees_the_error_too(deferred, break_windows):
    x = nd.array(ramp())
    y = x * 2.0
    break_windows()
    for _ in range(2):
        with pytest.raises(ArithmeticError, match="on purpose"):
            in_thread(y.asnumpy).result()


def test_an_interrupt_while_a_window_runs_is_not_lost(deferred, monkeypatch):
    def interrupted(*args):
        raise KeyboardInterrupt

    x = nd.array(ramp())
    y = x * 2.0
    with monkeypatch.context() as patch:
        patch.setattr(window, "_run", interrupted)
        with pytest.raises(KeyboardInterrupt):
            y.asnumpy()
    for _ in range(3):
        with pytest.raises(EngineError, match="interrupted") as caught:
            y.asnumpy()
        assert len(caught.traceback) < 12  # it does not hold on to the frames of earlier readers
    assert usable()


def test_a_failed_backward_can_be_retried(mode, monkeypatch):
    x = nd.array(ramp(1.0))
    x.attach_grad()
    with autograd.record():
        y = x * x
    with pytest.raises(ShapeError):
        y.backward(nd.array(np.ones(3)))
    y.backward()
    np.testing.assert_array_equal(x.grad.asnumpy(), 2 * ramp(1.0))


@pytest.mark.parametrize(
    ("name", "shapes", "told"),
    [
        ("contrib.group_adagrad_update", [(2, 3), (2, 3), (5, 1)], r"\(5, 1\), \(2, 1\)"),
        ("lamb_update_phase2", [(2,), (2,), (3,), (1,)], r"\(3,\), \(2,\)"),
    ],
)
def test_a_failure_within_a_definition_names_the_operator(name, shapes, told):
    with pytest.raises(ShapeError, match=rf"^{name}: shapes do not broadcast: given {told}"):
        attrgetter(name)(nd)(*map(nd.ones, shapes), lr=0.1)


def test_results_independent_of_a_failure_are_computed(deferred):
    x = nd.array(ramp())
    before, wrong = x * 2.0, nd.take(x, nd.array(np.full(SIZE, 500.0)), mode="raise")
    after, below = before + 1.0, wrong * 2.0
    with pytest.raises(IndexingError):
        wrong.asnumpy()
    np.testing.assert_array_equal(before.asnumpy(), ramp() * 2)
    np.testing.assert_array_equal(after.asnumpy(), ramp() * 2 + 1)
    for failed in (wrong, below):
        with pytest.raises(IndexingError):
            failed.asnumpy()
    assert usable()


WHOLE_WRITES = {
    "a number": lambda x: x.__setitem__(slice(None), 3.0),
    "an array": lambda x: x.__setitem__(slice(None), nd.full(x.shape, 3.0)),
    "a view": lambda x: x.reshape((4, -1)).__setitem__(Ellipsis, 3.0),
    "copyto": lambda x: nd.full(x.shape, 3.0).copyto(x),
}


@pytest.mark.parametrize("name", WHOLE_WRITES)
@pytest.mark.parametrize("wants_gradient", [False, True])
def test_an_array_that_was_lost_can_be_written_anew(deferred, monkeypatch, name, wants_gradient):
    x = nd.array(ramp()) * 2.0
    if wants_gradient:
        x.attach_grad()
    with monkeypatch.context() as patch:
        patch.setattr(window, "_run", lambda *args: 1 // 0)
        with pytest.raises(ArithmeticError):
            x.asnumpy()
    with pytest.raises(ArithmeticError):
        x[1:3] = 0.0  # the other elements are lost
    WHOLE_WRITES[name](x)
    np.testing.assert_array_equal(x.asnumpy(), np.full(SIZE, 3.0))
    if wants_gradient:
        with autograd.record():
            y = x * x
        y.backward()
        np.testing.assert_array_equal(x.grad.asnumpy(), np.full(SIZE, 6.0))


def test_weights_lost_in_a_failed_step_can_be_loaded_again(deferred, monkeypatch, tmp_path):
    net = gluon.nn.Dense(SIZE, in_units=SIZE)
    net.initialize()
    trainer = gluon.Trainer(net.collect_params(), "adam")
    weights, states = str(tmp_path / "net.params"), str(tmp_path / "net.states")

    def step():
        with autograd.record():
            loss = net(nd.ones((SIZE, SIZE))).square().sum()
        loss.backward()
        trainer.step(1)
        return net.weight.data().asnumpy()

    step()
    net.save_parameters(weights)
    trainer.save_states(states)
    with monkeypatch.context() as patch:
        patch.setattr(window, "_run", lambda *args: 1 // 0)
        with suppress(ArithmeticError):
            step()
    net.load_parameters(weights)
    trainer.load_states(states)
    saved = net.weight.data().asnumpy()
    assert not np.array_equal(step(), saved)


def test_results_that_read_nothing_overwritten_are_computed_after_a_failure(deferred):
    x = nd.array(ramp())
    fine = x * 2.0 + 1.0
    # the memory of this array takes a result, since nothing refers to it any more
    temporary = (nd.array(ramp(1.0)) * 3.0).exp()
    wrong = nd.take(x, nd.array(np.full(SIZE, 500.0)), mode="raise") + temporary
    del temporary
    with pytest.raises(IndexingError):
        wrong.asnumpy()
    np.testing.assert_array_equal(fine.asnumpy(), ramp() * 2 + 1)
    assert usable()
