"""Options of operators that few programs use; the numbers are MXNet 1.9.1's, or where its result is wrong those of the definition."""

import numpy as np
import pytest

import twofold as mx
from twofold import autograd, gluon, nd


@pytest.mark.parametrize(
    "splits", [lambda x: nd.split(x, num_outputs=3, axis=0, squeeze_axis=True), lambda x: nd.split_v2(x, 3, squeeze_axis=True)]
)
def test_the_elements_of_a_vector_have_gradients(splits):
    x = nd.array([1.0, 2.0, 3.0])
    x.attach_grad()
    with autograd.record():
        first, second, _ = splits(x)
        y = first * second
    y.backward()
    assert (first.shape, x.grad.asnumpy().tolist()) == ((1,), [2.0, 1.0, 0.0])


@pytest.mark.parametrize("use_ignore", [False, True])
@pytest.mark.parametrize(("ignore_label", "valid"), [(1, 6), (0, 12), (3, 11)])
def test_valid_labels_are_all_that_are_not_the_ignored_one(use_ignore, ignore_label, valid):
    """Also those beyond the rows, and if ignored rows have gradients."""
    labels = nd.array([3, 1, 2, 1, 1, 1, 1, 1, 2, 2, 2, 2]).reshape((3, 4))
    x = nd.array(np.arange(24) % 5 * 0.3).reshape((3, 4, 2))

    def gradient(**options):
        x.attach_grad()
        with autograd.record():
            y = nd.SoftmaxOutput(x, labels, **options)
        y.backward()
        return x.grad.asnumpy()

    found = gradient(use_ignore=use_ignore, ignore_label=ignore_label, normalization="valid")
    whole = gradient(use_ignore=use_ignore, ignore_label=ignore_label)
    np.testing.assert_allclose(found, whole / valid, rtol=1e-6)


def test_the_first_labels_of_a_multiple_output_are_counted_too():
    x = nd.array([[1.0, 2.0], [2.0, 1.0], [0.0, 1.0]])
    x.attach_grad()
    with autograd.record():
        y = nd.SoftmaxOutput(x, nd.array([1, 1, 0]), multi_output=True, ignore_label=1, normalization="valid")
    y.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), y.asnumpy() - np.eye(2)[[1, 1, 0]], rtol=1e-6)


@pytest.mark.parametrize(("value", "wanted"), [(-1, 255), (300, 44), (0.9, 0)])
def test_a_mask_of_integers_keeps_their_dtype(value, wanted):
    x = nd.array([[1], [2], [250]], dtype="uint8")
    for data in (x, mx.sym.SequenceMask(mx.sym.var("x"), mx.sym.var("n"), use_sequence_length=True, value=value)):
        if data is x:
            y = nd.SequenceMask(x, nd.array([1]), use_sequence_length=True, value=value)
        else:
            (y,) = data.eval(x=x, n=nd.array([1]))
        assert (y.dtype, y.asnumpy().ravel().tolist()) == (np.uint8, [1, wanted, wanted])


@pytest.mark.parametrize(("dtype", "on", "off"), [("uint8", 44, 255), ("int8", 44, -1), ("int32", 300, -1), ("float32", 300, -1)])
def test_values_out_of_the_range_of_a_dtype_are_wrapped(dtype, on, off):
    for _ in range(4):  # interpreted, then compiled
        y = nd.one_hot(nd.array([[0, 5], [-1, 1]]), 2, on_value=300.0, off_value=-1.0, dtype=dtype)
        assert (y.dtype, y.asnumpy().tolist()) == (np.dtype(dtype), [[[on, off], [off, off]], [[off, off], [off, on]]])


@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("count_include_pad", [False, True])
def test_the_gradient_of_an_average_at_the_edge_is_that_of_the_average(axes, count_include_pad):
    x = nd.ones((1, 1, *(6,) * axes))
    x.attach_grad()
    options = {"kernel": (3,) * axes, "stride": (2,) * axes, "pooling_convention": "full", "count_include_pad": count_include_pad}
    with autograd.record():
        y = nd.Pooling(x, pool_type="avg", **options)
    y.backward()
    assert x.grad.sum().asscalar() == pytest.approx(y.size)
    assert y.asnumpy().ravel()[-1] == 1


def test_the_average_of_a_window_outside_of_the_data_is_zero():
    y = nd.Pooling(nd.ones((1, 1, 6)), kernel=(2,), stride=(3,), pad=(0,), pool_type="avg", pooling_convention="full")
    assert y.asnumpy().tolist() == [[[1, 1, 0]]]


@pytest.mark.parametrize("axis", [0, 1])
def test_the_gradient_of_the_last_step_without_lengths_is_at_the_last_step(axis):
    x = nd.ones((3, 3, 2))
    x.attach_grad()
    with autograd.record():
        y = nd.SequenceLast(x, axis=axis)
    y.backward()
    wanted = np.zeros((3, 3, 2))
    wanted[(slice(None),) * axis + (-1,)] = 1
    np.testing.assert_array_equal(x.grad.asnumpy(), wanted)


@pytest.mark.parametrize("layout", ["NTC", "TNC"])
def test_sequences_in_both_directions_do_not_depend_on_how_outputs_are_merged(layout):
    cell = gluon.rnn.BidirectionalCell(gluon.rnn.GRUCell(2, input_size=3), gluon.rnn.LSTMCell(2, input_size=3))
    cell.initialize()
    x, lengths = nd.random.normal(shape=(3, 3, 3)), nd.array([1, 3, 2])
    merged, outputs = (cell.unroll(3, x, layout=layout, valid_length=lengths, merge_outputs=m)[0] for m in (True, None))
    np.testing.assert_array_equal(outputs.asnumpy(), merged.asnumpy())


@pytest.mark.parametrize("name", ["softmax", "softmin", "log_softmax"])
@pytest.mark.parametrize("shape", [(0, 3), (2, 0)])
def test_rows_without_elements_have_a_softmax_without_elements(name, shape):
    with mx.util.np_shape():
        x = nd.zeros(shape)
        x.attach_grad()
        with autograd.record():
            y = getattr(nd, name)(x)
        y.backward()
    assert y.shape == x.grad.shape == shape


def test_functions_of_integers_of_8_bits_are_computed_in_float32():
    """Values of MXNet 1.9.1 for each function of 1, 5, 60 and 100."""
    wanted = {"sigmoid": [0, 0, 1, 1], "tanh": [0, 0, 1, 1], "sqrt": [1, 2, 7, 10], "log": [0, 1, 4, 4]}
    for dtype in ("int8", "uint8"):
        x = nd.array([1, 5, 60, 100], dtype=dtype)
        symbol = mx.sym.Variable("x")
        for name, values in wanted.items():
            found = getattr(nd, name)(x)
            assert (found.dtype, found.asnumpy().tolist()) == (np.dtype(dtype), values)
            executor = getattr(mx.sym, name)(symbol).bind(mx.current_context(), {"x": x})
            assert executor.forward()[0].asnumpy().tolist() == values
    assert nd.exp(nd.array([5], dtype="uint8")).asnumpy().tolist() == [148]
