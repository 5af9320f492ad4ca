"""Errors are freed when they have been handled, with the frames that they have passed and the arrays of these."""

import gc
import weakref

import pytest

import twofold as mx


class Failing(mx.autograd.Function):
    def forward(self, x):
        raise ValueError("no")


def of_a_function(x):
    with mx.autograd.record():
        Failing()(x)


def of_an_operator(x):
    mx.nd.dot(x, mx.nd.ones((999, 3)))


def of_a_block(x):
    dense = mx.gluon.nn.Dense(3, in_units=4)
    dense.initialize()
    dense(x)


class Mark:
    pass


def marked(fail):
    """A reference to what a frame has held that an error has passed."""
    mark = Mark()
    held = weakref.ref(mark)
    x = mx.nd.ones((3, 5))
    x.attach_grad()
    try:
        passed(fail, x, mark)
    except mx.MXNetError:
        return held
    raise AssertionError("no error")


def passed(fail, x, mark):
    fail(x)
    return mark


@pytest.mark.parametrize("fail", [of_a_function, of_an_operator, of_a_block])
def test_a_handled_error_is_freed_without_a_collection(fail):
    marked(fail)
    gc.collect()
    gc.disable()
    try:
        assert marked(fail)() is None
    finally:
        gc.enable()
