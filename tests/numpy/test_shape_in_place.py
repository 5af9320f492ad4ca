"""``x.shape = …`` reshapes in place, as in NumPy, where nothing else sees the memory."""

import numpy
import pytest

import twofold as mx
from twofold.errors import MXNetError

np = mx.np


@pytest.mark.parametrize("size", [6, 60_000])
@pytest.mark.parametrize("device", [mx.cpu(0), mx.cpu(1)])
def test_an_array_gets_another_shape(size, device):
    with device:
        x = np.arange(float(size))
        same = x
        x.shape = (2, size // 2)
        assert same.shape == (2, size // 2)
        assert x.device == device
        x.shape = (-1, 3)
        numpy.testing.assert_array_equal(x.asnumpy(), numpy.arange(float(size)).reshape(-1, 3))
        x[0] = 5.0
        x.shape = size
        assert x[:4].tolist() == [5.0, 5.0, 5.0, 3.0]


def test_a_pending_result_does_too():
    x = np.ones(100_000) * 2.0
    x.shape = (100, 1000)
    assert (x + 1.0).sum() == 300_000


def test_an_array_that_others_see_keeps_its_shape():
    x = np.arange(6.0)
    part = x[1:]
    for array in (x, part):
        with pytest.raises(MXNetError, match=r"write x = x\.reshape"):
            array.shape = (1, -1)
    assert (x.shape, part.shape) == ((6,), (5,))
    del part, array
    x.shape = (3, 2)
    assert x.shape == (3, 2)


def test_recorded_arrays_keep_their_shape():
    x = np.ones(4)
    x.attach_grad()
    with mx.autograd.record():
        y = x * 2.0
        for array in (x, y):
            with pytest.raises(MXNetError, match="recorded"):
                array.shape = (2, 2)
    y.backward()
    assert x.grad.tolist() == [2.0] * 4


def test_the_number_of_elements_must_fit():
    x = np.arange(6.0)
    with pytest.raises(ValueError, match="sizes do not match"):
        x.shape = (4,)
    assert x.shape == (6,)
