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
    np.testing.assert_array_equal((x * 3 + 1).asnumpy(), ramp() * 3 + 1)
