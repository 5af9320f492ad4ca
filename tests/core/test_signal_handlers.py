"""Errors that signal handlers raise while a program computes: they reach the program, and nothing that was computed is lost."""

import signal
import threading

import numpy as np
import pytest

import twofold as mx
from twofold import nd
from twofold.imperative import window


class Alarm(Exception):
    """Raised by the tests' handler."""


@pytest.fixture(autouse=True)
def handler():
    """Raises at a signal, on the CPU: elsewhere other threads compute."""

    def ring(number, frame):
        raise Alarm

    before = signal.signal(signal.SIGUSR1, ring)
    with mx.cpu():
        yield
    signal.signal(signal.SIGUSR1, before)


X = np.arange(100_000, dtype="float32")
WANT = (X * 2 + 1) * X


def pending():
    """A result that waits in a window, whose program has run before."""
    x = nd.array(X)
    ((x * 2 + 1) * x).wait_to_read()
    y = (x * 2 + 1) * x
    assert y._held.data is None
    return x, y


def interrupting_once(monkeypatch, what):
    """Have something happen in the next window that runs."""
    run, left = window._run, [1]

    def interrupted(*arguments):
        if left:
            left.clear()
            what()
        run(*arguments)

    monkeypatch.setattr(window, "_run", interrupted)
    return left


def test_it_is_raised_where_the_program_waits(monkeypatch):
    x, y = pending()
    interrupting_once(monkeypatch, lambda: signal.raise_signal(signal.SIGUSR1))
    with pytest.raises(Alarm):
        y.wait_to_read()
    np.testing.assert_array_equal(y.asnumpy(), WANT)  # it has been computed all the same
    np.testing.assert_array_equal((y + x).asnumpy(), WANT + X)


def test_a_failure_that_does_not_come_again_is_none_in_other_threads(monkeypatch):
    """No handler runs there."""
    found = []

    def fail():
        raise Alarm

    def work():
        _, y = pending()
        left = interrupting_once(monkeypatch, fail)
        found.append(y.asnumpy())
        assert not left

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    np.testing.assert_array_equal(found[0], WANT)
