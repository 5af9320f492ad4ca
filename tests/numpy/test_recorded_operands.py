"""What recorded operations read of their operands: index arrays as they are, views once."""

import gc

import numpy
import pytest

import twofold as mx
from asv_benchmarks.ratios import recorded_frames
from twofold import nd, np
from twofold.errors import IndexingError
from twofold.imperative.counters import COUNTERS

from tests.probe import captured, tape_entry


def variable(values):
    x = np.array(values)
    x.attach_grad()
    return x


@pytest.fixture
def x():
    return variable(numpy.arange(12.0).reshape(4, 3) + 1)


def operations_of(function):
    """How many operations a function records when they are not new."""
    for _ in range(3):
        with mx.autograd.record():
            COUNTERS.reset()
            function()
    return COUNTERS.recorded


def test_a_recorded_gather_enters_few_functions(x):
    i = np.array([2, 0, 2])
    assert recorded_frames(lambda: x[i]) <= 21


def test_the_tape_borrows_index_arrays(x):
    i = np.array([2, 0, 2])
    memory = captured(i).data
    with mx.autograd.record():
        y = x[i] * 2
        (index,) = [v.data for v in tape_entry(y).inputs[0].saved if v.data.dtype == numpy.int64]
        assert index is memory


@pytest.mark.parametrize("write", [lambda i: i.__setitem__(0, 1), lambda i: i.__iadd__(1), lambda i: i.__setitem__(slice(None), 3)])
def test_an_index_written_before_backward_selects_what_it_did(x, write):
    i = np.array([2, 0, 2])
    with mx.autograd.record():
        y = (x[i] * np.array([[1.0], [10.0], [100.0]])).sum()
    write(i)
    y.backward()
    assert x.grad[:, 0].tolist() == [10.0, 0.0, 101.0, 0.0]


@pytest.mark.parametrize(
    "index",
    [
        [2, 0, 2],
        [-1, 0, -4],
        [[1, 1], [0, 3]],
        ([0, 3, 0], [1, 2, 1]),
        ([0, -1], [1, 2]),
        ([[0], [1]], [1, 2]),
        [True, False, True, True],
        (slice(None), [1, 0, 1]),
        (slice(1, None), [1, 0, 1]),
        numpy.zeros((0,), int),
    ],
    ids=str,
)
@pytest.mark.parametrize("own", [np.array, numpy.array], ids=["ours", "NumPy's"])
def test_gathers_and_their_gradients_are_numpys(x, index, own):
    host = x.asnumpy()
    given = tuple(i if isinstance(i, slice) else own(i) for i in index) if isinstance(index, tuple) else own(index)
    numpys = tuple(i if isinstance(i, slice) else numpy.array(i) for i in index) if isinstance(index, tuple) else numpy.array(index)
    want = numpy.zeros_like(host)
    weights = numpy.arange(1.0, host[numpys].size + 1).reshape(host[numpys].shape)
    numpy.add.at(want, numpys, weights)
    for _ in range(3):
        with mx.autograd.record():
            y = x[given]
            z = (y * np.array(weights)).sum()
        z.backward()
        numpy.testing.assert_array_equal(y.asnumpy(), host[numpys])
        numpy.testing.assert_array_equal(x.grad.asnumpy(), want)


@pytest.mark.parametrize("index", [[4], [0, -5], [[0, 1], [7, 2]]], ids=str)
def test_places_out_of_bounds_are_refused(x, index):
    with mx.autograd.record(), pytest.raises(IndexingError, match="out of bounds for axis 0 with size 4"):
        x[np.array(index)]


def test_views_index_and_are_indexed(x):
    i, host = np.array([9, 1, 0, 9])[1:3], x.asnumpy()
    with mx.autograd.record():
        y = x[1:][i]
        z = y.sum()
    z.backward()
    numpy.testing.assert_array_equal(y.asnumpy(), host[1:][[1, 0]])
    assert x.grad[:, 0].tolist() == [0.0, 1.0, 1.0, 0.0]


def test_arrays_of_mxnet_are_gathered_alike():
    x, i = nd.array([[1.0, 2.0], [3.0, 4.0]]), nd.array([1, 1], dtype="int64")
    x.attach_grad()
    with mx.autograd.record():
        y = x[i]
    y.backward()
    assert y.asnumpy().tolist() == [[3.0, 4.0]] * 2
    assert x.grad.asnumpy().tolist() == [[0.0, 0.0], [2.0, 2.0]]


@pytest.mark.parametrize(
    ("function", "count"),
    [
        (lambda x: x[1:].sum(), 2),
        (lambda x: x.T.sum(1), 2),
        (lambda x: x[1:].copy(), 2),
        # element-wise functions do not count themselves
        (lambda x: np.tanh(x[1:]), 1),
        (lambda x: np.maximum(x[1:], 3.0), 1),
        (lambda x: x[1:] + x[:-1], 2),
        (lambda x: -x.T, 1),
    ],
)
def test_a_view_is_read_once(x, function, count):
    assert operations_of(lambda: function(x)) == count


def test_a_view_beside_an_array_that_is_new_to_the_tape_is_read_once(x):
    with mx.autograd.record():
        COUNTERS.reset()
        y = x[1:] * np.ones((3, 3))
    assert COUNTERS.recorded == 2
    y.backward()
    assert x.grad[:, 0].tolist() == [0.0, 1.0, 1.0, 1.0]


def test_a_list_of_numbers_is_stacked_by_one_operation(x):
    items = 7
    assert operations_of(lambda: np.array([x[k % 4].sum() for k in range(items)])) == 2 * items + 1
    with mx.autograd.record():
        y = (np.array([x[k].sum() for k in range(4)]) * np.arange(4.0)).sum()
    y.backward()
    assert x.grad[:, 1].tolist() == [0.0, 1.0, 2.0, 3.0]


@pytest.mark.parametrize(("function", "most"), [(lambda x: x.argmax(), 25), (lambda x: x.copy(), 15), (lambda x: x.max(), 22)])
def test_recorded_methods_enter_few_functions(function, most):
    flat = variable(numpy.arange(6.0))
    gc.disable()
    try:
        assert recorded_frames(lambda: function(flat)) <= most
    finally:
        gc.enable()


def test_small_parts_of_a_large_array_leave_large_work_fused():
    parameters, data = variable(numpy.random.default_rng(0).normal(size=100_000)), np.array(numpy.ones((300, 300)))
    for _ in range(3):
        COUNTERS.reset()
        with mx.autograd.record():
            y = np.tanh(data * parameters[:300] + parameters[300:600]) * parameters[600:900] - parameters[900:1200]
            z = y.sum()
        z.backward()
        parameters.grad.wait_to_read()
    assert COUNTERS.windows == 1
    assert COUNTERS.kernels <= 2


@pytest.mark.parametrize("text", ["np.repeat(x, 3, axis=0)", "np.take(x, [0, 0, 0], axis=-1)", "3 * np.compress([True], x, axis=0)"])
def test_a_recorded_array_without_axes_has_one_where_numpy_gives_it_one(text):
    x = variable(0.5)
    with mx.autograd.record():
        found = eval(text, {"np": np, "x": x})
    found.backward()
    assert found.tolist() == eval(text, {"np": numpy, "x": numpy.array(0.5)}).tolist()
    assert x.grad == 3


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("text", ["x ** k", "np.arctan2(k, x)", "k + x", "x / k"])
def test_integers_of_more_than_64_bits_are_floats_beside_recorded_floats(text, dtype):
    values = numpy.array([0.5, 0.75], dtype)
    found, wanted = [], []
    for number in (10**30, 1e30):
        x = variable(values)
        with mx.autograd.record():
            y = eval(text, {"np": np, "x": x, "k": number})
        y.backward()
        (found if number.__class__ is int else wanted).extend([y.tolist(), x.grad.tolist()])
        assert y.dtype == dtype
    assert found == wanted
    numpy.testing.assert_allclose(found[0], eval(text, {"np": numpy, "x": values, "k": 10**30}), rtol=1e-6)
