"""Exceptions of the program's signal handlers, such as those that end a time limit, pass through computations as they are."""

import importlib
import itertools
import os
import signal
import sys
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

import twofold as mx
from twofold.backend.disk_cache import DiskCache
from twofold.backend.loader import backend_for
from twofold.backend.protocol import Backend
from twofold.device import CPU
from twofold.errors import MXNetError, own_error
from twofold.imperative import window
from twofold.numpy import methods
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
def test_one_that_comes_when_the_results_are_there_is_raised_where_the_program_waits(handler, monkeypatch):
    x, y = pending()
    with monkeypatch.context() as during:
        during.setattr(window.Window, "forget", interrupted)
        with pytest.raises(handler):
            y.wait_to_read()
    np.testing.assert_array_equal(y.asnumpy(), WANT)
    mx.nd.waitall()
    np.testing.assert_array_equal((y + x).asnumpy(), WANT + X)


class Interruption:
    """Sends a signal at one of the calls and returns of a computation, the ``at``-th, as a profiler sees them."""

    def __init__(self, at):
        self.left = at

    def __call__(self, frame, event, argument):
        if self.left == 0:
            sys.setprofile(None)
            interrupted()
        self.left -= 1

    def during(self, compute):
        """Whether the signal came before the computation ended."""
        sys.setprofile(self)
        try:
            compute()
        finally:
            sys.setprofile(None)
        return self.left < 0


SMALL = np.arange(12.0, dtype="float32").reshape(3, 4)
#: Computations with two arrays, each a short way of its own.
COMPUTATIONS = {
    "operator": lambda a, b: a + b,
    "number": lambda a, b: a * 2,
    "comparison": lambda a, b: a > b,
    "transposed operands": lambda a, b: a.T + b.T,
    "negative": lambda a, b: -a,
    "reduction": lambda a, b: a.sum(axis=0),
    "product": lambda a, b: a[:, :3] @ b if isinstance(a, mx.np.ndarray) else mx.nd.dot(a, b, transpose_b=True),
    "function": lambda a, b: (mx.np if isinstance(a, mx.np.ndarray) else mx.nd).exp(a),
    "element": lambda a, b: a[1, 2],
    "rows": lambda a, b: a[1:],
    "shape": lambda a, b: a.reshape(4, 3),
    "joined": lambda a, b: mx.np.concatenate([a, b]) if isinstance(a, mx.np.ndarray) else mx.nd.concat(a, b, dim=0),
}
WRITES = {
    "addition": lambda a, b: a.__iadd__(b),
    "number": lambda a, b: a.__iadd__(1),
    "rows": lambda a, b: a[1:].__iadd__(1),
    "elements": lambda a, b: a.__setitem__(slice(1, None), 0),
    "result": lambda a, b: mx.np.add(a, b, out=a) if isinstance(a, mx.np.ndarray) else mx.nd.elemwise_add(a, b, out=a),
}
KINDS = {"nd": mx.nd.array, "np": mx.np.array}


@pytest.fixture(params=[RuntimeError, ValueError, TypeError, IndexError], ids=lambda error: error.__name__)
def error(request):
    """The class of a handler's exception: one of those after which another way of computing is tried."""

    def raising(number, frame):
        raise request.param("limit")

    before = signal.signal(signal.SIGUSR1, raising)
    yield request.param
    signal.signal(signal.SIGUSR1, before)


def every_interruption(error, make, compute):
    """Interrupt a computation at every call and return; yields the arrays after each interruption."""
    for _ in range(30):  # until the site of the operation is known to read its results at once
        np.asarray(compute(*make()))
    for at in itertools.count():
        arrays = make()
        try:
            came = Interruption(at).during(lambda: compute(*arrays))  # noqa: B023  it runs here
        except error as caught:
            named = type(caught)
        else:
            assert not came, f"the signal at event {at} was forgotten"
            break
        assert named is error, at
        yield arrays
    assert at > 3


@pytest.mark.usefixtures("on_the_cpu")
@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("compute", COMPUTATIONS.values(), ids=COMPUTATIONS)
def test_one_of_any_class_ends_a_short_computation_wherever_it_comes(error, kind, compute):
    for arrays in every_interruption(error, lambda: (kind(SMALL), kind(SMALL)), compute):
        np.testing.assert_array_equal(compute(*arrays), compute(kind(SMALL), kind(SMALL)))


@pytest.mark.usefixtures("on_the_cpu")
@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_what_one_interrupts_is_written_once_or_not(error, kind, write):
    def compute(a, b):
        write(a, b)
        return a

    wanted = compute(kind(SMALL), kind(SMALL)).asnumpy()
    for a, _ in every_interruption(error, lambda: (kind(SMALL), kind(SMALL)), compute):
        found = a.asnumpy()
        assert (found == SMALL).all() or (found == wanted).all()


def test_one_that_ends_sorting_in_place_keeps_its_class(error, monkeypatch):
    monkeypatch.setattr(methods, "changed_inline", interrupted)
    with pytest.raises(error, match="limit"):
        methods._sort(mx.np.array(SMALL)[:])  # not NumPy's own method, which sorts whole arrays


@pytest.mark.parametrize("class_", [TimeoutError, RuntimeError, ImportError, AttributeError])
def test_one_that_comes_while_the_compiler_is_loaded_does_not_turn_it_off(class_, monkeypatch):
    """A time limit's TimeoutError is an OSError, as those of a broken llvmlite are."""
    pytest.importorskip("llvmlite")
    module = importlib.import_module("twofold_numpy.jit.compiler")

    def raising(number, frame):
        raise class_("limit")

    before = signal.signal(signal.SIGUSR1, raising)
    made = module.compiler.__wrapped__
    try:
        with monkeypatch.context() as during:
            during.setattr(module, "Compiler", interrupted)
            with pytest.raises(class_, match="limit"):
                made()
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_one_that_comes_while_a_kernel_is_compiled_keeps_its_class(error, monkeypatch):
    pytest.importorskip("llvmlite")
    tiering = importlib.import_module("twofold_numpy.jit.tiering")
    if tiering.compiler() is None:
        pytest.skip("kernels cannot be compiled for this machine")
    monkeypatch.setattr(tiering, "kernel_ir", interrupted)
    with pytest.raises(error, match="limit"):
        tiering._machine_code(None)


@pytest.mark.parametrize("class_", [TimeoutError, RuntimeError])
@pytest.mark.parametrize("name", ["utime", "replace"])
def test_one_that_comes_while_a_file_of_a_cache_is_read_or_written_keeps_its_class(class_, name, monkeypatch, tmp_path):
    def raising(number, frame):
        raise class_("limit")

    monkeypatch.setattr(DiskCache, "folder", tmp_path)
    cache = DiskCache("plans", 1 << 20)
    cache.store("a", b"content")
    used = partial(cache.load, "a") if name == "utime" else partial(cache.store, "b", b"content")
    before = signal.signal(signal.SIGUSR1, raising)
    try:
        with monkeypatch.context() as during:
            during.setattr(os, name, interrupted)
            with pytest.raises(class_, match="limit"):
                used()
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert cache.load("a") == b"content"
    assert len([*tmp_path.iterdir()]) == 1


class Signalling(mx.autograd.Function):
    def forward(self, x):
        interrupted()
        return x

    backward = forward


def test_one_that_ends_user_code_keeps_its_class(handler):
    with pytest.raises(handler):
        Signalling()(mx.nd.ones(3))


def test_one_that_ends_the_inference_of_shapes_keeps_its_class(handler, monkeypatch):
    net = mx.gluon.nn.Dense(2)
    net.initialize()
    with monkeypatch.context() as during:
        during.setattr(type(net), "infer_shape", interrupted)
        with pytest.raises(handler):
            net(mx.nd.ones((2, 3)))
    assert net(mx.nd.ones((2, 3))).shape == (2, 2)


@pytest.mark.usefixtures("on_the_cpu")
def test_a_failure_that_is_no_handlers_and_does_not_come_again_is_none(monkeypatch):
    _, y = pending()
    left = interrupting_once(monkeypatch, lambda: end_at("step", 0, None))
    np.testing.assert_array_equal(y.asnumpy(), WANT)
    assert not left
