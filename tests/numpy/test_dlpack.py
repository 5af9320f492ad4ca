"""`np.from_dlpack`: whose memory an array has."""

import numpy
import pytest

import twofold as mx
from twofold import autograd, np


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "bool", "uint16"])
@pytest.mark.parametrize("copy", [None, False])
def test_memory_is_shared_with_numpy(dtype, copy):
    theirs = numpy.zeros(3, dtype)
    ours = np.from_dlpack(theirs, copy=copy)
    ours[0] = 1
    assert theirs.tolist() == [1, 0, 0]
    theirs[1] = 1
    assert ours.tolist() == [1, 1, 0]
    assert isinstance(ours, np.ndarray)
    assert ours.dtype == theirs.dtype


@pytest.mark.parametrize("make", [lambda: np.ones(3), lambda: np.ones((300, 300)) * 2, lambda: mx.nd.ones(3)], ids=["np", "pending", "nd"])
def test_memory_is_shared_with_other_arrays_of_the_package(make):
    theirs = make()
    np.from_dlpack(theirs)[0] = 7
    assert (theirs.asnumpy()[0] == 7).all()


def test_a_copy_is_made_on_demand_and_where_memory_cannot_be_shared():
    theirs = numpy.zeros((2, 3))
    for ours in (np.from_dlpack(theirs, copy=True), np.from_dlpack(theirs.T), np.from_dlpack(theirs, device=mx.cpu(1))):
        ours[0] = 1
        assert not theirs.any()
    assert ours.context == mx.cpu(1)


def test_a_recorded_array_is_refused():
    x = np.ones(3)
    x.attach_grad()
    with autograd.record(), pytest.raises(mx.MXNetError, match="from_dlpack has no gradient"):
        np.from_dlpack(x * 2)


class OfBfloat16:
    """What PyTorch has: a tensor of a dtype that NumPy lacks."""

    def __dlpack_device__(self):
        return 1, 0

    def __dlpack__(self, **options):
        raise RuntimeError("Unsupported dtype in DLTensor.")


@pytest.mark.parametrize("module", [np, mx.nd], ids=["np", "nd"])
def test_a_dtype_that_numpy_lacks_is_refused_in_our_words(module):
    with pytest.raises(mx.MXNetError, match=r"no such dtype.*OfBfloat16.*cast it to float32"):
        module.from_dlpack(OfBfloat16())
