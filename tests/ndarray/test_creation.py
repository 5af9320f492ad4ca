"""Functions that create arrays give MXNet's values, dtypes and devices."""

import ml_dtypes
import numpy as np
import pytest

import twofold as mx
from twofold import nd
from twofold.errors import DTypeError, ParameterError

from tests.probe import dtype_name


def same(array, expected):
    host = array.asnumpy()
    assert host.dtype == np.asarray(expected).dtype
    np.testing.assert_array_equal(host, expected)


@pytest.mark.parametrize("source", [[1, 2], (1, 2), range(1, 3), np.array([1, 2]), np.array([1.0, 2.0]), [np.float64(1), np.float64(2)]])
def test_array_is_float32_whatever_the_source(source):
    same(nd.array(source), np.array([1, 2], "float32"))


def test_array_keeps_the_dtype_of_an_ndarray():
    same(nd.array(nd.array([1, 2], dtype="int8")), np.array([1, 2], "int8"))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64", "int8", "uint8", "int32", "int64", "bool"])
def test_array_with_a_dtype(dtype):
    array = nd.array([0, 1, 2], dtype=dtype)
    expected = np.array([0, 1, 2]).astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    assert dtype_name(array) == dtype
    same(array, expected)


def test_array_does_not_share_memory_with_its_source():
    for source in (np.ones(3, "float32"), np.ones(100_000, "float32"), nd.ones((3,)), nd.ones((100_000,))):
        copy = nd.array(source)
        source[:] = 5
        assert copy[0].asscalar() == 1


def test_array_takes_the_current_context_or_the_given_one():
    with mx.cpu(2):
        assert nd.array([1]).context == mx.cpu(2)
        assert nd.array([1], ctx=mx.cpu(1)).context == mx.cpu(1)
        assert nd.zeros((1,)).context == nd.arange(2).context == nd.full((1,), 3).context == mx.cpu(2)


@pytest.mark.parametrize("source", ["ab", [[1, 2], [3]], [object()], {"a": 1}])
def test_array_rejects_what_is_not_array_like(source):
    with pytest.raises(DTypeError, match="array like"):
        nd.array(source)


def test_an_array_of_a_scalar_is_0d_and_works_in_operations():
    x = nd.array(5)
    assert x.shape == ()
    assert (x + 1).shape == (x * x).shape == (1.0 - x).shape == (-x).shape == ()
    assert (x * nd.ones((2,))).asnumpy().tolist() == [5, 5]


@pytest.mark.parametrize(("make", "value"), [(nd.zeros, 0), (nd.ones, 1)])
def test_filled_arrays(make, value):
    same(make((2, 3)), np.full((2, 3), value, "float32"))
    same(make(2, dtype="int32"), np.full(2, value, "int32"))
    same(make([1, 2], mx.cpu(1), np.float64), np.full((1, 2), value, "float64"))
    same(make((0, 3)), np.full((0, 3), value, "float32"))


def test_filled_arrays_write_into_out():
    target = nd.full((2,), 7)
    assert nd.zeros((2,), out=target) is target
    same(target, np.zeros(2, "float32"))
    assert nd.ones((2,), out=target) is target
    assert nd.full((2,), 3, out=target) is target
    same(target, np.full(2, 3, "float32"))


def test_full_accepts_scalars_and_broadcastable_arrays():
    same(nd.full((2, 2), 2.5, dtype="int32"), np.full((2, 2), 2, "int32"))
    same(nd.full((2, 2), nd.array([3])), np.full((2, 2), 3, "float32"))


def test_empty_has_shape_dtype_and_context():
    x = nd.empty((2, 3), mx.cpu(1), "int64")
    assert (x.shape, x.dtype, x.context) == ((2, 3), np.int64, mx.cpu(1))


@pytest.mark.parametrize("shape", [(-1,), (2, -3)])
def test_negative_sizes_are_rejected(shape):
    with pytest.raises(ParameterError, match="negative"):
        nd.zeros(shape)


@pytest.mark.parametrize("shape", [2.5, ("a",), None])
def test_shapes_are_integers(shape):
    with pytest.raises(DTypeError, match="integer"):
        nd.ones(shape)


@pytest.mark.parametrize("arguments", [(5,), (1, 3, 0.5), (3, 0, -1), (0, 1, 0.1), (2, 8, 2.5), (0.5, 3)])
def test_arange_counts_in_its_dtype(arguments):
    start, stop, step = (0, arguments[0], 1) if len(arguments) == 1 else (*arguments, 1)[:3]
    count = int(np.ceil((stop - start) / step))
    for dtype in (np.float32, np.int32):
        same(nd.arange(*arguments, dtype=dtype), dtype(start) + np.arange(count).astype(dtype) * dtype(step))


def test_arange_rounds_as_mxnet_does():
    # mx.nd.arange(0, 1, 0.1) and mx.nd.arange(2, 8, 2.5, dtype='int32') of MXNet 1.9.1
    assert nd.arange(0, 1, 0.1).asnumpy().tolist()[-3:] == [0.699999988079071, 0.800000011920929, 0.9000000357627869]
    assert nd.arange(2, 8, 2.5, dtype="int32").asnumpy().tolist() == [2, 4, 6]


def test_arange_counts_in_float16_too():
    same(nd.arange(0.5, 3, dtype="float16"), np.array([0.5, 1.5, 2.5], "float16"))


def test_arange_repeats_values():
    same(nd.arange(0, 2, repeat=3), np.array([0, 0, 0, 1, 1, 1], "float32"))


def test_arange_needs_a_step():
    with pytest.raises(ParameterError, match="step"):
        nd.arange(0, 1, 0)


def test_arange_says_that_infer_range_is_deprecated():
    with pytest.warns(DeprecationWarning, match="infer_range"):
        nd.arange(2, infer_range=True)


@pytest.mark.parametrize("endpoint", [True, False])
@pytest.mark.parametrize("num", [0, 1, 4])
def test_linspace(endpoint, num):
    same(nd.linspace(0, 10, num, endpoint), np.linspace(0, 10, num, endpoint).astype("float32"))
    same(nd.linspace(0, 10, num, endpoint, dtype="int32"), np.linspace(0, 10, num, endpoint).astype("int32"))


@pytest.mark.parametrize("arguments", [(2,), (2, 3), (3, 0, 1), (3, 3, -1)])
def test_eye(arguments):
    rows, columns, k = (*arguments, 0, 0)[:3]
    same(nd.eye(*arguments), np.eye(rows, columns or None, k, dtype="float32"))
    same(nd.eye(*arguments, dtype="int32"), np.eye(rows, columns or None, k, dtype="int32"))


def test_from_numpy_shares_memory_and_locks_the_source():
    source = np.ones(3, "float32")
    x = nd.from_numpy(source)
    x[:] = 5
    assert source.tolist() == [5, 5, 5]
    x += 1
    x *= nd.array([1, 2, 3])
    x[1:] = 0
    assert source.tolist() == [6, 0, 0]
    assert not source.flags.writeable


def test_from_numpy_shares_memory_while_recording():
    source = np.ones(2, "float32")
    x = nd.from_numpy(source)
    w = nd.array([2.0, 3.0])
    w.attach_grad()
    with mx.autograd.record():
        x[:] = w * 2
        y = x * w
    y.backward()
    assert source.tolist() == [4, 6]
    assert w.grad.asnumpy().tolist() == [8, 12]


def test_from_numpy_copies_if_told():
    source = np.ones(3, "float32")
    x = nd.from_numpy(source, zero_copy=False)
    source[:] = 5
    assert x.asnumpy().tolist() == [1, 1, 1]


def test_from_numpy_copies_read_only_arrays():
    source = np.ones(3)
    source.flags.writeable = False
    x = nd.from_numpy(source)
    x[:] = 2
    assert x.dtype is np.float64
    assert source.tolist() == [1, 1, 1]


def test_from_numpy_rejects_strided_memory_and_other_types():
    with pytest.raises(ParameterError, match="c-contiguous"):
        nd.from_numpy(np.ones((2, 3)).T)
    with pytest.raises(DTypeError):
        nd.from_numpy([1])
    with pytest.raises(DTypeError):
        nd.from_numpy(np.array(["a"]))


def test_a_negative_number_of_values_is_rejected():
    with pytest.raises(ParameterError, match="linspace: the number of values is negative: given num=-3"):
        nd.linspace(0, 1, -3)


def test_a_context_knows_what_it_has_replaced():
    """As MXNet's contexts do while they are entered."""
    before = mx.current_context()
    with mx.cpu(1) as outer, mx.cpu(2) as inner:
        assert (outer._old_ctx, inner._old_ctx) == (before, mx.cpu(1))
    assert outer._old_ctx is None
