"""The cost of one operation on small arrays, as counts: Python frames, and execution paths."""

import pytest

import twofold as mx
from asv_benchmarks.timing import entered
from twofold import autograd, nd
from twofold.imperative.counters import COUNTERS


@pytest.mark.parametrize("expression", ["x + x", "x - x", "x * x", "x / x", "x ** x", "-x", "abs(x)", "x > x", "x == x"])
def test_an_operator_on_plain_arrays_is_one_frame(expression):
    function = eval(f"lambda: {expression}", {"x": nd.array([1, 2, 3, 4])})
    function()
    assert len(entered(function)) == 1, entered(function)


@pytest.mark.parametrize("expression", ["x + 1", "1 - x", "x * 2.0", "1 / x", "2 ** x", "x ** 2", "x > 0.5", "x == 1"])
def test_an_operator_on_a_plain_array_and_a_number_is_two_frames(expression):
    function = eval(f"lambda: {expression}", {"x": nd.array([1, 2, 3, 4])})
    function()
    assert len(entered(function)) == 2, entered(function)


def test_an_in_place_operator_on_plain_arrays_is_one_frame():
    x = nd.array([1, 2, 3, 4])

    def step():
        nonlocal x
        x += x

    assert len(entered(step)) == 1


def test_a_function_of_floats_is_two_frames():
    x = nd.array([1, 2, 3, 4])
    nd.sqrt(x), x.exp()
    assert len(entered(lambda: nd.sqrt(x))) == len(entered(lambda: x.exp())) == 2


@pytest.mark.parametrize("name", ["temperature", "axis"])
def test_an_array_as_a_parameter_counts_with_its_value_at_the_call(name):
    x, parameter = nd.array([[1, 2], [4, 8]]), nd.array([0], dtype="int32")
    for value in (1, 0, 1) if name == "axis" else (1, 2, 3):
        parameter[:] = value
        for _ in range(2):
            found = nd.softmax(x, **{name: parameter})
            assert found.asnumpy().tolist() == nd.softmax(x, **{name: value}).asnumpy().tolist()


def test_a_known_call_with_scalars_checks_no_parameters():
    x = nd.array([1, 2, 3, 4])
    for function in (lambda: nd.clip(x, 0, 2.5), lambda: nd.smooth_l1(x, scalar=2.0)):
        for _ in range(3):
            function()
        found = entered(function)
        assert "call" not in found, found
        assert len(found) <= 8, found


@pytest.mark.parametrize("value", [1, 2.5, nd.ones((3,))])
def test_a_write_into_a_plain_array_is_few_frames(value):
    x = nd.zeros((2, 3))

    def step():
        x[1] = value

    step()
    assert len(entered(step)) <= 5, entered(step)


def test_a_known_recorded_operator_is_few_frames():
    x = nd.array([1, 2, 3, 4])
    x.attach_grad()
    for _ in range(3):
        with autograd.record():
            x + x
            found = entered(lambda: x + x)
    assert len(found) <= 6, found


def test_a_known_basic_index_is_not_parsed_again():
    x = nd.ones((3, 4))
    x[1], x[0:2]
    for function in (lambda: x[1], lambda: x[0:2]):
        assert "_parsed" not in entered(function)
        assert len(entered(function)) <= 8


def test_small_operations_run_inline_and_write_in_place():
    x, y = nd.ones((3,)), nd.ones((3,))
    COUNTERS.reset()
    x += y
    x[:] = 3
    x[0] = y[1]
    nd.exp(x, out=y)
    assert COUNTERS.copied == COUNTERS.deferred == COUNTERS.windows == 0


def test_the_contexts_of_arrays_are_one_object():
    assert nd.ones((1,)).context is nd.ones((1,), ctx=mx.cpu(0)).context is mx.current_context()
