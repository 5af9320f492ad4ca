"""Inside `record`, operations on arrays without a gradient run as they do outside; those on tracked arrays keep the tape exact."""

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import twofold as mx
from asv_benchmarks.timing import frames
from twofold import nd, np
from twofold.imperative.counters import COUNTERS

LARGE = 200_000


def _recorded(function: Callable[[], Any]) -> int:
    with mx.autograd.record():
        return _outside(function)


def _outside(function: Callable[[], Any]) -> int:
    for _ in range(4):
        mx.nd.waitall()
        function()
    mx.nd.waitall()
    return frames(function)


def _statement(text: str) -> Callable[[Any], Callable[[], None]]:
    def of(x: Any) -> Callable[[], None]:
        found: dict[str, Any] = {}
        exec(f"def run(x=x, y=y): {text}", {"x": x, "y": x[:4].copy(), "np": np}, found)
        return found["run"]

    return of


SHARED = ["x[5]", "x[1:9]", "x[:4] + y", "x[1:5] * 2.0", "x.reshape(-1, 4)[3]", "x[5] = 1.5", "x[2:6] = 0.0", "x[2:6] = y", "x * 2.0", "-x"]


@pytest.mark.parametrize("size", [400, LARGE])
@pytest.mark.parametrize("module", [np, nd])
@pytest.mark.parametrize("text", SHARED)
def test_operations_on_untracked_arrays_enter_no_more_functions_while_recording(text: str, module: Any, size: int) -> None:
    x = module.array(numpy.arange(size, dtype="float32"))
    function = _statement(text)(x)
    assert min(_recorded(function) for _ in range(3)) <= _outside(function)  # a collection in between enters others


@pytest.mark.parametrize("text", ["x[5:9] += 1.0", "x[y > 1.0]", "np.sort(x)", "x[[1, 2]] = 3.0", "x[x > 5.0] = 1.0", "x[5] + x[6]"])
def test_more_operations_of_np_on_untracked_arrays_cost_the_same(text: str) -> None:
    x = np.array(numpy.arange(LARGE, dtype="float64"))
    if text == "x[y > 1.0]":
        x = x[:4].copy()
    function = _statement(text)(x)
    assert _recorded(function) <= _outside(function) + 1


@pytest.mark.parametrize("module", [np, nd])
@pytest.mark.parametrize("size", [400, LARGE])
def test_views_of_tracked_arrays_are_made_in_one_frame(module: Any, size: int) -> None:
    x = module.array(numpy.arange(size, dtype="float32"))
    x.attach_grad()
    assert _recorded(lambda: x[1:3]) == 1
    with mx.autograd.record():
        y = (x[1:3] * x[2:4]).sum()
    y.backward()
    assert x.grad[:5].asnumpy().tolist() == [0, 2, 4, 2, 0]


def test_a_view_made_before_its_base_was_marked_is_tracked() -> None:
    for size in (8, LARGE):
        x = np.arange(float(size))
        before = x[1:4]
        x.attach_grad()
        with mx.autograd.record():
            y = (before * before).sum() + before[0] + before[np.array([True, False, True])].sum()
        y.backward()
        assert x.grad[:5].tolist() == [0, 4, 4, 7, 0]


@pytest.mark.parametrize("size", [6, LARGE])
@pytest.mark.parametrize(
    ("read", "gradient"),
    [
        (lambda v: v[np.array([True, False, True, True])].sum(), [1, 0, 1, 1]),
        (lambda v: v[1] * v[1], [0, 4, 0, 0]),
        (lambda v: v[[0, 0, 2]].sum(), [2, 0, 1, 0]),
        (lambda v: np.array([v[0], v[3] * 2]).sum(), [1, 0, 0, 2]),
        (lambda v: np.sort(v).sum(), [1, 1, 1, 1]),
    ],
)
def test_elements_of_a_view_that_is_a_variable_are_recorded(size: int, read: Callable[[Any], Any], gradient: list[float]) -> None:
    v = np.arange(float(size))[1:5]
    v.attach_grad()
    with mx.autograd.record():
        y = read(v)
    y.backward()
    assert v.grad.tolist() == gradient


def test_a_write_to_an_untracked_array_that_the_tape_has_read_leaves_the_gradient() -> None:
    for size in (8, LARGE):
        x, c = np.ones(size), np.ones(size)
        x.attach_grad()
        with mx.autograd.record():
            y = (x * c).sum()
            c[0] = 5.0
            c[2:4] = 7.0
            c[np.array([5])] = 9.0
            c += 1.0
            z = (x * c).sum()
        mx.autograd.backward([y, z])
        assert x.grad[:7].tolist() == [7, 3, 9, 9, 3, 11, 3]


def test_a_write_does_not_run_a_window_that_backward_may_join() -> None:
    x, c = np.ones(LARGE), np.ones(LARGE)
    x.attach_grad()
    with mx.autograd.record():
        y = (x * c).sum()
        before = COUNTERS.windows
        c[:3] = 5.0
        assert COUNTERS.windows == before
    y.backward()
    assert x.grad[:4].tolist() == [1, 1, 1, 1]
    assert c[:4].tolist() == [5, 5, 5, 1]


def test_a_scalar_recurrence_writes_in_place_while_recording() -> None:
    x = np.zeros(LARGE)
    before = COUNTERS.copied, COUNTERS.windows, COUNTERS.deferred
    with mx.autograd.record():
        for k in range(1, 100):
            x[k] = 0.5 * x[k - 1] + 1.0
    assert (COUNTERS.copied, COUNTERS.windows, COUNTERS.deferred) == before
    assert float(x[99]) == 2.0 - 2.0**-98


@pytest.mark.parametrize("dtype", ["int64", "int8", "bool"])
@pytest.mark.parametrize(
    "function", [lambda x: x * 2.5, lambda x: 2.5 - x, lambda x: x + 2.5, lambda x: 2.5**x, lambda x: 2.5 / (x + 1), lambda x: x * 3]
)
def test_integers_and_numbers_promote_each_time_they_are_recorded(dtype, function):
    values = numpy.array([1, 0, 3, 2]).astype(dtype)
    for _ in range(3):
        x = mx.np.array(values)
        with pytest.warns(UserWarning, match="attach_grad"):
            x.attach_grad()
        with mx.autograd.record():
            y = function(x)
        assert y.dtype == function(values).dtype
        numpy.testing.assert_array_equal(y.asnumpy(), function(values))
