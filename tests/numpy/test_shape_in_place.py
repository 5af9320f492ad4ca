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
    with pytest.raises(MXNetError, match=r"write x = x\.reshape"):
        x.shape = (1, -1)
    assert (x.shape, part.shape) == ((6,), (5,))
    del part
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


PROGRAMS = [
    "b = a.view(); b.shape = (4, 3); b[1] = 7; c = b[0]",
    "b = a[1:]; b.shape = -1; b[::2] += 1; c = b",
    "b = a.reshape(-1); b.shape = (2, 3, 2); b[0, 1] *= 2; c = b.sum(0)",
    "b = a[:2]; part = b[1]; b.shape = (4, 2); part[0] = 50; b[0] = 60; c = part",
    "b = a[::2]; later = b[1:, ::3]; b.shape = (1, 2, 4); c = later; later += 1",
    "b = a.T[1:]; b.shape = (3, 1, 3); b[0, 0, 0] = 9; c = b",
]


@pytest.mark.filterwarnings("ignore:Setting the shape:DeprecationWarning")  # of NumPy's arrays, from NumPy 2.5 on
@pytest.mark.parametrize("columns", [4, 40_000])
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_view_gets_another_shape(program, columns):
    def run(xp):
        names = {"a": xp.arange(3.0 * columns).reshape(3, columns)[:, :4] if columns > 4 else xp.arange(12.0).reshape(3, 4)}
        exec(program, names)
        return [names[k].tolist() for k in "abc"]

    try:
        wanted = run(numpy)
    except AttributeError:  # the layout needs a copy
        with pytest.raises(ValueError, match="copy"):
            run(np)
    else:
        assert run(np) == wanted
