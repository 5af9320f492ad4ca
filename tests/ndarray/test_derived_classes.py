"""Classes that programs derive from arrays: made of handles, as MXNet's C library makes arrays."""

import pytest

import twofold as mx
import twofold.compat.handles
from twofold import nd
from twofold.mxnet_numpy.array import ndarray


def test_a_derived_class_is_an_array_on_the_memory_of_a_handle():
    class Plain(nd.NDArray):
        pass

    class Labeled(nd.NDArray):
        def __init__(self, handle, writable=True):
            super().__init__(handle, writable)
            self.label = "x"

    for cls in (Plain, Labeled):
        x = nd.array([[1, 2], [3, 4]])
        y = cls(x.handle)
        assert type(y) is cls
        y[0] = 5
        assert x.asnumpy().tolist() == [[5, 5], [3, 4]]
        x[1] = 7
        assert (y + 1).asnumpy().tolist() == [[6, 6], [8, 8]]
        other = cls(x.handle, writable=False)
        x[:] = 0
        assert other.asnumpy().tolist() == [[0, 0], [0, 0]]
        with pytest.raises(TypeError):
            cls([1, 2])
    assert Plain().shape == (0,)
    assert y.label == "x"


@pytest.mark.parametrize("numpy_like", [False, True])
def test_views_of_a_derived_class_are_of_that_class_and_other_results_are_not(numpy_like):
    """As in MXNet, whose views are made by the class of their array."""
    base = ndarray if numpy_like else nd.NDArray

    class Labeled(base):
        def __init__(self, handle, writable=True):
            super().__init__(handle, writable)
            self.label = "x"

    x = nd.array([[1, 2], [3, 4]])
    y = Labeled(x.handle)
    for view in (y[0], y[1:], y[-1], next(iter(y)), *([] if numpy_like else [y.reshape(-1), y[0, 1]])):
        assert type(view) is Labeled
        assert view.label == "x"
    y[1:][0][:] = 7
    assert x.asnumpy().tolist() == [[1, 2], [7, 7]]
    others = [y + 1, -y, y[[0, 1]], y[:, 1], y.copy(), y.detach(), y.T, y.astype("float64"), y.sum()]
    assert {type(other) for other in others} == {base}
    y.attach_grad()
    with mx.autograd.record():
        loss = (y[1] * y[1]).sum()
    loss.backward()
    assert type(y.grad) is base
    assert y.grad.asnumpy().tolist() == [[0, 0], [14, 14]]


def test_an_array_of_a_handle_has_the_class_that_was_called():
    x = nd.array([1, 2])
    y = ndarray(x.handle)
    y[0] = 5
    z = nd.NDArray(x.handle)
    z[1] = 6
    assert (type(y), type(z)) == (ndarray, nd.NDArray)
    assert x.asnumpy().tolist() == [5, 6]


def test_classes_derived_from_sparse_arrays_are_not_those_of_results():
    class Matrix(nd.sparse.CSRNDArray):
        pass

    x = nd.array([[0, 1]]).tostype("csr")
    assert type(x) is type(x * 2) is nd.sparse.CSRNDArray
    assert type(Matrix(x.handle)) is Matrix
    assert Matrix(x.handle).asnumpy().tolist() == [[0, 1]]
