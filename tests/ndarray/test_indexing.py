"""Reading and writing by index as in NumPy (except that results have at least one axis), through views, for every kind of content."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import twofold as mx
from twofold import autograd, mxnet_numpy, nd
from twofold.config import SETTINGS
from twofold.errors import DTypeError, IndexingError, ShapeError

from tests.probe import captured

SHAPES = st.lists(st.integers(1, 4), min_size=1, max_size=4).map(tuple)


@st.composite
def basic_items(draw, shape):
    """A basic index of a shape."""
    items = []
    for n in shape[: draw(st.integers(0, len(shape)))]:
        kind = draw(st.sampled_from(["int", "slice", "full"]))
        bound = st.none() | st.integers(-n - 1, n + 1)
        if kind == "int":
            items.append(draw(st.integers(-n, n - 1)))
        elif kind == "slice":
            items.append(slice(draw(bound), draw(bound), draw(st.none() | st.integers(-2, 2).filter(bool))))
        else:
            items.append(slice(None))
    for _ in range(draw(st.integers(0, 2))):
        items.insert(draw(st.integers(0, len(items))), None)
    if draw(st.booleans()):
        used = sum(i is not None for i in items)
        at = draw(st.integers(0, len(items)))
        if used == len(shape) or at == len(items):
            items.insert(at, Ellipsis)
    return items[0] if len(items) == 1 and draw(st.booleans()) else tuple(items)


@st.composite
def array_items(draw, shape):
    """An index of a shape with at least one index array."""
    extent = draw(st.sampled_from([(2,), (1,), (3,), (2, 3)]))
    at = draw(st.lists(st.integers(0, len(shape) - 1), min_size=1, max_size=len(shape), unique=True))
    items = []
    for k, n in enumerate(shape):
        if k in at:
            size = int(np.prod(extent))
            places = draw(st.lists(st.integers(-n, n - 1), min_size=size, max_size=size))
            items.append(np.array(places).reshape(extent))
        else:
            kind = draw(st.sampled_from(["int", "slice", "full"]))
            items.append(
                draw(st.integers(-n, n - 1))
                if kind == "int"
                else slice(None)
                if kind == "full"
                else slice(draw(st.integers(0, n - 1)), None)
            )
    if draw(st.booleans()):
        items.insert(draw(st.integers(0, len(items))), None)
    if draw(st.booleans()):
        items.insert(draw(st.integers(0, len(items))), Ellipsis)
    return tuple(items)


def between_arrays(index):
    """Whether an empty ellipsis separates index arrays: MXNet still treats these as adjacent, NumPy does not."""
    at = next((k for k, i in enumerate(index) if i is Ellipsis), 0)
    return 0 < at < len(index) - 1 and all(isinstance(i, (int, np.ndarray)) for i in (index[at - 1], index[at + 1]))


def as_mxnet_reads(index):
    """The NumPy index that selects what MXNet's index selects."""
    if not isinstance(index, tuple) or not any(isinstance(i, np.ndarray) for i in index) or not between_arrays(index):
        return index
    return tuple(i for i in index if i is not Ellipsis)


def numbered(shape):
    """The array 0, 1, 2 …, ours and NumPy's."""
    host = np.arange(int(np.prod(shape)), dtype="float32").reshape(shape)
    return nd.array(host), host


def at_least_1d(host):
    return host.reshape(1) if host.ndim == 0 else host


@given(st.data())
@settings(max_examples=150)
def test_a_basic_index_reads_as_in_numpy(data):
    x, host = numbered(data.draw(SHAPES))
    index = data.draw(basic_items(x.shape))
    got, expected = x[index].asnumpy(), at_least_1d(host[index])
    assert got.shape == expected.shape
    np.testing.assert_array_equal(got, expected)


@given(st.data())
@settings(max_examples=150)
def test_a_basic_index_shares_memory_where_it_is_contiguous(data):
    x, host = numbered(data.draw(SHAPES))
    index = data.draw(basic_items(x.shape))
    x[index][:] = -1
    items = index if isinstance(index, tuple) else (index,)
    part = host[items if Ellipsis in items else (*items, Ellipsis)]  # a view, where an index of integers alone would be a scalar
    if part.flags.c_contiguous:
        part[...] = -1
    np.testing.assert_array_equal(x.asnumpy(), host)


@given(st.data())
@settings(max_examples=150)
def test_an_index_with_arrays_reads_as_in_numpy(data):
    x, host = numbered(data.draw(SHAPES))
    index = data.draw(array_items(x.shape))
    ours = tuple(nd.array(i, dtype="int32") if isinstance(i, np.ndarray) else i for i in index)
    got, expected = x[ours].asnumpy(), at_least_1d(host[as_mxnet_reads(index)])
    assert got.shape == expected.shape
    np.testing.assert_array_equal(got, expected)


@given(st.data())
@settings(max_examples=150)
def test_assignment_writes_as_in_numpy(data):
    x, host = numbered(data.draw(SHAPES))
    given = data.draw(st.one_of(basic_items(x.shape), array_items(x.shape)))
    index = as_mxnet_reads(given)
    selected = host[index].shape
    value = -1 - np.arange(int(np.prod(selected)), dtype="float32").reshape(selected)
    ours = data.draw(st.sampled_from([nd.array, lambda v: v, lambda v: v.tolist() if v.size else v]))(value)
    x[given] = ours
    host[index] = value
    np.testing.assert_array_equal(x.asnumpy(), host)


@given(st.data())
@settings(max_examples=100)
def test_recorded_assignment_has_numpys_values_and_the_right_gradients(data):
    x, host = numbered(data.draw(SHAPES))
    given = data.draw(st.one_of(basic_items(x.shape), array_items(x.shape)))
    index = as_mxnet_reads(given)
    selected = host[index].shape
    weights = np.arange(1, 1 + host.size, dtype="float32").reshape(host.shape)
    value = nd.full(selected or (1,), 2)
    x.attach_grad()
    value.attach_grad()
    with autograd.record():
        y = x * 3
        y[given] = value.reshape(selected or (1,)) if selected else value
        z = y * nd.array(weights)
    z.backward()
    expected = host * 3
    expected[index] = 2
    np.testing.assert_array_equal(y.asnumpy(), expected)
    kept = 3 * weights
    kept[index] = 0
    np.testing.assert_array_equal(x.grad.asnumpy(), kept)
    numbers = np.arange(host[index].size).reshape(selected)
    holders = np.zeros(host.shape, int)
    holders[index] = numbers
    written = np.where(holders[index] == numbers, weights[index], 0)  # of several values written to one element only the last remains
    np.testing.assert_array_equal(value.grad.asnumpy().reshape(selected), written)


@given(st.data())
@settings(max_examples=100)
def test_gradients_flow_through_every_index(data):
    x, host = numbered(data.draw(SHAPES))
    index = data.draw(st.one_of(basic_items(x.shape), array_items(x.shape)))
    x.attach_grad()
    with autograd.record():
        y = x[index] * 2
    y.backward()
    expected = np.zeros_like(host)
    np.add.at(expected, as_mxnet_reads(index), 2)
    np.testing.assert_array_equal(x.grad.asnumpy(), expected)


def contents():
    """The same array in every kind of content: plain, captured, big, on another CPU device, a view, exported."""
    host = np.arange(12, dtype="float32").reshape(3, 4)
    held = nd.array(host)
    captured(held)
    root = nd.array(np.concatenate([host, host]))
    return {
        "plain": nd.array(host),
        "captured": held,
        "cpu(1)": nd.array(host, ctx=mx.cpu(1)),
        "view": root[3:],
        "exported": nd.from_numpy(host.copy()),
        "pending": nd.array(host) + 0,
    }


@pytest.mark.parametrize("kind", list(contents()))
@pytest.mark.parametrize("defer", [1, 1 << 40])
def test_writes_reach_every_kind_of_content(monkeypatch, kind, defer):
    monkeypatch.setattr(SETTINGS, "defer_elements", defer)
    x = contents()[kind]
    host = np.arange(12, dtype="float32").reshape(3, 4)
    row, flat = x[1], x.reshape(-1)
    for index, value in [(0, 7), (slice(1, 3), nd.full((2, 4), 8)), ((1, slice(None, None, 2)), np.array([5, 6])), ((2, [0, 3]), 9)]:
        x[index] = value
        host[index] = value.asnumpy() if isinstance(value, nd.NDArray) else value
    row += 1
    host[1] += 1
    flat[4:6] *= 2
    host[1, :2] *= 2
    x -= nd.ones((3, 4), ctx=x.context)
    np.testing.assert_array_equal(x.asnumpy(), host - 1)
    np.testing.assert_array_equal(row.asnumpy(), host[1] - 1)
    np.testing.assert_array_equal(flat.asnumpy(), host.ravel() - 1)


def test_writes_through_a_view_while_recording_reach_the_root():
    x = nd.array([[1, 2], [3, 4]])
    w = nd.array([5, 6])
    x.attach_grad()
    w.attach_grad()
    with autograd.record():
        y = x * 2
        y[0][:] = w
        y.reshape(-1)[3:] += 10
        z = y * y
    z.backward()
    np.testing.assert_array_equal(y.asnumpy(), [[5, 6], [6, 18]])
    np.testing.assert_array_equal(w.grad.asnumpy(), [10, 12])
    np.testing.assert_array_equal(x.grad.asnumpy(), [[0, 0], [24, 72]])


def test_a_view_follows_its_root():
    x = nd.zeros((2, 3))
    row, flat = x[1], x.reshape((-1,))
    x[:] = nd.arange(6).reshape((2, 3))
    x += 1
    assert row.asnumpy().tolist() == [4, 5, 6]
    assert flat.asnumpy().tolist() == [1, 2, 3, 4, 5, 6]


def test_views_have_the_class_of_arrays():
    x = nd.ones((3, 4))
    found = [x[1], x[1:], x[1, 2], x.detach(), x.reshape((4, 3)), *x, x.as_np_ndarray().as_nd_ndarray()]
    assert {type(a) for a in found} == {nd.NDArray}
    assert type(x.as_np_ndarray()) is type(x.as_np_ndarray()[1]) is mx.np.ndarray


def test_a_view_of_a_view_writes_into_the_root():
    x = nd.zeros((4, 6))
    x[1:3][1].reshape((2, 3))[0] = 5
    expected = np.zeros((4, 6))
    expected[2, :3] = 5
    np.testing.assert_array_equal(x.asnumpy(), expected)


@pytest.mark.parametrize("index", [7, (0, 4), -4, (slice(None), [9]), ([-5],), (0, nd.array([4]))])
def test_an_index_out_of_range_is_an_error(index):
    x = nd.zeros((3, 4))
    with pytest.raises(IndexingError, match="out of bounds"):
        x[index]
    with pytest.raises(IndexingError, match="out of bounds"):
        x[index] = 1


@pytest.mark.parametrize("index", ["a", 1.0, (0, "a"), object()])
def test_an_invalid_index_is_an_error(index):
    with pytest.raises(ValueError, match="does not support"):
        nd.zeros((3, 4))[index]


def test_index_arrays_that_do_not_broadcast_are_an_error():
    with pytest.raises(IndexingError, match="broadcast"):
        nd.zeros((3, 4))[[0, 1], [0, 1, 2]]


@pytest.mark.parametrize(("index", "value"), [(0, np.ones(3)), (slice(None), nd.ones((3, 5))), (slice(0, 2), nd.ones((3, 4)))])
def test_a_value_that_does_not_fit_is_an_error(index, value):
    with pytest.raises(ShapeError, match="broadcast"):
        nd.zeros((3, 4))[index] = value


def test_a_value_that_is_not_an_array_is_an_error():
    with pytest.raises(DTypeError):
        nd.zeros((2,))[:] = object()


def test_values_are_cast_as_c_casts_them():
    x = nd.zeros((3,), dtype="uint8")
    x[0], x[1], x[2] = 300, -1, 7.9
    assert x.asnumpy().tolist() == [44, 255, 7]


def test_a_value_from_another_cpu_device_is_accepted():
    x = nd.zeros((2,))
    x[:] = nd.ones((2,), ctx=mx.cpu(1))
    assert x.asnumpy().tolist() == [1, 1]
    assert x.context == mx.cpu(0)


def test_a_mask_of_dtype_bool_selects():
    x = nd.arange(6).reshape((2, 3))
    mask = nd.array([[1, 0, 1], [0, 0, 1]], dtype="bool")
    assert x[mask].asnumpy().tolist() == [0, 2, 5]
    x[mask] = -1
    assert x.asnumpy().tolist() == [[-1, 1, -1], [3, 4, -1]]


def test_assignment_from_an_overlapping_view_reads_first():
    for n in (6, 200_000):
        x = nd.arange(n)
        x[1:] = x[:-1]
        assert x[:4].asnumpy().tolist() == [0, 0, 1, 2]


@pytest.mark.parametrize("array", [nd.array, mxnet_numpy.array])
def test_an_index_that_selects_all_takes_an_array_of_numpy_of_its_shape(array):
    column = np.array([[1], [2], [3]], "float32")
    for key in ((slice(None), 0), (..., 0)):  # as MXNet 1.9.1 does, which refuses arrays of its own
        x = array(np.zeros((3, 1)))
        x[key] = column
        assert x.asnumpy().tolist() == column.tolist()
        with pytest.raises(ShapeError, match="broadcast"):
            x[key] = array(column)
    with pytest.raises(ShapeError, match="broadcast"):
        array(np.zeros((3, 2)))[:, 0] = column
    with pytest.raises(ValueError, match="broadcast"):
        mx.np.zeros((3, 1))[:, 0] = column
