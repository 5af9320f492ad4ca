"""What the core's tests apply: primitives by name, and unregistered operators made for what a test must reach."""

import threading
from contextlib import contextmanager
from typing import ClassVar

import numpy as np

from twofold.imperative import window
from twofold.imperative.array import apply_op
from twofold.imperative.invoke import data_of
from twofold.ndarray.array import NDArray
from twofold.ndarray.namespace import call
from twofold.opdef.declare import build
from twofold.opdef.params import Scalar, Shape
from twofold.opdef.registry import OPS
from twofold.ops.random_floats import uniform

from tests import probe

#: Elements of an array that is deferred in mode "deferred".
SIZE = 16


def op(name, *args, **params):
    """A primitive under ``nd``'s convention."""
    return apply_op(OPS[name], *args, cls=NDArray, **params)


class Free(NDArray):
    """An array under NumPy's convention, which may be 0-d."""

    __slots__ = ()
    _legacy: ClassVar[bool] = False


def free(name, *args, **params):
    """A primitive under NumPy's convention."""
    return apply_op(OPS[name], *args, cls=Free, **params)


def ramp(first=0.0, size=SIZE):
    """float32 values to make an array of."""
    return np.arange(first, first + size, dtype=np.float32)


def address(x):
    """The address of an array's memory."""
    return data_of(probe.content(x)).__array_interface__["data"][0]


def operator(rule, aux=(), **facts):
    """An operator that only the test knows, as a function on arrays."""
    declared = build(rule, (), aux, facts)

    def run(*arrays, **params):
        return call(declared, arrays, params)

    run.op = declared
    return run


def _pair(xp, data):
    return xp.exp(data), xp.tanh(data)


#: Two results from one input: exp and tanh.
pair = operator(_pair, outputs=2)


def _soft(xp, data):
    raised = xp.exp(data - xp.max(data, axis=-1, keepdims=True))
    return raised / xp.sum(raised, axis=-1, keepdims=True)


#: Softmax without a gradient rule: its gradient shares inner values with it, which become residuals.
soft = operator(_soft)


def _logistic(xp, data):
    raised = xp.exp(data)
    return raised / (1 + raised)


#: The logistic function, whose gradient rule has inner values in common with its definition.
logistic = operator(_logistic)


@logistic.op.grad
def _(xp, dout, data):
    raised = xp.exp(data)
    return dout * (raised / (1 + raised)) / (1 + raised)


def _growth(xp, data, rate):
    return xp.exp(data) * xp.exp(rate)


#: ``exp(data) · exp(rate)``; its gradient reads its result, and an inner value that depends on ``rate`` alone.
growth = operator(_growth)


@growth.op.grad
def _(xp, dout, data, rate):
    fixed = xp.exp(rate)
    return dout * (xp.exp(data) * fixed), dout * fixed * xp.exp(data)


def _norm(xp, data, mean):
    return data - mean


def _norm_moved(xp, out, data, mean):
    return {"mean": mean * 0.5 + xp.sum(data, axis=0) * 0.5}


#: ``data - mean`` with an auxiliary state that backward updates.
norm = operator(_norm, aux=("mean",))
norm.op.on_backward(_norm_moved)


def _between(xp, rng=None, *, shape: Shape, low: Scalar = 0.0, high: Scalar = 1.0):
    between_0_and_1 = uniform(xp, rng, shape, "float32")
    return between_0_and_1 * high + (1 - between_0_and_1) * low


#: Uniform numbers between two run-time scalars.
between = operator(_between, random=True)


def _noisy(xp, data, rng=None, *, scale: Scalar = 1.0):
    return data * uniform(xp, rng, data.shape, "float32") * scale


#: The data times uniform numbers.
noisy = operator(_noisy, random=True)


@contextmanager
def held_windows(monkeypatch):
    """While the block runs, windows that run in another thread wait; yields an event set once one has started."""
    begun, go = threading.Event(), threading.Event()
    run, main = window._run, threading.current_thread()

    def waiting(*args):
        if threading.current_thread() is not main:
            begun.set()
            assert go.wait(20)
        run(*args)

    with monkeypatch.context() as patch:
        patch.setattr(window, "_run", waiting)
        try:
            yield begun
        finally:
            go.set()


def in_thread(work):
    """Start a function in another thread; `join` on the returned thread gives the function's result."""
    return _Task(work)


class _Task(threading.Thread):
    def __init__(self, work):
        super().__init__(daemon=True)
        self._work = work
        self.start()

    def run(self):
        try:
            self._found, self._error = self._work(), None
        except BaseException as error:  # raised again by `result`
            self._found, self._error = None, error

    def result(self):
        """What the function returned; raises what it raised."""
        self.join(30)
        assert not self.is_alive()
        if self._error is not None:
            raise self._error
        return self._found
