"""Signal handlers and finalizers may compute, read, wait and raise, even in the middle of deferring or running an operation."""

import gc
import signal

import numpy as np
import pytest

from twofold import nd
from twofold.config import SETTINGS
from twofold.errors import EngineError, MXNetError
from twofold.imperative import window
from twofold.imperative.cell import HOST

from .operators import ramp
from tests.probe import window_of


@pytest.mark.usefixtures("deferred")
def test_a_thread_reading_a_window_within_its_own_run_is_an_error(monkeypatch):
    y = nd.array(ramp()) * 2.5
    raised, run = [], window._run

    def interrupted(*args):  # as by a signal handler
        try:
            y.asnumpy()
        except EngineError as error:
            raised.append(error)
        return run(*args)

    monkeypatch.setattr(window, "_run", interrupted)
    np.testing.assert_array_equal(y.asnumpy(), ramp() * np.float32(2.5))
    assert len(raised) == 1


@pytest.mark.usefixtures("deferred")
def test_a_window_that_a_signal_handler_closes_while_it_is_being_closed_runs_once(monkeypatch):
    y = nd.array(ramp()) * 2.5
    w, ident, runs = window_of(y), window.get_ident, []
    monkeypatch.setattr(window, "_run", lambda *args, run=window._run: (runs.append(1), run(*args)))

    def interrupted():
        monkeypatch.setattr(window, "get_ident", ident)
        window.flush(w)  # as by a signal handler
        return ident()

    monkeypatch.setattr(window, "get_ident", interrupted)
    np.testing.assert_array_equal(y.asnumpy(), ramp() * np.float32(2.5))
    assert w.is_done
    assert runs == [1]


@pytest.mark.usefixtures("deferred")
def test_what_a_signal_handler_raises_is_not_lost(monkeypatch):
    x, calls = nd.array(ramp()), []
    nd.sum(x), nd.sum(x), nd.sum(x)

    def interrupted(*args):
        calls.append(1)
        raise TimeoutError("alarm")

    monkeypatch.setattr(SETTINGS, "defer_elements", 1 << 40)
    y = nd.array(ramp())
    nd.sum(y), nd.sum(y), nd.sum(y)
    nd.dot(y, y), nd.dot(y, y)
    monkeypatch.setitem(vars(HOST), "quick", interrupted)
    monkeypatch.setitem(nd.sum.__globals__, "quick", interrupted)
    with pytest.raises(MXNetError, match="alarm"):
        nd.sum(y)
    with pytest.raises(MXNetError, match="alarm"):
        nd.dot(y, y)
    assert len(calls) == 2
    monkeypatch.undo()
    assert nd.sum(y).asscalar() == ramp().sum()


@pytest.mark.usefixtures("deferred")
def test_an_interrupt_while_a_window_is_closed_leaves_the_thread_usable(monkeypatch):
    y = nd.array(ramp()) * 2.5
    w = window_of(y)

    class Interrupting(list):
        def __iter__(self):
            raise KeyboardInterrupt

    w.outs = Interrupting(w.outs)
    with pytest.raises(KeyboardInterrupt):
        y.asnumpy()
    with pytest.raises(EngineError):
        y.asnumpy()
    np.testing.assert_array_equal((nd.array(ramp()) * 3.0).asnumpy(), ramp() * np.float32(3))
    nd.waitall()


class ComputesWhenItDies:
    """An object in a cycle, whose finalizer computes: the collector may call it at any point."""

    def __init__(self, array):
        self.array, self.itself = array, self

    def __del__(self):
        (self.array * 2).asnumpy()


def test_a_finalizer_can_compute_while_an_operation_is_deferred():
    x, other = nd.ones((300, 300)), nd.ones((300, 300))
    want = None
    before = gc.get_threshold()
    gc.collect()
    try:
        for threshold in range(2, 200):
            gc.set_threshold(threshold)
            ComputesWhenItDies(other)
            h = x
            for _ in range(12):
                h = nd.tanh(h * 1.1) + 0.25
            got = h.asnumpy()
            want = got if want is None else want
            np.testing.assert_array_equal(got, want)
    finally:
        gc.set_threshold(*before)


def test_a_signal_handler_can_call_waitall_at_any_time():
    x, other, calls = nd.ones((300, 300)), nd.ones((300, 300)), []

    def handler(*_):
        calls.append(1)
        try:
            (other * 2).wait_to_read()
            nd.waitall()
        except MXNetError:  # it came while a window ran
            pass

    def chain():
        h = x
        for _ in range(20):
            h = nd.tanh(h * 1.1) + 0.25
        return h.asnumpy()

    want = chain()
    old = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.002, 0.002)
    try:
        for _ in range(150):
            np.testing.assert_array_equal(chain(), want)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
    assert len(calls) > 5
