"""Exceptions of the program's signal handlers, such as those that end a time limit, pass through computations as they are."""

import signal
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

import twofold as mx
from twofold.backend.loader import backend_for
from twofold.backend.protocol import Backend
from twofold.device import CPU
from twofold.errors import MXNetError, own_error
from twofold.imperative import window
from twofold.program import kernels

from .operators import SIZE, ramp


class Limit(Exception):
    pass


def end(number, frame):
    raise TimeoutError("limit")


class Ends:
    def end(self, number, frame):
        raise Limit

    def __call__(self, number, frame):
        raise Limit


def end_at(name, number, frame):
    raise Limit(name)


HANDLERS = {"function": end, "method": Ends().end, "object": Ends(), "partial": partial(partial(end_at), "step")}


@pytest.fixture(params=HANDLERS)
def handler(request):
    before = signal.signal(signal.SIGUSR1, HANDLERS[request.param])
    yield TimeoutError if request.param == "function" else Limit
    signal.signal(signal.SIGUSR1, before)


def interrupted(*_):
    signal.raise_signal(signal.SIGUSR1)


def failing(work):
    try:
        work()
    except Exception as error:
        raise own_error("a computation failed", error) from error


def test_a_handlers_exception_keeps_its_class(handler):
    with pytest.raises(handler) as caught:
        failing(interrupted)
    assert caught.value.__cause__ is None


def test_what_is_raised_elsewhere_becomes_an_error_of_this_library(handler):
    with pytest.raises(MXNetError, match="a computation failed"):
        failing(lambda: end_at("step", 0, None) if handler is TimeoutError else end(0, None))


def test_a_handlers_exception_in_a_compilation_keeps_its_class(handler, monkeypatch):
    backend = backend_for(CPU)
    monkeypatch.setattr(type(backend), "compile", interrupted)
    with pytest.raises(handler):
        kernels.compile_kernel(backend, [SimpleNamespace(name="kernel")])


@pytest.mark.usefixtures("deferred")
def test_a_handlers_exception_in_a_window_keeps_its_class_and_the_arrays_before(handler, monkeypatch):
    backend = backend_for(CPU)
    x = mx.nd.array(ramp())
    (x + 1).asnumpy()
    y = x * 3 + 1
    with monkeypatch.context() as during:
        for way in ("quick", "quietly"):
            during.setattr(type(backend), way, lambda self, function, *args: Backend.quietly(self, interrupted))
        with pytest.raises(handler):
            y.asnumpy()
    assert x.shape == (SIZE,)
    # another program: that one was compiled with what raises
    np.testing.assert_array_equal((x * 3 - 1).asnumpy(), ramp() * 3 - 1)


X = np.arange(100_000, dtype="float32")
WANT = (X * 2 + 1) * X


@pytest.fixture
def on_the_cpu():
    with mx.cpu():
        yield


def pending():
    """A result that waits in a window, whose program has run before."""
    x = mx.nd.array(X)
    ((x * 2 + 1) * x).wait_to_read()
    y = (x * 2 + 1) * x
    assert y._held.data is None
    return x, y


def interrupting_once(monkeypatch, what):
    """Have something happen in the next window that runs."""
    run, left = window._run, [1]

    def running(*arguments):
        if left:
            left.clear()
            what()
        run(*arguments)

    monkeypatch.setattr(window, "_run", running)
    return left


@pytest.mark.usefixtures("on_the_cpu")
def test_one_that_ends_no_operation_is_raised_where_the_program_waits(handler, monkeypatch):
    """Its results are computed again, each by itself, and must not hide it."""
    x, y = pending()
    interrupting_once(monkeypatch, interrupted)
    with pytest.raises(handler):
        y.wait_to_read()
    np.testing.assert_array_equal(y.asnumpy(), WANT)  # it has been computed all the same
    np.testing.assert_array_equal((y + x).asnumpy(), WANT + X)


@pytest.mark.usefixtures("on_the_cpu")
def test_a_failure_that_is_no_handlers_and_does_not_come_again_is_none(monkeypatch):
    _, y = pending()
    left = interrupting_once(monkeypatch, lambda: end_at("step", 0, None))
    np.testing.assert_array_equal(y.asnumpy(), WANT)
    assert not left
