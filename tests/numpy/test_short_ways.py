"""Functions that call NumPy's on small arrays: what they write to, what they copy, and what they take."""

import tracemalloc

import numpy
import pytest

from twofold import np
from twofold.errors import ParameterError


def test_quotients_and_remainders_in_one():
    x = numpy.array([0.3, -1.7, 2.5, 40.0])
    for got, wanted in zip(np.divmod(np.array(x), 0.7), numpy.divmod(x, 0.7), strict=True):
        assert type(got) is np.ndarray
        assert got.tolist() == wanted.tolist()


@pytest.mark.parametrize("order", ["C", "F"])
def test_products_with_arrays_of_numpys(order):
    a = numpy.array(numpy.arange(12.0).reshape(3, 4) / 7, order=order)
    x = numpy.arange(8.0) / 3
    for got, wanted in [
        (np.dot(a, np.array(x)[:4]), a.dot(x[:4])),
        (np.dot(np.array(x)[::2], a.T), x[::2].dot(a.T)),
        (np.dot(a, a.T), a.dot(a.T)),
    ]:
        assert type(got) is np.ndarray
        numpy.testing.assert_allclose(got.asnumpy(), wanted, rtol=1e-15)


def test_shuffles_write_to_the_array():
    x, base, numbers = np.arange(10), np.arange(12), numpy.random.RandomState(3)
    view = base[2:]
    wanted, part = numpy.arange(10), numpy.arange(12)[2:]
    numbers.shuffle(wanted)
    numbers.shuffle(part)
    assert np.random.seed(3) is None
    assert np.random.shuffle(x) is None
    np.random.shuffle(view)
    assert x.tolist() == wanted.tolist()
    assert base.tolist() == [0, 1, *part.tolist()]


def test_a_vector_on_the_diagonal_is_a_list():
    assert np.diag([1, 2], 1).tolist() == numpy.diag([1, 2], 1).tolist()
    assert np.diag([1.5, True]).dtype == "float64"
    with pytest.raises(ParameterError, match="must be an int"):
        np.diag([1.0], "k")


def test_bytes_are_copied_and_can_be_written():
    memory = numpy.arange(3.0).tobytes()
    x = np.frombuffer(memory)
    x[0] = 7
    assert x.tolist() == [7, 1, 2]
    assert numpy.frombuffer(memory).tolist() == [0, 1, 2]


def test_strided_copies_take_no_more_memory_than_they_need():
    x = np.arange(3000.0)
    tracemalloc.start()
    try:
        windows = np.lib.stride_tricks.as_strided(x, (1000, 1000), (16, 8))
        assert tracemalloc.get_traced_memory()[1] < 1.5 * windows.nbytes
    finally:
        tracemalloc.stop()
    assert windows[999].tolist() == list(range(1998, 2998))
    with pytest.raises(ValueError, match="outside the array"):
        np.lib.stride_tricks.as_strided(x, (1000, 1000), (24, 8))


def test_arrays_that_are_written_may_be_named():
    numbers, wanted, x, y = numpy.random.RandomState(1), numpy.arange(8), np.arange(8), np.zeros((2, 2))
    numbers.shuffle(wanted)
    np.random.RandomState(1).shuffle(x=x)
    assert x.tolist() == wanted.tolist()
    np.put_along_axis(arr=y, indices=np.array([[0], [1]]), values=3.0, axis=1)
    assert y.tolist() == [[3, 0], [0, 3]]
    with pytest.raises(TypeError, match="argument"):
        np.random.shuffle()


def test_generators_have_no_attributes_that_would_change_nothing():
    with pytest.raises(AttributeError, match="'Generator' object has no attribute 'state'"):
        np.random.default_rng(0).state = {}

    class Named(np.random.RandomState):
        def __init__(self, name):
            super().__init__(0)
            self.name = name

    assert Named("x").name == "x"


def test_memory_orders_that_are_none_and_orders_without_a_copy():
    x = np.arange(6.0).reshape(2, 3).T
    with pytest.raises(ValueError, match="order"):
        np.asarray(x, order="X")
    with pytest.raises(ParameterError, match="would be a copy"):
        np.asarray(x, order="C", copy=False)
    assert np.asarray(x, order="f") is x
    assert np.require(x, requirements="F", like=None) is x


@pytest.mark.parametrize("size", [3, 100_000])
def test_draws_with_an_argument_too_many_are_refused(size):
    x, generator = np.arange(float(size)), np.random.default_rng(0)
    for draw in (lambda: np.random.permutation(5, x), lambda: generator.permutation(5, 0, x), lambda: generator.random(3, float, None, x)):
        with pytest.raises(TypeError, match="argument"):
            draw()
    out = np.zeros(3)
    assert generator.random(3, float, out) is out
    assert out.all()
