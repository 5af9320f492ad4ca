"""What small operations cost, as counts of Python frames, and that what is cut from a large array is not deferred."""

import numpy
import pytest

import twofold as mx
from asv_benchmarks.timing import frames
from twofold import np
from twofold.imperative.counters import COUNTERS


def names(np, n=10):
    return {
        "np": np,
        "x": np.arange(n) * 0.5,
        "y": np.ones(n),
        "A": np.ones((10, 20)),
        "B": np.zeros((300, 300)),
    }


#: Statements, and how many Python functions each enters.
FRAMES = {
    "x[5]": 1, "A[3, 4]": 1, "B[3, 4]": 1, "x[-1]": 1,
    "x[1:9]": 1, "A[3, :9]": 1, "A[3]": 1, "B[3, :9]": 1, "x[1:9][2:4]": 2,
    "x[:5] + x[1:6]": 5, "x[1] * 2.0 + y[3]": 4, "x[1] < y[3]": 3, "x * y[3]": 2,
    "x + y": 1, "x * 2.0": 1, "x += y": 1, "x > 0.5": 1, "-x": 1, "x @ y": 1, "A.T @ A": None,
    "x[3] = 1.5": 1, "x[2:6] = 0.0": 1, "x[3] = y[2]": 2, "x[1:9] = y[1:9]": 3, "A[3, 4] = 2.0": 1,
    "B[3, 4] = 2.0": 1, "B[3, :9] = y[:9]": 3,
    "x[x > 0.5]": 2, "float(x[5])": 2, "bool(x[5])": 2, "hash(x[5])": 2, "f'{x[5]:.3f}'": 2,
}  # fmt: skip


@pytest.mark.parametrize("text", [t for t, n in FRAMES.items() if n is not None])
def test_a_small_operation_enters_few_functions(text):
    code, env = compile(text, "<text>", "exec"), names(np)
    for _ in range(3):
        exec(code, env)
    assert frames(lambda: exec(code, env)) - 1 <= FRAMES[text]


@pytest.mark.parametrize("text", FRAMES)
def test_a_small_operation_gives_what_numpy_gives(text):
    own, theirs = names(np), names(numpy)
    is_expression = "=" not in text
    for env in (own, theirs):
        env["r"] = eval(text, env) if is_expression else exec(text, env)
    for name in "rxyAB":
        if theirs[name] is not None:
            numpy.testing.assert_array_equal(numpy.asarray(own[name]), theirs[name])
            assert numpy.asarray(own[name]).dtype == numpy.asarray(theirs[name]).dtype


@pytest.mark.parametrize("np_", [np, mx.nd], ids=["np", "nd"])
def test_elements_and_small_slices_of_a_large_array_are_read_and_written_at_once(np_):
    x = np_.zeros(100_000)
    COUNTERS.reset()
    for i in range(1, 50):
        x[i] = 0.5 * x[i - 1] + 1
        x[i + 50 : i + 60] = x[i : i + 10] * 2
    assert COUNTERS.deferred == COUNTERS.windows == COUNTERS.copied == 0
    assert float(x[49]) == pytest.approx(2 - 0.5**48)


def test_a_view_sees_what_is_written_to_its_base_after_the_base_has_got_another_content():
    x = np.arange(6.0)
    view = x[2:5]
    inner = view[1:]
    x.attach_grad()
    with mx.autograd.record():
        y = x * 2
        x[3] = 7.0  # recorded: the base gets a new content
    assert view.tolist() == [2, 7, 4]
    assert inner.tolist() == [7, 4]
    assert y.tolist() == [0, 2, 4, 6, 8, 10]


def test_a_view_of_a_view_writes_to_the_base():
    x = np.zeros((4, 5))
    x[1:3][0][2:4] = 1.0
    x[1:3][1, 0] = 2.0
    assert x[1:3].tolist() == [[0, 0, 1, 1, 0], [2, 0, 0, 0, 0]]


def test_a_slice_made_outside_of_record_gives_its_base_a_gradient():
    x = np.arange(6.0)
    view = x[1:3]
    x.attach_grad()
    with mx.autograd.record():
        (view * view).sum().backward()
    assert x.grad.tolist() == [0, 2, 4, 0, 0, 0]


def test_a_single_element_is_an_array_where_more_than_its_value_is_asked_for():
    x = np.arange(3.0)
    element = x[2]
    assert isinstance(element, np.ndarray)
    element[...] = 5.0
    assert (element.item(), x.tolist()) == (5.0, [0, 1, 2])
    variable = x[1]
    variable.attach_grad()
    with mx.autograd.record():
        (variable * 3.0).backward()
    assert variable.grad.item() == 3.0


def test_adding_to_an_element_in_place_makes_a_new_one():
    x = np.arange(3.0)
    a = b = x[1]
    a += 1
    assert (a.item(), b.item(), x.tolist()) == (2.0, 1.0, [0, 1, 2])


def test_a_pending_large_array_is_computed_when_an_element_is_asked_for():
    x = np.ones(100_000)
    for i in range(3):
        y = x + i
        assert y[i] == 1 + i
        y[i] = 9.0
        assert y[i : i + 2].tolist() == [9, 1 + i]


def test_a_write_to_a_small_part_computes_what_is_still_to_read_the_array():
    x = np.ones(100_000)
    y = x * 2.0
    COUNTERS.reset()
    x[3] = 7.0
    assert COUNTERS.copied == 0
    assert (y[3].item(), x[3].item()) == (2, 7)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "float16", "bfloat16", "float32", "bool", "complex64"])
def test_elements_keep_their_dtype(dtype):
    x = np.ones(3, dtype)
    assert [x[1].dtype, (x[1] * x[2]).dtype, (x * x[1]).dtype] == [x.dtype] * 3
    assert x[1].tolist() == 1
